"""The best cluster of each type, found among all cells of all grids: bounds prune, exact figures decide.

Every cell starts with a lower bound of each figure, its estimate less a hundredth. Whatever is asked for (the cheapest
cluster, the best of a type, the first types) is chosen by bounds; if what is chosen was not evaluated yet, it and some
sizes around it are, and the choice is made again. As bounds are optimistic, a choice that is exact is the best of all.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Final

import numpy as np

from planner.arrays import Flags, Floats, Rows
from planner.catalog.instances import handicap
from planner.cost_model.clusters import energy_j
from planner.planning.candidates.candidate_grid import CandidateGrid
from planner.planning.candidates.candidates import Cluster
from planner.planning.ranking import selection
from planner.planning.ranking.selection import NO_LIMIT, Cells, Figures, Limit
from planner.planning.request import constraints
from planner.schemas.plan import Objective, Rejection, Request, Rule

BOUND: Final = 0.99
"""Least ratio of an exact figure to its estimate: of 8,640 clusters none had less than 0.991."""

_BETWEEN: Final = 1 - 1e-4
"""The same between two evaluated sizes of a layout, over the lesser of their ratios: where another resource comes to
decide, the ratio rises.
"""

_NEAR: Final = 0.05
"""Difference of the logarithms of two sizes between which the ratio is taken to be straight."""

_WIDTHS: Final = (0.2, 0.1, 0.05, 0.02, 0.01, 0.005, 0.002, 0.001)
"""Shares of the size by which the sizes evaluated around a choice differ from it, each time a smaller one. After as
many times, what was not evaluated is left: it differs by less than the share of the search's last steps.
"""

_MARGIN: Final = 1.1
"""Most by which the first type of all may exceed others by its estimates at the sizes sampled: the 5% within which a
faster cluster is preferred, and twice what a sample may miss.
"""

_STEP: Final = 1.15
"""Most by which a figure changes from one sampled size to the next."""

_ROUNDS_OF_OTHERS: Final = 5
"""Rounds for types that are only shown beside the first."""

_SPARE_TYPES: Final = 5
"""Types evaluated beside those that are shown: one of them may come first where a rate is lower than planned."""

_AT_ONCE: Final = 16
"""Types evaluated together at first, then twice as many each time."""


@dataclass(eq=False)
class TypeCells:
    """All clusters of a type in a grid, `rows` (R,) by sizes (N,): each figure by its name, (R, N), exact where
    `known`, elsewhere a lower bound.
    """

    grid: CandidateGrid
    rows: Rows
    request: Request
    figures: dict[str, Floats] = field(init=False)
    known: Flags = field(init=False)
    _rounds: int = len(_WIDTHS)
    _round: int = -1
    _cells: Cells | None = None

    def __post_init__(self) -> None:
        estimates = self.grid.estimates
        self._charges_usd = estimates.charges_usd[self.rows]
        self._estimated = {"time": estimates.expected_s[self.rows]}
        self._estimated["usd"] = estimates.total_usd[self.rows] - self._charges_usd[:, None]  # charges are exact
        self._estimated |= {asked.name: asked.measure[self.rows] for asked in self.grid.asked}
        self._bound = 1 - 1e-9 if self.request.paper else BOUND  # the papers' sums are exact
        self.figures = {name: self._bound * estimate for name, estimate in self._estimated.items()}
        self.figures["usd"] += self._charges_usd[:, None]
        self.known = np.zeros(self._estimated["usd"].shape, bool)
        self.learn()

    @property
    def name(self) -> str:
        """The instance type."""
        return self.grid.type_name(int(self.rows[0]))

    @property
    def at_least(self) -> bool:
        """Whether the bill is a lower bound."""
        return bool(self.grid.partly_unknown[self.rows[0]])

    def cells(self) -> Cells:
        """Return the figures of the clusters that may meet all constraints."""
        if self._cells is None:
            self._cells = self._able()
        return self._cells

    def _able(self) -> Cells:
        usd, time_s = self.figures["usd"], self.figures["time"]
        good = np.isfinite(usd) if self._round < self._rounds else self.known.copy()
        for asked in self.grid.asked:
            good &= self.figures[asked.name] <= asked.limit
        time_s = np.where(good, time_s, np.inf)
        power_w = self.grid.estimates.power_w[self.rows, None]
        of_energy = self.request.objective == "energy"
        return Cells(
            time_s=time_s,
            total_usd=np.where(good, usd, np.inf),
            energy_j=energy_j(time_s, nodes=self.grid.nodes, power_w=power_w) if of_energy else None,
            charges_usd=self._charges_usd,
        )

    def cluster(self, cell: tuple[int, int]) -> Cluster:
        """Return an evaluated cluster."""
        return self.grid.cluster(int(self.rows[cell[0]]), cell[1])

    def figures_of(self, cell: tuple[int, int]) -> Figures:
        """Return the figures of a cluster, exact or bounds."""
        if self.known[cell]:
            return self.cluster(cell).figures
        time_s, power_w = self.figures["time"][cell], self.grid.estimates.power_w[self.rows[cell[0]]]
        energy = float(energy_j(time_s, nodes=self.grid.nodes[cell[1]], power_w=power_w))
        return Figures(
            time_s=float(time_s),
            total_usd=float(self.figures["usd"][cell]),
            charges_usd=float(self._charges_usd[cell[0]]),
            at_least=bool(self.grid.partly_unknown[self.rows[cell[0]]]),
            energy_j=None if math.isnan(energy) else energy,
            handicap=handicap(self.name),
        )

    def around(self, cell: tuple[int, int]) -> list[tuple[int, int]]:
        """Return a cell and two sizes around it, less apart each time, as rows and columns of the grid; the first time
        the least and the largest size of the layout.
        """
        sizes, (place, column) = self.grid.nodes, cell
        able = np.flatnonzero(np.isfinite(self._estimated["usd"][place]))
        width = _WIDTHS[min(self._round, len(_WIDTHS) - 1)]
        near = np.searchsorted(sizes[able], sizes[column] * np.array([1 - width, 1 + width])).clip(0, len(able) - 1)
        wanted = {column, *able[near if self.known[place].any() else [0, -1]].tolist()}
        return [(int(self.rows[place]), int(at)) for at in sorted(wanted) if not self.known[place, at]]

    def learn(self) -> None:
        """Take in what was evaluated in the grid since."""
        for place, row in enumerate(self.rows.tolist()):
            columns = self.grid.columns_of(row)
            if len(columns) > np.count_nonzero(self.known[place]):
                clusters = [self.grid.cluster(row, column) for column in columns]
                self._take(place, np.array(columns), clusters)
        self._round += 1
        self._cells = None

    def _take(self, place: int, columns: Rows, clusters: Sequence[Cluster]) -> None:
        row, charges_usd = int(self.rows[place]), float(self._charges_usd[place])
        exact = {"time": np.array([c.expected_s for c in clusters])}
        exact["usd"] = np.array([c.total_usd for c in clusters]) - charges_usd
        asked_columns = columns.tolist() if self.grid.asked else []
        amounts = [self.grid.amounts(row, column) for column in asked_columns]
        exact |= {asked.name: np.array([of[asked.name] for of in amounts]) for asked in self.grid.asked}
        after = np.searchsorted(columns, np.arange(len(self.grid.nodes)))
        logs = np.log(self.grid.nodes)
        ends = np.concatenate([[-np.inf], logs[columns], [np.inf]])
        is_near = ends[after + 1] - ends[after] <= _NEAR
        for name, values in exact.items():
            estimated = self._estimated[name][place]
            ratios = np.divide(values, estimated[columns], out=np.ones(len(values)), where=estimated[columns] > 0)
            known = np.concatenate([ratios[:1], ratios, ratios[-1:]])
            between = np.interp(logs, logs[columns], ratios)
            between = np.where(is_near, between, np.minimum(known[after], known[after + 1]))
            bounds = estimated * np.maximum(between * _BETWEEN, self._bound)
            bounds[columns] = values
            self.figures[name][place] = bounds + charges_usd if name == "usd" else bounds
        self.known[place, columns] = True

    def begin(self, *, rounds: int) -> None:
        """Begin a search in which sizes around a choice are evaluated so often; then what is not evaluated is left
        out.
        """
        self._round, self._rounds, self._cells = 0, rounds, None

    def excess(self) -> float:
        """Return the least ratio of an evaluated cluster to its tightest limit; at most 1 meets all constraints."""
        shares = [self.figures[asked.name] / asked.limit for asked in self.grid.asked]
        return float(np.min(np.max(shares, axis=0), where=self.known, initial=np.inf)) if shares else 0.0


Choice = tuple[int, int] | None
Chooser = Callable[[TypeCells], Choice]


def evaluate(wanted: Iterable[tuple[TypeCells, tuple[int, int]]]) -> None:
    """Evaluate chosen cells with some sizes around them, all of a grid at once."""
    by_grid: dict[int, tuple[CandidateGrid, list[TypeCells], list[tuple[int, int]]]] = {}
    for of_type, cell in wanted:
        _, types, cells = by_grid.setdefault(id(of_type.grid), (of_type.grid, [], []))
        types.append(of_type)
        cells += of_type.around(cell)
    for grid, types, cells in by_grid.values():
        grid.evaluate(cells)
        for of_type in types:
            of_type.learn()


def first_of(
    types: Sequence[TypeCells], choose: Chooser, rank: Rank, *, wanted: int = 1, rounds: int = len(_WIDTHS)
) -> list[Cluster]:
    """Return the first clusters in an order, one of each type, where `choose` returns the best of a type by the figures
    that are known, in at most so many rounds for a type.
    """
    for of in types:
        of.begin(rounds=rounds)
    choices = {id(of): _Choice.of(of, choose) for of in types}
    at_once = _AT_ONCE
    while True:
        ranked = rank([choice for choice in choices.values() if choice])
        unknown = [choice for choice in ranked if not choice.of_type.known[choice.cell]]
        if not unknown or unknown[0] not in ranked[:wanted]:
            return [choice.of_type.cluster(choice.cell) for choice in ranked[:wanted]]
        evaluate((choice.of_type, choice.cell) for choice in unknown[:at_once])
        choices |= {id(choice.of_type): _Choice.of(choice.of_type, choose) for choice in unknown[:at_once]}
        at_once *= 2


def cheapest_of(types: Sequence[TypeCells]) -> list[Cluster]:
    """Return the cheapest cluster, of those with a fully known bill if there are any; none if there is none."""
    return first_of(_well_known(types), cheapest_cell, lambda choices: selection.order(choices, "cost"))


def cheapest_cell(of_type: TypeCells) -> Choice:
    """Return the cheapest cell of a type."""
    return _least(of_type.cells().total_usd)


def _well_known(types: Sequence[TypeCells]) -> Sequence[TypeCells]:
    """Return the types with a fully known bill if there are any that meet the request, else all."""
    return [of for of in types if not of.at_least and cheapest_cell(of) is not None] or types


def _least(figures: Floats) -> Choice:
    row, column = np.unravel_index(np.argmin(figures), figures.shape)
    return (int(row), int(column)) if np.isfinite(figures[row, column]) else None


@dataclass(frozen=True, kw_only=True, eq=False)
class Reference:
    """What clusters are compared with under an objective: `cheapest` and `fastest` of all, the limit above the first,
    and the seconds up to which a cluster is as fast as the second.
    """

    rule: Rule
    limit: Limit
    cheapest: Sequence[Cluster]
    fastest: Sequence[Cluster] = ()
    alike_s: float = 0.0

    @classmethod
    def of(cls, types: Sequence[TypeCells], cheapest: Sequence[Cluster], rule: Rule) -> Reference:
        """Return the reference for some types, of which `cheapest` is the cheapest."""
        limit = selection.limit_of(cheapest) if cheapest else NO_LIMIT
        limit = limit.without_hours if rule == "papers" else limit
        reference = cls(rule=rule, limit=limit, cheapest=cheapest)
        if rule in ("cost", "energy"):
            return reference
        fastest = first_of(
            _well_known(types),
            reference.fastest_cell,
            lambda choices: sorted(choices, key=lambda choice: choice.figures.ranked_s),
        )
        alike_s = max((selection.slowest_alike(of.figures.ranked_s, rule) for of in fastest), default=0.0)
        return replace(reference, fastest=fastest, alike_s=alike_s)

    def fastest_cell(self, of_type: TypeCells) -> Choice:
        """Return the fastest cell of a type, within the limit if there is one."""
        cells = of_type.cells()
        return _least(cells.time_s if self.rule == "time" else np.where(cells.within(self.limit), cells.time_s, np.inf))

    def best_cell(self, of_type: TypeCells) -> Choice:
        """Return the best cell of a type; the cheapest, until it is known, of one beyond the limit, which has a limit
        of its own.
        """
        cells = of_type.cells()
        if self.rule in ("balanced", "papers") and not cells.within(self.limit).any():
            cheapest = cheapest_cell(of_type)
            if cheapest is None or not of_type.known[cheapest]:
                return cheapest
        return cells.best(self.rule, limit=self.limit, alike_s=self.alike_s / handicap(of_type.name))

    def rank(self, choices: list[_Choice]) -> list[_Choice]:
        """Return choices, the best first."""
        return selection.order(choices, self.rule, beside=self.beside)

    @property
    def beside(self) -> list[Cluster]:
        """The clusters that others are compared with."""
        return [*self.cheapest, *self.fastest]


@dataclass(frozen=True, eq=False)
class _Choice:
    of_type: TypeCells
    cell: tuple[int, int]
    figures: Figures

    @classmethod
    def of(cls, of_type: TypeCells, choose: Chooser) -> _Choice | None:
        cell = choose(of_type)
        return None if cell is None else cls(of_type, cell, of_type.figures_of(cell))


Rank = Callable[[list[_Choice]], list[_Choice]]


@dataclass(frozen=True, kw_only=True, eq=False)
class Selected:
    """The best cluster of each of the first types, those `beside` that all are compared with, and the best of each of
    several ways to pay; `types` are all, and `looked_at` those that could be among the first.
    """

    clusters: list[Cluster]
    beside: list[Cluster]
    by_pricing: list[Cluster]
    types: Sequence[_Type]
    looked_at: Sequence[TypeCells]

    @property
    def feasible(self) -> int:
        """The number of types that meet all constraints by the estimates."""
        return sum(math.isfinite(of.least) for of in self.types)

    def rejected(self) -> list[Rejection]:
        """Return the rejections of the types that do not, or were found not to when they were evaluated."""
        return [*(of.missed() for of in self.types if math.isinf(of.least)), *_near_misses(self.looked_at)]

    def with_the_only(self, cluster: Cluster) -> Selected:
        """Return the selection with a cluster that meets all constraints although its type's estimates did not."""
        types = [of for of in self.types if math.isfinite(of.least) or of.name != cluster.instance_type]
        looked_at = [of for of in self.looked_at if of.name != cluster.instance_type]
        return replace(self, clusters=[cluster], types=types, looked_at=looked_at)


def select_clusters(request: Request, grids_by_kind: Sequence[Sequence[CandidateGrid]]) -> Selected:
    """Return the recommended cluster, the first of each kind (model and way to pay), and the best of each of the first
    `top` types and some more: a type is shown at its best within its kind.
    """
    by_kind = [[of for grid in grids for of in _types_of(grid, request.objective)] for grids in grids_by_kind]
    kinds = [list(_shortlist(request, of_kind)) for of_kind in by_kind]
    every, rule = list(chain(*kinds)), request.rule
    references = [Reference.of(types, cheapest_of(types), rule) for types in kinds]
    overall = references[0]
    if len(kinds) > 1:
        overall = Reference.of(every, [cluster for of in references for cluster in of.cheapest], rule)
    own = {id(of_type): of for of, types in zip(references, kinds, strict=True) for of_type in types}
    clusters = first_of(every, overall.best_cell, overall.rank)
    for of, types in zip(references, kinds, strict=True) if len(kinds) > 1 else ():
        clusters += first_of(types, of.best_cell, of.rank)
    pricings = request.pricings if len(request.pricings) > 1 else ()
    by_pricing = [cluster for pricing in pricings for cluster in _best_of_pricing(every, pricing, rule)]
    clusters += first_of(
        every,
        lambda of_type: own[id(of_type)].best_cell(of_type),
        overall.rank,
        wanted=request.top + _SPARE_TYPES,
        rounds=_ROUNDS_OF_OTHERS,
    )
    return Selected(
        clusters=list({id(cluster): cluster for cluster in [*clusters, *by_pricing]}.values()),
        beside=overall.beside,
        by_pricing=by_pricing,
        types=list(chain(*by_kind)),
        looked_at=every,
    )


def _best_of_pricing(types: Sequence[TypeCells], pricing: str, rule: Rule) -> list[Cluster]:
    """Return the best cluster of a way to pay, as if planned alone: cheaper clusters of another would change which are
    as fast as the fastest, or within the limit.
    """
    alike = [of for of in types if of.grid.offer.pricing == pricing]
    reference = Reference.of(alike, cheapest_of(alike), rule)
    return first_of(alike, reference.best_cell, reference.rank)


def _near_misses(types: Sequence[TypeCells]) -> Iterator[Rejection]:
    """Yield the rejections of types that were evaluated, and of which no cluster meets all constraints."""
    for of in types:
        if of.known.any() and cheapest_cell(of) is None:
            nearness = max(of.excess(), 1.0)
            reason = of.grid.asked[0].reason if of.grid.asked else ""
            detail = f"by {100 * (nearness - 1):.2g}%, computed exactly"
            yield Rejection(instance_type=of.name, reason=reason, detail=detail, nearness=nearness)


@dataclass(frozen=True, kw_only=True, eq=False)
class _Type:
    """A type of a `grid` with its layouts there, the objective's first criterion at the best of the sizes `sampled`
    (`least`: inf if none is admissible), the hours that it takes then, and what is charged for it at any size.
    """

    grid: CandidateGrid
    sampled: CandidateGrid
    rows: Rows
    least: float
    hours: float
    charges_usd: float

    @property
    def name(self) -> str:
        """The instance type."""
        return self.grid.type_name(int(self.rows[0]))

    def missed(self) -> Rejection:
        """Return the rejection of a type that misses a constraint at all sizes."""
        return constraints.missed(self.name, self.rows, self.sampled.asked)


def _shortlist(request: Request, types: Sequence[_Type]) -> Iterator[TypeCells]:
    """Yield the types that can be among the first, apart by whether their bills are known, at all their sizes."""
    by_bill: tuple[list[_Type], ...] = ([], [])
    for of_type in types:
        if math.isfinite(of_type.least):
            by_bill[bool(of_type.grid.partly_unknown[of_type.rows[0]])].append(of_type)
    for alike in by_bill:
        alike.sort(key=lambda of_type: of_type.least)
        most = _most(alike, request) if alike else 0.0
        kept = [of_type for of_type in alike if of_type.least <= most]
        by_grid = {id(of_type.grid): of_type.grid for of_type in kept}
        for key, grid in by_grid.items():
            of_grid = [of_type.rows for of_type in kept if id(of_type.grid) == key]
            part = grid.only(np.concatenate(of_grid))
            ends = np.cumsum([len(rows) for rows in of_grid])
            for rows in np.split(np.arange(ends[-1]), ends[:-1]):
                yield TypeCells(part, rows, request)


def _most(alike: Sequence[_Type], request: Request) -> float:
    """Return the most that the first criterion may be at for a type to be among the first, of types in its order."""
    wanted = alike[min(len(alike), request.top + _SPARE_TYPES) - 1].least
    cheapest = alike[0]
    saving_usd = selection.USD_PER_HOUR_SAVED * cheapest.hours if request.rule == "balanced" else 0.0
    charges_usd = 0.0 if request.objective in ("time", "energy") else cheapest.charges_usd
    return charges_usd + _MARGIN * (max(wanted, cheapest.least + saving_usd) - charges_usd)


def _types_of(grid: CandidateGrid, objective: Objective, *, sampled: CandidateGrid | None = None) -> Iterator[_Type]:
    """Yield the types of a grid as they are at the sizes sampled, or at all sizes if only some size between may suit:
    from one size to the next a figure changes by at most `_STEP`.
    """
    if not (len(grid.ids) and len(grid.nodes)):
        return
    some = sampled or grid.sampled
    least, hours = _least_of_rows(some, objective)
    near: Flags = np.zeros(len(least), bool) if some is grid else np.asarray(some.within(_STEP).any(axis=1))
    unclear = []
    for rows in grid.rows_of_types():
        best = int(rows[np.argmin(least[rows])])
        if math.isinf(least[best]) and near[rows].any():
            unclear.append(rows)
        else:
            yield _Type(
                grid=grid,
                sampled=some,
                rows=rows,
                least=float(least[best]),
                hours=float(hours[best]),
                charges_usd=float(some.estimates.charges_usd[best]),
            )
    if unclear:
        part = grid.only(np.concatenate(unclear))
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
