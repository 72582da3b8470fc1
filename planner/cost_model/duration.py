"""How long a cluster's job takes, as a distribution: order statistics within a phase, phases in turn, what all nodes
of a run share, spares that stand in for the slowest, and spot nodes that are taken back.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import NormalDist
from typing import Final

import numpy as np

from planner.cost_model.model import Phase
from planner.cost_model.prices import paid_nodes, spares_paid_s
from planner.cost_model.rate_doubts import DOUBTED, ORDERS
from planner.cost_model.staging import loading_seconds
from planner.cost_model.workload import UNDIVIDED, JobContext
from planner.schemas.plan import PhaseEstimate, ResourceUse
from planner.statistics import order_statistics
from planner.statistics.order_statistics import Duration, Load
from planner.statistics.spare_nodes import spares_for


@dataclass(frozen=True, kw_only=True)
class PlannedSpares:
    """How many nodes are launched beside those that work, and how many seconds each is paid for: until screening is
    over.

    `screened` says that they were chosen by what was measured of the type: they stand in for the slowest. Others only
    stand by, in case a node fails or is slow, and are not planned to make anything faster.
    """

    count: int
    paid_s: float
    screened: bool


def planned_spares(context: JobContext, phases: tuple[PhaseEstimate, ...], nodes: int) -> PlannedSpares:
    """Return as many spares as minimise the expected cost where it was measured how nodes of the type differ in what
    decides the longest phase, and the usual share of the nodes elsewhere.
    """
    life, name, sizes = context.overheads, screened_by(context, phases), np.array([float(nodes)])
    paid_s = float(spares_paid_s(context, sizes)[0])
    if nodes == 1 or name is None:
        paid = float(paid_nodes(sizes, spare_fraction=life.spare_fraction)[0])
        return PlannedSpares(count=int(paid) - nodes, paid_s=paid_s, screened=False)
    phase, _ = _longest(context, phases)
    spread = context.spread(name, context.works(phase).get(name))
    screen_s = float(life.ready_s(sizes)[0])
    count = spares_for(spread, nodes=nodes, work_s=sum(estimate.time_s for estimate in phases), screen_s=screen_s)
    return PlannedSpares(count=count, paid_s=paid_s, screened=True)


def duration(context: JobContext, phases: tuple[PhaseEstimate, ...], nodes: int) -> Duration:
    """Return the distribution of the job's time, with its spares and the interruptions of spot nodes."""
    return disturbed(context, undisturbed(context, phases, nodes, spares=planned_spares(context, phases, nodes)), nodes)


def disturbed(context: JobContext, whole: Duration, nodes: int) -> Duration:
    """Return a duration with the interruptions of spot nodes."""
    return (
        whole if context.risk is None else context.risk.duration(whole, nodes=nodes, load_s=loading_s(context, nodes))
    )


def loading_s(context: JobContext, nodes: int) -> float:
    """Return the seconds that loading the input takes."""
    return sum(float(seconds[0, 0]) for seconds in loading_seconds(context, np.array([float(nodes)])).values())


def undisturbed(
    context: JobContext, phases: tuple[PhaseEstimate, ...], nodes: int, *, spares: PlannedSpares
) -> Duration:
    """Return the distribution of the job's time when no node is taken back. A run's nodes share how far the equations
    are off, and the rate of the network where it is extrapolated.
    """
    compared = screened_by(context, phases) if spares.screened else None
    loads = [
        _loads(context, phase, seen.resources, nodes, spares=spares, screened=compared)
        for phase, seen in zip(context.model.phases, phases, strict=True)
    ]
    slowdowns = slowdowns_of(context, nodes)
    barriers = [_barriers(of_phase, slowdowns) for of_phase in loads]
    shared_sigma = context.overheads.shared_sigma
    return order_statistics.mixture_of(
        [order_statistics.sum_of(in_turn, shared_sigma=shared_sigma) for in_turn in zip(*barriers, strict=True)]
    )


def slowdowns_of(context: JobContext, nodes: int) -> list[dict[str, float]]:
    """Return equally likely slowdowns of the rates in doubt: as far as a claim may be off, and the network at scale."""
    doubts, at_scale = context.doubts.together(int(context.layouts.type_row[0])), _network_slowdowns(context, nodes)
    if len(at_scale) == 1:
        return doubts
    doubts = doubts if len(doubts) > 1 else doubts * len(at_scale)
    return [
        slowed | {"network": slowed.get("network", 1.0) * at_scale[ORDERS["at_scale"][place]]}
        for place, slowed in enumerate(doubts)
    ]


def _network_slowdowns(context: JobContext, nodes: int) -> list[float]:
    """Return equally likely factors of the network's time: only 1 where it is measured or assumed."""
    network, type_row = context.rates.network, int(context.layouts.type_row[0])
    curve, evidence = network.curve_of(type_row), network.evidence_at(type_row, nodes)
    if not context.spreads.node_sigma or curve is None or nodes == 1:
        return [1.0]
    if not network.stated[type_row] and evidence != "extrapolated":
        return [1.0]
    slowdowns: list[float] = network.slowdowns(type_row, np.array([float(nodes)]))[:, 0].tolist()
    return slowdowns


def _loads(
    context: JobContext,
    phase: Phase,
    uses: Mapping[str, ResourceUse],
    nodes: int,
    *,
    spares: PlannedSpares,
    screened: str | None,
) -> dict[str, Load]:
    """Return what each resource does in a phase, and how it differs from node to node."""
    slowest = bool(context.rates.network.slowest_of_n[int(context.layouts.type_row[0])])
    works = context.works(phase)
    loads = {}
    for name, use in uses.items():
        certain = name in UNDIVIDED or (name == "network" and slowest)
        spread = order_statistics.lognormal(0.0) if certain else context.spread(name, works.get(name))
        spare_count = spares.count if name == screened and not certain else 0
        loads[name] = Load(median_s=use.time_s, spread=spread, count=nodes, spares=spare_count)
    return loads


def _barriers(loads: Mapping[str, Load], slowdowns: Sequence[Mapping[str, float]]) -> list[Duration]:
    """Return a phase's distribution for each of some slowdowns of its resources."""
    return [
        order_statistics.barrier(
            [
                replace(load, median_s=load.median_s * slowed.get(DOUBTED.get(name, ""), 1.0))
                for name, load in loads.items()
            ]
        )
        for slowed in slowdowns
    ]


def screened_by(context: JobContext, phases: tuple[PhaseEstimate, ...]) -> str | None:
    """Return the resource by which nodes are kept or sent away: the bottleneck of the longest phase, if it was measured
    how nodes of the type differ in it.
    """
    _, seen = _longest(context, phases)
    compared = 0 < seen.time_s < np.inf and context.spreads.stays(
        seen.bottleneck, type_row=int(context.layouts.type_row[0])
    )
    return seen.bottleneck if compared else None


def _longest(context: JobContext, phases: tuple[PhaseEstimate, ...]) -> tuple[Phase, PhaseEstimate]:
    return max(zip(context.model.phases, phases, strict=True), key=lambda pair: pair[1].time_s)


_EARLY: Final = (0.5, 0.45)
"""What share of the mean of its slowest node a run takes at least with a small probability: so much, and so much for
each unit of the probability, below what was seen of any cluster (docs/measurements.md).
"""


def quantile_over_mean(probability: float, *, shared_sigma: float) -> float:
    """Return by what factor a quantile of the time exceeds its mean, at least, as far as what a run's nodes share makes
    it. Below 80% a run may also be faster than the mean of its slowest node: `_EARLY` bounds by how much.
    """
    early = 1.0 if probability >= 0.8 else _EARLY[0] + _EARLY[1] * probability
    return early * math.exp(shared_sigma * NormalDist().inv_cdf(probability) - shared_sigma**2 / 2)
