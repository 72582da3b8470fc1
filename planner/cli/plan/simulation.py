"""`plan --simulate`: repeated simulations of the recommended cluster's sort, next to the equations' result."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Option

from planner.cli.shell.console import show
from planner.cli.shell.files import write_atomically
from planner.errors import BadInputError

if TYPE_CHECKING:
    from planner.api.recommend import Recommendation
    from planner.schemas.plan import Plan
    from planner.simulation.result import Simulation


@dataclass(frozen=True, kw_only=True)
class SimulationOptions:
    """Options for simulating the recommended cluster, such as the number of runs."""

    simulate: Annotated[
        bool, Option("--simulate", help="Simulate the recommended cluster's sort: range and waiting of each phase.")
    ] = False
    draws: Annotated[int, Option(help="How many runs --simulate draws.")] = 20
    seed: Annotated[int, Option(help="What --simulate draws from: the same gives the same.")] = 0
    lose: Annotated[
        str | None, Option(help="With --simulate: lose nodes for good, as node@30% or 5@30% of the time.")
    ] = None
    slow: Annotated[
        str | None,
        Option(help="With --simulate: slow nodes, as 10%@2 for a tenth that takes twice as long, or network:1@3."),
    ] = None
    timeline: Annotated[
        Path | None, Option(dir_okay=False, help="With --simulate: also draw what nodes wait for to this SVG file.")
    ] = None

    def check(self, *, of_log: bool = False) -> None:
        """Raise BadInputError, before planning, for impossible runs, losses or pictures, and for a Spark log's plan,
        which has stages, not this sort's tasks.
        """
        if self == SimulationOptions():  # the usual case: nothing is loaded
            return
        from planner.simulation.losses import Loss
        from planner.simulation.machines import Slow
        from planner.simulation.simulate import check_draws

        if self.simulate and of_log:
            raise BadInputError("--simulate: of a Spark log's plan only the equations are known; leave one of both out")
        check_draws(self.draws)
        if self.lose is not None:
            Loss.parse(self.lose)
        if self.slow is not None:
            Slow.parse(self.slow)
        if self.timeline is not None and self.timeline.suffix != ".svg":
            raise BadInputError(f"--timeline {self.timeline}: the picture is an SVG file; call it .svg")

    def of(self, answered: Recommendation) -> Simulation:
        """Return the requested simulation."""
        return answered.simulate(draws=self.draws, seed=self.seed, lose=self.lose, slow=self.slow)


def plan_json(answered: Recommendation, options: SimulationOptions, *, extra: Mapping[str, Any] | None = None) -> str:
    """Return a plan as JSON, with its simulation if requested, and the additional fields `extra`."""
    further = dict(extra or {})
    if options.simulate and answered.best is not None:
        simulation = options.of(answered)
        _draw(simulation, options.timeline)
        further["simulation"] = simulation.to_dict()
    if not further:
        return answered.plan.to_json()
    return json.dumps(json.loads(answered.plan.to_json()) | further, indent=2)


def both_json(plan: Plan, simulation: Simulation) -> str:
    """Return a plan as JSON with its simulation."""
    return json.dumps(json.loads(plan.to_json()) | {"simulation": simulation.to_dict()}, indent=2)


def show_simulation(answered: Recommendation, options: SimulationOptions) -> None:
    """Show a plan's simulation if requested."""
    if options.simulate:
        from planner.report.terminal.simulation_table import render_simulation

        simulation = options.of(answered)
        show(*render_simulation(simulation))
        _draw(simulation, options.timeline)


def _draw(simulation: Simulation, file: Path | None) -> None:
    if file is not None:
        from planner.report.terminal.simulation_table import timeline_svg

        write_atomically(file, timeline_svg(simulation) + "\n", option="--timeline")
