"""The clusters that no other beats in both time and total cost, each worked out exactly."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np

from planner.catalog.instances import handicap
from planner.planning.candidates.candidate_grid import CandidateGrid
from planner.planning.ranking import selection
from planner.planning.ranking.best_clusters import cheapest_near
from planner.planning.ranking.selection import Cell, Limit
from planner.schemas.plan import Candidate, FrontierPoint, Request

_APART: Final = 1.15
"""By what factor the times of neighbours differ at least: nearer ones are hardly a choice."""

_SAME_COST: Final = 1e-6
"""Costs that differ by less are the same: equation 7 gives one cost for all cluster sizes."""


def frontier_clusters(
    request: Request, grids: Sequence[CandidateGrid], known_clusters: Sequence[Candidate]
) -> list[Candidate]:
    """Return, computed exactly, the clusters that the estimates put on the frontier and the cheapest of all, where they
    keep to what is asked; those already `known_clusters` are left out.
    """
    places = {_place(point_of(cluster)) for cluster in known_clusters}
    clusters: list[Candidate] = []
    for grid, cell, last in _worth_showing(grids):
        if _place(grid.point(cell)) in places:
            continue
        cluster, excess = grid.exact(cell, request)
        if excess <= 1:
            clusters.append(cluster)
        elif last and (cheapest := cheapest_near(request, grid, cell)) is not None:
            clusters.append(cheapest)  # by which the others are judged
    return [*clusters, *_cheaper(request, grids, [*known_clusters, *clusters])]


def _cheaper(request: Request, grids: Sequence[CandidateGrid], clusters: Sequence[Candidate]) -> Iterator[Candidate]:
    """Yield further clusters while one may cost less than all so far, the least estimate first: estimates are lower
    bounds, and not by the same factor for every type.
    """
    least = min((_bill_usd(cluster) for cluster in clusters if not cluster.cost_usd.at_least), default=-math.inf)
    priced = [np.where(g.good & ~g.partly_unknown[:, None], g.estimates.total_usd, np.inf) for g in grids]
    cells = [
        (float(usd[row].min()), grid, Cell(row=row, column=int(usd[row].argmin())))
        for grid, usd in zip(grids, priced, strict=True)
        for row in np.flatnonzero((usd < least).any(axis=1)).tolist()
    ]
    for bound, grid, cell in sorted(cells, key=lambda item: item[0]):
        if bound >= least * (1 - _SAME_COST):
            return
        cluster, excess = grid.exact(_as_planned(request, grid, cell), request)
        if excess <= 1 and _bill_usd(cluster) < least:
            least = _bill_usd(cluster)
            yield cluster


def _bill_usd(cluster: Candidate) -> float:
    return _figures(point_of(cluster))[1]


def _as_planned(request: Request, grid: CandidateGrid, cell: Cell) -> Cell:
    """Return a cell on the layout that so many nodes of its type are planned with when asked for directly."""
    rows = next(rows for rows in grid.rows_of_types() if cell.row in rows)
    of_size = np.zeros_like(grid.good)
    of_size[rows, cell.column] = grid.good[rows, cell.column]
    best = selection.best_cell(rows, grid.estimates, of_size, objective=request.rule, limit=Limit(usd=0.0))
    return best or cell


def _worth_showing(grids: Sequence[CandidateGrid]) -> Iterator[tuple[CandidateGrid, Cell, bool]]:
    """Yield the cells that no other of all grids beats by the estimates: the fastest, those `_APART`, and the cheapest,
    which is the last.
    """
    priced = [(grid, grid.good & ~grid.partly_unknown[:, None]) for grid in grids]
    some = [(grid, good) for grid, good in priced if good.any()] or [(grid, grid.good) for grid in grids]
    cells = [(grid.point(cell), grid, cell) for grid, good in some for cell in selection.frontier(grid.estimates, good)]
    unbeaten, least = [], math.inf
    for point, grid, cell in sorted(cells, key=lambda item: _figures(item[0])):
        if _figures(point)[1] < least * (1 - _SAME_COST):
            unbeaten.append((point, grid, cell))
            least = _figures(point)[1]
    last_s = 0.0
    for point, grid, cell in unbeaten:
        last = point is unbeaten[-1][0]
        if last or point.time_s >= last_s * _APART:
            last_s = point.time_s
            yield grid, cell, last


def frontier_of(clusters: Sequence[Candidate], best: Sequence[Candidate]) -> list[FrontierPoint]:
    """Return the clusters that no other beats in both time and total cost, fastest first; the recommended one, the
    first of `best`, and the cheapest are always there. Those whose bill is known in part alone are left out where
    others are known whole.
    """
    clusters = [cluster for cluster in clusters if not cluster.cost_usd.at_least] or clusters
    points = {_place(point): point for point in map(point_of, clusters)}.values()
    always = [point_of(cluster) for cluster in best[:1]]
    always += [min(points, key=lambda point: _figures(point)[1])] if points else []
    frontier: list[FrontierPoint] = []
    least = math.inf
    for point in sorted(points, key=_figures):
        if point in always or _figures(point)[1] < least * (1 - _SAME_COST):
            frontier.append(point)
        least = min(least, _figures(point)[1])
    return frontier


def point_of(candidate: Candidate) -> FrontierPoint:
    """Return a cluster as a point of the frontier."""
    return FrontierPoint(
        model=candidate.model,
        cloud=candidate.cloud,
        instance_type=candidate.instance_type,
        bandwidth_weighting=candidate.bandwidth_weighting,
        nodes=candidate.nodes,
        pricing=candidate.pricing,
        time_s=candidate.time_s.expected,
        cost_usd_total=candidate.cost_usd.total,
    )


def _figures(point: FrontierPoint) -> tuple[float, float]:
    """Return time and total cost as they count when clusters are ordered."""
    factor = handicap(point.instance_type)
    return point.time_s * factor, point.cost_usd_total * factor


def _place(point: FrontierPoint) -> tuple[str, str, str, str, str, int]:
    return point.model, point.cloud, point.pricing, point.instance_type, point.bandwidth_weighting, point.nodes
