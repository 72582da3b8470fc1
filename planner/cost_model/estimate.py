"""Seconds and dollars of every cluster at once: R layouts by N cluster sizes.

A phase lasts as long as its slowest resource (SoCC 2015, equations 1 to 11); the cost is nodes x price x time
(equation 7). `expected` stretches each resource by the mean slowness of the slowest node, a lower bound that is exact
where one resource decides; figures shown to a user are computed exactly, by `planner.planning.candidates.candidates`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from planner.arrays import Floats, Rows
from planner.cost_model.capacity import fewest_nodes
from planner.cost_model.clusters import energy_j
from planner.cost_model.duration import quantile_over_mean
from planner.cost_model.model import Phase
from planner.cost_model.prices import (
    Reservations,
    billed_s,
    capacity_usd_per_hour,
    copies_usd,
    dearer_usd_per_hour,
    doubtful_usd,
    known_usd,
    paid_nodes,
    request_usd,
    spares_paid_s,
)
from planner.cost_model.staging import least_seconds, loading_node_seconds, staging_node_seconds
from planner.cost_model.work import Work
from planner.cost_model.workload import JobContext, cpu_seconds, driver_seconds, task_count
from planner.statistics.order_statistics import Spread, slowest_mean_cached
from planner.statistics.scaling_curve import mean_slowdowns

BLOCK_ROWS: Final = 64
BLOCK_CELLS: Final = 64_000
"""Rows, and rows times cluster sizes, that are evaluated together: they stay in the cache."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Estimates:
    """`expected_s`, `total_usd` and `total_p95_usd`, each of shape (R, N): inf where the cluster cannot hold the data,
    NaN where unknown. The last is computed only if a budget requires it. `charges_usd` (R,) is the least part of the
    totals that is charged regardless of the cluster's size: requests and traffic. `power_w` (R,) is a node's, NaN where
    unknown.
    """

    nodes: Floats
    fewest: Floats
    expected_s: Floats
    total_usd: Floats
    total_p95_usd: Floats | None
    charges_usd: Floats
    power_w: Floats

    def energy_j(self, rows: Rows) -> Floats:
        """Return the expected energy of the job on some rows, shape (rows, N): NaN where the power is unknown."""
        return energy_j(self.expected_s[rows], nodes=self.nodes, power_w=self.power_w[rows, None])


def estimate(
    context: JobContext,
    *,
    price_usd_per_hour: Floats,
    nodes: Floats,
    budgeted: bool,
    reservations: Reservations | None = None,
) -> Estimates:
    """Return the estimates of every layout at each of `nodes` (N,), increasing; `price_usd_per_hour` (T,) is a node's
    all-in price, `reservations` limit it, and `budgeted` requests the 95th percentile of the bill.
    """
    fewest = fewest_nodes(context)
    roomiest_first = np.argsort(fewest, kind="stable")
    ordered = replace(context, layouts=context.layouts.only(roomiest_first))
    job = _Job.of(ordered, nodes)
    bill = _Bill.of(ordered, price_usd_per_hour=price_usd_per_hour, nodes=nodes, reservations=reservations)
    late = quantile_over_mean(0.95, shared_sigma=context.overheads.shared_sigma)
    expected, total = (np.full((len(fewest), len(nodes)), np.inf) for _ in range(2))
    dear = np.full_like(total, np.inf) if budgeted else None
    doubt_usd = doubtful_usd(context)
    for block in _blocks(fewest[roomiest_first], nodes):
        rows = roomiest_first[block.rows]
        times = job.expected_s(block)
        expected[rows, block.columns] = times + block.too_few
        total[rows, block.columns] = bill.total_usd(block, times + bill.boot_s[block.columns]) + block.too_few
        if dear is not None:
            slow_s = times * late + bill.late_boot_s[block.columns]
            dear[rows, block.columns] = (
                bill.total_usd(block, slow_s, dearer=True) + doubt_usd[rows, None] + block.too_few
            )
    return Estimates(
        nodes=nodes,
        fewest=fewest,
        expected_s=expected,
        total_usd=total,
        total_p95_usd=dear,
        charges_usd=request_usd(context) + known_usd(context),
        power_w=context.power_w[context.layouts.type_row],
    )


@dataclass(frozen=True, kw_only=True, eq=False)
class _Block:
    """Rows evaluated together, and columns of cluster sizes, some of which hold the data on any of them.

    `too_few` (rows, columns) is inf where a row's nodes do not hold the data, else 0.
    """

    rows: slice
    columns: slice
    too_few: Floats


def _blocks(fewest: Floats, nodes: Floats) -> Iterator[_Block]:
    """Divide rows in the order of `fewest`, leaving out rows for which no cluster size suffices."""
    for start in range(0, int((fewest <= nodes[-1]).sum()), BLOCK_ROWS):
        rows = slice(start, min(len(fewest), start + BLOCK_ROWS))
        width = BLOCK_CELLS // (rows.stop - rows.start)
        for first in range(int(np.searchsorted(nodes, fewest[start])), len(nodes), width):
            columns = slice(first, min(len(nodes), first + width))
            too_few = np.where(nodes[columns] < fewest[rows, None], np.inf, 0.0)
            yield _Block(rows=rows, columns=columns, too_few=too_few)


@dataclass(frozen=True, kw_only=True, eq=False)
class _Job:
    """The job's work in each phase at cluster sizes `nodes` (N,), and the work of loading its input (R,)."""

    context: JobContext
    nodes: Floats
    phases: Sequence[_PhaseLoad]
    load_node_s: Floats
    load_least_s: Floats

    @classmethod
    def of(cls, context: JobContext, nodes: Floats) -> _Job:
        loading = loading_node_seconds(context)
        least, zeros = least_seconds(context).get("stage in", 0.0), np.zeros(len(context.layouts.type_row))
        return cls(
            context=context,
            nodes=nodes,
            phases=[_PhaseLoad.of(context, phase, nodes) for phase in context.model.phases],
            load_node_s=sum(loading.values(), start=zeros),
            load_least_s=zeros + least,
        )

    def expected_s(self, block: _Block) -> Floats:
        """Return the expected time of the clusters of a block, as if all held the data."""
        times = np.zeros(block.too_few.shape)
        for load in self.phases:
            times += load.longest_s(self.context, block, self.nodes[block.columns])
        times *= math.exp(self.context.overheads.shared_sigma**2 / 2)
        if self.context.risk is not None:
            nodes = self.nodes[block.columns]
            load_s = np.maximum(self.load_node_s[block.rows, None] / nodes, self.load_least_s[block.rows, None])
            return self.context.risk.expected_s(times, nodes=nodes, load_s=load_s)
        return times


@dataclass(frozen=True, kw_only=True, eq=False)
class _PhaseLoad:
    """A phase's work: node-seconds (R,) of the resources that the slowest of N nodes stretches equally, with that
    stretch (N,). Rows whose type has a tail (`tailed`) have separate loads.
    """

    phase: Phase
    network_stretch: Floats
    stated_stretch: Floats
    """Mean loss at scale of a network that is only stated."""
    network_doubt: Floats
    """Mean factor by which a row's network is slower than claimed (R,)."""
    alike: list[tuple[Floats, Floats]]
    cpu: tuple[Work, Floats] | None
    """The processors' work, partly dependent on the cluster's size, and its stretch."""
    tailed: list[tuple[int, Floats, list[tuple[float, Floats]]]]

    @classmethod
    def of(cls, context: JobContext, phase: Phase, nodes: Floats) -> _PhaseLoad:
        works, spreads, type_rows = context.works(phase), context.spreads, context.layouts.type_row
        cpu = works.pop("cpu", None)
        groups: dict[int, tuple[Floats, Spread]] = {}
        for name, work in works.items():
            spread = context.usual_spread(name)
            seconds = work.node_seconds * context.doubts.mean(name, type_rows)
            groups[id(spread)] = (np.maximum(groups.get(id(spread), (seconds, spread))[0], seconds), spread)
        tailed = [
            (int(row), *_tailed(context, works, int(row), nodes))
            for row in np.flatnonzero(np.isin(type_rows, spreads.own_rows))
        ]
        return cls(
            phase=phase,
            network_stretch=_slowest(context.usual_spread("network"), nodes),
            stated_stretch=mean_slowdowns(nodes.tobytes()) if spreads.node_sigma else np.ones(len(nodes)),
            network_doubt=context.doubts.mean("network", type_rows),
            cpu=None if cpu is None else (cpu, _slowest(context.usual_spread("cpu"), nodes)),
            alike=[(seconds, _slowest(spread, nodes)) for seconds, spread in groups.values()],
            tailed=tailed,
        )

    def longest_s(self, context: JobContext, block: _Block, nodes: Floats) -> Floats:
        """Return the expected time of the phase on a block: of its slowest resource on its slowest node."""
        slowest = context.rates.network.slowest_of_n[context.layouts.type_row[block.rows]]
        network = context.network_seconds(self.phase, block.rows, nodes) * self.network_doubt[block.rows, None]
        longest = network * np.where(slowest[:, None], 1.0, self.network_stretch[block.columns])
        stated = context.rates.network.stated[context.layouts.type_row[block.rows]]
        longest *= np.where(stated[:, None], self.stated_stretch[block.columns], 1.0)
        for seconds, stretch in self.alike:
            np.maximum(longest, seconds[block.rows, None] * (stretch[block.columns] / nodes), out=longest)
        for row, network_stretch, uses in self.tailed:
            if block.rows.start <= row < block.rows.stop:
                at = row - block.rows.start
                times = [network[at] * (1.0 if slowest[at] else network_stretch[block.columns])]
                shares = (seconds * stretch[block.columns] / nodes for seconds, stretch in uses)
                longest[at] = np.max([*times, *shares], axis=0)
        tasks = task_count(context, self.phase, block.rows, nodes)
        if self.cpu is not None:
            work, stretch = self.cpu
            busy = cpu_seconds(context, self.phase, work, block.rows, nodes, tasks=tasks)
            np.maximum(longest, busy * stretch[block.columns], out=longest)
        if (driver_s := driver_seconds(context, self.phase, block.rows, nodes, tasks=tasks)) is not None:
            np.maximum(longest, driver_s, out=longest)
        for _, seconds in context.undivided(self.phase, block.rows, nodes).values():
            np.maximum(longest, seconds, out=longest)
        return longest + context.barrier_s(block.rows, nodes)


def _tailed(
    context: JobContext, works: Mapping[str, Work], row: int, nodes: Floats
) -> tuple[Floats, list[tuple[float, Floats]]]:
    """Return the stretch of the network, and the node-seconds and stretch of each resource, of a row with a tail."""
    network = _slowest(context.spread("network", None, row=row), nodes)
    type_rows = context.layouts.type_row[row : row + 1]
    uses = (
        (float(work.node_seconds[row] * context.doubts.mean(name, type_rows)[0]), context.spread(name, work, row=row))
        for name, work in works.items()
    )
    return network, [(seconds, _slowest(spread, nodes)) for seconds, spread in uses]


def _steps(node_seconds: Mapping[str, Floats], least: Mapping[str, Floats]) -> list[tuple[Floats, Floats]]:
    """Return node-seconds and least seconds of steps, (R,), summing those without least seconds."""
    shared = np.sum([seconds for name, seconds in node_seconds.items() if name not in least], axis=0)
    return [(shared, np.zeros(len(shared))), *((node_seconds[name], seconds) for name, seconds in least.items())]


def _slowest(spread: Spread, nodes: Floats) -> Floats:
    return slowest_mean_cached(spread, nodes.tobytes())


@dataclass(frozen=True, kw_only=True, eq=False)
class _Bill:
    """Conversion of the job's seconds to the dollars of the whole run; prices and node-seconds by row, (R,)."""

    context: JobContext
    nodes: Floats
    paid: Floats
    hourly: Floats
    steps: list[tuple[Floats, Floats]]
    charges_usd: Floats
    copies_usd: Floats
    boot_s: Floats
    late_boot_s: Floats
    spares_paid_s: Floats
    reservations: Reservations | None

    @classmethod
    def of(
        cls, context: JobContext, *, price_usd_per_hour: Floats, nodes: Floats, reservations: Reservations | None
    ) -> _Bill:
        return cls(
            context=context,
            nodes=nodes,
            paid=paid_nodes(nodes, spare_fraction=context.overheads.spare_fraction),
            hourly=price_usd_per_hour[context.layouts.type_row],
            steps=_steps(staging_node_seconds(context), least_seconds(context)),
            charges_usd=request_usd(context) + known_usd(context),
            copies_usd=copies_usd(context) / np.maximum(1, nodes - 1),
            boot_s=context.overheads.booting_s(nodes),
            late_boot_s=context.overheads.late_booting_s(nodes),
            spares_paid_s=spares_paid_s(context, nodes),
            reservations=reservations,
        )

    def total_usd(self, block: _Block, booted_job_s: Floats, *, dearer: bool = False) -> Floats:
        """Return the cost of the whole run on the clusters of a block, whose boot and job take `booted_job_s`; where
        prices of another region are assumed, `dearer` selects the higher one.
        """
        nodes = self.nodes[block.columns]
        overheads_s = self.context.overheads.fixed_s(nodes) + sum(
            np.maximum(node_s[block.rows, None] / nodes, least_s[block.rows, None]) for node_s, least_s in self.steps
        )
        billed = billed_s(booted_job_s + overheads_s, self.context)
        spares_paid = np.minimum(billed, self.spares_paid_s[block.columns])
        paid, price = self.paid[block.columns], self.hourly[block.rows, None]
        hourly = nodes * price + capacity_usd_per_hour(self.context, nodes, rows=block.rows)
        if dearer:
            hourly = hourly + dearer_usd_per_hour(self.context, nodes, rows=block.rows)
        spares_hourly = (paid - nodes) * price
        if self.reservations is not None:
            type_rows = self.context.layouts.type_row[block.rows]
            beyond, beyond_all = (self.reservations.excess_usd_per_hour(type_rows, count) for count in (nodes, paid))
            hourly, spares_hourly = hourly + beyond, spares_hourly + beyond_all - beyond
        usd = hourly * (billed / 3600) + spares_hourly * (spares_paid / 3600)
        return np.asarray(usd + self.charges_usd[block.rows, None] + self.copies_usd[block.columns])
