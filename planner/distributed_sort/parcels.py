"""What the shuffle moves: blocks of slices, and parcels of blocks that one task stores."""

from __future__ import annotations

from typing import NamedTuple

from planner.distributed_sort.partition_reader import Slice


class Block(NamedTuple):
    """The records of a slice for partitions `first` to `end` - 1, all of one owner. They wait in a `segment` of the
    source, from `offset` on, behind how many there are for each partition.

    A block sent `again` was in a parcel that was lost.
    """

    slice: Slice
    source: str
    owner: str
    first: int
    end: int
    size_bytes: int = 0
    segment: str = ""
    offset: int = 0
    again: bool = False

    @property
    def key(self) -> tuple[int, int]:
        """Unique among the blocks under way."""
        return self.slice.number, self.first


Parcel = tuple[Block, ...]
"""Blocks of one owner and the same partitions, which one task stores."""
