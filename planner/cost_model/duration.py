"""Duration of a cluster's job as a distribution: order statistics within a phase, consecutive phases, the factor that
all nodes of a run share, spares that replace the slowest, and spot nodes that are taken back.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
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
    """Number of nodes launched in addition to the working ones, and the seconds each is paid for: until screening is
    over.

    `screened` means that measurements of the type chose them: they replace the slowest nodes. Others only stand by, in
    case a node fails or is slow, and are not planned to speed up anything.
    """

    count: int
    paid_s: float
    screened: bool


def planned_spares(context: JobContext, phases: tuple[PhaseEstimate, ...], nodes: int) -> PlannedSpares:
    """Return the spares that minimise the expected cost if it was measured how nodes of the type differ in the resource
    that decides the longest phase, else the usual share of the nodes.
    """
    life, name, sizes = context.overheads, screened_by(context, phases), np.array([float(nodes)])
    paid_s = float(spares_paid_s(context, sizes)[0])
    if nodes == 1 or name is None:
        paid = float(paid_nodes(sizes, spare_fraction=life.spare_fraction)[0])
        return PlannedSpares(count=int(paid) - nodes, paid_s=paid_s, screened=False)
    phase, _ = _longest(context, phases)
    spread = context.spread(name, context.works(phase).get(name))
    screen_s = float(life.ready_s(sizes)[0])
    work_s = sum(estimate.equation_s for estimate in phases)
    most = int(max(0, min(nodes, context.most_machines - nodes)))
    count = spares_for(spread, nodes=nodes, work_s=work_s, screen_s=screen_s, max_spares=most)
    return PlannedSpares(count=count, paid_s=paid_s, screened=True)


def disturbed(context: JobContext, whole: Duration, nodes: int) -> Duration:
    """Return a duration with the interruptions of spot nodes."""
    return (
        whole if context.risk is None else context.risk.duration(whole, nodes=nodes, load_s=loading_s(context, nodes))
    )


def loading_s(context: JobContext, nodes: int) -> float:
    """Return the seconds that loading the input takes."""
    return sum(float(seconds[0, 0]) for seconds in loading_seconds(context, np.array([float(nodes)])).values())


_NEAR: Final = 0.8
"""Least share of the longest time for a resource that a phase may wait for."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Undisturbed:
    """The job's time when no node is taken back: `loads` of each phase by resource, equally likely `slowdowns` of the
    rates in doubt, `barrier_s` at the end of each phase, and the standard deviation of ln(time) that all nodes share.
    """

    loads: Sequence[Mapping[str, Load]]
    slowdowns: Sequence[Mapping[str, float]]
    shared_sigma: float
    barrier_s: float = 0.0

    @classmethod
    def of(
        cls, context: JobContext, phases: tuple[PhaseEstimate, ...], nodes: int, *, spares: PlannedSpares
    ) -> Undisturbed:
        """Return the time of a cluster of `nodes`, from the equations' seconds of its phases."""
        compared = screened_by(context, phases) if spares.screened else None
        loads = [
            _loads(context, phase, seen.resources, nodes, spares=spares, screened=compared)
            for phase, seen in zip(context.model.phases, phases, strict=True)
        ]
        return cls(
            loads=loads,
            slowdowns=slowdowns_of(context, nodes),
            shared_sigma=context.overheads.shared_sigma,
            barrier_s=float(context.barrier_s(np.array([float(nodes)]))[0]),
        )

    @cached_property
    def barriers(self) -> list[list[Duration]]:
        """The distribution of each phase under each of the slowdowns; equal ones if no doubted rate slows the phase."""
        return [_barriers(of_phase, self.slowdowns, barrier_s=self.barrier_s) for of_phase in self.loads]

    @cached_property
    def total(self) -> Duration:
        """The distribution of the job's time."""
        ways = list(zip(*self.barriers, strict=True))
        return order_statistics.sum_of(ways, shared_sigma=self.shared_sigma)

    @property
    def mean_s(self) -> float:
        """The expected seconds of the job."""
        return sum(self.phases_s)

    @cached_property
    def phases_s(self) -> list[float]:
        """The expected seconds of each phase."""
        return [self._shared * float(np.mean([made.mean_s for made in of_phase])) for of_phase in self.barriers]

    @cached_property
    def resources_s(self) -> list[dict[str, float]]:
        """The expected seconds until the slowest node finishes, for each resource of each phase alone."""
        mean = self._mean_slowdown
        return [
            {name: self._shared * load.mean_s * mean.get(DOUBTED.get(name, ""), 1.0) for name, load in loads.items()}
            for loads in self.loads
        ]

    def bottleneck(self, phase: int) -> str:
        """Return the resource whose doubling would shorten a phase most, at the mean of the doubted rates."""
        alone = self.resources_s[phase]
        longest = max(alone.values(), default=0.0)
        contenders = [name for name, seconds in alone.items() if seconds > longest * _NEAR]
        if len(contenders) < 2:
            return contenders[0] if contenders else "nothing"
        loads = _slowed(self.loads[phase], self._mean_slowdown)
        left_s = {
            name: order_statistics.barrier(
                list((loads | {name: replace(loads[name], median_s=loads[name].median_s / 2)}).values())
            ).mean_s
            for name in contenders
        }
        return min(contenders, key=lambda name: (left_s[name], -alone[name]))

    @cached_property
    def _mean_slowdown(self) -> dict[str, float]:
        names = {name for slowed in self.slowdowns for name in slowed}
        return {name: float(np.mean([slowed.get(name, 1.0) for slowed in self.slowdowns])) for name in names}

    @property
    def _shared(self) -> float:
        """The mean of the factor that all phases share."""
        return math.exp(self.shared_sigma**2 / 2)


def slowdowns_of(context: JobContext, nodes: int) -> list[dict[str, float]]:
    """Return equally likely slowdowns of the rates in doubt: possible errors of claims, and the network at scale."""
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
    """Return each resource's load in a phase, and its differences between nodes."""
    slowest = bool(context.rates.network.slowest_of_n[int(context.layouts.type_row[0])])
    works = context.works(phase)
    loads = {}
    for name, use in uses.items():
        certain = name in UNDIVIDED or (name == "network" and slowest)
        spread = order_statistics.lognormal(0.0) if certain else context.spread(name, works.get(name))
        spare_count = spares.count if name == screened and not certain else 0
        loads[name] = Load(median_s=use.equation_s, spread=spread, count=nodes, spares=spare_count)
    return loads


def _barriers(
    loads: Mapping[str, Load], slowdowns: Sequence[Mapping[str, float]], *, barrier_s: float
) -> list[Duration]:
    """Return a phase's distribution for each of some slowdowns of its resources."""
    made: dict[tuple[float, ...], Duration] = {}
    barriers = []
    for slowdown in slowdowns:
        factors = tuple(slowdown.get(DOUBTED.get(name, ""), 1.0) for name in loads)
        if factors not in made:
            slowed = list(_slowed(loads, slowdown).values())
            made[factors] = order_statistics.barrier(slowed).later_by(barrier_s)
        barriers.append(made[factors])
    return barriers


def _slowed(loads: Mapping[str, Load], slowdowns: Mapping[str, float]) -> dict[str, Load]:
    """Return a phase's loads with slowdowns of the rates in doubt."""
    factors = {name: slowdowns.get(DOUBTED.get(name, ""), 1.0) for name in loads}
    return {
        name: load if factors[name] == 1 else replace(load, median_s=load.median_s * factors[name])
        for name, load in loads.items()
    }


def screened_by(context: JobContext, phases: tuple[PhaseEstimate, ...]) -> str | None:
    """Return the resource by which nodes are kept or rejected: the slowest of the longest phase, if it was measured how
    nodes of the type differ in it.
    """
    _, seen = _longest(context, phases)
    slowest = slowest_resource(seen.resources)
    compared = 0 < seen.equation_s < np.inf and context.spreads.is_persistent(
        slowest, type_row=int(context.layouts.type_row[0])
    )
    return slowest if compared else None


def slowest_resource(uses: Mapping[str, ResourceUse]) -> str:
    """Return the resource for which a phase waits according to the equation."""
    return max(uses, key=lambda name: uses[name].equation_s, default="nothing")


def _longest(context: JobContext, phases: tuple[PhaseEstimate, ...]) -> tuple[Phase, PhaseEstimate]:
    return max(zip(context.model.phases, phases, strict=True), key=lambda pair: pair[1].equation_s)


_EARLY: Final = (0.5, 0.45)
"""Least time of a run as a share of the mean of its slowest node, at a small probability: a constant, and an increase
per unit of probability, below every observation of a cluster (benchmarks/results/engines.toml).
"""


def quantile_over_mean(probability: float, *, shared_sigma: float) -> float:
    """Return the least factor by which a quantile of the time exceeds its mean, from the deviation shared by a run's
    nodes. Below 80% a run may also be faster than the mean of its slowest node, within the bound `_EARLY`.
    """
    early = 1.0 if probability >= 0.8 else _EARLY[0] + _EARLY[1] * probability
    return early * math.exp(shared_sigma * NormalDist().inv_cdf(probability) - shared_sigma**2 / 2)
