"""Explanations of a prediction's miss, on phases with round figures."""

from __future__ import annotations

from dataclasses import replace

from approvals import Approve

from planner.report.run import resource_times, run_misses
from planner.schemas.plan import PhaseEstimate, ResourceUse
from planner.schemas.run_report import RunReport

PHASE = "map and shuffle"


def use(seconds: float) -> ResourceUse:
    return ResourceUse(bytes_per_node=1e9 * seconds, bytes_per_s=1e9, time_s=seconds, equation_s=seconds)


def misses(report: RunReport, *, measured_s: float, **shares: float) -> list[str]:
    return list(run_misses(of_one_phase(report, measured_s=measured_s, **shares)))


def of_one_phase(report: RunReport, *, measured_s: float, **shares: float) -> RunReport:
    """Return a report of one phase predicted at 100 s: 80 s of disks, 40 s of processors and 20 s of links."""
    resources = {"local_disks": use(80.0), "cpu": use(40.0), "network": use(20.0)}
    estimate = PhaseEstimate(name=PHASE, time_s=100.0, bottleneck="local_disks", resources=resources, equation_s=80.0)
    phase = replace(
        report.phases[0],
        name=PHASE,
        predicted_s=100.0,
        measured_s=measured_s,
        bottleneck="local_disks",
        utilisation=shares,
    )
    assert report.plan.best is not None
    plan = replace(report.plan, best=replace(report.plan.best, phases=(estimate,)))
    return replace(report, plan=plan, phases=(phase,))


def test_a_prediction_that_holds_needs_no_reason(run_report: RunReport) -> None:
    assert misses(run_report, measured_s=105.0, disks=0.8) == []


def test_a_busy_resource_with_more_work_than_planned_explains_a_slow_phase(
    run_report: RunReport, approve: Approve
) -> None:
    (told,) = misses(run_report, measured_s=200.0, disks=0.4, cpu=0.9)
    approve(told)
    assert "compression" in told


def test_planned_work_on_a_resource_that_waits_explains_a_slow_phase(run_report: RunReport, approve: Approve) -> None:
    approve(misses(run_report, measured_s=200.0, disks=0.4, cpu=0.2))


def test_less_work_of_the_planned_bottleneck_explains_a_quick_phase(run_report: RunReport) -> None:
    (told,) = misses(run_report, measured_s=50.0, disks=0.8, cpu=0.9)
    assert "disks worked 40 s, not 1 min 20 s; the page cache" in told


def test_without_samples_the_planned_bottleneck_says_what_it_reached(run_report: RunReport, approve: Approve) -> None:
    approve(misses(run_report, measured_s=200.0))


def test_processors_that_wait_have_no_rate(run_report: RunReport, approve: Approve) -> None:
    approve(misses(run_report, measured_s=200.0, cpu=0.19))


def test_predicted_and_measured_stand_apart_for_each_resource(run_report: RunReport) -> None:
    times = {t.resource: t for t in resource_times(of_one_phase(run_report, measured_s=200.0, disks=0.4, cpu=0.9))}
    assert (times["disks"].planned_s, times["disks"].measured_s) == (80.0, 80.0)
    assert (times["disks"].planned_bytes_per_s, times["disks"].measured_bytes_per_s) == (0.8e9, 0.4e9)
    assert (times["cpu"].planned_s, times["cpu"].measured_s, times["cpu"].planned_bytes_per_s) == (40.0, 180.0, None)
    assert times["network"].measured_s is None


def test_the_busiest_step_of_a_sort_on_one_machine_is_named(run_report: RunReport, approve: Approve) -> None:
    steps = [{"name": "gather", "threads": 2, "working_s": 392.0}, {"name": "write", "threads": 4, "working_s": 20.0}]
    sort = {"phases": [{"name": "gather and write", "seconds": 200.0, "bottleneck": "gather", "stages": steps}]}
    (told,) = run_misses(replace(of_one_phase(run_report, measured_s=200.0), sort=sort))
    approve(told)
