"""Selection of the cluster size to show for each type, and of the first cluster.

The default objective is the fastest cluster that costs at most 5% more than the cheapest, or less than 25 cents for
each hour it saves; among those within a minute or 1% of it, the cheapest. Equation 7 of SoCC 2015 does not depend on
the number of nodes, so cost alone leaves the choice open; a minute is not worth 300 machines, nor an hour some cents.
The 5% excludes requests and traffic: no choice of cluster changes their cost, and where they dominate a bill, 5% of it
would rent ten times the nodes.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Any, Final, TypeVar

import numpy as np

from planner.arrays import Flags, Floats, Rows
from planner.catalog.instances import handicap
from planner.planning.candidates.candidates import Cluster
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
    `least_usd`; above it, each hour saved may cost `USD_PER_HOUR_SAVED`. Arrays are limits of as many clusters.
    """

    usd: Floats | float
    least_usd: Floats | float = 0.0
    time_s: Floats | float = 0.0

    @property
    def without_hours(self) -> Limit:
        """The same limit with no value for saved hours."""
        return Limit(usd=self.usd)

    def admits(self, *, total_usd: Floats | float, time_s: Floats | float) -> Flags:
        """Return for each cluster whether it is within the limit."""
        saved_h = np.maximum(self.time_s - time_s, 0.0) / 3600
        return np.asarray((total_usd <= self.usd) | (total_usd - self.least_usd < USD_PER_HOUR_SAVED * saved_h))


NO_LIMIT: Final = Limit(usd=math.inf)


@dataclass(frozen=True, kw_only=True, eq=False)
class Figures:
    """What an objective compares of M clusters, each of shape (M,): expected seconds of a job, the whole bill (a lower
    bound where `at_least`) and the charges in it, energy (inf: unknown), and the factor by which bare metal is worse.
    """

    time_s: Floats
    total_usd: Floats
    charges_usd: Floats
    at_least: Flags
    energy_j: Floats
    handicap: Floats

    @classmethod
    def of(cls, clusters: Sequence[Cluster | Candidate]) -> Figures:
        """Return the figures of some clusters."""
        rows = np.array([_row(cluster) for cluster in clusters], float).reshape(-1, len(_FIGURES))
        columns = dict(zip(_FIGURES, rows.T, strict=True))
        return cls(**columns | {"at_least": columns["at_least"] > 0})

    def only(self, rows: Rows) -> Figures:
        """Return the figures of some of the clusters."""
        return Figures(**{name: getattr(self, name)[rows] for name in _FIGURES})

    def and_those(self, others: Figures) -> Figures:
        """Return the figures of these clusters and others."""
        columns = {name: np.concatenate([getattr(self, name), getattr(others, name)]) for name in _FIGURES}
        return Figures(**columns)

    def __len__(self) -> int:
        return len(self.time_s)

    def times(self, time: Floats, usd: Floats) -> Figures:
        """Return the figures with the time and the whole bill of each cluster multiplied, both (M,)."""
        return replace(self, time_s=self.time_s * time, total_usd=self.total_usd * usd)

    @cached_property
    def ranked_s(self) -> Floats:
        """Seconds by which the clusters are ordered."""
        return self.time_s * self.handicap

    @cached_property
    def ranked_usd(self) -> Floats:
        """Dollars by which the clusters are ordered."""
        return self.total_usd * self.handicap

    def limit(self) -> Limit:
        """Return the limit above the cheapest of the clusters with a fully known bill, if there is one."""
        at = int(np.lexsort((self.total_usd, self.at_least))[0])
        least = float(self.total_usd[at])
        usd = limit_above(least, charges_usd=float(self.charges_usd[at]))
        return Limit(usd=usd, least_usd=least, time_s=float(self.time_s[at]))

    def in_order(self, objective: Rule, *, beside: Figures | None = None) -> Rows:
        """Return the places (M,) of the clusters, best first; see `order`."""
        if not len(self):
            return np.zeros(0, np.intp)
        every = self if beside is None else self.and_those(beside)
        return np.lexsort(self._keys(objective, every)[::-1])

    def _keys(self, objective: Rule, every: Figures) -> tuple[Floats | Flags, ...]:
        """Return what decides, the first first."""
        seconds, usd = self.ranked_s, self.ranked_usd
        if objective == "cost":
            return self.at_least, usd, seconds
        if objective == "energy":
            return self.energy_j, seconds
        if objective == "time":
            slow = seconds > slowest_alike(float(every.ranked_s.min()), objective)
            return slow, np.where(slow, seconds, self.at_least), usd, seconds
        limit = every.limit() if objective == "balanced" else every.limit().without_hours
        near = limit.admits(total_usd=every.ranked_usd, time_s=every.ranked_s)
        within, counted = near[: len(usd)], near & (every.at_least == self.at_least.min())
        fastest_s = float(np.min(every.ranked_s, where=counted, initial=np.inf))
        slow = within & (seconds > slowest_alike(fastest_s, objective))
        return self.at_least, ~within, slow, np.where(slow, seconds, usd), np.where(slow, usd, seconds)


_FIGURES: Final = tuple(field.name for field in fields(Figures))


AnyCluster = TypeVar("AnyCluster", bound="Cluster | Candidate")


def _row(of: Cluster | Candidate) -> tuple[float, ...]:
    """Return the figures of a cluster, in the order of `_FIGURES`."""
    factor = handicap(of.instance_type)
    if isinstance(of, Candidate):
        cost, joules = of.cost_usd, math.inf if of.energy_j is None else of.energy_j
        return of.time_s.expected, cost.total, cost.charges, cost.at_least, joules, factor
    bills, energy_j = of.clusters.bills, float(of.clusters.energy_j[of.at])
    known_usd, at_least = float(bills.known_usd[of.at]), bool(bills.at_least[of.at])
    joules = energy_j if math.isfinite(energy_j) else math.inf
    return of.expected_s, of.total_usd, known_usd, at_least, joules, factor


def limit_above(least_usd: Floats | float, *, charges_usd: Floats | float) -> Any:
    """Return the total up to which a faster cluster is preferred to the cheapest, which costs `least_usd`."""
    return least_usd + (SLACK - 1) * (least_usd - charges_usd)


@dataclass(frozen=True, kw_only=True, eq=False)
class Picks:
    """A cell of each of G groups of layouts, by its row and column; `found` (G,) is False where a group has none."""

    rows: Rows
    columns: Rows
    found: Flags


@dataclass(frozen=True, kw_only=True, eq=False)
class Cells:
    """Figures of clusters: R layouts by N sizes, (R, N), inf where a cluster is not admissible; `charges_usd` are by
    layout (R,). Layouts of one group, such as a type, follow each other; `starts` (G,) are their first rows.
    """

    time_s: Floats
    total_usd: Floats
    energy_j: Floats | None
    charges_usd: Floats
    starts: Rows = field(default_factory=lambda: np.zeros(1, np.intp))

    @cached_property
    def groups(self) -> Rows:
        """The group of each layout, (R,)."""
        return np.repeat(np.arange(len(self.starts)), np.diff(self.starts, append=len(self.time_s)))

    def least(self, figures: Floats) -> Picks:
        """Return the cell of each group where some figures (R, N) are least; the first of several."""
        columns = figures.argmin(axis=1)
        values = figures[np.arange(len(columns)), columns]
        rows = np.lexsort((values, self.groups))[self.starts]
        return Picks(rows=rows, columns=columns[rows], found=np.isfinite(values[rows]))

    @cached_property
    def cheapest(self) -> Picks:
        """The cheapest cell of each group."""
        return self.least(self.total_usd)

    def of_layouts(self, by_group: Floats | Flags | float) -> Any:
        """Return what is of each group (G,), or of all, for each layout, (R, 1)."""
        return by_group[self.groups, None] if isinstance(by_group, np.ndarray) else by_group

    def limits(self) -> Limit:
        """Return the limit above the cheapest cell of each group, (G,)."""
        rows, columns = self.cheapest.rows, self.cheapest.columns
        least = self.total_usd[rows, columns]
        with np.errstate(invalid="ignore"):
            usd = limit_above(least, charges_usd=self.charges_usd[rows])
        return Limit(usd=usd, least_usd=least, time_s=self.time_s[rows, columns])

    def within(self, limit: Limit) -> Flags:
        """Return the clusters within a limit, of all groups or of each, (R, N)."""
        by_layout = Limit(**{name: self.of_layouts(amount) for name, amount in vars(limit).items()})
        with np.errstate(invalid="ignore"):
            return by_layout.admits(total_usd=self.total_usd, time_s=self.time_s) & np.isfinite(self.total_usd)

    def any_within(self, limit: Limit) -> Flags:
        """Return whether each group has a cluster within a limit, (G,)."""
        return np.logical_or.reduceat(self.within(limit).any(axis=1), self.starts)

    def least_of_groups(self, figures: Floats) -> Floats:
        """Return the least of some figures in each group, (G,)."""
        return np.minimum.reduceat(figures.min(axis=1), self.starts)

    def fastest(self, limit: Limit) -> Picks:
        """Return the fastest cell of each group within a limit."""
        return self.least(np.where(self.within(limit), self.time_s, np.inf))

    def best(self, objective: Rule, *, limit: Limit, alike_s: Floats | float = 0.0) -> Picks:
        """Return the best cell of each group.

        `limit` is the limit above the cheapest cluster of any type. Under the balanced objective, a group that reaches
        it is shown at its fastest within it, any other at its fastest within the limit of its own cheapest. Clusters
        up to `alike_s` count as being as fast as the fastest of any type.
        """
        total, time = self.total_usd, self.time_s
        if objective in ("balanced", "papers"):
            own = self.limits()
            limit, own = (limit, own) if objective == "balanced" else (limit.without_hours, own.without_hours)
            within = self.within(limit)
            reaches = np.logical_or.reduceat(within.any(axis=1), self.starts)
            alike_s = np.where(reaches, alike_s, 0.0)
            if not reaches.all():
                within |= ~self.of_layouts(reaches) & self.within(own)
            time = np.where(within, time, np.inf)
        energy = time if self.energy_j is None else self.energy_j
        first, second = {"cost": (total, time), "energy": (energy, time)}.get(objective, (time, total))
        least = self.least_of_groups(first)
        slowest_s = np.where(least <= alike_s, alike_s, slowest_alike(least, objective))
        ties = first <= self.of_layouts(slowest_s if first is time else least * (1 + 1e-9))
        alike = self.least_of_groups(np.where(ties, second, np.inf)) * (1 + 1e-9)
        ties &= second <= self.of_layouts(alike)  # equation 7 gives many sizes one cost
        best = self.least(np.where(ties, first, np.inf))
        return replace(best, found=best.found & self.cheapest.found)


def slowest_alike(fastest_s: Any, objective: Rule) -> Any:
    """Return the time up to which a cluster counts as being as fast as the fastest, of one or elementwise."""
    return np.maximum(fastest_s * SAME_TIME, fastest_s + _SAME_TIME_S if objective == "balanced" else 0.0)


def order(
    clusters: Sequence[AnyCluster], objective: Rule, *, beside: Sequence[Cluster | Candidate] = ()
) -> list[AnyCluster]:
    """Return the clusters best first under `objective`; `beside` are clusters outside them that may cost less or be
    faster. A cluster with a partly unknown bill does not rank higher for costing less, nor bare metal before others
    that are as good.
    """
    places = Figures.of(clusters).in_order(objective, beside=Figures.of(beside))
    return [clusters[place] for place in places.tolist()]


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
