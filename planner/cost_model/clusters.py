"""Clusters evaluated exactly, as arrays: times as distributions, bills, energy and capacity of thousands at once.

A phase lasts until its slowest resource on its slowest node is done (SoCC 2015, equations 1 to 11), the job as long as
its phases, and the cost is nodes x price x time (equation 7); see `planner.cost_model.duration` and `bill`. A single
cluster is a batch of one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np

from planner.arrays import Floats, Rows
from planner.cost_model.bill import Bills
from planner.cost_model.capacity import capacity_per_node, fewest_nodes
from planner.cost_model.duration import NOTHING, JobTimes, PhaseUses, PlannedSpares, planned_spares
from planner.cost_model.prices import Offer
from planner.cost_model.staging import compiling_node_s, staging_seconds
from planner.cost_model.workload import JobContext
from planner.schemas.plan import Cost, PhaseEstimate, Range, ResourceUse

SWITCH_POWER_W: Final = 1300.0
SWITCH_PORTS: Final = 52


@dataclass(frozen=True, kw_only=True, eq=False)
class Clusters:
    """M clusters of `nodes` (M,), each on its own layout of `context`, at the prices of `offer`."""

    context: JobContext
    offer: Offer
    nodes: Floats

    @classmethod
    def of(cls, context: JobContext, offer: Offer, *, rows: Rows, nodes: Floats) -> Clusters:
        """Return the clusters of `nodes` (M,) on the layouts `rows` (M,) of a context."""
        return cls(context=context.only(rows), offer=offer, nodes=nodes)

    def __len__(self) -> int:
        return len(self.nodes)

    @cached_property
    def uses(self) -> Sequence[PhaseUses]:
        """The work of each phase by the equations."""
        return PhaseUses.of_clusters(self.context, self.nodes)

    @cached_property
    def spares(self) -> PlannedSpares:
        """The nodes launched beside those at work."""
        return planned_spares(self.context, self.uses, self.nodes)

    @cached_property
    def times(self) -> JobTimes:
        """The distributions of the jobs' times and of their phases."""
        return JobTimes.of(self.context, self.uses, self.nodes, spares=self.spares)

    @property
    def expected_s(self) -> Floats:
        """The expected seconds of the jobs, (M,)."""
        return self.times.expected_s

    @cached_property
    def fewest(self) -> Floats:
        """The fewest nodes that hold the data, (M,)."""
        return fewest_nodes(self.context)

    @cached_property
    def capacity_bytes(self) -> Mapping[str, Floats]:
        """What each disk group of a node holds, (M,)."""
        return capacity_per_node(self.context)

    @cached_property
    def steps_s(self) -> Mapping[str, Floats]:
        """The seconds (M,) of each step around the job, for which every node is paid."""
        life, nodes = self.context.overheads, self.nodes
        zeros = np.zeros(len(nodes))
        steps = {
            "boot": life.booting_s(nodes),
            "compile": zeros + compiling_node_s(self.context)[:, 0],
            "install": life.install_s + life.starting_s(nodes),
            "screen": life.screening_s(nodes),
            "teardown": zeros + life.teardown_s,
        }
        return steps | {name: s[:, 0] for name, s in staging_seconds(self.context, nodes[:, None]).items()}

    @cached_property
    def around_s(self) -> Floats:
        """The seconds of all those steps, (M,)."""
        return sum(self.steps_s.values(), start=np.zeros(len(self)))

    @cached_property
    def bills(self) -> Bills:
        """The bills of whole runs."""
        nodes, spares = self.nodes[:, None], self.spares.count[:, None]
        return Bills.of(self.context, self.offer, nodes=nodes, spares=spares, around_s=self.around_s[:, None])

    @cached_property
    def total_usd(self) -> Floats:
        """The expected cost of the whole runs, (M,)."""
        return self.bills.total_usd(self.expected_s[:, None])[:, 0]

    def quantile_s(self, probability: float) -> Floats:
        """Return a quantile of the jobs' times, (M,)."""
        if probability not in self._quantiles:
            self._quantiles[probability] = self.times.whole.quantile_s([probability])[:, 0]
        return self._quantiles[probability]

    @cached_property
    def _quantiles(self) -> dict[float, Floats]:
        return {}

    @cached_property
    def total_p95_usd(self) -> Floats:
        """The cost that 95 in 100 whole runs keep to, (M,)."""
        return self.bills.total_p95_usd(self.quantile_s(0.95)[:, None])[:, 0]

    @cached_property
    def times_begun(self) -> Floats:
        """The mean number of times that the jobs begin, (M,): 1 where no node is taken back."""
        risk = self.context.risk
        return np.ones(len(self)) if risk is None else risk.times_begun(self.expected_s, nodes=self.nodes)

    @cached_property
    def energy_j(self) -> Floats:
        """The expected energy of the jobs, (M,): NaN where a node's power is unknown."""
        power_w = self.context.power_w[self.context.layouts.type_row]
        return energy_j(self.expected_s, nodes=self.nodes, power_w=power_w)

    def cost_usd(self, at: int) -> Cost:
        """Return the cost of a cluster."""
        time_s = self.time_s(at)
        total, total_p95 = float(self.total_usd[at]), float(self.total_p95_usd[at])
        return self.bills.cost(at, time_s, total=total, total_p95=total_p95)

    def time_s(self, at: int) -> Range:
        """Return the time of a cluster's job."""
        equation = sum(float(uses.equation_s[at]) for uses in self.uses)
        p50, p95 = (float(self.quantile_s(probability)[at]) for probability in (0.5, 0.95))
        return Range(equation=equation, expected=float(self.expected_s[at]), p50=p50, p95=p95)

    def phases(self, at: int) -> tuple[PhaseEstimate, ...]:
        """Return the phases of a cluster with their expected times, if no node is taken back, and their bottlenecks;
        under the papers' equations, with the equations' own.
        """
        return tuple(self._phase(number, uses, at) for number, uses in enumerate(self.uses))

    def _phase(self, number: int, uses: PhaseUses, at: int) -> PhaseEstimate:
        equation_s = float(uses.equation_s[at])
        time_s, alone, bottleneck = equation_s, {name: float(uses.seconds[name][at]) for name in uses.used(at)}, ""
        if not self.context.paper:
            time_s, alone = float(self.times.phases_s[number][at]), self.times.alone_s(number, at)
            bottleneck = self.times.bottleneck(number, at)
        resources = {
            name: _resource_use(float(uses.bytes_per_node[name][at]), float(uses.seconds[name][at]), alone[name])
            for name in uses.used(at)
        }
        return PhaseEstimate(
            name=uses.phase.name,
            time_s=time_s,
            equation_s=equation_s,
            bottleneck=bottleneck or (uses.slowest(at) if resources else NOTHING),
            resources=resources,
        )


def _resource_use(bytes_per_node: float, equation_s: float, time_s: float) -> ResourceUse:
    rate = bytes_per_node / equation_s
    return ResourceUse(bytes_per_node=bytes_per_node, bytes_per_s=rate, time_s=time_s, equation_s=equation_s)


def energy_j(time_s: Floats, *, nodes: Floats, power_w: Floats) -> Floats:
    """Return the joules of `nodes` servers of `power_w` watts each, and of the switches that join them, for a time;
    elementwise, NaN where the power is unknown, as clouds do not state it.

    Source: Rasmussen et al., TritonSort, section 5.6: E(N) = N E_server + E_switch, here over time. Its energies
    divided by its 100 TB times (6,395 s and 8,274 s) give 330 W a server; 8.332 MJ over 6,395 s give 1.3 kW for the
    52-port switch.
    """
    switches = np.where(nodes > 1, np.ceil(nodes / SWITCH_PORTS), 0.0)
    return np.asarray(time_s * (nodes * power_w + switches * SWITCH_POWER_W))
