"""A run in the terminal: the plan, the measurements, and the events of the run."""

from __future__ import annotations

from dataclasses import replace

from approvals import Approve
from rich.console import Console

from planner.report.run import render_run
from planner.schemas.run_report import RunReport


def shown(report: RunReport) -> str:
    machine = report.machine | {"write_bytes_per_s": 1e9, "repeats": 5, "sample_bytes": 1000}
    console = Console(width=160, record=True)
    console.print(*render_run(replace(report, machine=machine)), sep="\n")
    return console.export_text()


def test_the_busiest_resource_stands_beside_the_planned_one(run_report: RunReport) -> None:
    first, second = run_report.phases
    first = replace(first, measured_bottleneck="cpu", utilisation={"network": 0.71, "cpu": 0.93})
    text = shown(replace(run_report, phases=(first, second)))
    assert "cpu 93%, network 71%" in text
    assert "local disks" in text


def test_what_happened_is_told(run_report: RunReport) -> None:
    timeline = [{"phase": "sample", "start_s": 0.0, "end_s": 1.5}]
    sort = {"timeline": timeline, "lost_nodes": ["node-2"], "slow_nodes": {"node-3": "at 10% of the median, left out"}}
    text = shown(replace(run_report, sort=sort))
    assert "Timeline: sample 0.0-1.5 s" in text
    assert "Lost meanwhile: node-2" in text
    assert "Slow: node-3, at 10% of the median, left out" in text


def test_a_run_that_nobody_watched_says_nothing(run_report: RunReport) -> None:
    text = shown(run_report)
    assert "Timeline" not in text
    assert "Slow" not in text


def test_one_of_a_kind_is_singular(run_report: RunReport) -> None:
    check = replace(run_report.checks[0], records=1, unit="rows", duplicates=1)
    assert "1 row, sorted, 1 duplicate key, checksum" in shown(replace(run_report, checks=(check,)))


def test_the_command_of_this_very_run_is_printed(run_report: RunReport, approve: Approve) -> None:
    words = ("run", "--cloud", "emulated", "--data", "1GB", "--model", "indy", "--key", "a b")
    approve(shown(replace(run_report, asked=words)))
    assert "again" not in shown(run_report)
