"""JSON of this and earlier versions is read; JSON of a later version is refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from planner.errors import BadInputError
from planner.schemas.json_values import VERSION
from planner.schemas.plan import Plan
from planner.schemas.run_report import RunReport

STORED = Path(__file__).resolve().parents[1] / "data" / "stored"
"""A plan and a run report of versions 1 and 2, as the planner of that time wrote them on a small catalog."""


def stored(name: str) -> str:
    return (STORED / f"{name}.json").read_text(encoding="utf-8")


@pytest.mark.parametrize("version", [1, 2])
def test_plans_of_earlier_versions_are_read_and_stored_anew(version: int) -> None:
    plan = Plan.from_json(stored(f"plan-{version}"))
    best = plan.best
    assert best is not None
    assert (best.instance_type, best.nodes) == {1: ("i2.8xlarge", 1), 2: ("m1.xlarge", 25)}[version]
    assert all(rejection.reason and rejection.instance_type for rejection in plan.rejected)
    assert len(plan.rejected) == 3
    assert Plan.from_json(plan.to_json()) == plan


@pytest.mark.parametrize("version", [1, 2])
def test_run_reports_of_earlier_versions_are_read_and_stored_anew(version: int) -> None:
    report = RunReport.from_json(stored(f"run-report-{version}"))
    assert report.passed
    assert [check.records for check in report.checks] == [200_000, 200_000]
    assert RunReport.from_json(report.to_json()) == report


@pytest.mark.parametrize("read", [Plan.from_json, RunReport.from_json])
def test_a_later_version_is_refused_in_a_sentence(read: object) -> None:
    with pytest.raises(BadInputError, match=rf"its version is {VERSION + 1}.*\n  upgrade the planner"):
        read(json.dumps({"version": VERSION + 1}))  # type: ignore[operator]


@pytest.mark.parametrize("version", ["3", True, 0, 2.5, None])
def test_a_version_is_a_whole_number(version: object) -> None:
    with pytest.raises(BadInputError, match=r"plan\.version: expected a whole number"):
        Plan.from_json(json.dumps({"version": version}))


def test_unknown_fields_are_ignored_at_every_depth() -> None:
    document = json.loads(Plan.from_json(stored("plan-2")).to_json())
    known = json.dumps(document)
    document["later"] = {"any": "thing"}
    document["best"]["later"] = document["best"]["time_s"]["later"] = document["rejected"][0]["later"] = 1
    assert Plan.from_json(json.dumps(document)) == Plan.from_json(known)


@pytest.mark.parametrize("text", ["[]", "1", "null", "{", ""])
def test_what_is_no_object_is_refused(text: str) -> None:
    with pytest.raises(BadInputError, match=r"^plan(: expected an object| is not JSON)"):
        Plan.from_json(text)
