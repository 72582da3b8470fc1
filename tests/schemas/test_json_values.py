"""JSON of this version is read and written; other versions are refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from planner.errors import BadInputError
from planner.schemas.json_values import VERSION
from planner.schemas.plan import Plan
from planner.schemas.run_report import RunReport

STORED = Path(__file__).resolve().parents[1] / "data" / "stored"


def stored(name: str) -> str:
    return (STORED / f"{name}.json").read_text(encoding="utf-8")


def test_plans_and_run_reports_are_read_and_stored_anew() -> None:
    plan, report = Plan.from_json(stored("plan-1")), RunReport.from_json(stored("run-report"))
    assert report.passed and [check.records for check in report.checks] == [200_000, 200_000]
    assert Plan.from_json(plan.to_json()) == plan and RunReport.from_json(report.to_json()) == report


@pytest.mark.parametrize("version", [None, 0, 1, 2, VERSION + 1, 10, "3", True, 3.0])
@pytest.mark.parametrize(("read", "name"), [(Plan.from_json, "plan-1"), (RunReport.from_json, "run-report")])
def test_another_version_is_refused_with_what_to_do(read: Any, name: str, version: object) -> None:
    advice = "upgrade the planner" if version in (VERSION + 1, 10) else "make it again"
    for document in (json.loads(stored(name)) | {"version": version}, {"version": version}):
        with pytest.raises(BadInputError, match=rf"version.*\n  {advice}"):
            read(json.dumps(document))


def test_a_plan_from_before_versions_were_stated_is_refused_by_what_it_lacks() -> None:
    document = json.loads(stored("plan-1"))
    del document["version"], document["best"]["machine"]
    with pytest.raises(BadInputError, match=r"make it again.*\n  plan\.best\.machine is missing"):
        Plan.from_json(json.dumps(document))


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


def test_all_errors_of_a_file_come_at_once_with_their_fields() -> None:
    document = json.loads(stored("plan-1"))
    document["best"]["nodes"], document["best"]["bill"][0]["usd"] = "8", float("inf")
    document["candidates"][0]["cost_usd"] = []
    with pytest.raises(BadInputError) as caught:
        Plan.from_json(json.dumps(document))
    assert caught.value.field == "plan.best.nodes" and caught.value.code == "wrong-type"
    named = [line.split(":")[0] for line in caught.value.details]
    assert sorted(named) == ["plan.best.bill[0].usd", "plan.best.nodes", "plan.candidates[0].cost_usd"]
