"""Like nodes as one group: the slowest few stay alone, because a barrier waits for them; the others go together."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from planner.arrays import Floats
from planner.sort_policy.coordinators import NODES_PER_COORDINATOR

_ALONE: Final = 4
"""How many of the slowest nodes are groups of their own; each further group is `_GROWTH` times as large. So few nodes
that the driver orders all tasks are all alone: nodes of one group would send at the same time, in fewer parcels.
"""
_GROWTH: Final = 4


@dataclass(frozen=True, kw_only=True)
class NodeGroup:
    """So many nodes, and by what factor each resource of theirs takes longer than the median node's; 1 where nothing is
    stated.
    """

    nodes: int
    slowness: Mapping[str, float] = field(default_factory=dict)

    def slow(self, resource: str) -> float:
        """Return the factor of a resource."""
        return self.slowness.get(resource, 1.0)


def groups_of(slowness: Mapping[str, Floats], *, lateness: Floats) -> list[NodeGroup]:
    """Return the groups of n nodes with `slowness` (n,) by resource; those with the most `lateness` (n,) stay alone."""
    slowest_first = np.argsort(-lateness, kind="stable")
    groups, first, size = [], 0, 1
    alone = len(slowest_first) if len(slowest_first) <= NODES_PER_COORDINATOR else _ALONE
    while first < len(slowest_first):
        members = slowest_first[first : first + size]
        means = {resource: float(factors[members].mean()) for resource, factors in slowness.items()}
        groups.append(NodeGroup(nodes=len(members), slowness=means))
        first += len(members)
        size = 1 if len(groups) < alone else _GROWTH * size
    return groups
