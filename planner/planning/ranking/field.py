"""All cells of the types that can be among the first: each figure exact where it was evaluated, elsewhere a bound."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final

import numpy as np

from planner.arrays import Flags, Floats, Rows, distinct
from planner.catalog.instances import handicap
from planner.cost_model.clusters import energy_j
from planner.planning.candidates.candidate_grid import CandidateGrid
from planner.planning.candidates.candidates import Cluster
from planner.planning.ranking.selection import Cells, Figures, Picks
from planner.schemas.plan import Rejection, Request

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

    def figures_of(self, picks: Picks) -> Figures:
        """Return the figures, exact or bounds, of a cell of each type; inf where a type has none."""
        rows, columns = picks.rows, picks.columns
        time_s = np.where(picks.found, self.figures["time"][rows, columns], np.inf)
        joules = energy_j(time_s, nodes=self.nodes[columns], power_w=self._power_w[rows])
        return Figures(
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
        self._bound_again(distinct(rows))

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
