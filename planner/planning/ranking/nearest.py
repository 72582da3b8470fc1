"""The clusters nearest to a request that none meets, with the least possible amount of each limited figure.

Estimates are hardly above the exact figures. Less a hundredth they are lower bounds, which show where to look and when
to stop: once the bounds of all remaining clusters exceed a figure already computed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Final

import numpy as np

from planner.arrays import Flags, Floats, Rows
from planner.planning.candidates.candidate_grid import CandidateGrid
from planner.planning.candidates.candidates import Cluster
from planner.planning.ranking.field import BOUND
from planner.planning.request.constraints import Constraint
from planner.units import count_text

_TOGETHER: Final = 8
"""Sizes of a layout computed first, before the neighbours of the best of them."""

_MOST: Final = 200
"""Most clusters computed for one answer: more take seconds, and change a figure by less than a percent."""


@dataclass(frozen=True, kw_only=True, eq=False)
class ConstrainedTypes:
    """The constraints of a grid, the layouts of each of its types, the name of the cluster at a row and column (`79 x
    i8g.8xlarge`), and its exact amount for each constraint, by name.
    """

    constraints: Sequence[Constraint]
    types: Mapping[str, Rows]
    cluster_name: Callable[[int, int], str]
    exactly: Callable[[int, int], Mapping[str, float]]
    prepare: Callable[[Iterable[tuple[int, int]]], None] = lambda cells: None
    """Evaluates several clusters at once, before they are asked for one by one."""
    catalog: str = ""
    """Name of the types' catalog."""

    @property
    def by_name(self) -> dict[str, Constraint]:
        """The constraints by their names."""
        return {constraint.name: constraint for constraint in self.constraints}


def constrained_types(grid: CandidateGrid) -> ConstrainedTypes:
    """Return the constraints on a grid; each cluster is computed at most once."""

    @cache
    def exactly(row: int, column: int) -> Mapping[str, float]:
        return grid.amounts(row, column)

    types = {grid.type_name(int(rows[0])): rows for rows in grid.rows_of_types() if len(rows)}
    return ConstrainedTypes(
        constraints=grid.asked,
        types=types,
        cluster_name=grid.cluster_name,
        exactly=exactly,
        prepare=grid.evaluate,
        catalog=grid.context.catalog.name,
    )


def keeping_to_all(grids: Sequence[CandidateGrid]) -> Cluster | None:
    """Return a cluster that meets all constraints, the one furthest within its limits of those computed; None if there
    is none.
    """
    usable = [grid for grid in grids if len(grid.ids) and grid.asked]
    asked = [_all_in_one(grid) for grid in usable]
    if not any((BOUND * constraint.measure <= 1).any() for group in asked for constraint in group.constraints):
        return None
    at = least(asked, _ALL, enough=1.0)
    if at is None or at.amount > 1:
        return None
    return usable[asked.index(at.asked)].cluster(at.row, at.column)


_ALL: Final = "all"


def _all_in_one(grid: CandidateGrid) -> ConstrainedTypes:
    """Return one constraint in place of all of a grid: the largest ratio to any limit, which may be at most 1."""
    shares = np.max([constraint.measure / constraint.limit for constraint in grid.asked], axis=0)
    measure = np.where(np.isfinite(grid.estimates.total_usd), shares, np.inf)
    whole = Constraint(name=_ALL, reason="", measure=measure, limit=1.0, shown="")

    def exactly(row: int, column: int) -> Mapping[str, float]:
        return {_ALL: grid.excess(row, column)}

    return replace(constrained_types(grid), constraints=[whole], exactly=exactly)


@dataclass(frozen=True, kw_only=True, eq=False)
class Nearest:
    """A cluster, computed exactly, and its amount of the constraint searched for."""

    amount: float
    asked: ConstrainedTypes
    row: int
    column: int

    @property
    def name(self) -> str:
        """Name of the cluster."""
        return self.asked.cluster_name(self.row, self.column)

    @property
    def size(self) -> str:
        """Number of nodes, in words."""
        return count_text(int(self.name.partition(" x ")[0]), "node")


def least(
    asked: Sequence[ConstrainedTypes], of: str, *, within: Sequence[str] = (), enough: float = -math.inf
) -> Nearest | None:
    """Return the cluster with the least amount of the constraint `of`, among those that meet the constraints `within`;
    None if there is none. The first with at most `enough` is returned at once.
    """
    search = _Search(of=of, within=within, enough=enough)
    types = [item for group in asked if of in group.by_name for item in search.types(group)]
    for bound, group, rows in sorted(types, key=lambda item: float(item[0].min())):
        if float(bound.min()) >= search.cutoff:
            break
        search.evaluate(group, rows, bound)
    return search.best


@dataclass(kw_only=True)
class _Search:
    """A search for the cluster with least of a constraint, with the best so far and how many more may be computed."""

    of: str
    within: Sequence[str]
    enough: float
    best: Nearest | None = None
    left: int = _MOST

    @property
    def cutoff(self) -> float:
        """Limit below which a cluster's bound must be for it to be computed."""
        if self.best is None:
            return math.inf
        return self.best.amount if self.best.amount > self.enough and self.left > 0 else -math.inf

    def types(self, group: ConstrainedTypes) -> Iterator[tuple[Floats, ConstrainedTypes, Rows]]:
        """Yield each type that may meet the constraints: bounds (rows, N), inf where it cannot, and its layouts."""
        by_name = group.by_name
        bound = BOUND * by_name[self.of].measure
        for name in self._asked_within(group):
            bound = np.where(BOUND * by_name[name].measure <= by_name[name].limit, bound, np.inf)
        yield from ((bound[rows], group, rows) for rows in group.types.values() if np.isfinite(bound[rows]).any())

    def evaluate(self, group: ConstrainedTypes, rows: Rows, bound: Floats) -> None:
        """Compute clusters of a type: for each layout the one with the best bound, then others."""
        for place in np.argsort(bound.min(axis=1)).tolist():
            first = int(np.argmin(bound[place]))
            if bound[place, first] < self.cutoff:
                self._work_out(group, int(rows[place]), first)
                window = np.isfinite(bound[place])
                window[first] = False
                self._narrow(group, int(rows[place]), bound[place], window)

    def _narrow(self, group: ConstrainedTypes, row: int, bound: Floats, window: Flags) -> None:
        """Compute sizes some way apart, then some between the neighbours of the best of them, and so on."""
        while self.left > 0 and (columns := np.flatnonzero(window & (bound < self.cutoff))).size:
            tried = columns[np.unique(np.linspace(0, len(columns) - 1, _TOGETHER).round().astype(int))]
            before = self.best
            group.prepare((row, column) for column in tried.tolist())
            for column in tried.tolist():
                self._work_out(group, row, column)
            window[tried] = False
            if self.best is not None and self.best is before:
                return
            if self.best is not None:
                place = int(np.searchsorted(tried, self.best.column))
                window[: tried[max(0, place - 1)]] = False
                window[tried[min(len(tried) - 1, place + 1)] :] = False

    def _asked_within(self, group: ConstrainedTypes) -> list[str]:
        """Return the constraints to meet that a group has: a model that redoes lost work has no limit on restarts."""
        return [name for name in self.within if name in group.by_name]

    def _work_out(self, group: ConstrainedTypes, row: int, column: int) -> None:
        self.left -= 1
        exactly, by_name = group.exactly(row, column), group.by_name
        keeps = all(exactly[name] <= by_name[name].limit for name in self._asked_within(group))
        if keeps and (self.best is None or exactly[self.of] < self.best.amount):
            self.best = Nearest(amount=exactly[self.of], asked=group, row=row, column=column)
