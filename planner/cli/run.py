"""`planner run`: plan, provision, sort, validate and tear down; without a cloud, all of it on this machine."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Option

from planner.cli.console import show, show_text, talk
from planner.cli.files import write_whole
from planner.cli.progress import watched
from planner.errors import ValidationFailedError
from planner.units import parse_size

if TYPE_CHECKING:
    from planner.run_report import RunReport


def run(
    *,
    data: Annotated[str, Option(help="How much to sort: 1GB.")],
    model: Annotated[str, Option(help="Cost model: a name that `planner models` lists, or a TOML file.")],
    directory: Annotated[
        Path, Option("--dir", help="The disk to work on; everything written there is removed.")
    ] = Path(),
    memory: Annotated[
        str | None, Option(help="Memory for the sort: 2GB. Four fifths of what is free otherwise.")
    ] = None,
    threads: Annotated[int | None, Option(help="Threads; all cores otherwise.")] = None,
    profile: Annotated[str | None, Option(help="Calibrated profile to learn from this run; begun if new.")] = None,
    json: Annotated[bool, Option("--json", help="Print the report as one JSON object.")] = False,
    out: Annotated[
        Path | None, Option(help="Also write the report as JSON to this file; `planner report` reads it.")
    ] = None,
) -> None:
    """Measure this machine's disk, plan for it, generate data, sort, validate, and set the plan beside what happened.

    Ends with exit code 5 when the sorted data is not the data that went in.

    Example: planner run --data 1GB --model daytona
    """
    from planner.cluster.local_run import LocalRun, run_local

    wanted = LocalRun(
        data_bytes=parse_size(data),
        model=model,
        directory=directory,
        memory_bytes=None if memory is None else parse_size(memory),
        threads=threads,
    )
    report = run_local(wanted, say=talk, watch=_watch)
    if out:
        write_whole(out, report.to_json() + "\n", option="--out")
    if json:
        show_text(report.to_json())
    else:
        from planner.report.run_table import render_run

        show(render_run(report))
    _require_valid(report)
    if profile:
        _feed(profile, report)


def _watch(name: str) -> Any:
    return watched([name, f"{name}, second phase"])


def _feed(profile: str, report: RunReport) -> None:
    """Add the run, which has passed, to a profile. Its machine is described by what was measured of it."""
    from planner.profiles import add_run

    best, seen = report.plan.best, report.machine
    if best is None:
        return
    run = {
        "instance_type": best.instance_type,
        "nodes": best.nodes,
        "data_gb": report.plan.request.data_bytes / 1e9,
        "runtime_s": sum(phase.measured_s for phase in report.phases),
    }
    machine = {
        "vcpu": seen["vcpu"],
        "mem_gib": seen["memory_bytes"] / 2**30,
        "nvme_r_MBps": seen["read_bytes_per_s"] / 1e6,
        "nvme_w_MBps": seen["write_bytes_per_s"] / 1e6,
    }
    learned = add_run(profile, run, instances={best.instance_type: machine}, model="native")
    talk(f"profile {profile} now knows {len(learned.runs)} runs")


def _require_valid(report: RunReport) -> None:
    if not report.passed:
        bad = ", ".join(check.path for check in report.checks if not check.passed)
        raise ValidationFailedError(f"{bad}: not sorted, or not the data that went in; see the report")
