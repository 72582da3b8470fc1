"""The map task: a slice of the input is read and grouped by output partition. What stays on its node is written there;
the rest is returned, for Ray to move.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np

from planner.distributed_sort.content import content_of
from planner.distributed_sort.dataset import Layout, Partition
from planner.distributed_sort.node_environment import JobFiles, node_name
from planner.distributed_sort.node_tasks import Block, Stored, store
from planner.distributed_sort.partition_reader import Slice, naming_file
from planner.distributed_sort.splittings import AnySplitting


@dataclass(frozen=True, kw_only=True)
class MapOrder:
    """What a map task shall do: group `slice` of `partition` and return a block for each range of partitions, given as
    (owner, first, end); it stores those that the node owns which it runs on.
    """

    slice: Slice
    partition: Partition
    layout: Layout
    files: JobFiles
    ranges: tuple[tuple[str, int, int], ...]
    threads: int = 1
    sums: bool = False


@dataclass(frozen=True, kw_only=True)
class Mapped:
    """What a map task did on `node`: bytes read from a copy of its input, bytes made anew, the seconds of it all, and,
    where it was asked for, the sum of its records' checksums. By first partition, `stored` has the blocks that it wrote
    to the node's disks, `sizes` the bytes of all.
    """

    node: str
    read_bytes: int
    remade_bytes: int
    seconds: float
    checksum: int
    stored: dict[int, Stored]
    sizes: dict[int, int]


def map_slice(order: MapOrder, splitting: AnySplitting) -> tuple[Mapped | Block | None, ...]:
    """Do a map task; return what was done and a block for each range, which the next task of this process overwrites,
    None for those that were stored.

    Raises IoFailureError naming node and file, and BadInputError naming file and row of CSV that is not as it must be.
    """
    began = time.monotonic()
    size = order.layout.stored_size
    content = content_of(order.layout)
    with naming_file(order.partition):
        records = content.read_slice(order.partition, order.slice)
        grouped, offsets = content.group(records, splitting, order.threads)
    blocks: dict[int, Block | None] = {
        first: (np.diff(offsets[first : end + 1]), grouped[offsets[first] * size : offsets[end] * size])
        for _, first, end in order.ranges
    }
    stored = {}
    for owner, first, _ in order.ranges:
        if owner == node_name() and (block := blocks[first]) is not None:
            stored[first] = store(order.files, first, (order.slice.number,), block)
            blocks[first] = None
    read = any(copy.node in ("", node_name()) for copy in order.partition.copies)
    mapped = Mapped(
        node=node_name(),
        read_bytes=content.size_bytes(records) if read else 0,
        remade_bytes=0 if read else content.size_bytes(records),
        seconds=time.monotonic() - began,
        checksum=content.checksum(records, order.threads) if order.sums else 0,
        stored=stored,
        sizes={first: int(offsets[end] - offsets[first]) * size for _, first, end in order.ranges},
    )
    return (mapped, *blocks.values())
