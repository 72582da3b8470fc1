"""The clusters nearest to a request that none meets: the least that can be had of what it limits, worked out.

The estimates of all clusters are hardly above what a cluster is worked out to. Less a hundredth they are bounds, which
say where to look, and when to stop: where those of all that is left exceed what was worked out already.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Final

import numpy as np

from planner.arrays import Flags, Floats, Rows
from planner.planning.candidates.candidate_grid import CandidateGrid
from planner.planning.ranking.selection import Cell
from planner.planning.request.constraints import Constraint
from planner.schemas.plan import Candidate, Request

_BOUND: Final = 0.99
"""What share of its estimate a cluster has at least, worked out: of 8,640 clusters none had less than 0.991."""

_TOGETHER: Final = 8
"""How many sizes of a layout are worked out before those beside the best of them."""

_MOST: Final = 200
"""How many clusters are worked out for one answer: more take seconds, and change a figure by less than a percent."""


@dataclass(frozen=True, kw_only=True, eq=False)
class ConstrainedTypes:
    """The constraints of a grid, the layouts of each of its types, what the cluster at a row and a column of it is
    called (`79 x i8g.8xlarge`), and how much it has of each constraint, by name, worked out.
    """

    constraints: Sequence[Constraint]
    types: Mapping[str, Rows]
    cluster_name: Callable[[int, int], str]
    exactly: Callable[[int, int], Mapping[str, float]]
    catalog: str = ""
    """The name of the catalog that the types are of."""

    @property
    def by_name(self) -> dict[str, Constraint]:
        """The constraints by their names."""
        return {constraint.name: constraint for constraint in self.constraints}


def asked_of(grid: CandidateGrid, request: Request) -> ConstrainedTypes:
    """Return what is asked of a grid; each cluster is worked out at most once."""

    @cache
    def exactly(row: int, column: int) -> Mapping[str, float]:
        return grid.measured(Cell(row=row, column=column), request)[1]

    types = {grid.type_name(int(rows[0])): rows for rows in grid.rows_of_types() if len(rows)}
    return ConstrainedTypes(
        constraints=grid.asked,
        types=types,
        cluster_name=grid.cluster_name,
        exactly=exactly,
        catalog=grid.context.catalog.name,
    )


def keeping_to_all(grids: Sequence[CandidateGrid], request: Request) -> Candidate | None:
    """Return a cluster that keeps to all that is asked, the one furthest within its limits of those worked out; None
    where none does.
    """
    usable = [grid for grid in grids if grid.asked and grid.estimates.total_usd.size]
    asked = [_all_in_one(grid, request) for grid in usable]
    if not any((_BOUND * constraint.measure <= 1).any() for group in asked for constraint in group.constraints):
        return None
    at = least(asked, _ALL, enough=1.0)
    if at is None or at.amount > 1:
        return None
    return usable[asked.index(at.asked)].exact(Cell(row=at.row, column=at.column), request)[0]


_ALL: Final = "all"


def _all_in_one(grid: CandidateGrid, request: Request) -> ConstrainedTypes:
    """Return one constraint in place of all of a grid: the largest share of any limit, which may be 1."""
    shares = np.max([constraint.measure / constraint.limit for constraint in grid.asked], axis=0)
    measure = np.where(np.isfinite(grid.estimates.total_usd), shares, np.inf)
    whole = Constraint(name=_ALL, reason="", measure=measure, limit=1.0, shown="")

    def exactly(row: int, column: int) -> Mapping[str, float]:
        return {_ALL: grid.exact(Cell(row=row, column=column), request)[1]}

    return replace(asked_of(grid, request), constraints=[whole], exactly=exactly)


@dataclass(frozen=True, kw_only=True, eq=False)
class Nearest:
    """A cluster, worked out, and how much it has of what was looked for."""

    amount: float
    asked: ConstrainedTypes
    row: int
    column: int

    @property
    def name(self) -> str:
        """What the cluster is called."""
        return self.asked.cluster_name(self.row, self.column)

    @property
    def size(self) -> str:
        """How many nodes it has, in words."""
        nodes = self.name.partition(" x ")[0]
        return f"{nodes} node{'s' * (nodes != '1')}"


def least(
    asked: Sequence[ConstrainedTypes], of: str, *, within: Sequence[str] = (), enough: float = -math.inf
) -> Nearest | None:
    """Return the cluster that has least of the constraint `of`, among those that keep to the constraints `within`;
    None where none does. The first that has at most `enough` will do.
    """
    search = _Search(of=of, within=within, enough=enough)
    types = [item for group in asked if of in group.by_name for item in search.types(group)]
    for bound, group, rows in sorted(types, key=lambda item: float(item[0].min())):
        if float(bound.min()) >= search.cutoff:
            break
        search.look(group, rows, bound)
    return search.best


@dataclass(kw_only=True)
class _Search:
    """A search for the cluster that has least of a constraint, with the best so far and how many may be worked out."""

    of: str
    within: Sequence[str]
    enough: float
    best: Nearest | None = None
    left: int = _MOST

    @property
    def cutoff(self) -> float:
        """Below what the bound of a cluster must lie for it to be worked out."""
        if self.best is None:
            return math.inf
        return self.best.amount if self.best.amount > self.enough and self.left > 0 else -math.inf

    def types(self, group: ConstrainedTypes) -> Iterator[tuple[Floats, ConstrainedTypes, Rows]]:
        """Yield each type that may keep to what is asked: bounds (rows, N), inf where it cannot, and its layouts."""
        by_name = group.by_name
        bound = _BOUND * by_name[self.of].measure
        for name in self.within:
            bound = np.where(_BOUND * by_name[name].measure <= by_name[name].limit, bound, np.inf)
        yield from ((bound[rows], group, rows) for rows in group.types.values() if np.isfinite(bound[rows]).any())

    def look(self, group: ConstrainedTypes, rows: Rows, bound: Floats) -> None:
        """Work out clusters of a type, of each layout the one that its bounds promise most of, then others."""
        for place in np.argsort(bound.min(axis=1)).tolist():
            first = int(np.argmin(bound[place]))
            if bound[place, first] < self.cutoff:
                self._work_out(group, int(rows[place]), first)
                window = np.isfinite(bound[place])
                window[first] = False
                self._narrow(group, int(rows[place]), bound[place], window)

    def _narrow(self, group: ConstrainedTypes, row: int, bound: Floats, window: Flags) -> None:
        """Work out sizes some way apart, then some of those between the neighbours of the best of them, and so on."""
        while self.left > 0 and (columns := np.flatnonzero(window & (bound < self.cutoff))).size:
            tried = columns[np.unique(np.linspace(0, len(columns) - 1, _TOGETHER).round().astype(int))]
            before = self.best
            for column in tried.tolist():
                self._work_out(group, row, column)
            window[tried] = False
            if self.best is not None and self.best is before:
                return
            if self.best is not None:
                place = int(np.searchsorted(tried, self.best.column))
                window[: tried[max(0, place - 1)]] = False
                window[tried[min(len(tried) - 1, place + 1)] :] = False

    def _work_out(self, group: ConstrainedTypes, row: int, column: int) -> None:
        self.left -= 1
        exactly, by_name = group.exactly(row, column), group.by_name
        keeps = all(exactly[name] <= by_name[name].limit for name in self.within)
        if keeps and (self.best is None or exactly[self.of] < self.best.amount):
            self.best = Nearest(amount=exactly[self.of], asked=group, row=row, column=column)
