"""The map task: a slice of the input is read and grouped by output partition. Data that stays on its node is written to
a disk; the rest waits in a segment of its node's memory until the owners fetch it.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Any, Final

import numpy as np

from planner.arrays import Bytes
from planner.distributed_sort.content.base import Splitting
from planner.distributed_sort.content.content import content_of
from planner.distributed_sort.content.table_file import open_copy
from planner.distributed_sort.content.text_content import Text
from planner.distributed_sort.dataset.dataset import Layout, Partition
from planner.distributed_sort.dataset.partition_reader import Slice, copies_at, copy_here, naming_file
from planner.distributed_sort.exchange.segments import drop_segments, write_segment
from planner.distributed_sort.node_files.blocks import Block, checksums_of
from planner.distributed_sort.node_files.node_environment import JobFiles, node_name
from planner.distributed_sort.node_tasks.node_tasks import Stored, store
from planner.errors import BadInputError
from planner.sorting.tables.arrow_library import arrow


@dataclass(frozen=True, kw_only=True)
class MapOrder:
    """The order for a map task: group `slice` of `partition` into a block for each range of partitions, given as
    (owner, first, end); store those that the task's node owns, and write the others to `segment`.

    That leaves `reserve_bytes` of the node's memory free. The segments `dropped` are deleted before. A line or row that
    cannot be sorted in `memory_bytes` is refused; 0 disables this check.
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
    """Work of a map task on `node`: bytes read from a copy of its input, bytes remade, total seconds, and, if
    requested, the sum of its records' checksums. By first partition, `stored` has the blocks that it wrote to the
    node's disks, `offsets` the beginnings of the others in the segment, `sizes` the bytes of all blocks' records.
    `content_checksum` is, by slice, the CRC-32 of the bytes read, not of tables.
    """

    node: str
    read_bytes: int
    remade_bytes: int
    seconds: float
    checksum: int
    stored: dict[int, Stored]
    offsets: dict[int, int]
    sizes: dict[int, int]
    content_checksum: dict[int, int] = field(default_factory=dict)


def map_slice(order: MapOrder, splitting: Splitting) -> Mapped:
    """Do a map task, and return its work.

    Raises IoFailureError naming node and file, and BadInputError naming file and row of invalid CSV, or of a line or
    row that is too long to be sorted.
    """
    began = time.monotonic()
    drop_segments(order.files, order.dropped)
    size = order.layout.stored_size
    content = content_of(order.layout)
    with naming_file(order.partition):
        records = content.read_slice(order.partition, order.slice)
        if order.memory_bytes:
            require_sortable(order.partition, order.layout, order.slice, records, memory_bytes=order.memory_bytes)
        grouped, offsets = content.group(records, splitting, order.threads)
    content_checksum = dict[int, int]()
    if order.layout.table is None:
        content_checksum[order.slice.number] = int(checksums_of(records, np.array([len(records)]))[0])
    stored, sent = dict[int, Stored](), dict[int, Block]()
    for owner, first, end in order.ranges:
        counts = np.diff(offsets[first : end + 1])
        block = Block.of(counts, grouped[offsets[first] * size : offsets[end] * size])
        if owner == node_name():
            stored[first] = store(order.files, first, {order.slice.number: block})
        else:
            sent[first] = block
    if sent:
        arrays = [array for block in sent.values() for array in (block.head, block.records)]
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
        content_checksum=content_checksum,
    )


def _offsets(blocks: dict[int, Block]) -> dict[int, int]:
    """Return the beginnings of blocks that are written one after another."""
    lengths = [block.head.nbytes + block.records.nbytes for block in blocks.values()]
    return dict(zip(blocks, accumulate(lengths, initial=0), strict=False))


_TABLE_COPIES: Final = 3
"""Copies of a row while it is sorted: as gathered, in order, and in the file."""
_LINE_COPIES: Final = 4
"""Copies of a line while it is sorted: an upper bound for any line."""
_ADVICE: Final = "shorten or remove it, or sort with more memory: --memory, or a larger object store of Ray's"


def require_sortable(partition: Partition, layout: Layout, slice_: Slice, rows: Any, *, memory_bytes: int) -> None:
    """Raise BadInputError, with the position, for a line or a cell of a slice that cannot be sorted in the memory of a
    sort task. `rows` is the content read of the slice.
    """
    if layout.text is not None:
        _require_lines(partition, Text(layout.text), slice_, rows, memory_bytes=memory_bytes)
    elif layout.table is not None and rows.nbytes * _TABLE_COPIES > memory_bytes:
        _require_cells(_first_row(partition, slice_), rows, memory_bytes=memory_bytes)


def _require_lines(partition: Partition, text: Text, slice_: Slice, lines: Bytes, *, memory_bytes: int) -> None:
    if not _may_have_long_line(lines, text, memory_bytes // _LINE_COPIES):
        return
    ends = text.line_ends(lines)
    lengths = np.diff(ends, prepend=0)
    longest = int(lengths.argmax())
    size, begin = int(lengths[longest]), int(ends[longest] - lengths[longest])
    needed = text.needed_bytes(lines[begin : begin + size], 1)
    if needed > memory_bytes:
        copies = copies_at(partition, node_name())
        at = text.begin_of(partition, slice_) + begin + (copies[0].offset if copies else 0)
        raise BadInputError(
            f"the line that begins at byte {at} has {size} bytes, too many for {memory_bytes} bytes of memory",
            [f"sorting it needs {needed} bytes: {_ADVICE}"],
            code="memory",
        )


def _may_have_long_line(lines: Bytes, text: Text, least_bytes: int) -> bool:
    """Return whether lines may include one of `least_bytes`: any such line contains a piece of half the length without
    a newline. Of most pieces only the beginning is searched. A row of CSV with newlines within quotes is not noticed.
    """
    half = max(1, least_bytes // 2)
    pieces = (lines[begin : begin + half] for begin in range(0, len(lines) - half + 1, half))
    return any(not text.has_line_end(piece) for piece in pieces)


def _first_row(partition: Partition, slice_: Slice) -> int:
    """Return the number of the first row read, which begins a row group, counting from 1."""
    with open_copy(copy_here(partition)) as (_, footer):
        begins = accumulate(footer.group_rows, initial=0)
        return 1 + next(begin for begin in begins if begin >= slice_.first)


def _require_cells(first: int, rows: Any, *, memory_bytes: int) -> None:
    compute, types = arrow("pyarrow.compute"), arrow("pyarrow.types")
    for name, column in zip(rows.schema.names, rows.columns, strict=True):
        value_type = column.type
        is_text = types.is_string(value_type) or types.is_large_string(value_type)
        if not rows.num_rows or not (is_text or types.is_binary(value_type) or types.is_large_binary(value_type)):
            continue
        lengths = compute.fill_null(compute.binary_length(column), 0).to_numpy()
        row = int(lengths.argmax())
        size = int(lengths[row])
        if size * _TABLE_COPIES > memory_bytes:
            raise BadInputError(
                f"column {name} of row {first + row} has {size} bytes, too many for {memory_bytes} bytes of memory",
                [f"sorting it needs {size * _TABLE_COPIES} bytes: {_ADVICE}"],
                code="memory",
            )
