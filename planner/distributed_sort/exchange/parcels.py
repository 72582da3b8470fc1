"""Units of the shuffle: blocks of slices, and parcels of blocks that one task stores."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from planner.distributed_sort.dataset.partition_reader import Slice
from planner.distributed_sort.exchange.block_fetch import PackedParts
from planner.distributed_sort.exchange.block_server import Address
from planner.distributed_sort.node_files.blocks import head_bytes


class Block(NamedTuple):
    """The records of a slice for partitions `first` to `end` - 1, all of one owner. They wait in a `segment` of the
    source, from `offset` on, behind a head.

    A block that `is_retry` was in a lost parcel.
    """

    slice: Slice
    source: str
    owner: str
    first: int
    end: int
    size_bytes: int = 0
    segment: str = ""
    offset: int = 0
    is_retry: bool = False

    @property
    def key(self) -> tuple[int, int]:
        """Key that is unique among the blocks under way."""
        return self.slice.number, self.first


Parcel = tuple[Block, ...]
"""Blocks of one owner and the same partitions, which one task stores."""


def pack(parcel: Parcel, address: Callable[[str], Address]) -> PackedParts:
    """Return the places from which to fetch the blocks of a parcel, heads and records, by the address of each node."""
    partitions = parcel[0].end - parcel[0].first
    return PackedParts(
        slices=[block.slice.number for block in parcel],
        addresses=[address(block.source) for block in parcel],
        segments=[block.segment for block in parcel],
        offsets=[block.offset for block in parcel],
        sizes_bytes=[block.size_bytes + head_bytes(partitions) for block in parcel],
        partitions=partitions,
    )
