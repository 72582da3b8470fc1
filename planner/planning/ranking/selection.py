"""Selection of the cluster size to show for each type, and of the first cluster.

The default objective is the fastest cluster that costs at most 5% more than the cheapest, or less than 25 cents for
each hour it saves; among those within a minute or 1% of it, the cheapest. Equation 7 of SoCC 2015 does not depend on
the number of nodes, so cost alone leaves the choice open; a minute is not worth 300 machines, nor an hour some cents.
The 5% excludes requests and traffic: no choice of cluster changes their cost, and where they dominate a bill, 5% of it
would rent ten times the nodes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from planner.arrays import Flags, Floats, Rows
from planner.catalog.instances import handicap
from planner.cost_model.estimate import Estimates
from planner.schemas.plan import Candidate, Request, Rule

SLACK: Final = 1.05
"""Factor on the least total cost, without charges, up to which the default objective prefers a faster cluster."""


USD_PER_HOUR_SAVED: Final = 0.25
"""A faster cluster may exceed the SLACK if each hour it saves over the cheapest costs less than this."""

SAME_TIME: Final = 1.01
"""Times within this factor of the least count as equal: no plan is that precise, and the last second can cost most."""

_SAME_TIME_S: Final = 60.0
"""Under the default objective, times within this many seconds of the least count as equal, too."""


@dataclass(frozen=True, kw_only=True)
class Limit:
    """Total, `usd`, up to which a faster cluster is preferred to the cheapest, which takes `time_s` and costs
    `least_usd`; above it, each hour saved may cost `USD_PER_HOUR_SAVED`.
    """

    usd: float
    least_usd: float = 0.0
    time_s: float = 0.0

    @property
    def without_hours(self) -> Limit:
        """The same limit with no value for saved hours."""
        return Limit(usd=self.usd)

    def admits(self, *, total_usd: Floats | float, time_s: Floats | float) -> Flags:
        """Return for each cluster whether it is within the limit."""
        saved_h = np.maximum(self.time_s - time_s, 0.0) / 3600
        return np.asarray((total_usd <= self.usd) | (total_usd - self.least_usd < USD_PER_HOUR_SAVED * saved_h))


NO_LIMIT: Final = Limit(usd=math.inf)


@dataclass(frozen=True, kw_only=True)
class Cell:
    """One cluster in the arrays of estimates: layout `row`, and `column` into the node counts."""

    row: int
    column: int


@dataclass(frozen=True, kw_only=True, eq=False)
class Cheapest:
    """The cheapest admissible cluster of each layout: its column and its total, (R,), inf where there is none."""

    columns: Rows
    usd: Floats

    @classmethod
    def of(cls, estimates: Estimates, good: Flags) -> Cheapest:
        """Find the cheapest of the `good` clusters (R, N)."""
        priced = np.where(good, estimates.total_usd, np.inf)
        columns = priced.argmin(axis=1)
        return cls(columns=columns, usd=priced[np.arange(len(columns)), columns])

    def without(self, rows: Flags) -> Cheapest:
        """Return the same clusters with none of some layouts (R,)."""
        return replace(self, usd=np.where(rows, np.inf, self.usd))


def limit_above(least_usd: float, *, charges_usd: float) -> float:
    """Return the total up to which a faster cluster is preferred to the cheapest, which costs `least_usd`."""
    return least_usd + (SLACK - 1) * (least_usd - charges_usd)


def limit_of_estimates(estimates: Estimates, cheapest: Cheapest) -> Limit | None:
    """Return the limit above the cheapest admissible cluster; None if there is none."""
    if not np.isfinite(cheapest.usd).any():
        return None
    row = int(np.argmin(cheapest.usd))
    least, charges = float(cheapest.usd[row]), float(estimates.charges_usd[row])
    time_s = float(estimates.expected_s[row, cheapest.columns[row]])
    return Limit(usd=limit_above(least, charges_usd=charges), least_usd=least, time_s=time_s)


def best_cell(rows: Rows, estimates: Estimates, good: Flags, *, objective: Rule, limit: Limit) -> Cell | None:
    """Return the best cluster among the layouts `rows` of one type; None if none is admissible.

    `limit` is the limit above the cheapest cluster of any type. Under the balanced objective, a type that reaches it is
    shown at its fastest within it, any other at its fastest within the limit of its own cheapest.
    """
    total = np.where(good[rows], estimates.total_usd[rows], np.inf)
    if not np.isfinite(total.min()):
        return None
    time = np.where(good[rows], estimates.expected_s[rows], np.inf)
    if objective in ("balanced", "papers"):
        limit = limit if objective == "balanced" else limit.without_hours
        within = limit.admits(total_usd=total, time_s=time)
        if not within.any():
            within = _own_limit(rows, estimates, total).admits(total_usd=total, time_s=time)
        time = np.where(within, time, np.inf)
    energy = estimates.energy_j(rows) if objective == "energy" else time
    first, second = {"cost": (total, time), "energy": (np.where(good[rows], energy, np.inf), time)}.get(
        objective, (time, total)
    )
    ties = first <= (_slowest_alike(first.min(), objective) if first is time else first.min() * (1 + 1e-9))
    row, column = np.unravel_index(np.argmin(np.where(ties, second, np.inf)), total.shape)
    return Cell(row=int(rows[row]), column=int(column))


def _own_limit(rows: Rows, estimates: Estimates, total: Floats) -> Limit:
    """Return the limit above the cheapest cluster of one type."""
    row, column = np.unravel_index(np.argmin(total), total.shape)
    charges, least = float(estimates.charges_usd[rows[row]]), float(total[row, column])
    time_s = float(estimates.expected_s[rows[row], column])
    return Limit(usd=limit_above(least, charges_usd=charges), least_usd=least, time_s=time_s)


def _slowest_alike(fastest_s: float, objective: Rule) -> float:
    """Return the time up to which a cluster counts as being as fast as the fastest."""
    allowed_s = fastest_s + _SAME_TIME_S if objective == "balanced" else 0.0
    return max(fastest_s * SAME_TIME, allowed_s)


def order(candidates: Sequence[Candidate], objective: Rule, *, cheapest: Sequence[Candidate] = ()) -> list[Candidate]:
    """Return the candidates best first under `objective`; `cheapest` are clusters outside them that may cost less. A
    cluster with a partly unknown bill does not rank higher for costing less, nor bare metal before others that are as
    good.
    """
    if not candidates:
        return []
    limit, fastest = limit_of([*candidates, *cheapest]), min(map(_time_s, candidates))
    limit = limit.without_hours if objective == "papers" else limit
    first_in_part = min(c.cost_usd.at_least for c in candidates)
    near = [c for c in candidates if _is_within(c, limit) and c.cost_usd.at_least == first_in_part]
    fastest_near = min(map(_time_s, near), default=math.inf)
    alike_s = _slowest_alike(fastest_near, objective)

    def balanced(cluster: Candidate) -> tuple[float, ...]:
        if _is_within(cluster, limit):
            return (cluster.cost_usd.at_least, 0, *_by_time(cluster, alike_s))
        return (cluster.cost_usd.at_least, 1, _total_usd(cluster), _time_s(cluster))

    keys: dict[str, Callable[[Candidate], tuple[float, ...]]] = {
        "cost": lambda c: (c.cost_usd.at_least, _total_usd(c), _time_s(c)),
        "energy": lambda c: (math.inf if c.energy_j is None else c.energy_j, _time_s(c)),
        "time": lambda c: _by_time(c, _slowest_alike(fastest, "time")),
        "balanced": balanced,
        "papers": balanced,
    }
    return sorted(candidates, key=keys[objective])


def _by_time(cluster: Candidate, slowest_alike_s: float) -> tuple[float, ...]:
    """Return the sort key by time, and by the bill for clusters as fast as the fastest."""
    time, total = _time_s(cluster), _total_usd(cluster)
    return (0, cluster.cost_usd.at_least, total, time) if time <= slowest_alike_s else (1, time, total)


def _is_within(cluster: Candidate, limit: Limit) -> bool:
    return bool(limit.admits(total_usd=_total_usd(cluster), time_s=_time_s(cluster)))


def _time_s(cluster: Candidate) -> float:
    return cluster.time_s.expected * handicap(cluster.instance_type)


def _total_usd(cluster: Candidate) -> float:
    return cluster.cost_usd.total * handicap(cluster.instance_type)


def best_of_types(ranked: Sequence[Candidate]) -> list[Candidate]:
    """Return the first of each type of each model, cloud, region and way to pay."""
    firsts: dict[tuple[str, ...], Candidate] = {}
    for cluster in ranked:
        place = (cluster.model, cluster.cloud, cluster.region, cluster.pricing, cluster.instance_type)
        firsts.setdefault(place, cluster)
    return list(firsts.values())


def best_of_pricings(candidates: Sequence[Candidate], objective: Rule) -> dict[str, Candidate]:
    """Return the best of each way to pay, ranked only among clusters of the same way: cheaper clusters would change
    which are as fast as the fastest, or within the limit.
    """
    pricings = dict.fromkeys(candidate.pricing for candidate in candidates)
    by_pricing = {pricing: [of for of in candidates if of.pricing == pricing] for pricing in pricings}
    return {pricing: order(alike, objective)[0] for pricing, alike in by_pricing.items()}


def limit_of(candidates: Sequence[Candidate]) -> Limit:
    """Return the limit above the cheapest candidate with a fully known bill, if there is one."""
    cheapest = min(candidates, key=lambda c: (c.cost_usd.at_least, c.cost_usd.total))
    least = cheapest.cost_usd.total
    limit_usd = limit_above(least, charges_usd=cheapest.cost_usd.charges)
    return Limit(usd=limit_usd, least_usd=least, time_s=cheapest.time_s.expected)


def frontier(estimates: Estimates, good: Flags, cheapest: Cheapest) -> list[Cell]:
    """Return the admissible clusters that no other beats in both time and total cost, fastest first, of the layouts
    that have a `cheapest` one; many sizes are sampled, always including that of the cheapest of all.
    """
    if not np.isfinite(cheapest.usd).any():
        return []
    columns = np.union1d(_spread_columns(len(estimates.nodes)), cheapest.columns[np.argmin(cheapest.usd)])
    admissible = good[:, columns] & np.isfinite(cheapest.usd)[:, None]
    total = np.where(admissible, estimates.total_usd[:, columns], np.inf).ravel()
    time = estimates.expected_s[:, columns].ravel()
    fastest_first = np.lexsort((total, time))
    fastest_first = fastest_first[np.isfinite(total[fastest_first])]
    costs = total[fastest_first]
    before = np.minimum.accumulate(np.concatenate(([np.inf], costs)))[:-1]
    cells = fastest_first[costs < before * (1 - 1e-9)]
    return [Cell(row=int(cell // len(columns)), column=int(columns[cell % len(columns)])) for cell in cells]


def _spread_columns(count: int, *, most: int = 60) -> Rows:
    """Return at most `most` columns, evenly spread on a logarithmic scale: neighbours differ too little to choose
    between.
    """
    return np.unique(np.geomspace(1, count, min(count, most)).round().astype(int)) - 1


def narrowed(request: Request, candidate: Candidate, *, nodes: int) -> Request:
    """Return the request for a candidate's model, cloud, region, type and way to pay alone, at `nodes`, without limits
    on time and cost.
    """
    return replace(
        request,
        model=candidate.model,
        catalogs=(candidate.cloud,),
        regions=(candidate.region,),
        instances=(candidate.instance_type,),
        pricing=candidate.pricing,
        interruptions_per_node_hour=request.interruptions_per_node_hour if candidate.pricing == "spot" else None,
        exclude=(),
        nodes=nodes,
        deadline_s=None,
        sort_deadline_s=None,
        budget_usd=None,
    )
