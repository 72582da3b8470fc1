"""Simulation of a planned cluster: the same job on the same rates, drawn several times."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

import numpy as np

from planner.catalog import Catalog
from planner.catalog.cloud_regions import regions_of
from planner.cost_model.model import CostModel
from planner.cost_model.run_overheads import RunOverheads
from planner.cost_model.workload import JobContext
from planner.errors import BadInputError
from planner.planning.candidates.candidate_grid import build_grid
from planner.planning.candidates.candidates import candidate
from planner.planning.ranking.selection import narrowed
from planner.planning.request.region import Region
from planner.schemas.plan import Candidate, Request
from planner.simulation.disturbances import Run, draw_runs, loss_cost, scatter, slow_cost, spot_cost
from planner.simulation.losses import Loss, check_loss
from planner.simulation.machines import Slow, likely_bursts, machines_of
from planner.simulation.phase_work import at_full_rate, phase_work
from planner.simulation.result import PhaseRange, Simulation
from planner.simulation.sort_job import simulate_job
from planner.simulation.timeline import OTHERS

MOST_DRAWS: Final = 1000
_SAME: Final = 1e-3
"""Largest relative difference of a cluster's time when it is planned again, due to rounding."""


def simulate_plan(
    request: Request,
    best: Candidate,
    *,
    models: Sequence[CostModel],
    catalogs: Sequence[Catalog],
    overheads: RunOverheads,
    draws: int,
    seed: int,
    loss: Loss | None = None,
    slow: Slow | None = None,
) -> Simulation:
    """Return the simulation of a request's recommended cluster, also with a `loss` of nodes and with `slow` ones.
    Raises BadInputError for no draws or too many, for an impossible loss or impossible slow nodes, and for a plan that
    the catalogs no longer give.
    """
    check_draws(draws)
    context = simulation_context(request, best, models=models, catalogs=catalogs, overheads=overheads)
    return simulate(context, best, draws=draws, seed=seed, loss=loss, slow=slow)


def check_draws(draws: int) -> None:
    """Raise BadInputError for no draws, or too many."""
    if not 1 <= draws <= MOST_DRAWS:
        raise BadInputError(f"--draws {draws}: from 1 to {MOST_DRAWS} runs can be drawn", code="out-of-range")


def simulate(
    context: JobContext, best: Candidate, *, draws: int, seed: int, loss: Loss | None = None, slow: Slow | None = None
) -> Simulation:
    """Return the simulation of a cluster that was planned on the only layout of `context`."""
    full = at_full_rate(context)
    machines = machines_of(context, best.nodes)
    probed = likely_bursts(context, machines, best.nodes)[0]
    works = [phase_work(full, phase, best.nodes, probed) for phase in full.model.phases]
    if loss is not None:
        check_loss(loss, works, nodes=best.nodes)
    if slow is not None:
        slow.count(best.nodes)  # raises if there are too few nodes
    drawn_runs = draw_runs(full, works, machines, best=best, draws=draws, seed=seed)
    runs = [Run(draw=draw, phases=simulate_job(works, draw.groups, draw.machines)) for draw in drawn_runs]
    totals = [run.seconds for run in runs]
    middle = runs[int(np.argsort(totals, kind="stable")[(len(totals) - 1) // 2])].phases
    return Simulation(
        cluster=f"{best.nodes} x {best.instance_type}",
        nodes=best.nodes,
        draws=draws,
        seed=seed,
        p50_s=scatter(totals, 0.5),
        p95_s=scatter(totals, 0.95),
        planned_p50_s=best.time_s.p50,
        planned_p95_s=best.time_s.p95,
        phases=tuple(_range(best.phases[number].equation_s, runs, number) for number in range(len(works))),
        breaks_first=_breaks_first(runs),
        timelines={phase.name: phase.timeline for phase in middle},
        loss=None if loss is None else loss_cost(loss, works, runs),
        slow=None if slow is None else slow_cost(slow, works, runs),
        spot=None if context.risk is None else spot_cost(context.risk, works, runs, seed=seed),
    )


def _range(equation_s: float, runs: Sequence[Run], number: int) -> PhaseRange:
    phases = [run.phases[number] for run in runs]
    seconds = [run.draw.factor * phase.seconds for run, phase in zip(runs, phases, strict=True)]
    names = dict.fromkeys(name for phase in phases for name in phase.timeline.waits)
    waits = {name: float(np.mean([phase.timeline.waits.get(name, 0.0) for phase in phases])) for name in names}
    return PhaseRange(
        name=phases[0].name,
        equation_s=equation_s,
        p50_s=scatter(seconds, 0.5),
        p95_s=scatter(seconds, 0.95),
        waits=waits,
        bottleneck=max(waits, key=lambda name: waits[name], default="nothing"),
    )


def _breaks_first(runs: Sequence[Run]) -> str:
    """Return the resource that all runs together wait for longest; waiting for other nodes does not count."""
    waited: dict[str, float] = {}
    for phase in (phase for run in runs for phase in run.phases):
        for name, share in phase.timeline.waits.items():
            waited[name] = waited.get(name, 0.0) + share * phase.seconds
    return max((name for name in waited if name != OTHERS), key=lambda name: waited[name], default="nothing")


def simulation_context(
    request: Request,
    best: Candidate,
    *,
    models: Sequence[CostModel],
    catalogs: Sequence[Catalog],
    overheads: RunOverheads,
) -> JobContext:
    """Return the job on the layout of a planned cluster alone."""
    again = replace(narrowed(request, best, nodes=best.nodes), catalogs=request.catalogs)
    sizes = np.array([float(best.nodes)])
    for model in (model for model in models if model.name == best.model):
        for catalog, names in zip(catalogs, regions_of(request.regions, catalogs), strict=True):
            if catalog.cloud != best.cloud or best.region not in names:
                continue
            region = Region.of(again, catalog, best.region)
            grid, _ = build_grid(again, model=model, region=region, overheads=overheads, sizes=sizes)
            for row in range(len(grid.context.layouts.type_row)):
                made = candidate(grid.context, row=row, nodes=best.nodes, offer=grid.offer)
                if made.storage == best.storage and math.isclose(
                    made.time_s.expected, best.time_s.expected, rel_tol=_SAME
                ):
                    return grid.context.only(row)
    raise BadInputError(
        "the plan was made with a profile, or with catalogs that have changed since",
        ["plan again without"],
        code="other-catalogs",
    )
