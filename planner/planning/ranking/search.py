"""The best cluster of each type, found among all cells of all grids: bounds prune, exact figures decide.

Every cell starts with a lower bound of each figure, its estimate less a hundredth. All that is asked for (the cheapest
cluster, the best of each type, the first types) is a reduction of the bounds of all cells; what is chosen and was not
evaluated yet is evaluated in one batch, with some sizes around it, and all is chosen again. As bounds are optimistic, a
choice that is exact is the best of all.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import chain
from typing import Final

import numpy as np

from planner.arrays import Flags, Floats, Rows, distinct
from planner.planning.candidates.candidate_grid import CandidateGrid
from planner.planning.candidates.candidates import Cluster
from planner.planning.ranking import selection
from planner.planning.ranking.field import Field, Part
from planner.planning.ranking.selection import NO_LIMIT, Cells, Figures, Limit, Picks
from planner.planning.request import constraints
from planner.schemas.plan import Objective, Rejection, Request, Rule

_MARGIN: Final = 1.1
"""Most by which the first type of all may exceed others by its estimates at the sizes sampled: the 5% within which a
faster cluster is preferred, and twice what a sample may miss.
"""

_STEP: Final = 1.15
"""Most by which a figure changes from one sampled size to the next."""

_SPARE_TYPES: Final = 5
"""Types evaluated beside those that are shown: one of them may come first where a rate is lower than planned."""

_AT_ONCE: Final = 16
"""Types of an order evaluated together at first."""
_FURTHER: Final = 2
"""The same the second time, and then four times as many each time, if some of those that must be known are not."""


@dataclass(kw_only=True, eq=False)
class Scope:
    """The questions of a request to some groups of types (T,), which are apart, by the figures known so far: each is a
    reduction of `cells`. `cheapest` are the types of each group that have the cheapest cluster, and `fastest` those
    that have the fastest within the limit above it: with these the others are compared.
    """

    field: Field
    cells: Cells
    groups: Sequence[Flags]
    figures: dict[int, Figures]
    given: Sequence[Sequence[int]] | None = None

    def figures_of(self, picks: Picks) -> Figures:
        """Return the figures of cells picked of each type, taken from the field once."""
        if id(picks) not in self.figures:
            self.figures[id(picks)] = self.field.figures_of(picks)
        return self.figures[id(picks)]

    @cached_property
    def rule(self) -> Rule:
        """The order of the clusters."""
        return self.field.request.rule

    @cached_property
    def cheapest(self) -> Sequence[Sequence[int]]:
        """The type of each group with the cheapest cluster, unless `given`."""
        if self.given is not None:
            return self.given
        return [self.in_order(self.cells.cheapest, group, "cost")[:1] for group in self.groups]

    @cached_property
    def limits(self) -> list[Limit]:
        """The limit above the cheapest cluster of each group."""
        figures = self.figures_of(self.cells.cheapest)
        limits = [figures.only(np.array(types)).limit() if types else NO_LIMIT for types in self.cheapest]
        return [limit.without_hours for limit in limits] if self.rule == "papers" else limits

    @cached_property
    def _limit(self) -> Limit:
        """The limits by type, (T,)."""
        return Limit(**{name: self._by_type([getattr(of, name) for of in self.limits]) for name in vars(NO_LIMIT)})

    def _by_type(self, by_group: Sequence[float]) -> Floats:
        amounts = np.zeros(len(self.field.names))
        for group, amount in zip(self.groups, by_group, strict=True):
            amounts[group] = amount
        return amounts

    @cached_property
    def fastest_cells(self) -> Picks:
        """The fastest cell of each type, within the limit if there is one."""
        return self.cells.least(self.cells.time_s) if self.rule == "time" else self.cells.fastest(self._limit)

    @cached_property
    def fastest(self) -> Sequence[Sequence[int]]:
        """The type of each group with the fastest cluster, where that decides."""
        if self.rule in ("cost", "energy"):
            return [[] for _ in self.groups]
        return [self.in_order(self.fastest_cells, group, "time")[:1] for group in self.groups]

    def in_order(self, picks: Picks, group: Flags, objective: Objective) -> list[int]:
        """Return types of a group, the cheapest or fastest of the cells picked first, with a fully known bill if there
        are any that meet the request.
        """
        known = group & ~self.field.at_least & self.cells.cheapest.found
        among = np.flatnonzero((known if known.any() else group) & picks.found)
        figures = self.figures_of(picks).only(among)
        in_order = np.argsort(figures.ranked_s, kind="stable") if objective == "time" else figures.in_order(objective)
        return [int(of) for of in among[in_order]]

    @cached_property
    def best_cells(self) -> Picks:
        """The best cell of each type; the cheapest, until it is known, of one beyond the limit, which has a limit of
        its own.
        """
        field_, fastest_s = self.field, self.figures_of(self.fastest_cells).ranked_s
        alike_s = [max((self._alike_s(fastest_s[of]) for of in types), default=0.0) for types in self.fastest]
        best = self.cells.best(self.rule, limit=self._limit, alike_s=self._by_type(alike_s) / field_.handicap)
        if self.rule not in ("balanced", "papers"):
            return best
        cheapest = self.cells.cheapest
        is_open = ~self.cells.any_within(self._limit) & ~field_.known[cheapest.rows, cheapest.columns]
        rows = np.where(is_open, cheapest.rows, best.rows)
        return Picks(rows=rows, columns=np.where(is_open, cheapest.columns, best.columns), found=best.found)

    def _alike_s(self, fastest_s: float) -> float:
        return float(selection.slowest_alike(fastest_s, self.rule))

    def ranked(self, number: int, picks: Picks | None = None) -> list[int]:
        """Return the types of a group, the best first by their best cells or others that are picked."""
        picks = picks or self.best_cells
        among = np.flatnonzero(self.groups[number] & picks.found)
        beside = self._figures(self.cells.cheapest, self.cheapest[number])
        beside = beside.and_those(self._figures(self.fastest_cells, self.fastest[number]))
        in_order = self.figures_of(picks).only(among).in_order(self.rule, beside=beside)
        return [int(of) for of in among[in_order]]

    def _figures(self, picks: Picks, types: Sequence[int]) -> Figures:
        return self.figures_of(picks).only(np.array(types, np.intp))

    def beside(self, number: int) -> list[Cluster]:
        """Return the clusters that others of a group are compared with."""
        cheapest = self.field.clusters(self.cells.cheapest, self.cheapest[number])
        return [*cheapest, *self.field.clusters(self.fastest_cells, self.fastest[number])]

    def asked(self) -> Iterator[tuple[Picks, list[int], int]]:
        """Yield for each question the cells picked, the types in order, and how many of them must be known."""
        for number, group in enumerate(self.groups):
            if self.given is None:
                yield self.cells.cheapest, self.in_order(self.cells.cheapest, group, "cost"), 1
            if self.fastest[number]:
                yield self.fastest_cells, self.in_order(self.fastest_cells, group, "time"), 1
            yield self.best_cells, self.ranked(number), 1


@dataclass(kw_only=True, eq=False)
class Questions:
    """All that a request asks of a field by the figures known so far: the best of all, of each of several kinds and
    ways to pay, and of each of the first types: a type is shown at its best within its kind.
    """

    field: Field
    kinds: Scope
    overall: Scope
    pricings: Scope

    @classmethod
    def of(cls, field: Field) -> Questions:
        """Return the questions to a field."""
        cells, request = field.cells(), field.request
        scope = partial(Scope, field=field, cells=cells, figures={})
        kinds = scope(groups=[field.kinds == kind for kind in distinct(field.kinds)])
        overall = kinds
        if len(kinds.groups) > 1:
            overall = scope(groups=[np.ones(len(field.names), bool)], given=[list(chain(*kinds.cheapest))])
        pricings = request.pricings if len(request.pricings) > 1 else ()
        by_pricing = scope(groups=[field.pricings == pricing for pricing in pricings])
        return cls(field=field, kinds=kinds, overall=overall, pricings=by_pricing)

    @property
    def shown(self) -> list[int]:
        """The types in the order of all."""
        return self.overall.ranked(0, self.kinds.best_cells)

    @property
    def most(self) -> int:
        """The number of types to evaluate."""
        return self.field.request.top + _SPARE_TYPES

    def unknown(self, *, further: int) -> set[tuple[int, int]]:
        """Return the cells, by row and column, that must be evaluated before all is answered, with those of `further`
        types in the order of a question.
        """
        scopes = {id(scope): scope for scope in (self.kinds, self.overall, self.pricings)}.values()
        asked = [*chain(*(scope.asked() for scope in scopes)), (self.kinds.best_cells, self.shown, self.most)]
        return set(chain(*(self.field.unknown(*question, further=further) for question in asked)))

    def answers(self, scope: Scope) -> list[Cluster]:
        """Return the first cluster of each group of a scope."""
        ranked = (scope.ranked(number)[:1] for number in range(len(scope.groups)))
        return [cluster for types in ranked for cluster in self.field.clusters(scope.best_cells, types)]


@dataclass(frozen=True, kw_only=True, eq=False)
class Selected:
    """The best cluster of each of the first types, those `beside` that all are compared with, and the best of each of
    several ways to pay; `types` are all, `field` has those that could be among the first, and `only` is the type of a
    cluster that meets all constraints although its type's estimates did not.
    """

    clusters: list[Cluster]
    beside: list[Cluster]
    by_pricing: list[Cluster]
    types: Sequence[Types]
    field: Field | None
    only: str = ""

    @property
    def feasible(self) -> int:
        """The number of types that meet all constraints by the estimates."""
        return sum(int(np.isfinite(of.least).sum()) for of in self.types)

    def rejected(self) -> list[Rejection]:
        """Return the rejections of the types that do not, or were found not to when they were evaluated."""
        missed = [*chain(*(of.missed() for of in self.types)), *(self.field.near_misses() if self.field else ())]
        return [rejection for rejection in missed if rejection.instance_type != self.only]

    def with_the_only(self, cluster: Cluster) -> Selected:
        """Return the selection with a cluster that meets all constraints although its type's estimates did not."""
        return replace(self, clusters=[cluster], only=cluster.instance_type)


def select_clusters(request: Request, grids_by_kind: Sequence[Sequence[CandidateGrid]]) -> Selected:
    """Return the recommended cluster, the first of each kind (model and way to pay), and the best of each of the first
    `top` types and some more.
    """
    by_kind = [[of for grid in grids for of in _types_of(grid, request.objective)] for grids in grids_by_kind]
    parts = [part for kind, types in enumerate(by_kind) for part in _shortlist(request, types, kind=kind)]
    every = list(chain(*by_kind))
    if not parts:
        return Selected(clusters=[], beside=[], by_pricing=[], types=every, field=None)
    field, further = Field(parts, request), _AT_ONCE
    while unknown := (questions := Questions.of(field)).unknown(further=further):
        field.evaluate(sorted(unknown))
        further = _FURTHER if further == _AT_ONCE else 4 * further
    clusters, by_pricing = questions.answers(questions.overall), questions.answers(questions.pricings)
    clusters += questions.answers(questions.kinds) if questions.kinds is not questions.overall else []
    clusters += [*by_pricing, *field.clusters(questions.kinds.best_cells, questions.shown[: questions.most])]
    return Selected(
        clusters=list({id(cluster): cluster for cluster in clusters}.values()),
        beside=questions.overall.beside(0),
        by_pricing=by_pricing,
        types=every,
        field=field,
    )


@dataclass(frozen=True, kw_only=True, eq=False)
class Types:
    """T types of a `grid`: their layouts `rows` (R,), which follow each other from `starts` (T,), the objective's first
    criterion at the best of the sizes `sampled` (`least`: inf if none is admissible), the hours that it takes then, and
    what is charged at any size.
    """

    grid: CandidateGrid
    sampled: CandidateGrid
    rows: Rows
    starts: Rows
    least: Floats
    hours: Floats
    charges_usd: Floats

    @property
    def bills_unknown(self) -> Flags:
        """Whether the types' bills are lower bounds."""
        return self.grid.partly_unknown[self.rows[self.starts]]

    def only(self, types: Rows) -> Types:
        """Return some of the types."""
        rows = self.rows_of(types)
        starts = np.cumsum([0, *map(len, rows[:-1])])
        figures = {name: getattr(self, name)[types] for name in ("least", "hours", "charges_usd")}
        return replace(self, rows=np.concatenate(rows), starts=starts, **figures)

    def rows_of(self, types: Rows) -> list[Rows]:
        """Return the layouts of some types."""
        ends = np.append(self.starts, len(self.rows))
        return [self.rows[ends[of] : ends[of + 1]] for of in types.tolist()]

    def missed(self) -> Iterator[Rejection]:
        """Yield the rejections of the types that miss a constraint at all sizes."""
        for rows in self.rows_of(np.flatnonzero(np.isinf(self.least))):
            yield constraints.missed(self.grid.type_name(int(rows[0])), rows, self.sampled.asked)


def _shortlist(request: Request, types_of_kind: Sequence[Types], *, kind: int) -> Iterator[Part]:
    """Yield the types that can be among the first, apart by whether their bills are known, at all their sizes."""
    if not types_of_kind:
        return
    names = ("least", "hours", "charges_usd", "bills_unknown")
    least, hours, charges_usd, unknown = (np.concatenate([getattr(of, name) for of in types_of_kind]) for name in names)
    places = [(number, of) for number, types in enumerate(types_of_kind) for of in range(len(types.least))]
    for is_unknown in (False, True):
        alike = np.flatnonzero(np.isfinite(least) & (unknown == is_unknown))
        alike = alike[np.argsort(least[alike], kind="stable")]
        if not len(alike):
            continue
        most = _most(request, least[alike], hours=float(hours[alike[0]]), charges_usd=float(charges_usd[alike[0]]))
        by_grid: dict[int, list[int]] = {}
        for place in alike[least[alike] <= most].tolist():
            of_grid, of_type = places[place]
            by_grid.setdefault(of_grid, []).append(of_type)
        for of_grid, types in by_grid.items():
            rows = types_of_kind[of_grid].rows_of(np.array(types))
            starts = np.cumsum([0, *map(len, rows[:-1])])
            yield Part(grid=types_of_kind[of_grid].grid.only(np.concatenate(rows)), starts=starts, kind=kind)


def _most(request: Request, least: Floats, *, hours: float, charges_usd: float) -> float:
    """Return the most that the first criterion may be at for a type to be among the first, of types whose `least` rise;
    the first takes so many hours and is charged so much.
    """
    wanted, cheapest = float(least[min(len(least), request.top + _SPARE_TYPES) - 1]), float(least[0])
    saving_usd = selection.USD_PER_HOUR_SAVED * hours if request.rule == "balanced" else 0.0
    charges_usd = 0.0 if request.objective in ("time", "energy") else charges_usd
    return charges_usd + _MARGIN * (max(wanted, cheapest + saving_usd) - charges_usd)


def _types_of(grid: CandidateGrid, objective: Objective, *, sampled: CandidateGrid | None = None) -> Iterator[Types]:
    """Yield the types of a grid as they are at the sizes sampled, or at all sizes if only some size between may suit:
    from one size to the next a figure changes by at most `_STEP`.
    """
    if not (len(grid.ids) and len(grid.nodes)):
        return
    some = sampled or grid.sampled
    rows, starts = grid.by_type
    least, hours = _least_of_rows(some, objective)
    best = rows[np.lexsort((least[rows], np.repeat(np.arange(len(starts)), np.diff(starts, append=len(rows)))))[starts]]
    unclear: Flags = np.zeros(len(starts), bool)
    if some is not grid:
        is_near = np.asarray(some.within(_STEP).any(axis=1))[rows]
        unclear = np.isinf(least[best]) & np.logical_or.reduceat(is_near, starts)
    types = Types(
        grid=grid,
        sampled=some,
        rows=rows,
        starts=starts,
        least=least[best],
        hours=hours[best],
        charges_usd=some.estimates.charges_usd[best],
    )
    if not unclear.any():
        yield types
        return
    if not unclear.all():
        yield types.only(np.flatnonzero(~unclear))
    part = grid.only(np.concatenate(types.rows_of(np.flatnonzero(unclear))))
    yield from _types_of(part, objective, sampled=part)


def _least_of_rows(grid: CandidateGrid, objective: Objective) -> tuple[Floats, Floats]:
    """Return the objective's first criterion at the best admissible size of each layout, inf if there is none, and the
    hours that it takes there.
    """
    estimates = grid.estimates
    rows, measure = np.arange(len(grid.ids)), estimates.total_usd
    if objective in ("time", "energy"):
        measure = estimates.expected_s if objective == "time" else estimates.energy_j(rows)
    measure = np.where(grid.good, measure, np.inf)
    columns = np.argmin(measure, axis=1)
    return measure[rows, columns], estimates.expected_s[rows, columns] / 3600
