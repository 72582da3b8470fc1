"""`planner report`: a run or a plan stored as JSON, shown for people."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Argument, Option

from planner.api.files import require_new
from planner.cli.shell.console import show, show_json, show_text
from planner.cli.shell.files import Force, parse_plan_or_report, read_plan, write_atomically
from planner.config.user_files import read_user_file
from planner.errors import BadInputError

if TYPE_CHECKING:
    from planner.schemas.plan import Plan
    from planner.schemas.run_report import RunReport
    from planner.simulation.result import Simulation


def report(
    file: Annotated[Path, Argument(help="What `planner run --out` or `plan --out` wrote.")],
    *,
    html: Annotated[
        Path | None, Option(dir_okay=False, help="Write a page to this file; it opens without a network.")
    ] = None,
    from_platform: Annotated[
        list[Path] | None,
        Option(help="How the plan's job ran: what EMR, Dataproc or Databricks prints of job and cluster, a file each."),
    ] = None,
    runs: Annotated[
        Path | None, Option(dir_okay=False, help="Write that run to this CSV, for `planner calibrate`.")
    ] = None,
    wide: Annotated[bool, Option("--wide", help="Of a plan: all candidates, phases, frontier, notes.")] = False,
    force: Force = False,
    json: Annotated[bool, Option("--json", help="Print it as one JSON object, checked.")] = False,
) -> None:
    """Show a kept run or plan again: in the terminal, or as one self-contained HTML page.

    Example: planner report run.json --html run.html
    """
    require_new([html, runs], force=force)
    if from_platform:
        if html or wide:
            raise BadInputError(
                "--html and --wide show a plan alone: not with --from-platform, leave them out", code="contradiction"
            )
        _show_platform_run(file, from_platform, runs=runs, as_json=json)
        return
    if runs:
        raise BadInputError("--runs writes the run of --from-platform FILE: give it, too", code="missing-companion")
    stored, simulation = _read(file)
    if html:
        write_atomically(html, _page(stored), option="--html")
    if json:
        show_text(_json(stored, simulation))
    elif not html:
        _show(stored, simulation, wide=wide)


def _read(path: Path) -> tuple[RunReport | Plan, Simulation | None]:
    from planner.schemas.plan import Plan

    text = read_user_file(path)
    stored = parse_plan_or_report(path, text)
    try:
        return stored, _simulation(text) if isinstance(stored, Plan) else None
    except BadInputError as error:
        raise BadInputError(f"{path}: {error}", code="not-a-plan") from error


def _show_platform_run(file: Path, described: Sequence[Path], *, runs: Path | None, as_json: bool) -> None:
    """Show a plan next to its run, and write the run for `planner calibrate`."""
    from planner.planning.recommendation import require_best
    from planner.report.terminal.plan_comparison import calibration_csv, run_json, run_text
    from planner.schemas.platform_runs import read_platform_run

    plan = read_plan(file)
    best = require_best(plan)
    run = read_platform_run({str(path): read_user_file(path) for path in described})
    row = calibration_csv(run, plan) if runs else ""
    if as_json:
        show_json(run_json(run, plan, best))
    else:
        show_text(run_text(run, plan, best))
    if runs:
        write_atomically(runs, row, option="--runs")


def _json(stored: RunReport | Plan, simulation: Simulation | None) -> str:
    from planner.cli.plan.type_questions import plan_json
    from planner.schemas.plan import Plan

    return (
        plan_json(stored, simulation=simulation.to_dict())
        if simulation and isinstance(stored, Plan)
        else stored.to_json()
    )


def _simulation(text: str) -> Simulation | None:
    if '"simulation"' not in text:
        return None
    from planner.simulation.result import Simulation

    return Simulation.from_plan_json(text)


def _page(stored: RunReport | Plan) -> str:
    from planner.api.recommend import Recommendation
    from planner.cli.shell.pages import plan_html, run_html
    from planner.schemas.run_report import RunReport

    return run_html(stored) if isinstance(stored, RunReport) else plan_html(Recommendation(stored))


def _show(stored: RunReport | Plan, simulation: Simulation | None, *, wide: bool) -> None:
    from planner.api.recommend import Recommendation
    from planner.cli.plan.plan_output import show_answer
    from planner.planning.recommendation import require_best
    from planner.report.run import render_run
    from planner.schemas.run_report import RunReport

    if isinstance(stored, RunReport):
        show(render_run(stored))
        return
    require_best(stored)
    show_answer(Recommendation(stored), "wide" if wide else "answer")
    if simulation is not None:
        from planner.report.terminal.simulation_table import render_simulation

        show(*render_simulation(simulation))
