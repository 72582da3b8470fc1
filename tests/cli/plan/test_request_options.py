"""The options of `plan` and the parameters of `recommend` are the fields of `Request`, with its defaults."""

from __future__ import annotations

import inspect
from dataclasses import MISSING, fields
from typing import Any, get_args

import pytest
import typer.main
from refusals import refused
from typer.testing import CliRunner

import planner
from planner import recommend
from planner.cli.app import build
from planner.cli.plan.request_options import PANELS, RequestOptions
from planner.cli.shell.failures import name_options
from planner.errors import BadInputError
from planner.schemas.arguments import words_of
from planner.schemas.plan import Objective, Request
from planner.schemas.request import options

OPTIONS = RequestOptions.__signature__.parameters

BY_DEFAULT = RequestOptions(data="1TB", model="indy", catalog=["aws"])


def test_every_option_of_a_request_is_an_option_of_plan_under_a_heading() -> None:
    parameters = {parameter.name: parameter for parameter in commands()["plan"].params}
    assert OPTIONS.keys() == options().keys() - {"most_data"} | {"profile", "option"}
    for name, (_, option) in options().items():
        if name == "most_data":
            continue  # the question of a command of its own
        assert (parameters[name].help, parameters[name].rich_help_panel) == (
            option.help,
            option.place.rpartition(" ")[0],
        )


@pytest.mark.parametrize("heading", PANELS)
def test_no_two_options_are_at_one_place(heading: str) -> None:
    places = [option.place.rpartition(" ") for _, option in options().values()]
    numbers = sorted(int(number) for place, _, number in places if place == heading)
    assert numbers == [*range(1, len(numbers) + 1)]


DIFFERENT = {
    ("run", "data"): "sorts one size: `plan` takes several",
    ("cluster up", "data"): "rents for one size",
    ("scale", "data"): "counts nodes of one size",
    ("run", "model"): "sorts by one model: `all` would be several sorts",
    ("cluster up", "model"): "rents for one model",
    ("scale", "model"): "counts nodes of one model",
    ("run", "format"): "says with keys how the files are read; a plan only what they cost to read",
    ("run", "cloud"): "is where it happens: one cloud, emulated nodes, or this machine",
    ("cluster up", "cloud"): "is where it happens: one cloud",
    ("run", "region"): "regions are tried in their order until one has room; `plan` compares their prices",
    ("cluster up", "region"): "as in run",
    ("run", "pricing"): "the option says what renting them means",
    ("cluster up", "pricing"): "as in run",
    ("run", "input"): "emulated nodes also reach paths of this machine",
    ("run", "output"): "as its input",
    ("run", "profile"): "the same profiles: a plan is made with one, a run adds itself to one",
    ("run", "json"): "prints a report",
    ("run", "out"): "writes a report",
    ("scale", "json"): "prints a comparison",
    ("cluster up", "json"): "prints a cluster",
}
"""Options of other commands that share a name with one of `plan` but deliberately differ, with the reason."""

SAID = {
    "data": "10,000GB", "model": "indy", "cloud": "aws,gcp", "catalog": "aws-2014", "region": "us-east-1, us-west-2",
    "instance": "i4i.*,i3.*", "exclude": "i3.large", "arch": "arm64", "min_memory": "64GiB",
    "max_vcpus": "1e4", "nodes": "1,000", "max_nodes": "2e3", "capacity": "i4i.*=1e3", "head_room": "10%",
    "deadline": "1h 30m", "sort_deadline": "90s",
    "confidence": "95%", "budget": "10,000", "objective": "cost", "evidence": "spec", "pricing": "spot",
    "interruptions": "0.05", "assume": "network=800MB/s,price=1.65", "what_if": "network=1.5,cpu=200%",
    "network_distribution": "A", "network": "ideal", "input": "s3://a/b", "output": "s3://a/c", "prefixes": "40",
    "zones": "2",
    "discount": "15%", "own_price": "i4i.4xlarge=0.95", "map_ratio": "50%", "reduce_ratio": "1e-1",
    "input_region": "eu-west-1", "output_region": "us-east-1", "format": "parquet", "compression": "zstd=2.5",
    "files": "5e2", "unknown": "assume", "compute": "50MB/s", "engine": "ideal", "top": "1_000",
}  # fmt: skip
"""Every option of `plan` that takes a value, with a value as people write it."""


def commands() -> dict[str, Any]:
    group: Any = typer.main.get_command(build())
    return {name: group.commands[name] for name in ("plan", "run", "scale")} | {
        "cluster up": group.commands["cluster"].commands["up"]
    }


def test_an_option_of_plan_is_the_same_in_other_commands() -> None:
    def of(parameter: Any) -> tuple[Any, ...]:
        return (parameter.help, parameter.opts, parameter.default, parameter.show_default, parameter.required,
                parameter.multiple, parameter.metavar)  # fmt: skip

    every = {name: {p.name: of(p) for p in command.params if p.name != "set"} for name, command in commands().items()}
    plan = every.pop("plan")
    unlike = {(name, o) for name, options in every.items() for o in options if o in plan and options[o] != plan[o]}
    assert unlike == DIFFERENT.keys()
    assert {"data", "model", "nodes", "instance", "input", "output"} <= every["run"].keys()
    assert {"data", "model", "cloud", "catalog", "region", "max_nodes"} <= every["scale"].keys()


@pytest.mark.parametrize("option", SAID)
def test_an_option_says_the_same_on_the_command_line_and_in_python(
    option: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Request] = []
    words = ["--data", "1TB"] if option != "data" else []
    monkeypatch.setattr("planner.api.recommend.answer", _kept(asked))
    CliRunner().invoke(build(), ["plan", *words, *words_of(option, SAID[option])])
    with pytest.raises(BadInputError, match="far enough"):
        planner.recommend(**({"data": "1TB"} | {option: SAID[option]}))  # type: ignore[arg-type]
    assert len(asked) == 2 and asked[0] == asked[1] != Request(data_bytes=10**12)


def _kept(asked: list[Request]) -> Any:
    def answer(request: Request, **_: Any) -> None:
        asked.append(request)
        raise BadInputError("far enough")

    return answer


def test_every_option_with_a_value_is_among_those_that_people_write() -> None:
    flags = {"previous_generations", "paper"}
    assert SAID.keys() | flags | {"profile", "option"} == OPTIONS.keys()


@pytest.mark.parametrize(
    ("option", "wrong", "called"),
    [
        ("data", "100", ("plan", "run", "scale i4i", "cluster up")),
        ("data", "9e30TB", ("plan", "run", "scale i4i", "cluster up")),
        ("nodes", "0", ("plan", "run --cloud aws", "cluster up")),
        ("nodes", "200000", ("plan", "run --cloud aws", "cluster up")),
        ("max_nodes", "0", ("plan", "scale i4i")),
        ("model", "dayton", ("plan", "run", "scale i4i", "cluster up")),
        ("catalog", "awss", ("plan", "scale i4i")),
        ("region", "mars-1", ("plan", "scale i4i", "cluster up")),
        ("instance", "i4i.4xlrge", ("plan", "cluster up")),
    ],
)
def test_what_is_wrong_is_refused_in_the_same_words(option: str, wrong: str, called: tuple[str, ...]) -> None:
    words = [f"--{option.replace('_', '-')}", wrong, *(["--data", "1TB"] if option != "data" else [])]
    outcomes = [CliRunner().invoke(build(), [*command.split(), *words]) for command in called]
    with pytest.raises(BadInputError) as refusal:
        planner.recommend(**({"data": "1TB"} | {option: wrong}))  # type: ignore[arg-type]
    name_options(refusal.value)
    assert [str(outcome.exception) for outcome in outcomes] == [str(refusal.value)] * len(called)


def test_options_left_out_leave_the_defaults() -> None:
    request = BY_DEFAULT.request()
    for field in fields(Request):
        plain = field.default_factory() if field.default_factory is not MISSING else field.default
        if field.name not in ("data_bytes", "model", "own_prices", "node_limits"):
            assert getattr(request, field.name) == plain, field.name


def test_recommend_takes_every_option_and_every_field() -> None:
    parameters = inspect.signature(recommend).parameters
    assert OPTIONS.keys() | {field.name for field in fields(Request)} - {"data_bytes"} <= parameters.keys()
    for field in fields(Request):
        if field.name in parameters and field.default is not MISSING:
            assert parameters[field.name].default == field.default


def test_every_objective_is_an_option() -> None:
    for word in get_args(Objective):
        assert RequestOptions(data="1TB", model="indy", objective=word).request().objective == word
    with refused("unknown-word", "balanced", "mean time", field="--objective"):
        RequestOptions(data="1TB", model="indy", objective="tim").request()


def test_an_unknown_cloud_is_called_one() -> None:
    with pytest.raises(BadInputError, match=r"unknown cloud 'alibaba'\. Known: aws, azure, gcp, oci\.$"):
        RequestOptions(data="1TB", cloud=["aws,alibaba"]).request()
    with refused("unknown-name", "'amazon'", "aws", field="cloud"):
        RequestOptions(data="1TB", cloud=["amazon"]).request()
    assert RequestOptions(data="1TB", cloud=["aws-2014,all"]).request().catalogs[0] == "aws-2014"
