"""Duration of clusters' jobs as distributions: order statistics within a phase, consecutive phases, the factor that all
nodes of a run share, spares that replace the slowest, and spot nodes that are taken back. Arrays are over M clusters,
each on its own layout of a context, and D equally likely errors of the rates in doubt.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from statistics import NormalDist
from typing import Final

import numpy as np

from planner.arrays import Flags, Floats, Rows
from planner.catalog import EVIDENCE
from planner.cost_model.evidence import RATE_OF, RATES
from planner.cost_model.model import Phase
from planner.cost_model.prices import paid_nodes
from planner.cost_model.staging import loading_seconds
from planner.cost_model.work import Work
from planner.cost_model.workload import JobContext, cpu_seconds, driver_seconds, task_count
from planner.statistics import order_statistics
from planner.statistics.order_statistics import Durations, Loads, Spread, lognormal
from planner.statistics.spare_nodes import spares_for
from planner.statistics.taught_times import TaughtJobs

_EXTRAPOLATED: Final = EVIDENCE.index("extrapolated")
NOTHING: Final = "nothing"
"""Stands for the bottleneck of a phase without work."""


@dataclass(frozen=True, kw_only=True, eq=False)
class PhaseUses:
    """Work of a phase on `nodes` by the equations: bytes of a node and seconds of each resource, 0 where idle. All are
    of shape (R, N), layouts by sizes, or (M,) for clusters each on its own layout.
    """

    phase: Phase
    nodes: Floats
    bytes_per_node: Mapping[str, Floats]
    seconds: Mapping[str, Floats]

    @classmethod
    def of(cls, context: JobContext, phase: Phase, nodes: Floats) -> PhaseUses:
        """Return the work of every layout at each of `nodes` (N,), or each layout's at its own, (R, 1)."""
        works, every = context.works(phase), np.zeros((len(context.layouts.type_row), 1)) + nodes
        moved = {name: work.total_bytes[:, None] / nodes for name, work in works.items()}
        seconds = {name: work.node_seconds[:, None] / nodes for name, work in works.items()}
        sent = context.network_bytes(phase, nodes)
        if sent.any():
            moved["network"] = sent
            seconds["network"] = np.where(sent > 0, context.network_seconds(phase, nodes), 0.0)
        tasks = task_count(context, phase, nodes)
        if (work := works.get("cpu")) is not None:
            seconds["cpu"] = cpu_seconds(context, phase, work, nodes, tasks=tasks)
        if (driver_s := driver_seconds(context, phase, nodes, tasks=tasks)) is not None:
            moved["driver"], seconds["driver"] = 0.0 * every, driver_s
        for name, (whole, undivided_s) in context.undivided(phase, nodes).items():
            moved[name], seconds[name] = np.full(every.shape, whole), undivided_s + 0.0 * every
        return cls(phase=phase, nodes=every, bytes_per_node=moved, seconds=seconds)

    @classmethod
    def of_clusters(cls, context: JobContext, nodes: Floats) -> list[PhaseUses]:
        """Return the work in each phase of clusters of `nodes` (M,), one on each layout."""
        every = [cls.of(context, phase, nodes[:, None]) for phase in context.model.phases]
        return [
            cls(phase=of.phase, nodes=nodes, bytes_per_node=_flat(of.bytes_per_node), seconds=_flat(of.seconds))
            for of in every
        ]

    @cached_property
    def equation_s(self) -> Floats:
        """The seconds of the slowest resource, (M,)."""
        return np.maximum.reduce(list(self.seconds.values()), initial=0.0, axis=0) if self.seconds else 0.0 * self.nodes

    def slowest(self, cluster: int) -> str:
        """Return the resource for which a phase of a cluster waits according to the equation."""
        return max(self.seconds, key=lambda name: self.seconds[name][cluster], default=NOTHING)

    def used(self, cluster: int) -> list[str]:
        """Return the resources that a phase of a cluster uses."""
        return [name for name, seconds in self.seconds.items() if seconds[cluster] > 0]


def _flat(columns: Mapping[str, Floats]) -> dict[str, Floats]:
    return {name: column[:, 0] for name, column in columns.items()}


@dataclass(frozen=True, kw_only=True, eq=False)
class PlannedSpares:
    """Number of nodes launched in addition to the working ones, (M,).

    `screened` by a resource means that measurements of the type chose them: they replace the slowest nodes, and the
    clusters (M,) are told by the resource's name. Others, '', only stand by, in case a node fails or is slow, and are
    not planned to speed up anything.
    """

    count: Floats
    screened: Sequence[str]


def planned_spares(context: JobContext, phases: Sequence[PhaseUses], nodes: Floats) -> PlannedSpares:
    """Return the spares of clusters of `nodes` (M,) that minimise the expected cost if it was measured how nodes of the
    type differ in the resource that decides the longest phase, else the usual share of the nodes.
    """
    counts = paid_nodes(nodes, spare_fraction=context.overheads.spare_fraction) - nodes
    screened = [""] * len(nodes)
    lasting = np.isin(context.layouts.type_row, list(context.spreads.lasting)) & (nodes > 1)
    for at in np.flatnonzero(lasting).tolist():
        longest = max(phases, key=lambda uses: uses.equation_s[at])
        name, type_row = longest.slowest(at), int(context.layouts.type_row[at])
        if not 0 < longest.equation_s[at] < np.inf or not context.spreads.is_persistent(name, type_row=type_row):
            continue
        screened[at] = name
        counts[at] = _best_spares(
            context.spread(name, context.works(longest.phase).get(name), row=at),
            nodes=int(nodes[at]),
            work_s=sum(float(uses.equation_s[at]) for uses in phases),
            screen_s=float(context.overheads.ready_s(nodes)[at]),
            most=int(max(0, min(nodes[at], context.most_machines - nodes[at]))),
        )
    return PlannedSpares(count=counts, screened=screened)


@lru_cache(maxsize=4096)
def _best_spares(spread: Spread, *, nodes: int, work_s: float, screen_s: float, most: int) -> int:
    return spares_for(spread, nodes=nodes, work_s=work_s, screen_s=screen_s, max_spares=most)


def slowdowns_of(context: JobContext, nodes: Floats) -> Mapping[str, Floats]:
    """Return the slowdowns (M, D) of each rate in doubt on clusters of `nodes` (M,): errors of claims, and the network
    at scale, in D equally likely combinations; D is 1 where all rates are certain.
    """
    type_rows = context.layouts.type_row
    doubted = {
        name: values[type_rows][:, RATES[name].order]
        for name, values in context.doubts.slowdowns.items()
        if (values[type_rows] > 1).any()
    }
    at_scale = _network_slowdowns(context, nodes)
    if at_scale is not None:
        network = at_scale[:, RATES["at_scale"].order]
        doubted["network"] = doubted.get("network", np.ones((1, 1))) * network
    return doubted


def _network_slowdowns(context: JobContext, nodes: Floats) -> Floats | None:
    """Return equally likely factors of the network's time, (M, 8): 1 where it is measured or assumed; None where it is
    so for all.
    """
    network, type_rows = context.rates.network, context.layouts.type_row
    if not context.spreads.node_sigma:
        return None
    factors = np.ones((len(nodes), 8))
    stated = network.stated[type_rows] & (nodes > 1)
    if stated.any():
        some = int(type_rows[np.argmax(stated)])
        factors[stated] = network.slowdowns(some, nodes[stated]).T
    for row in set(type_rows.tolist()) & network.curves.keys():
        least = 1.0 if network.evidence[row] == _EXTRAPOLATED else network.curves[row].measured_to_nodes
        beyond = (type_rows == row) & ~stated & (nodes > max(1.0, least))
        if beyond.any():
            factors[beyond] = network.slowdowns(row, nodes[beyond]).T
    return factors if (factors != 1).any() else None


_ONE: Final = np.ones((1, 1))


@dataclass(frozen=True, kw_only=True, eq=False)
class JobTimes:
    """The times of clusters' jobs: `loads` of each phase by resource, and `slowdowns` (M, D) of the rates in doubt."""

    context: JobContext
    nodes: Floats
    loads: Sequence[Mapping[str, Loads]]
    slowdowns: Mapping[str, Floats]

    @classmethod
    def of(cls, context: JobContext, phases: Sequence[PhaseUses], nodes: Floats, *, spares: PlannedSpares) -> JobTimes:
        """Return the times of clusters of `nodes` (M,)."""
        kinds = kinds_of(context)
        return cls(
            context=context,
            nodes=nodes,
            loads=[_loads(context, uses, nodes, spares=spares, kinds=kinds) for uses in phases],
            slowdowns=slowdowns_of(context, nodes),
        )

    @classmethod
    def planned(cls, context: JobContext, nodes: Floats) -> JobTimes:
        """Return the times of clusters of `nodes` (M,) with the spares that are planned for them."""
        phases = PhaseUses.of_clusters(context, nodes)
        return cls.of(context, phases, nodes, spares=planned_spares(context, phases, nodes))

    @cached_property
    def known(self) -> TaughtJobs | None:
        """The times that real runs teach; None if there are none."""
        known, after_s = self.context.known, sum(self.phases_s, start=np.zeros(len(self.nodes)))
        return None if known is None else known.exactly(self.context, self.nodes, after_s)

    @cached_property
    def barriers(self) -> list[Durations]:
        """The distribution of each phase, (M, D, G); D is 1 for a phase that no doubted rate slows."""
        barrier_s = self.context.barrier_s(self.nodes[:, None])
        return [self._barrier(loads).later_by(barrier_s) for loads in self.loads]

    def _barrier(self, loads: Mapping[str, Loads]) -> Durations:
        if not loads:
            return Durations(times_s=np.zeros((len(self.nodes), 1, 1)), cdf=np.ones((len(self.nodes), 1, 1)))
        slowed = [load.median_s * self.slowdowns.get(RATE_OF[name], _ONE) for name, load in loads.items()]
        shape = (len(self.nodes), max(median_s.shape[1] for median_s in slowed))
        pairs = zip(loads.values(), slowed, strict=True)
        return order_statistics.barriers([load.lasting(np.broadcast_to(of, shape)) for load, of in pairs])

    @cached_property
    def phases_s(self) -> list[Floats]:
        """The expected seconds of each phase, (M,), if no node is taken back."""
        return [self._shared * of_phase.mean_s.mean(axis=1) for of_phase in self.barriers]

    @cached_property
    def undisturbed(self) -> Durations:
        """The distributions of the jobs' times if no node is taken back, (M, G)."""
        if self.known is not None:
            return self.known.durations
        return order_statistics.durations_of(self._sums_s, shared_sigma=self.context.overheads.shared_sigma)

    @cached_property
    def _sums_s(self) -> Floats:
        """Equally likely seconds of all phases of each job together, (M, P), without the factor that they share."""
        ways = max(of_phase.cdf.shape[1] for of_phase in self.barriers)
        phases = [
            replace(
                of_phase,
                times_s=np.repeat(of_phase.times_s, ways // of_phase.times_s.shape[1], axis=1),
                cdf=np.repeat(of_phase.cdf, ways // of_phase.cdf.shape[1], axis=1),
            )
            for of_phase in self.barriers
        ]
        return order_statistics.sums_s(phases)

    @cached_property
    def whole(self) -> Durations:
        """The distributions of the jobs' times, (M, G)."""
        risk = self.context.risk
        return risk.durations(self.undisturbed, nodes=self.nodes, load_s=self._load_s) if risk else self.undisturbed

    @property
    def _load_s(self) -> Floats:
        """The seconds that loading the input takes."""
        loading = loading_seconds(self.context, self.nodes[:, None])
        return sum((seconds[:, 0] for seconds in loading.values()), start=np.zeros(len(self.nodes)))

    @cached_property
    def expected_s(self) -> Floats:
        """The expected seconds of the jobs, (M,): of their phases, and of the delay by nodes taken back."""
        whole = sum(self.phases_s, start=np.zeros(len(self.nodes))) if self.known is None else self.known.usual_s
        return whole if self.context.risk is None else whole + self.delay_s

    @cached_property
    def delay_s(self) -> Floats:
        """The expected delay by nodes that are taken back, (M,)."""
        risk = self.context.risk
        if risk is None:
            return 0.0 * self.nodes
        if self.known is not None:
            usual_s = self.known.usual_s
            return risk.expected_s(usual_s, nodes=self.nodes, load_s=self._load_s) - usual_s
        factors, weights = order_statistics.shared_factors(self.context.overheads.shared_sigma)
        likely_s = self._sums_s[:, :, None] * factors
        load_s, nodes = self._load_s[:, None, None], self.nodes[:, None, None]
        delays_s = risk.expected_s(likely_s, nodes=nodes, load_s=load_s) - likely_s
        return np.asarray(delays_s.mean(axis=1) @ weights)

    def alone_s(self, phase: int, cluster: int) -> dict[str, float]:
        """Return the expected seconds until a cluster's slowest node finishes, for each resource of a phase alone."""
        loads, means = self.loads[phase], self._means_s[phase]
        return {name: float(means[name][cluster]) for name, load in loads.items() if load.median_s[cluster, 0] > 0}

    @cached_property
    def _means_s(self) -> list[dict[str, Floats]]:
        """The expected seconds (M,) until the slowest node finishes, for each resource of each phase alone."""
        return [
            {name: self._shared * load.mean_s[:, 0] * self._mean_slowdowns(name) for name, load in loads.items()}
            for loads in self.loads
        ]

    def bottleneck(self, phase: int, cluster: int) -> str:
        """Return the resource whose doubling would shorten a cluster's phase most, at the mean of the doubted rates."""
        alone = self.alone_s(phase, cluster)
        longest = max(alone.values(), default=0.0)
        contenders = [name for name, seconds in alone.items() if seconds > longest * _NEAR]
        if len(contenders) < 2:
            return contenders[0] if contenders else NOTHING
        left_s = self._left_s(phase)
        return min(contenders, key=lambda name: (float(left_s[name][cluster]), -alone[name]))

    def _left_s(self, phase: int) -> Mapping[str, Floats]:
        """Return the expected seconds (M,) of a phase if each of its resources were twice as fast."""
        if phase not in self._halved:
            loads = self.loads[phase]
            factors = 1 - np.eye(len(loads)) / 2
            doubled = [
                load.times(self._mean_slowdowns(name)[:, None] * factors[place])
                for place, (name, load) in enumerate(loads.items())
            ]
            self._halved[phase] = dict(zip(loads, order_statistics.barriers(doubled).mean_s.T, strict=True))
        return self._halved[phase]

    @cached_property
    def _halved(self) -> dict[int, Mapping[str, Floats]]:
        """Results of `_left_s`: all clusters of a batch are looked at together."""
        return {}

    def _mean_slowdowns(self, resource: str) -> Floats:
        doubted = self.slowdowns.get(RATE_OF[resource])
        return np.ones(len(self.nodes)) if doubted is None else np.asarray(doubted.mean(axis=1))

    @property
    def _shared(self) -> float:
        """The mean of the factor that all phases share."""
        return math.exp(self.context.overheads.shared_sigma**2 / 2)


_NEAR: Final = 0.8
"""Least share of the longest time for a resource that a phase may wait for."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Kinds:
    """Clusters in groups of those whose nodes differ alike: as `usual`, or with `own` spreads of their types."""

    usual: Sequence[Rows]
    own: Sequence[Rows]
    slowest_of_n: Flags


def kinds_of(context: JobContext) -> Kinds:
    """Return how the nodes of each layout's type differ."""
    type_rows = context.layouts.type_row
    is_own = np.isin(type_rows, context.spreads.own_rows)
    layouts: dict[tuple[float, ...], list[int]] = {}
    for at in np.flatnonzero(is_own).tolist():
        layouts.setdefault(context.layouts.key(at), []).append(at)
    narrowing = np.where(is_own, np.nan, context.layouts.speed("barriers"))
    return Kinds(
        usual=[np.flatnonzero(narrowing == factor) for factor in set(narrowing[~is_own].tolist())],
        own=[np.array(rows) for rows in layouts.values()],
        slowest_of_n=context.rates.network.slowest_of_n[type_rows],
    )


def _loads(
    context: JobContext, uses: PhaseUses, nodes: Floats, *, spares: PlannedSpares, kinds: Kinds
) -> dict[str, Loads]:
    """Return each resource's load in a phase, and its differences between nodes."""
    works = context.works(uses.phase)
    return {
        name: Loads(
            median_s=seconds[:, None],
            spreads=node_spreads(context, name, works, kinds),
            count=nodes,
            spares=np.where([of == name for of in spares.screened], spares.count, 0.0),
        )
        for name, seconds in uses.seconds.items()
    }


def node_spreads(context: JobContext, name: str, works: Mapping[str, Work], kinds: Kinds) -> list[tuple[Spread, Rows]]:
    """Return how nodes differ in a resource, and the clusters (M,) of which that is true."""
    if RATE_OF[name] == "undivided":
        return [(lognormal(0.0), np.arange(len(kinds.slowest_of_n)))]
    groups = [(context.usual_spread(name, row=int(rows[0])), rows) for rows in kinds.usual]
    groups += [(context.spread(name, works.get(name), row=int(rows[0])), rows) for rows in kinds.own]
    if name == "network" and kinds.slowest_of_n.any():
        certain = kinds.slowest_of_n
        groups = [(spread, rows[~certain[rows]]) for spread, rows in groups]
        groups.append((lognormal(0.0), np.flatnonzero(certain)))
    return [(spread, rows) for spread, rows in groups if len(rows)]


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
