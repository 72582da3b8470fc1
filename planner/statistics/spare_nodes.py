"""The best number of spares: N + k machines are rented and screened, and the fastest N are kept.

A spare costs its boot and screening; it saves time if a barrier would otherwise wait for a bad node. The slowest kept
node is faster than x exactly if at least N of the N + k are, that is if N successes come before k + 1 failures. With
F(x) = P(rate <= x),
    P(slowest kept > x) = sum over j <= k of C(N + j - 1, j) F(x)^j (1 - F(x))^N,
exact for every k at once. Nodes are assumed independent, and constant after screening.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np
from numpy.typing import ArrayLike

from planner.arrays import Floats
from planner.errors import BadInputError
from planner.statistics.order_statistics import Spread

_LIKELY: Final = 400
"""Number of equally likely rates that represent a distribution."""

TIME_SLACK: Final = 0.01
"""Every further spare makes the slowest kept node faster; for the least time, the fewest within this of it suffice."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Spares:
    """The best number of spares, and the expected result of each number from 0 on, shape (K + 1,)."""

    count: int
    expected_s: Floats
    expected_node_hours: Floats


def best_spares(
    rates: ArrayLike,
    *,
    nodes: int,
    work_s: float,
    screen_s: float,
    objective: Literal["cost", "time"] = "cost",
    max_spares: int | None = None,
) -> Spares:
    """Return the number of spares that minimises expected cost (node-hours) or time.

    `rates` are measured rates of single nodes, each equally likely; `work_s` is the job's time if every node has the
    median rate; `screen_s` is the paid time of every node, including spares, before it; `max_spares` is the limit
    (default: as many as nodes). Raises BadInputError for rates that are not positive and finite, or invalid counts and
    times.
    """
    sorted_rates = np.sort(np.asarray(rates, float).ravel())
    if not len(sorted_rates) or not (np.isfinite(sorted_rates) & (sorted_rates > 0)).all():
        raise BadInputError("the number of spares needs measured rates, all positive and finite", code="not-a-rate")
    most = nodes if max_spares is None else max_spares
    if nodes < 1 or most < 0 or not (0 < work_s < math.inf and 0 <= screen_s < math.inf):
        raise BadInputError(
            "nodes and the job's time must be positive, spares and screening time not negative", code="out-of-range"
        )
    time_s = screen_s + work_s * expected_slowness(sorted_rates, nodes=nodes, max_spares=most)
    node_hours = ((nodes + np.arange(most + 1)) * screen_s + nodes * (time_s - screen_s)) / 3600
    enough = node_hours <= node_hours.min() if objective == "cost" else time_s <= (1 + TIME_SLACK) * time_s.min()
    return Spares(count=int(np.argmax(enough)), expected_s=time_s, expected_node_hours=node_hours)


def spares_for(spread: Spread, *, nodes: int, work_s: float, screen_s: float, max_spares: int | None = None) -> int:
    """Return the number of spares with the least expected cost if nodes differ by `spread`; see `best_spares`."""
    likely = (np.arange(_LIKELY) + 0.5) / _LIKELY
    rates = np.exp(-np.interp(np.log(likely), spread.log_cdf, spread.log_slowness))
    return best_spares(rates, nodes=nodes, work_s=work_s, screen_s=screen_s, max_spares=max_spares).count


def expected_slowness(rates: Floats, *, nodes: int, max_spares: int) -> Floats:
    """Return the mean of median rate / rate of the slowest node kept, for 0 to `max_spares` spares.

    `rates` are sorted and equally likely.
    """
    distinct, first = np.unique(rates, return_index=True)
    below = first / len(rates)
    at_least = _survival(below, nodes=nodes, max_spares=max_spares)
    slowest_is = at_least - np.append(at_least[:, 1:], np.zeros((max_spares + 1, 1)), axis=1)
    return np.asarray(slowest_is @ (np.median(rates) / distinct))


def _survival(below: Floats, *, nodes: int, max_spares: int) -> Floats:
    """Return P(every kept node has at least a rate) if a node is below it with chance `below`, shape (K + 1, G)."""
    spares = np.arange(max_spares + 1.0)
    ways = np.array([math.lgamma(nodes + j) - math.lgamma(j + 1) - math.lgamma(nodes) for j in spares.tolist()])
    log_bad = np.log(np.maximum(below, 1e-300))
    terms = np.exp(ways[:, None] + spares[:, None] * log_bad + nodes * np.log1p(-below))
    return np.asarray(np.cumsum(terms, axis=0))
