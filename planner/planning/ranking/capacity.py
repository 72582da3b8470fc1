"""Clusters so large that their machines must be asked for before: what to ask for, and the best plan without."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from planner.planning.candidates.candidate_grid import CandidateGrid
from planner.schemas.plan import Candidate, CapacityRequest, FrontierPoint

MACHINES_AT_HAND: Final = 100
"""So many machines of one type a cloud usually has at once in one place. Assumed, from the two clusters that are known:
Conley, Vahdat, Porter, SoCC 2015, section 5, waited weeks for 186 i2.8xlarge in one placement group; Exoshuffle's 40
i4i.4xlarge came when asked for.
"""


def exceeds_capacity(cluster: Candidate) -> bool:
    """Return whether a cluster has more machines, spares included, than a cloud has at hand."""
    return cluster.nodes + cluster.spares > MACHINES_AT_HAND


def at_hand(grids: Sequence[CandidateGrid]) -> list[CandidateGrid]:
    """Return the grids with no cluster admissible that has more machines than a cloud has at hand."""
    return [replace(grid, good=grid.good & (grid.estimates.nodes <= _most_nodes(grid))) for grid in grids]


def _most_nodes(grid: CandidateGrid) -> float:
    return MACHINES_AT_HAND / (1 + grid.context.overheads.spare_fraction)


def to_ask_for(best: Candidate, smaller: FrontierPoint | None, *, vcpu: float) -> CapacityRequest | None:
    """Return what must be asked for before a cluster is launched; None where a cloud has enough at hand."""
    if not exceeds_capacity(best):
        return None
    machines = best.nodes + best.spares
    return CapacityRequest(machines=machines, vcpus=machines * vcpu, smaller=smaller)
