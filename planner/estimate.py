"""Seconds and dollars of every cluster at once: R layouts by N cluster sizes.

A phase lasts as long as its slowest resource (SoCC 2015, equations 1 to 11); the cost is nodes x price x time
(equation 7). `expected` stretches each resource by the mean slowness of the slowest node, a lower bound that is exact
where one resource decides; what is shown to a user is computed exactly, by `planner.candidates`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from planner.around import around_node_seconds, loading_node_seconds
from planner.capacity import fewest_nodes
from planner.charges import known_usd
from planner.energy import energy_j
from planner.model import Phase
from planner.money import Reservations, billed_s, capacity_usd_per_hour, paid_nodes, request_usd
from planner.variability import Spread, slowest_mean_cached
from planner.work import Situation, Work

Floats = NDArray[np.float64]

BLOCK_ROWS = 64
"""Rows evaluated together: 64 rows of 1,000 cluster sizes stay in the cache."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Estimates:
    """`expected_s`, `total_usd` and `total_p95_usd`, each of shape (R, N): inf where the cluster cannot hold the data,
    NaN where unknown. The last is worked out only where a budget asks for it. `power_w` (R,) is a node's, NaN where
    unknown.
    """

    nodes: Floats
    fewest: Floats
    expected_s: Floats
    total_usd: Floats
    total_p95_usd: Floats | None
    power_w: Floats

    def energy_j(self, rows: NDArray[np.intp]) -> Floats:
        """Return the expected energy of the job on some rows, shape (rows, N): NaN where the power is unknown."""
        return energy_j(self.expected_s[rows], nodes=self.nodes, power_w=self.power_w[rows, None])


def estimate(
    situation: Situation,
    *,
    price_usd_per_hour: Floats,
    nodes: Floats,
    budgeted: bool,
    reservations: Reservations | None = None,
) -> Estimates:
    """Return the estimates of every layout at each of `nodes` (N,); `price_usd_per_hour` (T,) is a node's all-in
    price, `reservations` limit it, and `budgeted` asks for the 95th percentile of the bill.
    """
    rows, columns = len(situation.layouts.type_row), len(nodes)
    expected, total, dear = (np.empty((rows, columns)) for _ in range(3))
    fewest = fewest_nodes(situation)
    bill = _Bill.of(situation, price_usd_per_hour=price_usd_per_hour, nodes=nodes, reservations=reservations)
    phases = [_PhaseLoad.of(situation, phase, nodes) for phase in situation.model.phases]
    load = sum(loading_node_seconds(situation).values(), start=np.zeros(rows))[:, None]
    late = later(0.95, shared_sigma=situation.lifecycle.shared_sigma)
    for block in _blocks(rows):
        times = _expected_s(situation, phases, block, nodes)
        if situation.risk is not None:
            times = situation.risk.expected_s(times, nodes=nodes, load_s=load[block] / nodes)
        too_few = np.where(nodes[None, :] < fewest[block, None], np.inf, 0.0)
        expected[block] = times + too_few
        total[block] = bill.total_usd(situation, block, times) + too_few
        if budgeted:
            dear[block] = bill.total_usd(situation, block, times * late) + too_few
    return Estimates(
        nodes=nodes,
        fewest=fewest,
        expected_s=expected,
        total_usd=total,
        total_p95_usd=dear if budgeted else None,
        power_w=situation.power_w[situation.layouts.type_row],
    )


def later(probability: float, *, shared_sigma: float) -> float:
    """Return by what factor a quantile of the time exceeds its mean, as far as what a run's nodes share makes it."""
    return math.exp(shared_sigma * NormalDist().inv_cdf(probability) - shared_sigma**2 / 2)


def _blocks(rows: int) -> Iterator[slice]:
    for start in range(0, rows, BLOCK_ROWS):
        yield slice(start, min(rows, start + BLOCK_ROWS))


@dataclass(frozen=True, kw_only=True, eq=False)
class _PhaseLoad:
    """A phase's work: node-seconds (R,) of the resources that the slowest of N nodes stretches alike, with that
    stretch (N,). Rows whose type has a tail (`tailed`) have loads of their own.
    """

    phase: Phase
    network_stretch: Floats
    alike: list[tuple[Floats, Floats]]
    tailed: list[tuple[int, Floats, list[tuple[float, Floats]]]]

    @classmethod
    def of(cls, situation: Situation, phase: Phase, nodes: Floats) -> _PhaseLoad:
        works, spreads = situation.works(phase), situation.spreads
        groups: dict[int, tuple[Floats, Spread]] = {}
        for name, work in works.items():
            spread = spreads.usual(name)
            known = groups.get(id(spread), (work.node_seconds, spread))[0]
            groups[id(spread)] = (np.maximum(known, work.node_seconds), spread)
        tailed = [
            (int(row), *_tailed(situation, phase, works, int(row), nodes))
            for row in np.flatnonzero(np.isin(situation.layouts.type_row, spreads.own_rows))
        ]
        return cls(
            phase=phase,
            network_stretch=_slowest(spreads.usual("network"), nodes),
            alike=[(seconds, _slowest(spread, nodes)) for seconds, spread in groups.values()],
            tailed=tailed,
        )


def _tailed(
    situation: Situation, phase: Phase, works: Mapping[str, Work], row: int, nodes: Floats
) -> tuple[Floats, list[tuple[float, Floats]]]:
    """The stretch of the network, and the node-seconds and stretch of each resource, of a row with a tail."""
    kind = int(situation.layouts.type_row[row])

    def stretch(name: str) -> Floats:
        return _slowest(situation.spreads.of(name, type_row=kind, phase=phase), nodes)

    return stretch("network"), [(float(work.node_seconds[row]), stretch(name)) for name, work in works.items()]


def _slowest(spread: Spread, nodes: Floats) -> Floats:
    return slowest_mean_cached(spread, nodes.tobytes())


def _expected_s(situation: Situation, phases: Sequence[_PhaseLoad], rows: slice, nodes: Floats) -> Floats:
    kinds = situation.layouts.type_row[rows]
    expected = np.zeros((len(kinds), len(nodes)))
    slowest = situation.rates.network.slowest_of_n[kinds]
    for load in phases:
        network = situation.network_seconds(load.phase, rows, nodes)
        longest = network * np.where(slowest[:, None], 1.0, load.network_stretch)
        for seconds, stretch in load.alike:
            np.maximum(longest, seconds[rows, None] * (stretch / nodes), out=longest)
        for row, network_stretch, uses in load.tailed:
            if rows.start <= row < rows.stop:
                at = row - rows.start
                times = [network[at] * (1.0 if slowest[at] else network_stretch)]
                longest[at] = np.max([*times, *(seconds * stretch / nodes for seconds, stretch in uses)], axis=0)
        for _, seconds in situation.undivided(load.phase, nodes).values():
            np.maximum(longest, seconds, out=longest)
        expected += longest
    return expected * math.exp(situation.lifecycle.shared_sigma**2 / 2)


@dataclass(frozen=True, kw_only=True, eq=False)
class _Bill:
    """What turns the seconds of the job into the dollars of the whole run."""

    hourly: Floats
    paid: Floats
    capacity: Floats
    around_s: Floats
    charges_usd: Floats
    reservations: Reservations | None

    @classmethod
    def of(
        cls, situation: Situation, *, price_usd_per_hour: Floats, nodes: Floats, reservations: Reservations | None
    ) -> _Bill:
        around = sum(around_node_seconds(situation).values())
        return cls(
            hourly=price_usd_per_hour[situation.layouts.type_row],
            paid=paid_nodes(nodes, spare_fraction=situation.lifecycle.spare_fraction),
            capacity=capacity_usd_per_hour(situation, nodes),
            around_s=situation.lifecycle.fixed_s + np.asarray(around)[:, None] / nodes,
            charges_usd=request_usd(situation) + known_usd(situation),
            reservations=reservations,
        )

    def total_usd(self, situation: Situation, rows: slice, job_s: Floats) -> Floats:
        billed = billed_s(job_s + self.around_s[rows], situation)
        hourly = self.paid * self.hourly[rows, None] + self.capacity[rows]
        if self.reservations is not None:
            hourly = hourly + self.reservations.excess_usd_per_hour(situation.layouts.type_row[rows], self.paid)
        return np.asarray(hourly * billed / 3600 + self.charges_usd[rows, None])
