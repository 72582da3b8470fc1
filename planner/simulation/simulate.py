"""From a planned cluster to its simulation: the same job on the same rates, drawn several times."""

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
from planner.planning.candidate_grid import build_grid
from planner.planning.candidates import candidate
from planner.planning.narrowing import narrowed
from planner.planning.region import Region
from planner.schemas.plan import Candidate, Request
from planner.simulation.draws import Draw, drawn, scatter
from planner.simulation.losses import Loss, check_loss, seconds_with_loss
from planner.simulation.phase_work import PhaseWork, at_full_rate, phase_work
from planner.simulation.resources import Machines
from planner.simulation.result import LossCost, PhaseRange, Simulation
from planner.simulation.sort_job import SimulatedPhase, simulate_job
from planner.simulation.timeline import OTHERS

MOST_DRAWS: Final = 1000
_SAME: Final = 1e-3
"""How far a cluster's time may be off when it is planned again, by rounding alone."""


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
) -> Simulation:
    """Return the simulation of a request's recommended cluster, also with a `loss` of nodes. Raises BadInputError for
    no draws or too many, for a loss that cannot be, and for a plan that the catalogs no longer give.
    """
    check_draws(draws)
    context = simulation_context(request, best, models=models, catalogs=catalogs, overheads=overheads)
    return simulate(context, best, draws=draws, seed=seed, loss=loss)


def check_draws(draws: int) -> None:
    """Raise BadInputError for no draws, or too many."""
    if not 1 <= draws <= MOST_DRAWS:
        raise BadInputError(f"--draws {draws}: from 1 to {MOST_DRAWS} runs can be drawn")


def simulate(context: JobContext, best: Candidate, *, draws: int, seed: int, loss: Loss | None = None) -> Simulation:
    """Return the simulation of a cluster that was planned on the only layout of `context`."""
    full = at_full_rate(context)
    works = [phase_work(full, phase, best.nodes) for phase in full.model.phases]
    if loss is not None:
        check_loss(loss, works, nodes=best.nodes)
    machines = machines_of(context, best.nodes)
    runs = [
        (draw, simulate_job(works, draw.groups, machines))
        for draw in drawn(full, works, machines, best=best, draws=draws, seed=seed)
    ]
    totals = [draw.factor * sum(phase.seconds for phase in phases) for draw, phases in runs]
    middle = runs[int(np.argsort(totals, kind="stable")[(len(totals) - 1) // 2])][1]
    return Simulation(
        cluster=f"{best.nodes} x {best.instance_type}",
        nodes=best.nodes,
        draws=draws,
        seed=seed,
        p50_s=scatter(totals, 0.5),
        p95_s=scatter(totals, 0.95),
        planned_p50_s=best.time_s.p50,
        planned_p95_s=best.time_s.p95,
        phases=tuple(_range(best.phases[number].time_s, runs, number) for number in range(len(works))),
        breaks_first=_breaks_first(runs),
        timelines={phase.name: phase.timeline for phase in middle},
        loss=None if loss is None else _loss_cost(loss, works, machines, runs, totals),
    )


def _loss_cost(
    loss: Loss,
    works: Sequence[PhaseWork],
    machines: Machines,
    runs: Sequence[tuple[Draw, list[SimulatedPhase]]],
    totals: Sequence[float],
) -> LossCost:
    """Return what a loss costs each of the runs."""
    with_loss = [
        draw.factor
        * seconds_with_loss(works, draw.groups, machines, loss=loss, phases_s=[phase.seconds for phase in phases])
        for draw, phases in runs
    ]
    ratios = [lossy / total for lossy, total in zip(with_loss, totals, strict=True)]
    p50_s, p95_s = scatter(with_loss, 0.5), scatter(with_loss, 0.95)
    return LossCost(nodes=loss.nodes, share=loss.share, p50_s=p50_s, p95_s=p95_s, times=scatter(ratios, 0.5))


def machines_of(context: JobContext, nodes: int) -> Machines:
    """Return what a median node of the only layout of `context` has in a cluster of `nodes`.

    Emulated nodes never got all of the machine's processors, however many tasks were ready: what they got while many
    were is all that there is.
    """
    engine = context.model.engine
    processors_share = engine.busy_share("cpu", ("partition",)) if engine.shares_processors else 1.0
    rows, network = context.layouts.type_row[:1], context.rates.network
    bucket = float(network.bucket_bytes[rows[0]])
    burst = float(network.burst_at(rows)[0])
    rate = float(network.at(rows, np.array([float(nodes)]))[0, 0])
    has_bucket = bucket > 0 and burst > rate
    return Machines(
        vcpu=float(context.rates.vcpu[rows[0]]) * processors_share,
        link_bytes_per_s=rate if rate > 0 else 1.0,  # of a single node it may be unknown
        burst_bytes_per_s=burst if has_bucket else 0.0,
        bucket_bytes=bucket if has_bucket else 0.0,
        shares_processors=engine.shares_processors,
    )


def _range(equation_s: float, runs: Sequence[tuple[Draw, list[SimulatedPhase]]], number: int) -> PhaseRange:
    phases = [phases[number] for _, phases in runs]
    seconds = [draw.factor * phase.seconds for (draw, _), phase in zip(runs, phases, strict=True)]
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


def _breaks_first(runs: Sequence[tuple[Draw, list[SimulatedPhase]]]) -> str:
    """Return the resource for which all runs together wait longest; waiting for other nodes is not one."""
    waited: dict[str, float] = {}
    for phase in (phase for _, phases in runs for phase in phases):
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
        "--simulate: the plan was made with a profile, or with catalogs that have changed since; plan again without"
    )
