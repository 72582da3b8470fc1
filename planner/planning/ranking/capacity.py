"""Clusters so large that their machines must be asked for before: what to ask for, and the best plan without."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from planner.planning.candidates.candidate_grid import CandidateGrid
from planner.schemas.plan import Candidate

MACHINES_AT_HAND: Final = 100
"""So many machines of one type a cloud usually has at once in one place. Assumed: the one wait
that is known is that of Conley, Vahdat, Porter, SoCC 2015, weeks for 186 i2.8xlarge in one placement group.
"""


def exceeds_capacity(cluster: Candidate) -> bool:
    """Return whether a cluster has more machines, spares included, than a cloud has at hand."""
    return cluster.nodes + cluster.spares > MACHINES_AT_HAND


def at_hand(grids: Sequence[CandidateGrid]) -> list[CandidateGrid]:
    """Return the grids with no cluster admissible that has more machines than a cloud has at hand."""
    return [replace(grid, good=grid.good & (grid.estimates.nodes <= _most_nodes(grid))) for grid in grids]


def _most_nodes(grid: CandidateGrid) -> float:
    return MACHINES_AT_HAND / (1 + grid.context.overheads.spare_fraction)
