"""The best cluster of each type: chosen from the estimates of all, then computed exactly, the most promising first."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Final

import numpy as np

from planner.arrays import Flags, Floats, Rows
from planner.planning.candidates.candidate_grid import CandidateGrid
from planner.planning.ranking import selection
from planner.planning.ranking.selection import NO_LIMIT, Cell, Cheapest, Limit
from planner.planning.request import constraints
from planner.schemas.plan import Candidate, Objective, Rejection, Request

_TRIES: Final = 6
"""Most replacements of a cell that turns out to miss a constraint by a safer one."""

_MOST_TRIED: Final = 100
"""Most types to compute, the most promising first, because they might be better than those shown."""

_ALIKE: Final = 1.01
"""Layouts with estimated times within this factor are compared exactly."""

_ROUNDING: Final = 1e-9
"""Share by which a bound is lowered, so that the cell it came from does not meet it."""


@dataclass(frozen=True, kw_only=True, eq=False)
class _Pick:
    """The best cluster of a type in a grid, by the estimates, among the layouts `rows` of the type; `limit` is the
    limit above the cheapest cluster of the same kind (model and way to pay).
    """

    grid: CandidateGrid
    rows: Rows
    cell: Cell
    limit: Limit


def select_clusters(
    request: Request, grids_by_kind: Sequence[Sequence[CandidateGrid]]
) -> tuple[list[Candidate], list[Rejection]]:
    """Return the best cluster of each type in each grid, and the rejections. Computed in full are the first `2 * top`,
    the first of each kind (model and way to pay), and all that may beat the best of these, so that the best does not
    depend on how many are shown.
    """
    rejected: list[Rejection] = []
    picks = [_picks(request, grids, rejected) for grids in grids_by_kind]
    limit = _limit(list(chain(*grids_by_kind)))
    ranked = sorted(chain(*picks), key=lambda pick: _promise(pick, request=request, limit=limit))
    outcomes: dict[int, Candidate | Rejection] = {}
    of_each = 2 * request.top if len(request.pricings) > 1 else 1  # each way to pay shows its own best
    for mine, wanted in [(ranked, 2 * request.top), *((mine, of_each) for mine in picks)]:
        good = 0
        for pick in mine:
            if good >= wanted:
                break
            if id(pick) not in outcomes:
                outcomes[id(pick)] = _exact_candidate(request, pick)
            good += isinstance(outcomes[id(pick)], Candidate)
    _work_out_hopeful(request, ranked[:_MOST_TRIED], outcomes)
    candidates = [outcome for outcome in outcomes.values() if isinstance(outcome, Candidate)]
    return candidates, rejected + [outcome for outcome in outcomes.values() if isinstance(outcome, Rejection)]


def _work_out_hopeful(request: Request, picks: Sequence[_Pick], outcomes: dict[int, Candidate | Rejection]) -> None:
    """Add the outcomes of the picks that may beat all computed so far, if their estimates, lower bounds, hold."""
    known = [outcome for outcome in outcomes.values() if isinstance(outcome, Candidate)]
    best, cheapest = _first_and_cheapest(request, known)
    for pick in (pick for pick in picks if id(pick) not in outcomes):
        if best and not _may_win(request, pick, best[0], cheapest):
            continue
        outcomes[id(pick)] = outcome = _exact_candidate(request, pick)
        if isinstance(outcome, Candidate):
            known.append(outcome)
            best, cheapest = _first_and_cheapest(request, known)


def _first_and_cheapest(request: Request, known: Sequence[Candidate]) -> tuple[list[Candidate], list[Candidate]]:
    cheapest = sorted(known, key=lambda cluster: (cluster.cost_usd.at_least, cluster.cost_usd.total))
    return selection.order(known, request.rule)[:1], cheapest[:1]


def _may_win(request: Request, pick: _Pick, best: Candidate, cheapest: Sequence[Candidate]) -> bool:
    grid, cell = pick.grid, pick.cell
    energy_j = float(grid.estimates.energy_j(np.array([cell.row]))[0, cell.column])
    total_usd = float(grid.estimates.total_usd[cell.row, cell.column])
    hopeful = replace(
        best,
        instance_type=grid.type_name(cell.row),
        time_s=replace(best.time_s, expected=float(grid.estimates.expected_s[cell.row, cell.column])),
        cost_usd=replace(best.cost_usd, total=total_usd, at_least=bool(grid.partly_unknown[cell.row])),
        energy_j=None if np.isnan(energy_j) else energy_j,
    )
    return selection.order([best, hopeful], request.rule, cheapest=cheapest)[0] is hopeful


def _limit(grids: Sequence[CandidateGrid]) -> Limit:
    """Return the limit above the cheapest cluster whose whole bill is known; no limit if there is no cluster."""
    priced = with_known_bills(grids)
    limits = filter(None, (selection.limit_of_estimates(grid.estimates, cheapest) for grid, cheapest in priced))
    return min(limits, key=lambda limit: limit.least_usd, default=NO_LIMIT)


def with_known_bills(grids: Sequence[CandidateGrid]) -> list[tuple[CandidateGrid, Cheapest]]:
    """Return the grids with the cheapest clusters whose whole bill is known; if there are none, with any."""
    known = ((grid, grid.cheapest.without(grid.partly_unknown)) for grid in grids)
    some = [(grid, cheapest) for grid, cheapest in known if np.isfinite(cheapest.usd).any()]
    return some or [(grid, grid.cheapest) for grid in grids]


def _picks(request: Request, grids: Sequence[CandidateGrid], rejected: list[Rejection]) -> list[_Pick]:
    """Return the picks of one model, the most promising first; adds types without one to `rejected`."""
    limit = _limit(grids)
    shortlist, without_clusters = _shortlist(request, grids)
    rejected += without_clusters
    picks = []
    for grid, rows in shortlist:
        cell = selection.best_cell(rows, grid.estimates, grid.good, objective=request.rule, limit=limit)
        if cell:
            picks.append(_Pick(grid=grid, rows=rows, cell=cell, limit=limit))
    return sorted(picks, key=lambda pick: _promise(pick, request=request, limit=limit))


def _shortlist(
    request: Request, grids: Sequence[CandidateGrid]
) -> tuple[list[tuple[CandidateGrid, Rows]], list[Rejection]]:
    """Return the types, as rows of a grid, that can be among the first `6 * top`, or among the `_MOST_TRIED`, and a
    rejection of each type without an admissible size.
    """
    shortlist: list[tuple[float, CandidateGrid, Rows]] = []
    rejected: list[Rejection] = []
    for grid in grids:
        least = _least_of_rows(grid, request.objective)
        for rows in grid.rows_of_types() if len(least) else ():
            best = float(least[rows].min())
            if np.isfinite(best):
                shortlist.append((best, grid, rows))
            else:
                rejected.append(_missed(grid, rows))
    shortlist.sort(key=lambda item: item[0])
    by_bill: tuple[list[tuple[float, CandidateGrid, Rows]], ...] = ([], [])
    for item in shortlist:
        by_bill[bool(item[1].partly_unknown[item[2][0]])].append(item)
    return [pair for alike in by_bill for pair in _first(alike, max(6 * request.top, _MOST_TRIED))], rejected


def _first(rising: Sequence[tuple[float, CandidateGrid, Rows]], wanted: int) -> list[tuple[CandidateGrid, Rows]]:
    """Return the first `wanted` types, and those hardly worse than the last of them."""
    limit = selection.SLACK * rising[min(len(rising), wanted) - 1][0] if rising else 0.0
    return [(grid, rows) for best, grid, rows in rising if best <= limit]


def _least_of_rows(grid: CandidateGrid, objective: Objective) -> Floats:
    """Return the objective's first criterion at the best admissible size of each layout: inf if there is none."""
    estimates = grid.estimates
    if objective not in ("time", "energy"):
        return grid.cheapest.usd
    is_time = objective == "time"
    measure = estimates.expected_s if is_time else estimates.energy_j(np.arange(len(estimates.power_w)))
    return np.asarray(np.min(measure, axis=1, where=grid.good, initial=np.inf))


def _exact_candidate(request: Request, pick: _Pick) -> Candidate | Rejection:
    """Compute a cell exactly; if it misses a constraint, which estimates only bound, take a safer one."""
    cell, good = pick.cell, pick.grid.good
    for _ in range(_TRIES):
        cluster, excess = pick.grid.exact(cell, request)
        if excess <= 1:
            return selection.order([cluster, *_like(request, pick, cell)], request.rule)[0]
        good = _safer(pick, cell, good, excess=excess)
        safer_cell = selection.best_cell(pick.rows, pick.grid.estimates, good, objective=request.rule, limit=pick.limit)
        if safer_cell is None:
            break
        cell = safer_cell
    cluster, least_excess = pick.grid.exact(_safest(pick), request)
    return cluster if least_excess <= 1 else _near_miss(pick, cell, nearness=max(min(excess, least_excess), 1.0))


def cheapest_near(request: Request, grid: CandidateGrid, cell: Cell) -> Candidate | None:
    """Return the cheapest cluster, computed exactly, of a cell's type within the constraints, if the cell itself, the
    cheapest by the estimates, misses them; None if none was found.
    """
    rows = next(rows for rows in grid.rows_of_types() if cell.row in rows)
    outcome = _exact_candidate(
        replace(request, objective="cost"), _Pick(grid=grid, rows=rows, cell=cell, limit=NO_LIMIT)
    )
    return outcome if isinstance(outcome, Candidate) else None


def _safest(pick: _Pick) -> Cell:
    """Return the cell of the pick's type that is furthest within all limits by the estimates. Estimates are lower
    bounds with varying error, so it may be within the limits where a cell with a larger error is not.
    """
    shares = [constraint.measure[pick.rows] / constraint.limit for constraint in pick.grid.asked]
    largest = np.where(pick.grid.good[pick.rows], np.max(shares, axis=0, initial=0.0), np.inf)
    row, column = np.unravel_index(np.argmin(largest), largest.shape)
    return Cell(row=int(pick.rows[row]), column=int(column))


def _safer(pick: _Pick, cell: Cell, good: Flags, *, excess: float) -> Flags:
    """Return the admissible clusters (R, N) without `cell`, and without those of the pick's type that would also exceed
    a limit if they exceeded their estimates as the cell does, which is beyond the limit by `excess`.
    """
    safer = good.copy()
    for constraint in pick.grid.asked:
        estimated = constraint.measure[cell.row, cell.column]
        if estimated * excess > constraint.limit:
            bound = estimated / excess * (1 - _ROUNDING)
            safer[pick.rows] &= constraint.measure[pick.rows] <= bound
    safer[cell.row, cell.column] = False
    return safer


def _near_miss(pick: _Pick, cell: Cell, *, nearness: float) -> Rejection:
    asked = pick.grid.asked
    return Rejection(
        instance_type=pick.grid.type_name(cell.row),
        reason=asked[0].reason if asked else "",
        detail=f"by {100 * (nearness - 1):.2g}%, computed exactly",
        nearness=nearness,
    )


def _like(request: Request, pick: _Pick, cell: Cell) -> Iterator[Candidate]:
    """Yield the same cluster on its other layouts that the estimates, lower bounds, cannot tell apart."""
    expected, good = pick.grid.estimates.expected_s[:, cell.column], pick.grid.good[:, cell.column]
    for row in pick.rows.tolist():
        if row != cell.row and good[row] and expected[row] <= expected[cell.row] * _ALIKE:
            cluster, over = pick.grid.exact(Cell(row=row, column=cell.column), request)
            if over <= 1:
                yield cluster


def _promise(pick: _Pick, *, request: Request, limit: Limit) -> tuple[float, ...]:
    """Return the sort key that orders picks as `selection.order` will order their candidates."""
    grid, cell = pick.grid, pick.cell
    time, total = grid.estimates.expected_s[cell.row, cell.column], grid.estimates.total_usd[cell.row, cell.column]
    in_part = bool(grid.partly_unknown[cell.row])
    if request.objective == "energy":
        return (float(grid.estimates.energy_j(np.array([cell.row]))[0, cell.column]), time)
    if request.rule in ("balanced", "papers"):
        limit = limit.without_hours if request.rule == "papers" else limit
        is_near = limit.admits(total_usd=total, time_s=time)
        return (in_part, 0.0, time, total) if is_near else (in_part, 1.0, total, time)
    return (in_part, total, time) if request.objective == "cost" else (time, in_part, total)


def _missed(grid: CandidateGrid, rows: Rows) -> Rejection:
    return constraints.missed(grid.type_name(int(rows[0])), rows, grid.asked)
