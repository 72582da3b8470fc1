"""`planner simulate`: repeated simulations of the recommended cluster's sort, next to the equations' result."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from typer import Option

from planner.api.files import require_new
from planner.cli.plan.request_options import RequestOptions
from planner.cli.plan.type_questions import plan_json
from planner.cli.shell.console import show, show_text
from planner.cli.shell.files import Force, write_atomically
from planner.errors import BadInputError


def simulate(
    *,
    request_options: RequestOptions,
    draws: Annotated[int, Option(help="How many runs are drawn.")] = 20,
    seed: Annotated[int, Option(help="What they are drawn from: the same gives the same.")] = 0,
    lose: Annotated[str | None, Option(help="Lose nodes for good, as node@30% or 5@30% of the time.")] = None,
    slow: Annotated[
        str | None, Option(help="Slow nodes, as 10%@2 for a tenth that takes twice as long, or network:1@3.")
    ] = None,
    timeline: Annotated[
        Path | None, Option(dir_okay=False, help="Also draw what nodes wait for to this SVG file.")
    ] = None,
    json: Annotated[bool, Option("--json", help="Print the plan as one JSON object, with its simulation.")] = False,
    force: Force = False,
) -> None:
    """Simulate the recommended cluster's sort with tasks and flows: range and waiting of each phase.

    Example: planner simulate --data 1TB --instance i4i.4xlarge --nodes 8 --draws 5
    """
    from planner.planning.recommendation import require_best
    from planner.report.terminal.simulation_table import render_simulation, timeline_svg
    from planner.simulation.losses import Loss
    from planner.simulation.machines import Slow
    from planner.simulation.simulate import check_draws

    require_new([timeline], force=force)
    check_draws(draws)
    if lose is not None:
        Loss.parse(lose)
    if slow is not None:
        Slow.parse(slow)
    if timeline is not None and timeline.suffix != ".svg":
        raise BadInputError(f"--timeline {timeline}: the picture is an SVG file; call it .svg", code="wrong-suffix")
    answered = request_options.answer()
    if json and answered.best is None:
        show_text(plan_json(answered.plan))
    require_best(answered.plan)
    simulation = answered.simulate(draws=draws, seed=seed, lose=lose, slow=slow)
    if json:
        show_text(plan_json(answered.plan, simulation=simulation.to_dict()))
    else:
        show(*render_simulation(simulation))
    if timeline is not None:
        write_atomically(timeline, timeline_svg(simulation) + "\n", option="--timeline")
