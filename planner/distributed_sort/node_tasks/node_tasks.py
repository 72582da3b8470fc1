"""The tasks of a node: grouping slices, sorting and writing partitions, validating, and freeing its disks.

The map task groups a slice by output partition. Data that stays on its node is written to a disk; the rest waits in a
segment of its node's memory until the owners fetch it.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate
from pathlib import Path
from typing import Any, Final

import numpy as np

from planner.arrays import Bytes
from planner.distributed_sort.content.base import RAW, Splitting, reused_array
from planner.distributed_sort.content.content import content_of
from planner.distributed_sort.content.table_file import open_copy
from planner.distributed_sort.content.text_content import Text
from planner.distributed_sort.dataset import object_store, partition_reader, shared_folder
from planner.distributed_sort.dataset.dataset import Copy, Layout, Partition, Recipe
from planner.distributed_sort.dataset.object_store import is_object, write_object
from planner.distributed_sort.dataset.partition_reader import Slice, copies_at, copy_here, naming_file
from planner.distributed_sort.exchange.segments import drop_segments, free_abandoned, write_segment
from planner.distributed_sort.node_files import run_files
from planner.distributed_sort.node_files.node_environment import (
    JobFiles,
    forget_ended,
    free_space,
    job_of_part,
    node_name,
)
from planner.distributed_sort.node_files.run_files import Block, RunsDamagedError, checksums_of
from planner.errors import BadInputError, IoFailureError
from planner.native import core, core_errors
from planner.sorting.tables.arrow_library import arrow
from planner.units import count_of


@dataclass(frozen=True, kw_only=True)
class Sorted:
    """A written output partition, the intermediate bytes it came from, and valsort's summary of it, serialized.

    Its records take `sent_bytes` in the segment where they wait to be copied.
    """

    partition: Partition
    read_bytes: int
    written_bytes: int
    summary: bytes
    sent_bytes: int = 0


@dataclass(frozen=True, kw_only=True)
class SortOrder:
    """The order for a sort task: the partition's number, the number of slices whose records the node must have, the
    memory allowed. If it is to be copied, there is a `segment` for its records, which leaves `reserve_bytes` of the
    node's memory free. The segments `dropped` are deleted before.
    """

    number: int
    slices: int
    layout: Layout
    files: JobFiles
    memory_bytes: int
    segment: str = ""
    dropped: tuple[str, ...] = ()
    reserve_bytes: int = 0
    threads: int = 1


@dataclass(frozen=True, kw_only=True)
class Stored:
    """Data written to a node's disks: its slices, and its size in bytes."""

    slices: tuple[int, ...]
    written_bytes: int


@dataclass(frozen=True, kw_only=True)
class Inventory:
    """A node's intermediate files of a job: (slice, first partition, end, records in all)."""

    runs: tuple[tuple[int, int, int, int], ...]


def generate(recipe: Recipe, records: int, files: JobFiles, index: int, threads: int = 1) -> Partition:
    """Write a whole partition of test records to one of the node's disks; a sort would wait for any that are
    missing.
    """
    path = Path(files.output_uri(index))
    with run_files.file_errors("make", path.parent):
        path.parent.mkdir(parents=True, exist_ok=True)
    with core_errors():
        core.generate_file(str(path), records=records, start=recipe.start, skewed=recipe.skew, threads=threads)
    run_files.sync(path)
    return Partition(records=records, copies=(Copy(uri=str(path), node=_node_of(files)),), recipe=recipe)


def sample(partition: Partition, layout: Layout, keys: int) -> list[bytes]:
    """Return the keys of about `keys` records, or lines, read in windows spaced evenly over a partition."""
    with partition_reader.naming_file(partition):
        return content_of(layout).sample(partition, keys)


def store(files: JobFiles, first: int, blocks: Mapping[int, Block]) -> Stored:
    """Write the blocks of some slices for the partitions from `first` on to one of this node's disks, as one file, and
    return the slices and bytes stored.
    """
    written = run_files.write_run(files.run_folders(), first=first, blocks=blocks, cached=files.cached) if blocks else 0
    return Stored(slices=tuple(blocks), written_bytes=written)


def inventory(files: JobFiles) -> Inventory:
    """Return this node's files of a job, and delete files left half written by killed tasks or a crash of the node, and
    the segments of killed jobs.
    """
    free_abandoned(folder.parent for folder in files.segment_folders())
    for partial in run_files.partial_files(files.run_folders()):
        partial.unlink(missing_ok=True)
    runs = list[tuple[int, int, int, int]]()
    for run in run_files.run_files(files.run_folders()):
        try:
            runs += [(number, run.first, run.end, int(counts.sum())) for number, counts in run.counts().items()]
        except IoFailureError:  # unsynced files of a crash
            run.path.unlink()
    return Inventory(runs=tuple(runs))


def sort_partition(order: SortOrder) -> Sorted:
    """Gather the runs of a partition, sort them and write the partition; if it is to be copied, also put its records in
    a segment.

    Raises RunsDamagedError when the runs lack slices or one cannot be read, which is deleted; BadInputError when the
    records do not fit in the memory allowed; IoFailureError when the partition cannot be written.
    """
    drop_segments(order.files, order.dropped)
    content = content_of(order.layout)
    gathered = _gather_records(order)
    _require_memory(order, content.needed_bytes(gathered, order.threads))
    output = content.sort(gathered, order.threads)
    done = write_partition(output, order)
    return replace(done, read_bytes=len(gathered), sent_bytes=_offer(output, order))


def offer_partition(partition: Partition, order: SortOrder) -> int:
    """Put a whole output partition of this node in a segment, and return its bytes there."""
    drop_segments(order.files, order.dropped)
    return _offer(content_of(order.layout).read_output(partition), order)


def _offer(output: Bytes, order: SortOrder) -> int:
    if not order.segment:
        return 0
    write_segment(order.files, order.segment, [output], reserve_bytes=order.reserve_bytes)
    return len(output)


def _require_memory(order: SortOrder, needed_bytes: int) -> None:
    if needed_bytes > order.memory_bytes:
        raise BadInputError(
            f"{node_name()}: partition {order.number} does not fit in {order.memory_bytes} bytes of memory",
            [f"sorting it needs {needed_bytes} bytes: sort with more memory"],
            code="memory",
        )


def write_partition(records: Bytes, order: SortOrder) -> Sorted:
    """Write sorted records as an output partition of this node, durably, and return its description."""
    files, content = order.files, content_of(order.layout)
    summary = content.summary(records, order.threads)
    uri = files.output_uri(order.number) + content.suffix
    prologue = np.frombuffer(content.prologue, np.uint8)
    if files.in_store:
        write_object(uri, np.concatenate([prologue, records]) if len(prologue) else records)
    else:
        run_files.write_atomically(Path(uri), (prologue, records), durable=True)
    copy = Copy(uri=uri, node=_node_of(files), offset=len(prologue))
    partition = replace(content.describe(records, summary), copies=(copy,), checksum=f"{summary.checksum:x}")
    return Sorted(
        partition=partition, read_bytes=0, written_bytes=len(prologue) + len(records), summary=summary.serialize()
    )


def validate(partition: Partition, layout: Layout, threads: int = 1) -> bytes:
    """Read a partition's first copy and return valsort's summary of it, serialized."""
    summary, have = content_of(layout).validate(partition, threads)
    if have != partition.records:
        raise IoFailureError(
            f"{node_name()}: {partition.uri} holds {count_of(have, layout.unit)} instead of {partition.records}",
            code="wrong-count",
        )
    return bytes(summary.serialize())


def clean(files: JobFiles) -> None:
    """Delete a job's intermediate files on this node, and the segments and notes of killed jobs."""
    forget_ended()
    free_abandoned(folder.parent for folder in files.segment_folders())
    free_space([*files.run_folders(), *files.segment_folders(), *files.decompressed_folders()])


def undo(files: JobFiles) -> None:
    """Delete a job's intermediate files on this node and its output so far."""
    clean(files)
    if files.in_store:
        object_store.delete_partitions(files.output, files.job)
        return
    for folder in files.output_folders():
        for _ in range(3):  # an abandoned task may still be writing
            shared_folder.delete_partitions(str(folder), files.job)


def free(files: JobFiles, freeing: Callable[[JobFiles], None]) -> int:
    """Do as `freeing`, which is `clean` or `undo`, and return the bytes that are gone from this node."""
    before = _held_bytes(files)
    freeing(files)
    return before - _held_bytes(files)


def _held_bytes(files: JobFiles) -> int:
    """Return the bytes of a job's files on this node."""
    folders = [*files.run_folders(), *files.segment_folders(), *files.decompressed_folders()]
    found = [path for folder in folders for path in folder.rglob("*")]
    if not files.in_store:
        found += [path for folder in files.output_folders() for path in folder.glob("*") if _is_part(path, files)]
    return sum(path.stat().st_size for path in found if path.is_file())


def _is_part(path: Path, files: JobFiles) -> bool:
    return job_of_part(path.name) == files.job


def delete_files(uris: Sequence[str], kept: Collection[str]) -> None:
    """Delete files of this node, or objects, except those `kept`, by whatever path."""
    names = {uri if is_object(uri) else os.path.realpath(uri) for uri in kept}
    for uri in uris:
        if is_object(uri) and uri not in names:
            object_store.delete_file(uri)
        elif not is_object(uri) and os.path.realpath(uri) not in names:
            shared_folder.delete_file(uri)


def _node_of(files: JobFiles) -> str:
    """Return the node that output is bound to: '' when all can reach it, on a volume or in an object store."""
    return "" if files.on_volume or files.in_store else node_name()


def _gather_records(order: SortOrder) -> Bytes:
    size, read_slices = order.layout.stored_size, set[int]()
    try:
        pieces = list(run_files.pieces_of(order.number, order.files.run_folders(), read_slices))
    except IoFailureError as error:
        raise RunsDamagedError(error.message) from error
    if len(read_slices) != order.slices:
        raise RunsDamagedError(
            f"{node_name()}: partition {order.number} has records of {len(read_slices)} of {order.slices} slices",
            [f"intermediate files were lost or changed: {_join_paths(order.files.run_folders())}"],
        )
    whole = sum(records.stop - records.start for _, records in pieces)
    _require_memory(order, 2 * whole * size)  # before reading it all
    gathered, done = reused_array(RAW, whole * size), 0
    for run, records in pieces:
        end = done + (records.stop - records.start) * size
        try:
            run.read(records, gathered[done:end], record_size=size, cached=order.files.cached)
        except IoFailureError as error:
            run.path.unlink(missing_ok=True)
            raise RunsDamagedError(error.message) from error
        done = end
    return gathered


def _join_paths(folders: list[Path]) -> str:
    return ", ".join(map(str, folders))


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
