"""Admission of work to a node: how many slices or partitions it may begin, given those under way.

A node begins with one slice and gets one more for each that it has grouped. So links have blocks to carry before
several slices have been grouped side by side.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from planner.sort_policy.concurrency import Concurrency

_MOST_UNDER_WAY: Final = 4
"""Times the slices that a node may hold: of a slice only empty blocks may be left, but these are queued, too."""


@dataclass(kw_only=True, slots=True)
class MapsUnderWay:
    """What a node has of slices: bytes that it holds or will hold, slices of which any block is not stored, those that
    it groups at present, and how many it has grouped so far.
    """

    held_bytes: float = 0
    slices: int = 0
    grouping: int = 0
    grouped: int = 0

    def room(self, concurrency: Concurrency, *, slices: int, slice_bytes: float) -> int:
        """Return how many more slices the node may begin, which may have `slices` of `slice_bytes` under way.

        The limits are the room in its object store beside the blocks it holds, the slices it may group at a time, and a
        number that keeps empty blocks from piling up.
        """
        return min(
            int((min(slices, 1 + self.grouped) * slice_bytes - self.held_bytes) // slice_bytes),
            concurrency.maps - self.grouping,
            _MOST_UNDER_WAY * slices - self.slices,
        )


def sorts_to_begin(concurrency: Concurrency, *, under_way: int, sorting: int, copied: bool) -> int:
    """Return how many more partitions a node may begin that has some `under_way`, of which it reads and sorts
    `sorting`. Those that are `copied` stay under way until another node has them, too.
    """
    return max(0, min(concurrency.partitions(copied=copied) - under_way, concurrency.sorts(copied=copied) - sorting))
