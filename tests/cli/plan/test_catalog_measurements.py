"""`planner catalog measurements`: ingested data is listed, named by the plan that uses it, and withdrawn."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from approvals import Approve
from command_line import call
from refusals import refused

from planner import recommend
from planner.errors import BadInputError
from planner.report.terminal.reasons import reasons

FIO = Path(__file__).resolve().parents[2] / "measurement" / "ingest" / "data" / "fio_read.json"


@pytest.fixture(autouse=True)
def directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PLANNER_MEASUREMENTS", str(tmp_path / "mine"))


def test_own_measurements_are_listed_named_and_forgotten(approve: Approve) -> None:
    approve(call("catalog", "measurements"))
    call("ingest", str(FIO), "--type", "i4i.4xlarge", "--where", "us-east-1a")
    (row,) = json.loads(call("catalog", "measurements", "--json"))["measurements"]
    assert (row["instance_type"], row["quantity"], row["zone"]) == ("i4i.4xlarge", "read_only", "us-east-1a")
    assert "i4i.4xlarge" in call("catalog", "measurements")

    answer = recommend("1TB", instance="i4i.4xlarge", nodes=4)
    sentence = f"your own measurements of i4i.4xlarge count: disks read only ({row['as_of']})"
    assert any(note.startswith(sentence) for note in answer.plan.warnings)
    assert sentence[1:] in " ".join(reasons(answer.plan, answer.contrast()))
    other = recommend("1TB", instance="i4i.8xlarge", nodes=4)
    assert not any("your own" in note for note in other.plan.warnings)
    beaten = "your own measurements of i4i.4xlarge count, but i4i.8xlarge is better; planner why-not i4i.4xlarge"
    both = recommend("10TB", instance="i4i.4xlarge,i4i.8xlarge", nodes=10, objective="time")
    assert any(note.startswith(beaten) for note in both.plan.warnings)

    with refused("no-such-measurement", "'i3*'", "i4i.4xlarge from fio_read.json"):
        call("catalog", "measurements", "--forget", "i3*")
    call("catalog", "measurements", "--forget", "i4i.*")
    assert json.loads(call("catalog", "measurements", "--json"))["measurements"] == []
    assert not any("your own" in note for note in recommend("1TB", instance="i4i.4xlarge", nodes=4).plan.warnings)


def test_all_that_ingest_needs_is_said_at_once(tmp_path: Path) -> None:
    two = json.loads(FIO.read_text())
    two["jobs"] = [{**two["jobs"][0], "jobname": "a", "groupid": 0, "error": 1}]
    (tmp_path / "failed.json").write_text(json.dumps(two))
    with pytest.raises(BadInputError, match="fio reports errors") as refusal:
        call("ingest", str(tmp_path / "failed.json"), "--type", "i4i.4xlarge")
    assert refusal.value.details == ("zone: give --where",)
    with pytest.raises(BadInputError, match="does not say") as refusal:
        call("ingest", str(FIO))
    assert refusal.value.details == ("instance_type: give --type", "zone: give --where")


def test_a_machine_that_no_catalog_has_is_told_how_to_get_into_one() -> None:
    with refused("other-catalog", "planner catalog new DIRECTORY"):
        call("ingest", str(FIO), "--type", "mybox", "--where", "home")
