"""The command `planner compare`, on plans written by `plan`."""

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
"""These sums use the equations alone."""

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


def test_a_plan_of_another_version_is_called_that(plans: tuple[Path, Path]) -> None:
    document = json.loads(plans[1].read_text())
    plans[1].write_text(json.dumps(document | {"version": document["version"] - 1}))
    with pytest.raises(BadInputError, match="is of another version of the planner") as refused:
        CliRunner().invoke(build(), ["compare", *map(str, plans)], catch_exceptions=False)
    assert refused.value.code == "not-a-plan"
    assert "make it again with this planner" in refused.value.details[0]


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
    assert f"{plans[0]} is {kind}" in str(outcome.exception)


@pytest.mark.parametrize("text", ["", "{}", '{"request": 1}'])
def test_what_is_no_plan_is_named(plans: tuple[Path, Path], text: str) -> None:
    plans[0].write_text(text)
    outcome = CliRunner().invoke(build(), ["compare", *map(str, plans)])
    assert isinstance(outcome.exception, BadInputError)
    assert "once.json" in str(outcome.exception)


EMR = {
    "Cluster": {
        "Id": "j-1",
        "InstanceGroups": [
            {"InstanceGroupType": "MASTER", "InstanceType": "m5.xlarge", "RequestedInstanceCount": 1},
            {"InstanceGroupType": "CORE", "InstanceType": "i7i.8xlarge", "RequestedInstanceCount": 8},
        ],
    }
}


@pytest.fixture(scope="module")
def real_plan(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("plan") / "plan.json"
    path.write_text(recommend_by("3TB", instance="i8g.8xlarge,i7i.8xlarge").plan.to_json(), "utf-8")
    return path


def test_a_platforms_machines_are_set_beside_the_best_with_its_fee(real_plan: Path, tmp_path: Path) -> None:
    mine = tmp_path / "mine.json"
    mine.write_text(json.dumps(EMR), "utf-8")
    outcome = CliRunner().invoke(build(), ["compare", str(mine), str(real_plan), "--json"])
    document = json.loads(outcome.stdout)
    best = Plan.from_json(real_plan.read_text("utf-8")).best
    assert best is not None
    assert document["mine"]["cluster"] == "8 x i7i.8xlarge"
    assert document["best"]["machines_usd"] == best.cost_usd.total
    assert document["not_counted"] == ["1 x m5.xlarge (the master)"] and document["platform"]["name"] == "EMR"
    hours = best.nodes * best.whole_run_s / 3600
    rate = min(0.25 * best.price_usd_per_hour, 0.27)  # EMR's share of the price, and its ceiling
    assert document["best"]["fee_usd"] == pytest.approx(rate * hours)
    assert document["best"]["total_usd"] == pytest.approx(best.cost_usd.total + rate * hours)
    text = " ".join(CliRunner().invoke(build(), ["compare", str(mine), str(real_plan)]).stdout.split())
    assert "With EMR's fee" in text and "not counted: 1 x m5.xlarge (the master)" in text


def test_an_unknown_fee_is_unknown(real_plan: Path, tmp_path: Path) -> None:
    mine = tmp_path / "mine.json"
    mine.write_text(json.dumps({"spark_version": "1", "node_type_id": "i7i.8xlarge", "num_workers": 8}), "utf-8")
    made = CliRunner().invoke(build(), ["compare", str(mine), str(real_plan), "--json"])
    document = json.loads(made.stdout)
    assert document["mine"]["fee_usd"] is None and document["mine"]["at_least"]
    assert document["platform"]["name"] == "Databricks"


def test_too_few_of_ones_own_is_exit_3_with_how_many_would_do(real_plan: Path, tmp_path: Path) -> None:
    mine = tmp_path / "mine.json"
    mine.write_text(json.dumps({"spark_version": "1", "node_type_id": "i7i.large", "num_workers": 1}), "utf-8")
    made = CliRunner().invoke(build(), ["compare", str(mine), str(real_plan)])
    assert getattr(made.exception, "exit_code", None) == 3 and "of them would" in made.stdout


def test_prices_and_limits_of_ones_own_are_compared_in_words(tmp_path: Path) -> None:
    asked = {"instance": "i4i.4xlarge", "nodes": 4}
    own = {"own_price": {"i4i.4xlarge": 0.95}, "discount": "aws=15%", "capacity": {"i4i.*": 40}}
    for name, more in (("list", {}), ("own", own)):
        (tmp_path / name).write_text(recommend_by("1TB", **asked, **more).plan.to_json(), encoding="utf-8")  # type: ignore[arg-type]
    outcome = CliRunner().invoke(build(), ["compare", str(tmp_path / "list"), str(tmp_path / "own")])
    assert "i4i.4xlarge=0.95, aws=15% off" in outcome.stdout and "i4i.*=40" in outcome.stdout
    assert "(" not in outcome.stdout.partition("Answer")[0]
