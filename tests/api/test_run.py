"""`planner.run`: the same run as from the shell, but silent, and nothing is rented without a yes."""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import planner
from planner.api.generate import generate
from planner.api.rental_options import RentalOptions
from planner.api.run import input_of, run_here
from planner.api.run_job import Listeners, Work
from planner.cli.app import build
from planner.distributed_sort.dataset import object_store
from planner.errors import BadInputError, InfeasibleError
from planner.native import Progress
from planner.schemas.run_report import RunReport
from planner.sorting.sort_job import InputFormat


@pytest.mark.parametrize("asked", [(), ("run", "--data", "1MB")])
def test_its_report_holds_the_words_that_the_user_gave(asked: tuple[str, ...], tmp_path: Path) -> None:
    report = run_here(Work(data="1MB", model="indy", directory=tmp_path, asked=asked), listeners=Listeners())
    assert report is not None
    assert report.asked == asked == RunReport.from_json(report.to_json()).asked


def test_a_run_on_this_machine_says_nothing_and_compares(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    report = planner.run("1MB", model="indy", directory=tmp_path)
    assert report is not None and report.passed
    assert [check.records for check in report.checks] == [10_000]
    assert {phase.name for phase in report.phases} and all(phase.predicted_s > 0 for phase in report.phases)
    assert capfd.readouterr() == ("", "") and not list(tmp_path.iterdir())


def test_listeners_hear_what_the_shell_would_show(tmp_path: Path) -> None:
    messages: list[str] = []
    watched: list[str] = []

    @contextmanager
    def watch(name: str) -> Iterator[Any]:
        watched.append(name)
        yield Progress()

    run_here(Work(data="1MB", model="indy", directory=tmp_path), listeners=Listeners(say=messages.append, watch=watch))
    assert messages[0] == f"measuring this machine's disk in {tmp_path}" and messages[1].startswith(
        "planned for the sort of"
    )
    assert {"generate", "validate"} <= {name.split()[0] for name in watched}


def test_what_was_planned_is_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    answer = planner.recommend("2MB", model="indy", instance="i4i.large", nodes=1)
    report = planner.run(answer)
    assert report is not None and report.passed
    assert (report.plan.request.data_bytes, report.plan.request.model) == (2_000_000, "indy")
    assert report.asked == (), "no command asked for it"


def input_work(place: object, **form: Any) -> Work:
    return Work(data=None, model="indy", input=str(place), form=InputFormat(**form))


def generated(path: Path) -> Path:
    generate(path, records=1000)
    return path


@pytest.mark.parametrize("is_stored", [False, True])
def test_an_input_is_what_it_holds(tmp_path: Path, bucket: str, is_stored: bool) -> None:
    (tmp_path / "r").mkdir()
    (lines := tmp_path / "l").mkdir()
    records = generated(tmp_path / "r" / "a.dat")
    (lines / "a").write_bytes(b"9 bytes..\n" * 1000)
    (lines / "b").write_bytes(gzip.compress(b"9 bytes..\n" * 1000))
    for path in (records, lines / "a", lines / "b") if is_stored else ():
        object_store.write_file(f"{bucket}/{path.parent.name}/{path.name}", path)
    places = [f"{bucket}/r", f"{bucket}/l"] if is_stored else [records.parent, lines]
    found = [input_of(input_work(place), say=lambda text: None) for place in places]
    assert [work.form.format for work, _ in found] == ["records", "lines"]
    assert [source and source.layout.form for _, source in found] == ["records", "lines"]
    assert found[0][0].data == "100000B", "what is planned for"


@pytest.mark.parametrize("is_stored", [False, True])
@pytest.mark.parametrize("content", [bytes(range(200)), b"PAR1" * 50, b"no end " * 100])
def test_an_input_of_unknown_bytes_is_refused_by_its_name(
    tmp_path: Path, bucket: str, is_stored: bool, content: bytes
) -> None:
    (tmp_path / "in").mkdir()
    generated(tmp_path / "in" / "a.dat")
    (tmp_path / "in" / "b.dat").write_bytes(content)
    for path in (tmp_path / "in").iterdir() if is_stored else ():
        object_store.write_file(f"{bucket}/in/{path.name}", path)
    place = f"{bucket}/in" if is_stored else tmp_path / "in"
    with pytest.raises(BadInputError) as refused:
        input_of(input_work(place), say=lambda text: None)
    assert "b.dat" in "\n".join([refused.value.message, *refused.value.details])
    if len(content) % 100 == 0:
        _, source = input_of(input_work(place, format="records"), say=lambda text: None)
        assert source is not None and source.bytes == 100_000 + len(content)


def test_compressed_records_are_not_taken_as_they_are_stored(tmp_path: Path) -> None:
    packed = tmp_path / "a.dat.gz"
    packed.write_bytes(gzip.compress(generated(tmp_path / "a.dat").read_bytes(), mtime=0))
    packed.write_bytes(packed.read_bytes() + bytes(-packed.stat().st_size % 100))
    for form in ({}, {"format": "records"}):
        with pytest.raises(BadInputError, match=r"a\.dat\.gz"):
            input_of(input_work(packed, **form), say=lambda text: None)


def test_the_command_refuses_unknown_bytes_before_it_makes_nodes(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(bytes(range(100)))
    words = ["run", "--cloud", "emulated", "--input", str(tmp_path / "a"), "--model", "indy"]
    done = CliRunner().invoke(build(), words)
    assert isinstance(done.exception, BadInputError) and str(tmp_path / "a") in str(done.exception)


def test_a_plan_is_run_where_it_rents_its_machines(monkeypatch: pytest.MonkeyPatch) -> None:
    """The region of the cloud's own tool is for runs that have no place of their own."""
    monkeypatch.setenv("AWS_REGION", "eu-central-1")
    rented: list[RentalOptions] = []
    monkeypatch.setattr("planner.api.run.run_rented", lambda work, rental, **_: rented.append(rental))
    answer = planner.recommend("1TB", instance="i4i.4xlarge", nodes=8)
    for data, more in ((answer, {}), (answer.plan, {}), (answer, {"region": "eu-west-1"}), ("1TB", {})):
        planner.run(data, cloud="aws", confirm=True, **more)  # type: ignore[arg-type]
    assert [rental.regions for rental in rented] == [("us-east-1",), ("us-east-1",), ("eu-west-1",), ("eu-central-1",)]
    assert {rental.pricing for rental in rented} == {"on-demand"}


def test_a_refused_plan_is_not_run() -> None:
    with pytest.raises(InfeasibleError):
        planner.run(planner.recommend("1TB", deadline="1s"))


@pytest.mark.parametrize("data", ["1GB", "150B"])
def test_nothing_is_rented_without_a_confirmation(data: str) -> None:
    with pytest.raises(BadInputError, match="confirm=True"):
        planner.run(data, cloud="aws")
