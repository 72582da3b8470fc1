"""The command printed in a run's report parses back into the same run."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from planner.api.input_format import InputFormat
from planner.api.rental_options import RentalOptions
from planner.api.run import Work
from planner.api.run_command import run_words, words_on
from planner.cli.app import build
from planner.clusters.emulated.shaping import Bucket, Shaping
from planner.clusters.runs.node_benchmarks import Effort

APP = build()


class Asked(Exception):
    """The library call that a command line leads to."""

    def __init__(self, *positional: Any, **named: Any) -> None:
        super().__init__()
        self.positional, self.named = positional, named


def parsed(words: tuple[str, ...], *, module: str = "planner.cli.rent.run", function: str = "run_here") -> Asked:
    """Return the library call that a command line leads to, without running it."""

    def ask(*positional: Any, **named: Any) -> None:
        raise Asked(*positional, **named)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(f"{module}.{function}", ask)
        done = CliRunner().invoke(APP, list(words))
    assert isinstance(done.exception, Asked), (words, done.output)
    return done.exception


def same_work(given: Work, asked: Work) -> bool:
    """Return whether both are the same work; the command line has its own class for the format."""
    forms = [{name: value or None for name, value in vars(work.form).items()} for work in (given, asked)]
    plain = InputFormat()
    return forms[0] == forms[1] and replace(given, form=plain) == replace(asked, form=plain)


sizes = st.integers(1, 10**15).map(lambda count: f"{count * 100}B")
names = st.text("abcxyz-_.09 '$", min_size=1, max_size=12).filter(lambda name: name.strip(" ,") == name)
models = st.sampled_from(["indy", "daytona"])
memories = st.none() | st.integers(1, 10**12)
formats = st.sampled_from(
    [
        InputFormat(),
        InputFormat(format="csv", key=["time:desc", "id:int"], separator=";", no_header=True),
        InputFormat(format="lines", key=["2,2n"], unique=True, zero_terminated=True),
        InputFormat(format="parquet", key=["-odd name"]),
    ]
)
seconds = st.floats(0.1, 1e6, allow_nan=False)


@given(data=sizes, model=models, memory=memories, threads=st.none() | st.integers(1, 99), directory=names)
@settings(max_examples=30, deadline=None)
def test_here(data: str, model: str, memory: int | None, threads: int | None, directory: str) -> None:
    work = Work(data=data, model=model, memory_bytes=memory, threads=threads, directory=Path("/") / directory)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("planner.cli.rent.run.require_directories", lambda *_: None)
        asked = parsed(run_words(work))
    assert asked.positional == (work,) or same_work(work, asked.positional[0])


rates = st.lists(st.floats(1e4, 1e9), max_size=3).map(tuple)
shapings = st.one_of(
    st.builds(lambda rates: Shaping(rates_bytes_per_s=rates), rates),
    st.builds(
        lambda rate, bucket: Shaping(
            rates_bytes_per_s=(rate,), bucket=Bucket(size_bytes=bucket, burst_bytes_per_s=2 * rate + 1)
        ),
        st.floats(1e6, 1e9),
        st.integers(1, 10**8),
    ),
    st.builds(
        lambda letter, factor, redraw, seed: Shaping(
            distribution=letter, rate_factor=factor, redraw_s=redraw, seed=seed
        ),
        st.sampled_from("ABCDEFGH"),
        st.floats(0.01, 10.0),
        st.none() | seconds,
        st.none() | st.integers(-5, 99),
    ),
)


@given(shaping=shapings, nodes=st.none() | st.integers(1, 50), skew=st.booleans(), form=formats, model=models)
@settings(max_examples=60, deadline=None)
def test_on_emulated_nodes(shaping: Shaping, nodes: int | None, skew: bool, form: InputFormat, model: str) -> None:
    input = None if form == InputFormat() else "in put/"
    data = None if input else "1GB"
    work = Work(data=data, model=model, nodes=nodes, skew=skew and input is None, form=form, input=input)
    asked = parsed(run_words(work, cloud="emulated", shaping=shaping), function="run_emulated")
    assert same_work(work, asked.positional[0])
    assert asked.named["shaping"] == shaping


rentals = st.builds(
    RentalOptions,
    cloud=st.sampled_from(["aws", "gcp", "azure"]),
    max_cost=st.none() | st.floats(0.01, 1e6),
    max_hours=st.sampled_from([None, "4h", "90m"]),
    ssh_from=st.just("203.0.113.7/32"),
    image=st.none() | names,
    node_identity=names,
    pricing=st.just("spot"),
    subnet=names,
    no_public_address=st.booleans(),
) | st.builds(
    RentalOptions,
    cloud=st.just("aws"),
    region=st.sampled_from([None, ["us-east-1"], ["us-west-2", "eu-west-1"]]),
    reservation=names,
    or_next=st.integers(0, 9),
    max_cost_per_month=st.none() | st.floats(0.01, 1e6),
    tag=st.lists(
        st.from_regex("[a-o][a-z0-9_-]{0,9}=[a-z0-9_-]{0,9}", fullmatch=True),
        max_size=2,
        unique_by=lambda tag: tag.partition("=")[0],
    ),
    subnet=st.just("s"),
    ssh_from=st.just("203.0.113.7/32"),
    no_public_address=st.just(True),
    jump=st.just("me@bastion"),
)
efforts = st.builds(Effort, seconds=seconds, file_bytes=memories)


@given(rental=rentals, effort=efforts, form=formats, flags=st.lists(st.booleans(), min_size=4, max_size=4))
@settings(max_examples=80, deadline=None)
def test_on_rented_machines(rental: RentalOptions, effort: Effort, form: InputFormat, flags: list[bool]) -> None:
    input = None if form == InputFormat() else "s3://b/in"
    rental = replace(rental, staging=bool(input))
    work = Work(
        data=None if input else "1TB",
        model="indy",
        instance=["i4i.*", "i8g.4xlarge"] if flags[0] else None,
        arch="arm64" if flags[0] else None,
        nodes=7 if flags[1] else None,
        skew=flags[1] and input is None,
        keep=flags[2],
        detach=flags[3],
        lend_credentials=flags[3],
        input=input,
        form=form,
    )
    asked = parsed(run_words(work, rental=rental, effort=effort), function="run_rented")
    assert same_work(work, asked.positional[0])
    assert (asked.positional[1], asked.named["effort"]) == (rental, effort)


@given(keep=st.booleans(), effort=efforts, form=formats, memory=memories)
@settings(max_examples=30, deadline=None)
def test_on_machines_that_are_there(keep: bool, effort: Effort, form: InputFormat, memory: int | None) -> None:
    input = None if form == InputFormat() else "s3://b/in"
    work = Work(
        data=None if input else "1TB",
        model="indy",
        memory_bytes=memory,
        input=input,
        form=form,
        keep=keep,
        lend_credentials=keep,
    )
    words = words_on("r1", work, effort=effort)
    module = "planner.cli.rent.run" if keep else "planner.cli.rent.cluster_run"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("planner.clusters.provisioning.run_directory.RunDirectory.open", lambda run: run)
        asked = parsed(words, module=module, function="run_on_machines")
    assert asked.positional[0] == "r1" and asked.positional[2] == effort
    assert same_work(work, asked.positional[1])


def test_a_command_that_a_person_would_have_written() -> None:
    assert run_words(Work(data="1GB", model="daytona")) == ("run", "--data", "1GB", "--model", "daytona")
