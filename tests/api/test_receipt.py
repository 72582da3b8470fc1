"""`planner.receipt`: advice, plans and runs from the files that commands write, paired and summed."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from refusals import refused
from spark_events import lines, moved, small_job
from typer.testing import CliRunner

import planner
from planner.cli.app import build
from planner.schemas.run_report import RunCost, RunReport

STORED = Path(__file__).parents[1] / "data" / "stored"
BEFORE, ADVISED = "m5.xlarge x 2", "m7g.2xlarge x 1"
DAY_1 = "2023-11-14"


def log(folder: Path, app: str, *, days: float, factor: float = 1.0, tasks: int = 80, name: str = "test") -> Path:
    """Write the log of a run: of 155 s, 8 GB read and 4 GB shuffled, with 80 tasks."""
    events = small_job(app, tasks=tasks)
    named = [{**event, "App Name": name} if "App Name" in event else event for event in events]
    path = folder / app
    path.write_bytes(lines(moved(named, days=days, factor=factor)))
    return path


def advise(log: Path, out: Path, *, ran_on: str = BEFORE) -> dict[str, Any]:
    words = ["plan-log", str(log), "--ran-on", ran_on, "--instance", "m5.*,m7g.*", "--out", str(out)]
    done = CliRunner().invoke(build(only="plan-log"), words)
    assert done.exit_code == 0, done.output
    return dict(json.loads(out.read_text()))


@pytest.fixture
def desk(tmp_path: Path) -> Path:
    """Return a folder with a run, and the advice made from it: to move to one m7g.2xlarge for less."""
    folder = tmp_path / "desk"
    folder.mkdir()
    advice = advise(log(folder, "app-1", days=0), folder / "advice.json")
    assert (advice["best"]["instance_type"], advice["best"]["nodes"]) == ("m7g.2xlarge", 1)
    return folder


def row_of(receipt: planner.Receipt, name: str) -> planner.ReceiptRow:
    (row,) = [row for row in receipt.rows if Path(row.file).name == name]
    return row


def test_a_move_that_was_made_is_measured_against_what_was_measured(desk: Path) -> None:
    log(desk, "app-2", days=7, factor=0.9)
    advice = json.loads((desk / "advice.json").read_text())
    receipt = planner.receipt(desk, ran_on=f"app-2={ADVISED}")
    row = row_of(receipt, "app-2")
    assert (row.advised, row.before, row.ran_on) == ("1 x m7g.2xlarge", "2 x m5.xlarge", "1 x m7g.2xlarge")
    best, logged = advice["best"], advice["logged"]
    assert (row.predicted_s, row.low_s, row.high_s) == (best["time_s"], best["time_low_s"], best["time_high_s"])
    assert row.measured_s == pytest.approx(139.5) and row.taken and row.inside
    assert row.before_usd == pytest.approx(logged["cost_usd"])
    assert row.measured_usd == pytest.approx(best["cost_usd"] / best["time_s"] * 139.5)
    assert row.saved_usd == pytest.approx(logged["cost_usd"] - row.measured_usd)
    assert row.regret_usd == 0.0 and row_of(receipt, "app-1").regret_usd == pytest.approx(row.saved_usd)
    month = receipt.month("2023-11")
    assert (month.advised, month.taken, month.runs, month.checked, month.inside) == (1, 1, 2, 1, 1)
    assert (month.inside_share, month.expected_share, month.moves, month.wrong) == (1.0, 0.9, 1, ())
    assert month.saved_usd == row.saved_usd and (month.regret_usd, month.regret) == (0.0, 1.0)
    assert (receipt.month("2024-01").runs, receipt.month("2024-01").saved_usd) == (0, None)


def test_a_run_far_outside_its_range_is_wrong_and_the_worst_comes_first(desk: Path) -> None:
    for app, factor in (("app-2", 1.5), ("app-3", 3.0), ("app-4", 0.1)):
        log(desk, app, days=7, factor=factor)
    receipt = planner.receipt([desk], ran_on=[f"{app}={ADVISED}" for app in ("app-2", "app-3", "app-4")])
    month = receipt.month()
    assert [Path(row.file).name for row in month.wrong] == ["app-4", "app-3", "app-2"]
    assert (month.checked, month.inside, month.inside_share) == (3, 0, 0.0)
    worst = row_of(receipt, "app-3")
    assert worst.saved_usd is not None and worst.saved_usd < 0
    cheapest = row_of(receipt, "app-4").measured_usd
    assert worst.best_usd == cheapest and worst.regret_usd == pytest.approx(worst.measured_usd - cheapest)


def test_a_run_on_another_cluster_is_compared_with_the_prediction_for_that_one(desk: Path) -> None:
    log(desk, "app-2", days=1)
    log(desk, "app-3", days=2)
    receipt = planner.receipt(desk, ran_on=[f"app-2={BEFORE}", "app-3=r7g.large x 11"])
    kept, strange = row_of(receipt, "app-2"), row_of(receipt, "app-3")
    assert (kept.taken, kept.inside, kept.saved_usd) == (False, True, None)
    assert kept.predicted_s == json.loads((desk / "advice.json").read_text())["logged"]["time_s"]
    assert "another cluster" in kept.reason
    assert (strange.predicted_s, strange.inside, strange.ran_on) == (None, None, "11 x r7g.large")
    assert "no prediction" in strange.reason and strange.measured_usd is not None
    assert receipt.month().taken == 0


def test_twice_the_data_is_paired_but_not_compared(desk: Path) -> None:
    log(desk, "app-2", days=1, tasks=160)
    row = row_of(planner.receipt(desk, ran_on=f"app-2={ADVISED}"), "app-2")
    assert row.advised and (row.predicted_s, row.inside, row.saved_usd, row.best_usd) == (None, None, None, None)
    assert "10% more or less" in row.reason


def test_an_unknown_machine_or_price_leaves_costs_unknown(desk: Path) -> None:
    log(desk, "app-2", days=1)
    row = row_of(planner.receipt(desk), "app-2")
    assert (row.ran_on, row.measured_usd, row.saved_usd, row.regret_usd) == ("", None, None, None)
    assert row.measured_s == pytest.approx(155) and "which machines" in row.reason
    advice = json.loads((desk / "advice.json").read_text())
    for choice in (*advice["choices"], *advice["curve"], advice["best"], advice["fastest"], advice["logged"]):
        choice["cost_usd"] = None
    (desk / "advice.json").write_text(json.dumps(advice))
    month = planner.receipt(desk, ran_on=f"app-2={ADVISED}").month()
    assert (month.checked, month.saved_usd, month.moves) == (1, None, 0)


def test_a_run_belongs_to_the_newest_advice_before_it_whatever_the_dates_of_files(desk: Path) -> None:
    advise(log(desk, "app-5", days=10, name="test"), desk / "second.json")
    log(desk, "app-2", days=5)
    log(desk, "app-6", days=15)
    receipt = planner.receipt(desk, ran_on=[f"app-2={ADVISED}", f"app-6={ADVISED}"])
    paired = {name: Path(row_of(receipt, name).advice).name for name in ("app-1", "app-2", "app-5", "app-6")}
    assert paired == {"app-1": "", "app-2": "advice.json", "app-5": "advice.json", "app-6": "second.json"}


def test_advice_on_a_run_without_a_start_is_earlier_than_no_run(desk: Path) -> None:
    log(desk, "app-2", days=7)
    advice = json.loads((desk / "advice.json").read_text())
    advice["run"]["started_at_s"] = None
    (desk / "advice.json").write_text(json.dumps(advice))
    receipt = planner.receipt(desk, ran_on=f"app-2={ADVISED}")
    run, row = row_of(receipt, "app-2"), row_of(receipt, "advice.json")
    assert (run.advice, run.reason) == ("", "no earlier advice on it; advice.json lacks the start of its run")
    assert (row.kind, row.reason) == ("advice", "it lacks the start of its run, so no run is later")


def test_advice_without_a_later_run_is_a_row(desk: Path, tmp_path: Path) -> None:
    log(desk, "app-2", days=1, name="something else")
    receipt = planner.receipt(desk, ran_on=f"app-2={ADVISED}")
    row = row_of(receipt, "advice.json")
    assert (row.kind, row.advised, row.ran_on, row.inside) == ("advice", "1 x m7g.2xlarge", "", None)
    assert (row_of(receipt, "app-2").advice, receipt.month().advised, receipt.month().taken) == ("", 1, 0)
    (desk / "a newer one.json").write_bytes((desk / "advice.json").read_bytes() + b" ")
    os.utime(desk / "advice.json", (1, 1))
    log(desk, "app-3", days=2)
    assert "newer advice" in row_of(planner.receipt(desk), "advice.json").reason


def test_a_copy_counts_once(desk: Path) -> None:
    (desk / "copy.json").write_bytes((desk / "advice.json").read_bytes())
    receipt = planner.receipt(desk)
    assert receipt.month().advised == 1
    assert [row.reason for row in receipt.rows if row.kind == "unused"] == ["another file has the same content"]


@pytest.mark.parametrize("changed", [{"nodes": 0}, {"time_s": 1e308}, {"cost_usd": -1.0}])
def test_advice_of_an_impossible_cluster_is_not_used(desk: Path, changed: dict[str, float]) -> None:
    advice = json.loads((desk / "advice.json").read_text())
    advice["best"] |= changed
    (desk / "advice.json").write_text(json.dumps(advice))
    assert "changed or damaged" in row_of(planner.receipt(desk), "advice.json").reason


def test_each_file_that_cannot_be_used_is_a_row_with_the_reason(desk: Path) -> None:
    whole = log(desk, "app-2", days=1).read_bytes()
    (desk / "copy-of-2").write_bytes(whole)
    (desk / "cut").write_bytes(lines(moved(small_job("app-7", tasks=80), days=3)[:40]))
    (desk / "notes.txt").write_text("buy milk\n")
    (desk / "noise").write_bytes(b"\0\1\2")
    (desk / "old.json").write_text(json.dumps({"version": 3, "app_id": "x", "seconds_by_bound": {}}))
    (desk / "broken.json").write_text('{"candidates": [')
    (desk / "journal.jsonl").write_text('{"at": "2026-11-01T12:00:00+00:00", "what": "order"}\n')
    receipt = planner.receipt(desk, ran_on=f"app-2={ADVISED}")
    unused = {Path(row.file).name: row.reason for row in receipt.rows if row.kind == "unused"}
    copy = ({"app-2", "copy-of-2"} & unused.keys()).pop()
    assert unused.keys() == {copy, "cut", "notes.txt", "noise", "old.json", "broken.json", "journal.jsonl"}
    assert all(unused.values()) and "the same run" in unused[copy] and "is missing" in unused["old.json"]
    assert receipt.month("2023-11").unused == 7


def test_a_run_report_is_beside_the_plan_it_holds(tmp_path: Path) -> None:
    local = RunReport.from_json((STORED / "run-report.json").read_text())
    rented = replace(local, first_plan=local.plan, cost=RunCost(node_hours=2.0, usd=3.0, predicted_usd=2.5))
    dear = replace(rented, cost=RunCost(node_hours=2.0, usd=4.0, predicted_usd=2.5))
    for name, report in {"local.json": local, "rented.json": rented, "dear.json": dear}.items():
        (tmp_path / name).write_text(report.to_json())
    wrong = replace(local, checks=tuple(replace(check, passed=False) for check in local.checks))
    (tmp_path / "wrong.json").write_text(wrong.to_json())
    receipt = planner.receipt(tmp_path)
    own, cheap, costly = (row_of(receipt, name) for name in ("local.json", "rented.json", "dear.json"))
    measured_s = sum(phase.measured_s for phase in local.phases)
    best = local.plan.best
    assert best is not None and (own.measured_s, own.predicted_s) == (measured_s, best.time_s.expected)
    assert (own.low_s, own.high_s, own.range_share) == (None, best.time_s.p95, 0.95)
    assert (own.measured_usd, own.taken, own.advice) == (None, False, "")
    assert (cheap.measured_usd, cheap.predicted_usd, cheap.regret_usd, cheap.taken) == (3.0, 2.5, 0.0, True)
    assert (costly.regret_usd, receipt.month().regret_usd) == (1.0, 1.0)
    assert receipt.month().regret == pytest.approx(7 / 6)
    assert "output is wrong" in row_of(receipt, "wrong.json").reason


def test_a_run_follows_the_plan_of_its_data_and_model(tmp_path: Path) -> None:
    report = RunReport.from_json((STORED / "run-report.json").read_text())
    (tmp_path / "plan.json").write_text(report.plan.to_json())
    assert row_of(planner.receipt(tmp_path), "plan.json").kind == "advice"
    (tmp_path / "run.json").write_text(report.to_json())
    receipt = planner.receipt(tmp_path)
    assert [Path(row.file).name for row in receipt.rows] == ["run.json"]
    assert receipt.rows[0].taken and Path(receipt.rows[0].advice).name == "plan.json"
    changed = json.loads(report.plan.to_json())
    changed["best"]["nodes"] += 1
    (tmp_path / "plan.json").write_text(json.dumps(changed))
    assert "changed or damaged" in row_of(planner.receipt(tmp_path), "plan.json").reason


def test_a_run_rented_on_another_cluster_than_planned_did_not_take_the_plan(tmp_path: Path) -> None:
    planned, other = (
        planner.recommend("1TB", model="indy", instance="i4i.8xlarge", nodes=nodes, cloud="aws").plan
        for nodes in (4, 6)
    )
    stored = RunReport.from_json((STORED / "run-report.json").read_text())
    cost = RunCost(node_hours=6.0, usd=9.0, predicted_usd=8.0)
    (tmp_path / "run.json").write_text(replace(stored, plan=other, first_plan=other, cost=cost).to_json())
    (tmp_path / "plan-4.json").write_text(planned.to_json())
    (tmp_path / "more.json").write_text(planner.recommend("2TB", model="indy", cloud="aws").plan.to_json())
    receipt = planner.receipt(tmp_path)
    row = row_of(receipt, "run.json")
    assert (row.advised, row.ran_on, row.taken) == ("4 x i4i.8xlarge", "6 x i4i.8xlarge", False)
    assert other.best is not None and row.predicted_s == other.best.time_s.expected
    assert row_of(receipt, "more.json").kind == "advice" and receipt.month().advised == 2
    (tmp_path / "plan-6.json").write_text(other.to_json())
    assert row_of(planner.receipt(tmp_path), "run.json").taken


def test_a_real_run_on_this_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    report = planner.run("1MB", model="indy", directory=tmp_path)
    (tmp_path / "run.json").write_text(report.to_json())
    row = row_of(planner.receipt("run.json"), "run.json")
    assert row.job == "sort of 1 MB, indy" and row.measured_s and row.predicted_s and row.inside is not None
    assert row.day == f"{datetime.now(UTC):%Y-%m-%d}"


def test_the_journal_of_a_rented_run_has_its_bill(tmp_path: Path) -> None:
    run = tmp_path / "r20261101-1200-bcdfgh"
    run.mkdir()
    stamps = [f"2026-11-01T{hour}:00:00+00:00" for hour in (12, 14)]
    events = [
        {"at": stamps[0], "what": "order", "expires_at": "20261101t200000z"},
        {"at": stamps[0], "what": "place", "node_usd_per_hour": 0.5},
        {"at": stamps[0], "what": "made", "kind": "instance", "id": "i-1"},
        {"at": stamps[1], "what": "ended", "nodes": []},
    ]
    (run / "journal.jsonl").write_text("".join(f"{json.dumps(event)}\n" for event in events))
    (row,) = planner.receipt(run).rows
    assert (row.day, row.measured_usd, row.measured_s, row.job) == ("2026-11-01", 1.0, None, f"rented run {run.name}")


@pytest.mark.parametrize("month", ["2026-13", "2026-1", "November", "", "2026-11-01", "2026-11\n"])
def test_what_is_no_month_is_refused(month: str) -> None:
    with refused("malformed", field="month"):
        planner.Receipt(rows=()).month(month)


def test_a_place_that_is_not_there_and_machines_in_other_words_are_refused(tmp_path: Path) -> None:
    with refused("no-such-file"):
        planner.receipt(tmp_path / "none")
    with refused("no-files"):
        planner.receipt(tmp_path)
    with refused("malformed", field="ran_on"):
        planner.receipt(tmp_path, ran_on="many machines")


amounts = st.none() | st.floats(0.01, 1e6)
rows = st.builds(
    planner.ReceiptRow,
    kind=st.sampled_from(["run", "advice", "unused"]),
    file=st.just("f"),
    reason=st.just("r"),
    day=st.sampled_from([DAY_1, "2023-12-01", "2023-12-31"]),
    advice=st.sampled_from(["a", "b"]),
    advised=st.sampled_from(["", "x", "y"]),
    before=st.sampled_from(["x", "z"]),
    ran_on=st.sampled_from(["", "x", "y"]),
    predicted_s=amounts,
    low_s=amounts,
    high_s=amounts,
    range_share=st.sampled_from([0.9, 0.95]),
    measured_s=amounts,
    measured_usd=amounts,
    before_usd=amounts,
    best_usd=amounts,
)


def total(rows: Sequence[planner.ReceiptRow], of: Callable[[planner.ReceiptRow], float | None]) -> float:
    return math.fsum(amount for row in rows if row.kind != "unused" and (amount := of(row)) is not None)


@given(made=st.lists(rows, max_size=12))
def test_months_are_sums_of_their_rows(made: list[planner.ReceiptRow]) -> None:
    receipt = planner.Receipt(rows=tuple(made))
    whole, months = receipt.month(), [receipt.month(each) for each in ("2023-11", "2023-12")]
    for name in ("runs", "checked", "inside", "moves"):
        assert getattr(whole, name) == sum(getattr(month, name) for month in months)
    assert whole.saved_usd is None or whole.saved_usd == pytest.approx(total(made, lambda row: row.saved_usd))
    assert (whole.saved_usd is None) == (whole.moves == 0)
    for month in (whole, *months):
        assert month.taken <= month.advised and month.inside + len(month.wrong) == month.checked
        assert month.inside_share is None or 0 <= month.inside_share <= 1
        assert month.expected_share is None or 0.9 <= month.expected_share <= 0.95 + 1e-12
    assert sum(month.saved_usd or 0.0 for month in months) == pytest.approx(whole.saved_usd or 0.0, abs=1e-6)
    assert len(receipt.to_frame()) == len(made)
