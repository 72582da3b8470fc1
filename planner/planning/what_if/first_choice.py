"""Conditions that make a type the first choice: a lower price, or a faster resource."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Final

import numpy as np

from planner.planning.candidates.candidate_grid import CandidateGrid
from planner.planning.what_if.break_even import PARTS, Trial
from planner.planning.what_if.reliefs import used_resources
from planner.schemas.plan import Candidate, Plan

_MOST_FACTOR: Final = 10.0
"""Largest factor tried: no available resource would be faster by more."""

_LEAST_PRICE: Final = 0.1
"""Least share of the list price that is worth asking for."""

_STEPS: Final = 7
_RATES: Final = ("local", "volumes", "objects", "network")
"""Resources of a machine that may be faster than planned; processors are fixed by the type."""


@dataclass(frozen=True, kw_only=True)
class Needed:
    """Highest price per node-hour at which a type would come first (None: at none), and the factor by which each
    resource alone would have to be faster; resources that would not be enough alone are left out.
    """

    price_usd_per_hour: float | None = None
    factors: dict[str, float] = field(default_factory=dict)


def factors(plan: Plan, cluster: Candidate, grid: CandidateGrid) -> dict[str, float]:
    """Return by how many times each resource of the type of `cluster`, one of `grid`, must be faster for it to come
    first in a plan, by the estimates; resources that are not enough alone are left out.
    """
    trial = partial(
        Trial,
        request=plan.request,
        best=cluster,
        rivals=[rival for rival in plan.candidates if rival.instance_type != cluster.instance_type],
        beside=_cheapest(plan),
        grid=grid,
        factors=np.geomspace(1.0, _MOST_FACTOR, PARTS // 2 + 1).tolist(),
    )
    trials = {name: trial(rate=name) for name in _RATES if name in used_resources(cluster)}
    return {name: of_rate.turn(np.geomspace)[1] for name, of_rate in trials.items() if of_rate.holds(_MOST_FACTOR)}


def _cheapest(plan: Plan) -> Sequence[Candidate]:
    """Return the cheapest cluster of the frontier, by the figures used to order clusters."""
    best = plan.best
    if best is None or not plan.frontier:
        return []
    point = min(plan.frontier, key=lambda point: point.cost_usd_total)
    time_s = replace(best.time_s, expected=point.time_s)
    cost = replace(best.cost_usd, total=point.cost_usd_total)
    return [replace(best, instance_type=point.instance_type, nodes=point.nodes, time_s=time_s, cost_usd=cost)]


def least_price(plan: Plan, cluster: Candidate, *, first_at: Callable[[float], bool]) -> float | None:
    """Return the highest price per node-hour, to three figures, at which the type of `cluster` comes first in a plan;
    None if there is none. `first_at` returns whether it does at a price.
    """
    listed = cluster.price_usd_per_hour
    if plan.request.paper or "price" in plan.request.assume or not first_at(_rounded_down(_LEAST_PRICE * listed)):
        return None
    low, high = _LEAST_PRICE, 1.0
    for _ in range(_STEPS):
        middle = math.sqrt(low * high)
        low, high = (middle, high) if first_at(middle * listed) else (low, middle)
    return _rounded_down(low * listed)


def _rounded_down(price: float) -> float:
    unit = 10.0 ** (math.floor(math.log10(price)) - 2)
    return float(f"{math.floor(price / unit + 1e-9) * unit:.6g}")
