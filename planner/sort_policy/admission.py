"""Admission of work to a node: the number of slices or partitions it may begin, given those under way.

A node begins with one slice and gets one more for each that it has grouped. So links have blocks to carry before
several slices have been grouped in parallel.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from planner.sort_policy.concurrency import Concurrency

_MOST_UNDER_WAY: Final = 4
"""Limit on a node's slices under way, as a multiple of the slices that it may hold: a slice may have only empty blocks
left, but these are queued, too.
"""


@dataclass(kw_only=True, slots=True)
class ActiveMaps:
    """A node's slices: bytes that it holds or will hold, slices with a block not yet stored, slices being grouped, and
    slices grouped so far.
    """

    held_bytes: float = 0
    slices: int = 0
    grouping: int = 0
    grouped: int = 0

    def startable_slices(self, concurrency: Concurrency, *, slices: int, slice_bytes: float) -> int:
        """Return the number of further slices that the node may begin, with up to `slices` of `slice_bytes` under way.

        The limits are the room in its object store in addition to the blocks it holds, the slices it may group at a
        time, and a number that keeps empty blocks from piling up.
        """
        return min(
            int((min(slices, 1 + self.grouped) * slice_bytes - self.held_bytes) // slice_bytes),
            concurrency.maps - self.grouping,
            _MOST_UNDER_WAY * slices - self.slices,
        )


def sorts_to_begin(concurrency: Concurrency, *, in_progress: int, sorting: int, copied: bool) -> int:
    """Return the number of further partitions that a node may begin with `in_progress` partitions, of which it reads
    and sorts `sorting`. Those that are `copied` stay under way until another node has them, too.
    """
    return max(0, min(concurrency.partitions(copied=copied) - in_progress, concurrency.sorts(copied=copied) - sorting))
