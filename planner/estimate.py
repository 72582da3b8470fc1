"""Seconds and dollars of every cluster at once: R layouts by N cluster sizes.

A phase lasts as long as its slowest resource (SoCC 2015, equations 1 to 11); the cost is nodes x price x time
(equation 7). `expected` stretches each resource by the mean slowness of the slowest node, a lower bound that is exact
where one resource decides; what is shown to a user is computed exactly, by `planner.candidates`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from planner.capacity import fewest_nodes
from planner.model import Phase
from planner.variability import lognormal, slowest_mean
from planner.work import SIGMA_OF, Situation

Floats = NDArray[np.float64]

BLOCK_ROWS = 64
"""Rows evaluated together: 64 rows of 1,000 cluster sizes stay in the cache."""

GENERATE = Phase(name="generate", read={}, write={"data": {"map_in": 1}}, network={}, cpu={})
VALIDATE = Phase(name="validate", read={"data": {"reduce_out": 1}}, write={}, network={}, cpu={})


@dataclass(frozen=True, kw_only=True, eq=False)
class Estimates:
    """`equation_s`, `expected_s` and `total_usd`, each of shape (R, N): inf where the cluster cannot hold the data,
    NaN where unknown.
    """

    nodes: Floats
    fewest: Floats
    equation_s: Floats
    expected_s: Floats
    total_usd: Floats


def estimate(situation: Situation, *, price_usd_per_hour: Floats, nodes: Floats) -> Estimates:
    """Return the estimates of every layout at each of `nodes` (N,); `price_usd_per_hour` (T,) is a node's all-in
    price.
    """
    rows, columns = len(situation.layouts.type_row), len(nodes)
    equation, expected, total = (np.empty((rows, columns)) for _ in range(3))
    fewest = fewest_nodes(situation)
    stretch = _stretches(situation, nodes)
    hourly = price_usd_per_hour[situation.layouts.type_row]
    for block in _blocks(rows):
        equation[block], expected[block] = _times(situation, block, nodes, stretch)
        total[block] = _totals(situation, block, nodes, hourly[block], expected[block])
        too_few = nodes[None, :] < fewest[block, None]
        for values in (equation, expected, total):
            values[block][too_few] = np.inf
    return Estimates(nodes=nodes, fewest=fewest, equation_s=equation, expected_s=expected, total_usd=total)


def paid_nodes(nodes: Floats, *, spare_fraction: float) -> Floats:
    """Return the nodes a run pays for: spares are launched for clusters of more than one."""
    return np.where(nodes > 1, nodes + np.ceil(nodes * spare_fraction), nodes)


def volume_usd_per_hour(situation: Situation) -> Floats:
    """Return the hourly price of the capacity bought on volumes for the whole cluster, shape (R,): 0 where none is
    needed.
    """
    layouts, needed = situation.layouts, situation.group_bytes()
    bought = np.where(layouts.data_disks == 0, needed["data"], 0.0)
    bought = bought + np.where(layouts.intermediate_disks == 0, needed["intermediate"], 0.0)
    price = situation.volumes.usd_per_byte_hour[layouts.type_row]
    return np.where(bought > 0, bought * price, 0.0)


def overhead_node_seconds(situation: Situation, phase: Phase) -> Floats:
    """Return the node-seconds of `GENERATE` or `VALIDATE`, shape (R,): none for the papers."""
    works = situation.works(phase).values()
    zeros = np.zeros(len(situation.layouts.type_row))
    return zeros if situation.paper else sum((work.node_seconds for work in works), start=zeros)


def _blocks(rows: int) -> Iterator[slice]:
    for start in range(0, rows, BLOCK_ROWS):
        yield slice(start, min(rows, start + BLOCK_ROWS))


def _stretches(situation: Situation, nodes: Floats) -> dict[str, Floats]:
    sigma = situation.lifecycle.node_sigma
    return {kind: slowest_mean(lognormal(sigma.get(kind, 0.0)), nodes) for kind in set(SIGMA_OF.values())}


def _times(situation: Situation, rows: slice, nodes: Floats, stretch: dict[str, Floats]) -> tuple[Floats, Floats]:
    equation, expected = (np.zeros((rows.stop - rows.start, len(nodes))) for _ in range(2))
    slowest = situation.rates.network.slowest_of_n[situation.layouts.type_row[rows], None]
    for phase in situation.model.phases:
        plain = situation.network_seconds(phase, rows, nodes)
        blurred = plain * np.where(slowest, 1.0, stretch["network"])
        for name, work in situation.works(phase).items():
            seconds = work.node_seconds[rows, None] / nodes
            plain = np.maximum(plain, seconds)
            blurred = np.maximum(blurred, seconds * stretch[SIGMA_OF[name]])
        equation += plain
        expected += blurred
    return equation, expected * math.exp(situation.lifecycle.shared_sigma**2 / 2)


def _totals(situation: Situation, rows: slice, nodes: Floats, hourly: Floats, expected: Floats) -> Floats:
    around = sum(overhead_node_seconds(situation, phase)[rows] for phase in (GENERATE, VALIDATE))
    seconds = expected + situation.lifecycle.fixed_s + np.asarray(around)[:, None] / nodes
    paid = paid_nodes(nodes, spare_fraction=situation.lifecycle.spare_fraction)
    return np.asarray((paid * hourly[:, None] + volume_usd_per_hour(situation)[rows, None]) * seconds / 3600)
