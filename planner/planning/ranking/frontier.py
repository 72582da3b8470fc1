"""The clusters that no other beats in both time and total cost, each computed exactly."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

import numpy as np

from planner.catalog.instances import handicap
from planner.planning.candidates.candidate_grid import CandidateGrid
from planner.planning.ranking import selection
from planner.planning.ranking.best_clusters import cheapest_near, with_known_bills
from planner.planning.ranking.selection import Cell, Limit
from planner.schemas.plan import Candidate, FrontierPoint, Request

_APART: Final = 1.15
"""Least factor between the times of neighbours: nearer ones are hardly a choice."""

_SAME_COST: Final = 1e-6
"""Costs that differ by less count as equal: equation 7 gives one cost for all cluster sizes."""


def frontier_clusters(
    request: Request, grids: Sequence[CandidateGrid], known_clusters: Sequence[Candidate]
) -> list[Candidate]:
    """Return, computed exactly, the clusters on the frontier by the estimates and the cheapest of all, if they meet the
    constraints; `known_clusters` are left out.
    """
    places = {_cluster_key(point_of(cluster)) for cluster in known_clusters}
    clusters: list[Candidate] = []
    for grid, cell, last in _worth_showing(grids):
        if _cluster_key(grid.point(cell)) in places:
            continue
        cluster, excess = grid.exact(cell, request)
        if excess <= 1:
            clusters.append(cluster)
        elif last and (cheapest := cheapest_near(request, grid, cell)) is not None:
            clusters.append(cheapest)  # the others are compared with it
    return [*clusters, *_cheaper(request, grids, [*known_clusters, *clusters])]


def _cheaper(request: Request, grids: Sequence[CandidateGrid], clusters: Sequence[Candidate]) -> Iterator[Candidate]:
    """Yield further clusters while one may cost less than all so far, the least estimate first: estimates are lower
    bounds with an error that varies by type.
    """
    least = min((_bill_usd(cluster) for cluster in clusters if not cluster.cost_usd.at_least), default=-math.inf)
    cells = [
        (float(grid.cheapest.usd[row]), grid, Cell(row=row, column=int(grid.cheapest.columns[row])))
        for grid in grids
        for row in np.flatnonzero((grid.cheapest.usd < least) & ~grid.partly_unknown).tolist()
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
    """Return a cell on the layout planned for this many nodes of its type when asked for directly."""
    rows = next(rows for rows in grid.rows_of_types() if cell.row in rows)
    of_size = np.zeros_like(grid.good)
    of_size[rows, cell.column] = grid.good[rows, cell.column]
    best = selection.best_cell(rows, grid.estimates, of_size, objective=request.rule, limit=Limit(usd=0.0))
    return best or cell


def _worth_showing(grids: Sequence[CandidateGrid]) -> Iterator[tuple[CandidateGrid, Cell, bool]]:
    """Yield the cells that no other of all grids beats by the estimates: the fastest, those `_APART`, and last the
    cheapest.
    """
    cells = [
        (grid.point(cell), grid, cell)
        for grid, cheapest in with_known_bills(grids)
        for cell in selection.frontier(grid.estimates, grid.good, cheapest)
    ]
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
    """Return the clusters that no other beats in both time and total cost, fastest first, always with the recommended
    one, the first of `best`, and the cheapest. Clusters with a partly unknown bill are left out if others have a known
    one.
    """
    clusters = [cluster for cluster in clusters if not cluster.cost_usd.at_least] or clusters
    points = {_cluster_key(point): point for point in map(point_of, clusters)}.values()
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
        region=candidate.region,
        time_s=candidate.time_s.expected,
        cost_usd_total=candidate.cost_usd.total,
    )


def _figures(point: FrontierPoint) -> tuple[float, float]:
    """Return time and total cost as used to order clusters."""
    factor = handicap(point.instance_type)
    return point.time_s * factor, point.cost_usd_total * factor


def _cluster_key(point: FrontierPoint) -> FrontierPoint:
    """Return what a point names without its figures."""
    return replace(point, time_s=0.0, cost_usd_total=0.0)
