"""The map task: a slice of the input is read and grouped by output partition. What stays on its node is written to a
disk; the rest waits in a segment of its node's memory until the owners fetch it.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from itertools import accumulate

import numpy as np

from planner.distributed_sort.content.content import content_of
from planner.distributed_sort.content.long_rows import require_sortable
from planner.distributed_sort.content.partitioning import AnySplitting
from planner.distributed_sort.dataset.dataset import Layout, Partition
from planner.distributed_sort.dataset.input_versions import FileVersion, version_here
from planner.distributed_sort.dataset.partition_reader import Slice, naming_file
from planner.distributed_sort.exchange.segments import drop_segments, write_segment
from planner.distributed_sort.node_files.node_environment import JobFiles, node_name
from planner.distributed_sort.node_tasks.node_tasks import Block, Stored, store


@dataclass(frozen=True, kw_only=True)
class MapOrder:
    """What a map task shall do: group `slice` of `partition` into a block for each range of partitions, given as
    (owner, first, end); it stores those that the node owns which it runs on, and writes the others to `segment`.

    That leaves `reserve_bytes` free of the node's memory. The segments `dropped` are deleted before. A line or row that
    cannot be sorted in `memory_bytes` is refused; 0 refuses none.
    """

    slice: Slice
    partition: Partition
    layout: Layout
    files: JobFiles
    ranges: tuple[tuple[str, int, int], ...]
    segment: str = ""
    dropped: tuple[str, ...] = ()
    reserve_bytes: int = 0
    threads: int = 1
    sums: bool = False
    memory_bytes: int = 0


@dataclass(frozen=True, kw_only=True)
class Mapped:
    """What a map task did on `node`: bytes read from a copy of its input, bytes made anew, the seconds of it all, and,
    where it was asked for, the sum of its records' checksums. By first partition, `stored` has the blocks that it wrote
    to the node's disks, `offsets` where the others begin in the segment, `sizes` the bytes of all blocks' records.
    `versions` are those of the file before and after it was read.
    """

    node: str
    read_bytes: int
    remade_bytes: int
    seconds: float
    checksum: int
    stored: dict[int, Stored]
    offsets: dict[int, int]
    sizes: dict[int, int]
    versions: tuple[FileVersion | None, ...] = ()


def map_slice(order: MapOrder, splitting: AnySplitting) -> Mapped:
    """Do a map task, and return what was done.

    Raises IoFailureError naming node and file, and BadInputError naming file and row of CSV that is not as it must be,
    and of what is too long to be sorted.
    """
    began = time.monotonic()
    drop_segments(order.files, order.dropped)
    size = order.layout.stored_size
    content = content_of(order.layout)
    with naming_file(order.partition):
        before = version_here(order.partition)
        records = content.read_slice(order.partition, order.slice)
        versions = before, version_here(order.partition)
        if order.memory_bytes:
            require_sortable(order.partition, order.layout, order.slice, records, memory_bytes=order.memory_bytes)
        grouped, offsets = content.group(records, splitting, order.threads)
    stored, sent = dict[int, Stored](), dict[int, Block]()
    for owner, first, end in order.ranges:
        counts = np.diff(offsets[first : end + 1])
        block = counts.astype("<i8"), grouped[offsets[first] * size : offsets[end] * size]
        if owner == node_name():
            stored[first] = store(order.files, first, {order.slice.number: block})
        else:
            sent[first] = block
    if sent:
        arrays = [array for block in sent.values() for array in block]
        write_segment(order.files, order.segment, arrays, reserve_bytes=order.reserve_bytes)
    read = any(copy.node in ("", node_name()) for copy in order.partition.copies)
    return Mapped(
        node=node_name(),
        read_bytes=content.size_bytes(records) if read else 0,
        remade_bytes=0 if read else content.size_bytes(records),
        seconds=time.monotonic() - began,
        checksum=content.checksum(records, order.threads) if order.sums else 0,
        stored=stored,
        offsets=_offsets(sent),
        sizes={first: int(offsets[end] - offsets[first]) * size for _, first, end in order.ranges},
        versions=versions,
    )


def _offsets(blocks: dict[int, Block]) -> dict[int, int]:
    """Return where blocks begin that are written one after another."""
    lengths = [counts.nbytes + records.nbytes for counts, records in blocks.values()]
    return dict(zip(blocks, accumulate(lengths, initial=0), strict=False))
