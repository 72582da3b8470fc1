"""How long a cluster's job takes, as a distribution: order statistics within a phase, phases in turn, what all nodes
of a run share, spares that stand in for the slowest, and spot nodes that are taken back.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from planner.cost_model.model import Phase
from planner.cost_model.prices import paid_nodes
from planner.cost_model.staging_steps import loading_node_seconds
from planner.cost_model.workload import UNDIVIDED, JobContext
from planner.schemas.plan import PhaseEstimate, ResourceUse
from planner.statistics import order_statistics
from planner.statistics.order_statistics import Duration, Load
from planner.statistics.spare_nodes import spares_for

_BAND_VALUES: Final = 8
"""Equally likely rates that stand for the band of an extrapolated network."""


@dataclass(frozen=True, kw_only=True)
class PlannedSpares:
    """How many nodes are launched beside those that work, and how many seconds each is paid for.

    `screened` says that they were chosen by what was measured of the type: they stand in for the slowest, and go when
    screening is over. Others only stand by, in case a node fails, and make nothing faster.
    """

    count: int
    paid_s: float
    screened: bool


def planned_spares(one: JobContext, phases: tuple[PhaseEstimate, ...], nodes: int) -> PlannedSpares:
    """Return as many spares as minimise the expected cost where it was measured how nodes of the type differ in what
    decides the longest phase, and the usual share of the nodes elsewhere.
    """
    life, name = one.overheads, _screened_by(one, phases)
    if nodes == 1 or name is None:
        paid = float(paid_nodes(np.array([float(nodes)]), spare_fraction=life.spare_fraction)[0])
        return PlannedSpares(count=int(paid) - nodes, paid_s=np.inf, screened=False)
    phase, _ = _longest(one, phases)
    spread = one.spreads.of(name, type_row=int(one.layouts.type_row[0]), phase=phase)
    screen_s = life.boot_s + life.screen_s
    count = spares_for(spread, nodes=nodes, work_s=sum(each.time_s for each in phases), screen_s=screen_s)
    return PlannedSpares(count=count, paid_s=screen_s, screened=True)


def duration(one: JobContext, phases: tuple[PhaseEstimate, ...], nodes: int) -> Duration:
    """Return the distribution of the job's time, with its spares and the interruptions of spot nodes."""
    return disturbed(one, undisturbed(one, phases, nodes, spares=planned_spares(one, phases, nodes)), nodes)


def disturbed(one: JobContext, whole: Duration, nodes: int) -> Duration:
    """Return a duration with the interruptions of spot nodes."""
    return whole if one.risk is None else one.risk.duration(whole, nodes=nodes, load_s=loading_s(one, nodes))


def loading_s(one: JobContext, nodes: int) -> float:
    """Return the seconds that loading the input takes."""
    return sum(float(seconds[0]) for seconds in loading_node_seconds(one).values()) / nodes


def undisturbed(one: JobContext, phases: tuple[PhaseEstimate, ...], nodes: int, *, spares: PlannedSpares) -> Duration:
    """Return the distribution of the job's time when no node is taken back. A run's nodes share how far the equations
    are off, and the rate of the network where it is extrapolated.
    """
    slowdowns = _network_slowdowns(one, nodes)
    return order_statistics.either(
        [_with_network(one, phases, nodes, spares=spares, slowdown=each) for each in slowdowns]
    )


def _network_slowdowns(one: JobContext, nodes: int) -> list[float]:
    """Return equally likely factors of the network's time: only 1 where it is measured, stated or assumed."""
    network, kind = one.rates.network, int(one.layouts.type_row[0])
    if not one.spreads.node_sigma or network.evidence_at(kind, nodes) != "extrapolated" or kind not in network.curves:
        return [1.0]
    slowdowns: list[float] = network.curves[kind].slowdowns(nodes, count=_BAND_VALUES).tolist()
    return slowdowns


def _with_network(
    one: JobContext, phases: tuple[PhaseEstimate, ...], nodes: int, *, spares: PlannedSpares, slowdown: float
) -> Duration:
    kind = int(one.layouts.type_row[0])
    slowest = bool(one.rates.network.slowest_of_n[kind])
    screened_by = _screened_by(one, phases) if spares.screened else None

    def load(phase: Phase, name: str, use: ResourceUse) -> Load:
        certain = name in UNDIVIDED or (name == "network" and slowest)
        spread = order_statistics.lognormal(0.0) if certain else one.spreads.of(name, type_row=kind, phase=phase)
        median_s = use.time_s * slowdown if name == "network" else use.time_s
        kept = spares.count if name == screened_by and not certain else 0
        return Load(median_s=median_s, spread=spread, count=nodes, spares=kept)

    barriers = [
        order_statistics.barrier([load(phase, *item) for item in seen.resources.items()])
        for phase, seen in zip(one.model.phases, phases, strict=True)
    ]
    return order_statistics.in_turn(barriers, shared_sigma=one.overheads.shared_sigma)


def _screened_by(one: JobContext, phases: tuple[PhaseEstimate, ...]) -> str | None:
    """Return the resource by which nodes are kept or sent away: the bottleneck of the longest phase, if it was measured
    how nodes of the type differ in it.
    """
    _, seen = _longest(one, phases)
    known = 0 < seen.time_s < np.inf and one.spreads.stays(seen.bottleneck, type_row=int(one.layouts.type_row[0]))
    return seen.bottleneck if known else None


def _longest(one: JobContext, phases: tuple[PhaseEstimate, ...]) -> tuple[Phase, PhaseEstimate]:
    return max(zip(one.model.phases, phases, strict=True), key=lambda pair: pair[1].time_s)
