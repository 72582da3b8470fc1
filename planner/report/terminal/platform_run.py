"""A plan compared with its run on a platform: predicted and measured in separate columns."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from planner.errors import BadInputError
from planner.schemas.plan import Candidate, Plan
from planner.schemas.platform_runs import PlatformRun
from planner.units import format_duration


def run_json(run: PlatformRun, plan: Plan, best: Candidate) -> dict[str, Any]:
    """Return the predicted and measured times in seconds, None if unknown, and machines."""
    machines = run.machines
    return {
        "platform": run.platform,
        "job": run.job,
        "engine": plan.request.engine,
        "time_s": {name: {"predicted": a, "measured": b} for name, a, b in _times(run, best)},
        "machines": {
            "planned": {"nodes": best.nodes, "instance_type": best.cloud_type},
            "ran_on": machines and {"nodes": machines.nodes, "instance_type": machines.instance_type},
        },
        "within_95": None if run.job_s is None else run.job_s <= best.time_s.p95,
    }


def _times(run: PlatformRun, best: Candidate) -> Iterator[tuple[str, float | None, float | None]]:
    yield "job", best.time_s.expected, run.job_s
    yield "job, 95 of 100 runs", best.time_s.p95, None
    planned_s = [best.overheads_s[name] for name in ("boot", "install") if name in best.overheads_s]
    yield "boot and install", sum(planned_s) if planned_s else None, run.boot_s


def run_text(run: PlatformRun, plan: Plan, best: Candidate) -> str:
    """Return the table, and below it the differences between the two sides."""
    lines = [
        f"{run.job or 'the job'} on {run.platform}, planned for the engine {plan.request.engine}:",
        f"  {'':<20} {'predicted':>14} {'measured':>14} {'of measured':>12}",
    ]
    for name, predicted, measured in _times(run, best):
        share = f"{predicted / measured:.0%}" if predicted and measured else ""
        lines.append(f"  {name:<20} {_shown(predicted):>14} {_shown(measured):>14} {share:>12}")
    return "\n".join([*lines, *_notes(run, plan, best)])


def _shown(seconds: float | None) -> str:
    return "-" if seconds is None else format_duration(seconds)


def _notes(run: PlatformRun, plan: Plan, best: Candidate) -> Iterator[str]:
    if plan.request.engine != "spark":
        yield f"The job ran on Spark; the plan is of the engine {plan.request.engine}: plan with --engine spark."
    if run.machines is None:
        yield "No file names the machines: add the description of the cluster."
    elif (run.machines.nodes, run.machines.instance_type) != (best.nodes, best.cloud_type):
        ran, planned = f"{run.machines.nodes} x {run.machines.instance_type}", f"{best.nodes} x {best.cloud_type}"
        yield f"It ran on {ran}, and the plan is of {planned}: the times are of two clusters."


def calibration_csv(run: PlatformRun, plan: Plan) -> str:
    """Return the run as `planner calibrate` reads it: a heading and a row. Raises BadInputError if no file names the
    machines.
    """
    if run.machines is None or run.job_s is None:
        raise BadInputError("--runs: no file names the machines; add the cluster's to --from-platform")
    row = (run.machines.instance_type, run.machines.nodes, plan.request.data_bytes / 1e9, round(run.job_s, 3))
    return "instance_type,nodes,data_gb,runtime_s\n" + ",".join(map(str, row)) + "\n"
