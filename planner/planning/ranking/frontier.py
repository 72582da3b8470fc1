"""The clusters that no other beats in both time and total cost: found by the estimates, then evaluated."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np

from planner.catalog.instances import handicap
from planner.planning.candidates.candidate_grid import CandidateGrid
from planner.planning.candidates.candidates import Cluster
from planner.planning.ranking.selection import Figures
from planner.schemas.plan import Candidate, FrontierPoint

_APART: Final = 1.15
"""Least factor between the times of neighbours: nearer ones are hardly a choice."""

_SAME_COST: Final = 1e-6
"""Costs that differ by less count as equal: equation 7 gives one cost for all cluster sizes."""


def frontier_clusters(grids: Sequence[CandidateGrid]) -> list[Cluster]:
    """Return the clusters of sampled sizes on the frontier by the estimates, evaluated, that meet the constraints."""
    grids = [grid.sampled for grid in grids]
    worth = list(_worth_showing(grids))
    for grid in grids:
        grid.evaluate((row, column) for of, row, column in worth if of is grid)
    return [grid.cluster(row, column) for grid, row, column in worth if grid.excess(row, column) <= 1]


def _worth_showing(grids: Sequence[CandidateGrid]) -> Iterator[tuple[CandidateGrid, int, int]]:
    """Yield the cells that no other of all grids beats by the estimates, the fastest first, if they are `_APART`."""
    cells = [
        (*figures, grid, row, column)
        for grid in grids
        for figures, row, column in _unbeaten(grid, without=any(_has_known_bills(of) for of in grids))
    ]
    least_usd, last_s = math.inf, 0.0
    for time_s, total_usd, grid, row, column in sorted(cells, key=lambda cell: cell[:2]):
        if total_usd < least_usd * (1 - _SAME_COST):
            least_usd = total_usd
            if time_s >= last_s * _APART:
                last_s = time_s
                yield grid, row, column


def _has_known_bills(grid: CandidateGrid) -> bool:
    return bool((grid.good.any(axis=1) & ~grid.partly_unknown).any())


def _unbeaten(grid: CandidateGrid, *, without: bool) -> list[tuple[tuple[float, float], int, int]]:
    """Return the admissible cells of a grid that no other beats in both time and total cost by the estimates, with
    these figures as used for ordering. Layouts with partly unknown bills are left out `without` them.
    """
    good = grid.good & ~(grid.partly_unknown & without)[:, None]
    total = np.where(good, grid.estimates.total_usd, np.inf).ravel()
    time = grid.estimates.expected_s.ravel()
    cheapest = int(np.argmin(total)) if len(total) else 0
    kept = np.flatnonzero(np.isfinite(total) & (time <= time[cheapest : cheapest + 1]))  # slower ones cost no less
    fastest_first = kept[np.lexsort((total[kept], time[kept]))]
    before = np.minimum.accumulate(np.concatenate(([np.inf], total[fastest_first])))[:-1]
    made = []
    for cell in fastest_first[total[fastest_first] < before * (1 - 1e-9)].tolist():
        row, column = divmod(cell, len(grid.nodes))
        factor = handicap(grid.type_name(row))
        made.append(((time[cell] * factor, total[cell] * factor), row, column))
    return made


def frontier_of(clusters: Sequence[Candidate | Cluster], best: Sequence[Candidate | Cluster]) -> list[FrontierPoint]:
    """Return the clusters that no other beats in both time and total cost, fastest first, always with the recommended
    one, the first of `best`, and the cheapest. Of clusters that differ in the layout alone the first counts. Clusters
    with a partly unknown bill are left out if others have a known one.
    """
    unknown = Figures.of(clusters).at_least.tolist()
    clusters = [cluster for cluster, is_unknown in zip(clusters, unknown, strict=True) if not is_unknown] or clusters
    first = {_key(cluster): cluster for cluster in reversed(clusters)}
    every = Figures.of(list(first.values()))
    figures = dict(zip(first, zip(every.ranked_s.tolist(), every.ranked_usd.tolist(), strict=True), strict=True))
    always = {_key(cluster) for cluster in best[:1]}
    always |= {min(figures, key=lambda key: figures[key][::-1])} if figures else set()
    frontier: list[FrontierPoint] = []
    least = math.inf
    for key in sorted(first, key=lambda key: figures[key]):
        if key in always or figures[key][1] < least * (1 - _SAME_COST):
            frontier.append(first[key].point)
        least = min(least, figures[key][1])
    return frontier


def _key(cluster: Candidate | Cluster) -> tuple[str | int, ...]:
    """Return what tells a cluster from others, but for its layout."""
    of = cluster.point
    return (of.model, of.cloud, of.region, of.pricing, of.instance_type, of.bandwidth_weighting, of.nodes)
