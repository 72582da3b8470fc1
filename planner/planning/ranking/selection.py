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
from typing import Final, Protocol, TypeVar

import numpy as np

from planner.arrays import Flags, Floats
from planner.catalog.instances import handicap
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
class Figures:
    """What an objective compares of a cluster: expected seconds of its job, the whole bill (a lower bound if
    `at_least`) and the charges in it, energy (None: unknown), and the factor by which bare metal counts as worse.
    """

    time_s: float
    total_usd: float
    charges_usd: float
    at_least: bool
    energy_j: float | None = None
    handicap: float = 1.0

    @classmethod
    def of(cls, candidate: Candidate) -> Figures:
        """Return the figures of a candidate."""
        return cls(
            time_s=candidate.time_s.expected,
            total_usd=candidate.cost_usd.total,
            charges_usd=candidate.cost_usd.charges,
            at_least=candidate.cost_usd.at_least,
            energy_j=candidate.energy_j,
            handicap=handicap(candidate.instance_type),
        )

    @property
    def figures(self) -> Figures:
        """The figures themselves."""
        return self

    @property
    def ranked_s(self) -> float:
        """Seconds by which clusters are ordered."""
        return self.time_s * self.handicap

    @property
    def ranked_usd(self) -> float:
        """Dollars by which clusters are ordered."""
        return self.total_usd * self.handicap


class Ranked(Protocol):
    """Something with the figures of a cluster."""

    @property
    def figures(self) -> Figures:
        """What an objective compares."""


AnyRanked = TypeVar("AnyRanked", bound="Ranked | Candidate")


def figures_of(cluster: Ranked | Candidate) -> Figures:
    """Return what an objective compares of a cluster."""
    return Figures.of(cluster) if isinstance(cluster, Candidate) else cluster.figures


def limit_above(least_usd: float, *, charges_usd: float) -> float:
    """Return the total up to which a faster cluster is preferred to the cheapest, which costs `least_usd`."""
    return least_usd + (SLACK - 1) * (least_usd - charges_usd)


@dataclass(frozen=True, kw_only=True, eq=False)
class Cells:
    """Figures of clusters of one kind (model and way to pay): R layouts by N sizes, (R, N), inf where a cluster is not
    admissible; `charges_usd` are by layout (R,).
    """

    time_s: Floats
    total_usd: Floats
    energy_j: Floats | None
    charges_usd: Floats

    def limit(self) -> Limit | None:
        """Return the limit above the cheapest cluster; None if there is none."""
        place = int(np.argmin(self.total_usd))
        least = float(self.total_usd.flat[place])
        if not math.isfinite(least):
            return None
        charges_usd = float(self.charges_usd[place // self.total_usd.shape[1]])
        usd = limit_above(least, charges_usd=charges_usd)
        return Limit(usd=usd, least_usd=least, time_s=float(self.time_s.flat[place]))

    def within(self, limit: Limit) -> Flags:
        """Return the clusters within a limit, (R, N)."""
        return limit.admits(total_usd=self.total_usd, time_s=self.time_s) & np.isfinite(self.total_usd)

    def best(self, objective: Rule, *, limit: Limit, alike_s: float = 0.0) -> tuple[int, int] | None:
        """Return row and column of the best cluster; None if none is admissible.

        `limit` is the limit above the cheapest cluster of any type. Under the balanced objective, a type that reaches
        it is shown at its fastest within it, any other at its fastest within the limit of its own cheapest. Clusters
        up to `alike_s` count as being as fast as the fastest of any type.
        """
        total, time = self.total_usd, self.time_s
        own = self.limit()
        if own is None:
            return None
        if objective in ("balanced", "papers"):
            limit, own = (limit, own) if objective == "balanced" else (limit.without_hours, own.without_hours)
            within = self.within(limit)
            alike_s = alike_s if within.any() else 0.0
            time = np.where(within if within.any() else self.within(own), time, np.inf)
        energy = time if self.energy_j is None else self.energy_j
        first, second = {"cost": (total, time), "energy": (energy, time)}.get(objective, (time, total))
        least = float(first.min())
        slowest_s = alike_s if least <= alike_s else slowest_alike(least, objective)
        ties = first <= (slowest_s if first is time else least * (1 + 1e-9))
        alike = np.min(second, where=ties, initial=np.inf) * (1 + 1e-9)  # equation 7 gives many sizes one cost
        ties &= second <= alike
        row, column = np.unravel_index(np.argmin(np.where(ties, first, np.inf)), total.shape)
        return int(row), int(column)


def slowest_alike(fastest_s: float, objective: Rule) -> float:
    """Return the time up to which a cluster counts as being as fast as the fastest."""
    allowed_s = fastest_s + _SAME_TIME_S if objective == "balanced" else 0.0
    return max(fastest_s * SAME_TIME, allowed_s)


def order(
    clusters: Sequence[AnyRanked], objective: Rule, *, beside: Sequence[Ranked | Candidate] = ()
) -> list[AnyRanked]:
    """Return the clusters best first under `objective`; `beside` are clusters outside them that may cost less or be
    faster. A cluster with a partly unknown bill does not rank higher for costing less, nor bare metal before others
    that are as good.
    """
    if not clusters:
        return []
    figures = [figures_of(cluster) for cluster in clusters]
    every = [*figures, *map(figures_of, beside)]
    limit, fastest = limit_of(every), min(of.ranked_s for of in every)
    limit = limit.without_hours if objective == "papers" else limit
    first_in_part = min(of.at_least for of in figures)
    near = [of for of in every if _is_within(of, limit) and of.at_least == first_in_part]
    fastest_near = min((of.ranked_s for of in near), default=math.inf)
    alike_s = slowest_alike(fastest_near, objective)

    def balanced(of: Figures) -> tuple[float, ...]:
        if _is_within(of, limit):
            return (of.at_least, 0, *_by_time(of, alike_s))
        return (of.at_least, 1, of.ranked_usd, of.ranked_s)

    keys: dict[str, Callable[[Figures], tuple[float, ...]]] = {
        "cost": lambda of: (of.at_least, of.ranked_usd, of.ranked_s),
        "energy": lambda of: (math.inf if of.energy_j is None else of.energy_j, of.ranked_s),
        "time": lambda of: _by_time(of, slowest_alike(fastest, "time")),
        "balanced": balanced,
        "papers": balanced,
    }
    places = sorted(range(len(figures)), key=lambda place: keys[objective](figures[place]))
    return [clusters[place] for place in places]


def _by_time(of: Figures, slowest_alike_s: float) -> tuple[float, ...]:
    """Return the sort key by time, and by the bill for clusters as fast as the fastest."""
    time, total = of.ranked_s, of.ranked_usd
    return (0, of.at_least, total, time) if time <= slowest_alike_s else (1, time, total)


def _is_within(of: Figures, limit: Limit) -> bool:
    return bool(limit.admits(total_usd=of.ranked_usd, time_s=of.ranked_s))


def limit_of(clusters: Sequence[Ranked | Candidate]) -> Limit:
    """Return the limit above the cheapest cluster with a fully known bill, if there is one."""
    cheapest = min(map(figures_of, clusters), key=lambda of: (of.at_least, of.total_usd))
    limit_usd = limit_above(cheapest.total_usd, charges_usd=cheapest.charges_usd)
    return Limit(usd=limit_usd, least_usd=cheapest.total_usd, time_s=cheapest.time_s)


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
        confidence=None,
        budget_usd=None,
    )
