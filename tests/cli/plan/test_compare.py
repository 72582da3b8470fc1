"""The command `planner compare`, on plans that `plan` wrote."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
from typer.testing import CliRunner

from planner import recommend as recommend_by
from planner.cli.app import build
from planner.errors import BadInputError
from planner.schemas.plan import Plan
from planner.schemas.run_report import RunReport

recommend = partial(recommend_by, engine="ideal")
"""The sums here are those of the equations alone."""

Make = Callable[..., str]


@pytest.fixture
def plans(tmp_path: Path, make_catalog: Make) -> tuple[Path, Path]:
    """A plan over ten nodes, and the same with the network and the disks twice as fast."""
    once = recommend(data="1TB", model="indy", catalogs=(make_catalog({"a": {"read": 2e9, "write": 1e9}}),), nodes=10)
    paths = tmp_path / "once.json", tmp_path / "twice.json"
    for path, answer in zip(paths, (once, once.what_if(network=2, local=2)), strict=True):
        path.write_text(answer.plan.to_json(), encoding="utf-8")
    return paths


def test_what_was_asked_and_what_it_changes(plans: tuple[Path, Path]) -> None:
    outcome = CliRunner().invoke(build(), ["compare", *map(str, plans)])
    assert outcome.exit_code == 0
    assert "10 x a (aws, indy)" in outcome.stdout
    assert "network=2, local=2" in outcome.stdout
    assert "local disks, local disks" in outcome.stdout


def test_json_has_both_figures(plans: tuple[Path, Path]) -> None:
    outcome = CliRunner().invoke(build(), ["compare", *map(str, plans), "--json"])
    document = json.loads(outcome.stdout)
    assert list(document["asked"]) == ["scale"]
    slow, fast = document["answer"]["time_s.expected"]
    assert fast == pytest.approx(slow / 2, rel=0.01)


def test_nothing_feasible_is_compared_too(plans: tuple[Path, Path], make_catalog: Make) -> None:
    catalog = make_catalog({"a": {"read": 1e9, "write": 1e9}})
    none = recommend(data="1TB", model="indy", catalogs=(catalog,), deadline=1.0).plan
    plans[1].write_text(replace(none).to_json(), encoding="utf-8")
    outcome = CliRunner().invoke(build(), ["compare", *map(str, plans)])
    assert "nothing feasible" in outcome.stdout


def test_the_plan_of_a_run_is_compared_and_that_is_said(plans: tuple[Path, Path]) -> None:
    report = RunReport(plan=Plan.from_json(plans[0].read_text()), machine={}, steps_s={}, phases=(), checks=())
    plans[0].write_text(report.to_json())
    outcome = CliRunner().invoke(build(), ["compare", *map(str, plans)])
    assert outcome.exit_code == 0 and "network=2, local=2" in outcome.stdout
    assert f"{plans[0]}: taken for a run report" in outcome.stderr


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ('{"Event":"SparkListenerLogStart"}\n', "an event log of Spark; read it with `planner explain-log`"),
        ("[]", "a JSON list"),
        ("<html>", "a page"),
        ("a,b\n1,2\n", "no plan and no run report"),
    ],
)
def test_another_file_is_named_for_what_it_is(plans: tuple[Path, Path], text: str, kind: str) -> None:
    plans[0].write_text(text)
    outcome = CliRunner().invoke(build(), ["compare", *map(str, plans)])
    assert isinstance(outcome.exception, BadInputError)
    assert f"{plans[0]} is {kind}" in outcome.exception.message


@pytest.mark.parametrize("text", ["", "{}", '{"request": 1}'])
def test_what_is_no_plan_is_named(plans: tuple[Path, Path], text: str) -> None:
    plans[0].write_text(text)
    outcome = CliRunner().invoke(build(), ["compare", *map(str, plans)])
    assert isinstance(outcome.exception, BadInputError)
    assert "once.json" in str(outcome.exception)
