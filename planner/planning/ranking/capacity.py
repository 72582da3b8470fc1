"""Clusters that need a capacity request to the cloud, and the best plan without one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from planner.planning.candidates.candidate_grid import CandidateGrid
from planner.planning.candidates.candidates import Cluster

MACHINES_AT_HAND: Final = 100
"""Machines of one type that a cloud usually has available at once in one place. Assumed: the only known wait is that of
Conley, Vahdat, Porter, SoCC 2015, weeks for 186 i2.8xlarge in one placement group.
"""


def exceeds_capacity(cluster: Cluster) -> bool:
    """Return whether a cluster has more machines, spares included, than a cloud has available."""
    return cluster.machines > MACHINES_AT_HAND


def within_capacity(grids: Sequence[CandidateGrid]) -> list[CandidateGrid]:
    """Return the grids without clusters that have more machines than a cloud has available."""
    return [grid.at_most(MACHINES_AT_HAND) for grid in grids]
