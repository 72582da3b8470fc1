"""The best cluster of each type, found among all cells of all grids: bounds prune, exact figures decide.

Every cell starts with a lower bound of each figure, its estimate less a hundredth. All that is asked for (the cheapest
cluster, the best of each type, the first types) is a reduction of the bounds of all cells; what is chosen and was not
evaluated yet is evaluated in one batch, with some sizes around it, and all is chosen again. As bounds are optimistic, a
choice that is exact is the best of all.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from itertools import chain
from typing import Final

import numpy as np

from planner.arrays import Flags, Floats, Rows
from planner.catalog.instances import handicap
from planner.cost_model.clusters import energy_j
from planner.planning.candidates.candidate_grid import CandidateGrid
from planner.planning.candidates.candidates import Cluster
from planner.planning.ranking import selection
from planner.planning.ranking.selection import NO_LIMIT, Cells, Limit, ManyFigures, Picks
from planner.planning.request import constraints
from planner.schemas.plan import Objective, Rejection, Request, Rule

BOUND: Final = 0.99
"""Least ratio of an exact figure to its estimate: of 8,640 clusters none had less than 0.991."""

_BETWEEN: Final = 1 - 1e-4
"""The same between two evaluated sizes of a layout, over the lesser of their ratios: where another resource comes to
decide, the ratio rises.
"""

_NEAR: Final = 0.02
"""Difference of the logarithms of two sizes between which the ratio is taken to be straight."""

_WIDTHS: Final = (
    (0.1, 0.018), (0.05, 0.018, 0.009), (0.018, 0.005), (0.05, 0.01, 0.002), (0.018, 0.005), (0.05, 0.01, 0.002),
    (0.018, 0.005, 0.001), (0.05, 0.01, 0.002), (0.005, 0.001),
)  # fmt: skip
"""Shares of the size by which the sizes evaluated around a choice differ from it, time after time: smaller ones, and
wider ones again for a choice that moves on. After as many times, what was not evaluated is left.
"""

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

_MANY_TYPES: Final = 500
_ROUNDS_OF_MANY: Final = 4
"""Times that sizes of a type are evaluated where so many types are almost equally good."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Part:
    """The layouts of a `grid` of some of its types, which follow each other; `starts` (T,) are the types' first rows,
    and `kind` is the number of the model and way to pay.
    """

    grid: CandidateGrid
    starts: Rows
    kind: int


@dataclass(eq=False)
class Field:
    """All clusters of the types that can be among the first, those of several grids together: R layouts of T types by N
    sizes. Each figure by its name, (R, N), is exact where `known`, elsewhere a lower bound.
    """

    parts: Sequence[Part]
    request: Request
    figures: dict[str, Floats] = field(init=False)
    known: Flags = field(init=False)

    def __post_init__(self) -> None:
        grids = [part.grid for part in self.parts]
        self.nodes = grids[0].nodes
        sizes = [len(grid.ids) for grid in grids]
        self.first_rows = np.cumsum([0, *sizes])
        self.starts = np.concatenate(
            [part.starts + row for part, row in zip(self.parts, self.first_rows[:-1], strict=True)]
        )
        self.part_of_row = np.repeat(np.arange(len(grids)), sizes)
        self.charges_usd = np.concatenate([grid.estimates.charges_usd for grid in grids])
        self.kinds = np.concatenate([np.full(len(part.starts), part.kind) for part in self.parts])
        places = list(zip(self.part_of_row[self.starts].tolist(), self.starts.tolist(), strict=True))
        self.names = [grids[part].type_name(row - int(self.first_rows[part])) for part, row in places]
        self.handicap = np.array([handicap(name) for name in self.names])
        self.at_least = np.concatenate([p.grid.partly_unknown[p.starts] for p in self.parts])
        self.pricings = np.array([grids[part].offer.pricing for part, _ in places])
        self._power_w = np.concatenate([grid.estimates.power_w for grid in grids])
        self._rounds = np.zeros(len(self.starts), np.intp)
        self._estimate(grids)
        self.take_in([(row, column) for row in range(len(self.known)) for column in self._found(row)])

    def _estimate(self, grids: Sequence[CandidateGrid]) -> None:
        shape = (self.first_rows[-1], len(self.nodes))
        self._estimated = {"time": np.concatenate([grid.estimates.expected_s for grid in grids])}
        total = np.concatenate([grid.estimates.total_usd for grid in grids])
        self._estimated["usd"] = total - self.charges_usd[:, None]  # charges are exact
        self._able = np.isfinite(total)
        self.limits: dict[str, Floats] = {}
        for grid, first, end in zip(grids, self.first_rows[:-1], self.first_rows[1:], strict=True):
            for asked in grid.asked:
                limits = self.limits.setdefault(asked.name, np.full((shape[0], 1), np.inf))
                limits[first:end] = asked.limit
                self._estimated.setdefault(asked.name, np.zeros(shape))[first:end] = asked.measure
        self.known = np.zeros(shape, bool)
        self._bound = 1 - 1e-9 if self.request.paper else BOUND  # the papers' sums are exact
        self.figures = {name: self._bound * estimate for name, estimate in self._estimated.items()}
        self.figures["usd"] += self.charges_usd[:, None]

    def _found(self, row: int) -> list[int]:
        """Return the columns of a layout that were evaluated before."""
        grid = self.parts[self.part_of_row[row]].grid
        own = row - int(self.first_rows[self.part_of_row[row]])
        return grid.columns_of(own) if grid.found.get(int(grid.ids[own])) else []

    @cached_property
    def types(self) -> Rows:
        """The type of each layout, (R,)."""
        return np.repeat(np.arange(len(self.starts)), np.diff(self.starts, append=len(self.known)))

    def cells(self) -> Cells:
        """Return the figures of the clusters that may meet all constraints."""
        good = self._able.copy()
        rounds = len(_WIDTHS) if len(self.starts) <= _MANY_TYPES else _ROUNDS_OF_MANY
        closed = self._rounds[self.types] >= rounds
        if closed.any():
            good &= self.known | ~closed[:, None]
        for name, limits in self.limits.items():
            good &= self.figures[name] <= limits
        time_s = np.where(good, self.figures["time"], np.inf)
        of_energy = self.request.objective == "energy"
        return Cells(
            time_s=time_s,
            total_usd=np.where(good, self.figures["usd"], np.inf),
            energy_j=energy_j(time_s, nodes=self.nodes, power_w=self._power_w[:, None]) if of_energy else None,
            charges_usd=self.charges_usd,
            starts=self.starts,
        )

    def unknown(self, picks: Picks, in_order: Sequence[int], wanted: int, *, further: int) -> Iterator[tuple[int, int]]:
        """Yield the cells picked of types in order that were not evaluated, unless those of the first `wanted` were."""
        known = self.known[picks.rows, picks.columns]
        if not all(known[of] for of in in_order[:wanted]):
            for of in in_order[: max(wanted, further)]:
                if not known[of]:
                    yield int(picks.rows[of]), int(picks.columns[of])

    def clusters(self, picks: Picks, types: Sequence[int]) -> list[Cluster]:
        """Return the evaluated clusters picked of some types."""
        return [self.cluster(int(picks.rows[of]), int(picks.columns[of])) for of in types]

    def cluster(self, row: int, column: int) -> Cluster:
        """Return an evaluated cluster."""
        number = self.part_of_row[row]
        grid: CandidateGrid = self.parts[number].grid
        return grid.cluster(row - int(self.first_rows[number]), column)

    def figures_of(self, picks: Picks) -> ManyFigures:
        """Return the figures, exact or bounds, of a cell of each type; inf where a type has none."""
        rows, columns = picks.rows, picks.columns
        time_s = np.where(picks.found, self.figures["time"][rows, columns], np.inf)
        joules = energy_j(time_s, nodes=self.nodes[columns], power_w=self._power_w[rows])
        return ManyFigures(
            time_s=time_s,
            total_usd=np.where(picks.found, self.figures["usd"][rows, columns], np.inf),
            charges_usd=self.charges_usd[rows],
            at_least=self.at_least,
            energy_j=np.where(np.isnan(joules), np.inf, joules),
            handicap=self.handicap,
        )

    def evaluate(self, wanted: Sequence[tuple[int, int]]) -> None:
        """Evaluate chosen cells with some sizes around them, all of a grid at once; the first time with the least and
        the largest size of the layout.
        """
        cells: set[tuple[int, int]] = set()
        for row, column in wanted:
            able = np.flatnonzero(self._able[row])
            widths = np.array(_WIDTHS[min(self._rounds[self.types[row]], len(_WIDTHS) - 1)])
            aims = self.nodes[column] * np.concatenate([1 - widths, 1 + widths])
            near = able[np.searchsorted(self.nodes[able], aims).clip(0, len(able) - 1)].tolist()
            ends = [] if self.known[row].any() else able[[0, -1]].tolist()
            cells |= {(row, at) for at in (column, *near, *ends) if not self.known[row, at]}
        self._rounds[list({int(self.types[row]) for row, _ in wanted})] += 1
        self.take_in(sorted(cells))

    def take_in(self, cells: Sequence[tuple[int, int]]) -> None:
        """Take in the exact figures of cells, by row and column, and evaluate those that were not before."""
        if not cells:
            return
        for number, part in enumerate(self.parts):
            first = int(self.first_rows[number])
            part.grid.evaluate((row - first, at) for row, at in cells if self.part_of_row[row] == number)
        clusters = [self.cluster(row, column) for row, column in cells]
        rows, columns = np.array(cells).T
        self.figures["time"][rows, columns] = [of.expected_s for of in clusters]
        self.figures["usd"][rows, columns] = [of.total_usd for of in clusters]
        for row, column in cells if self.limits else ():
            part = self.part_of_row[row]
            amounts = self.parts[part].grid.amounts(row - int(self.first_rows[part]), column)
            for name, amount in amounts.items():
                self.figures[name][row, column] = amount
        self.known[rows, columns] = True
        self._bound_again(np.unique(rows))

    def _bound_again(self, rows: Rows) -> None:
        """Bound the figures of some layouts by the ratios to their estimates that are known on either side."""
        known, every, logs = self.known[rows], np.arange(len(self.nodes)), np.log(self.nodes)
        before = np.maximum.accumulate(np.where(known, every, -1), axis=1)
        after = np.minimum.accumulate(np.where(known, every, len(every))[:, ::-1], axis=1)[:, ::-1]
        is_between = (before >= 0) & (after < len(every))
        low, high = np.where(before < 0, after, before), np.where(after == len(every), before, after)
        span = logs[high] - logs[low]
        share = np.divide(logs - logs[low], span, out=np.zeros(span.shape), where=span > 0)
        is_straight = is_between & (span <= _NEAR)
        for name, every_figure in self.figures.items():
            charges_usd = self.charges_usd[rows, None] if name == "usd" else 0.0
            estimated, figures = self._estimated[name][rows], every_figure[rows]
            exact = figures - charges_usd
            ratios = np.divide(exact, estimated, out=np.ones(known.shape), where=known & (estimated > 0))
            at_low, at_high = (np.take_along_axis(ratios, at, axis=1) for at in (low, high))
            between = np.where(is_straight, at_low + (at_high - at_low) * share, np.minimum(at_low, at_high))
            bounds = estimated * np.maximum(between * _BETWEEN, self._bound) + charges_usd
            every_figure[rows] = np.where(known, figures, bounds)

    def near_misses(self) -> Iterator[Rejection]:
        """Yield the rejections of types that were evaluated, and of which no cluster meets all constraints."""
        found = self.cells().cheapest.found
        for of_type in np.flatnonzero(~found).tolist():
            rows = np.flatnonzero(self.types == of_type)
            if self.known[rows].any():
                nearness = max(self._excess(rows), 1.0)
                asked = self.parts[self.part_of_row[rows[0]]].grid.asked
                detail = f"by {100 * (nearness - 1):.2g}%, computed exactly"
                reason = asked[0].reason if asked else ""
                yield Rejection(instance_type=self.names[of_type], reason=reason, detail=detail, nearness=nearness)

    def _excess(self, rows: Rows) -> float:
        """Return the least ratio of an evaluated cluster to its tightest limit; at most 1 meets all constraints."""
        shares = [self.figures[name][rows] / limits[rows] for name, limits in self.limits.items()]
        return float(np.min(np.max(shares, axis=0), where=self.known[rows], initial=np.inf)) if shares else 0.0


@dataclass(kw_only=True, eq=False)
class Scope:
    """The questions of a request to some groups of types (T,), which are apart, by the figures known so far: each is a
    reduction of `cells`. `cheapest` are the types of each group that have the cheapest cluster, and `fastest` those
    that have the fastest within the limit above it: with these the others are compared.
    """

    field: Field
    cells: Cells
    groups: Sequence[Flags]
    figures: dict[int, ManyFigures]
    given: Sequence[Sequence[int]] | None = None

    def figures_of(self, picks: Picks) -> ManyFigures:
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

    def _figures(self, picks: Picks, types: Sequence[int]) -> ManyFigures:
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
        kinds = scope(groups=[field.kinds == kind for kind in np.unique(field.kinds)])
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
