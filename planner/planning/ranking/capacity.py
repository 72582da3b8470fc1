"""Clusters that need a capacity request to the cloud, and the best plan without one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from planner.planning.candidates.candidate_grid import CandidateGrid
from planner.planning.candidates.candidates import Cluster
from planner.planning.ranking.selection import SLACK
from planner.schemas.plan import Candidate, Request
from planner.units import format_duration, format_usd

MACHINES_AT_HAND: Final = 100
"""Machines of one type that a cloud usually has available at once in one place. Assumed: the only known wait is that of
Conley, Vahdat, Porter, SoCC 2015, weeks for 186 i2.8xlarge in one placement group.
"""


AT_HAND: Final = "capacity: "
"""Start of the note that more machines would cost less, but must be asked for."""


def may_need_no_request(request: Request, first: Cluster) -> bool:
    """Return whether a smaller cluster may replace the `first`: the user neither says how many machines to take or to
    be had, nor asks for the least cost, time or energy.
    """
    asked = request.nodes or request.paper or request.objective != "balanced" or request.most_data
    return not asked and exceeds_capacity(first) and all(of.nodes <= MACHINES_AT_HAND for of in request.node_limits)


def instead_of(first: Cluster, at_hand: Candidate | None) -> str:
    """Return the note on a cluster that no one has to ask for, '' if there is none that the default objective's slack
    allows.
    """
    point = first.point
    if at_hand is None or at_hand.cost_usd.total > SLACK * point.cost_usd_total:
        return ""
    more_usd = format_usd(max(at_hand.cost_usd.total - point.cost_usd_total, 0.0))
    figures = f"{format_duration(point.time_s)}, {format_usd(point.cost_usd_total)}"
    return (
        f"{AT_HAND}{first.machines} x {point.instance_type} ({figures}) must be asked for weeks before; these cost "
        f"{more_usd} more; --set capacity='*={first.machines}' takes those"
    )


def exceeds_capacity(cluster: Cluster) -> bool:
    """Return whether a cluster has more machines, spares included, than a cloud has available."""
    return cluster.machines > MACHINES_AT_HAND and not cluster.is_own


def within_capacity(grids: Sequence[CandidateGrid]) -> list[CandidateGrid]:
    """Return the grids without clusters that have more machines than a cloud has available."""
    return [grid.at_most(MACHINES_AT_HAND) for grid in grids]
