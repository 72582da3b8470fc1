"""The input in a form that nodes can read: tasks read it before the sort, each where its partition lies, and elsewhere
if that node is lost or fails to read it.

Slices of compressed text cannot be read alone, so one node decompresses each file. Afterwards it is text on that node's
disk. If the node is lost, or cannot read the text, the file is decompressed again, preferably by another node. CSV is
scanned for quotes, to find where its rows begin.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

import numpy as np

from planner.arrays import Bytes
from planner.compression.text_codecs import decompress_text
from planner.distributed_sort.dataset import partition_reader
from planner.distributed_sort.dataset.dataset import Copy, Dataset, Layout, Partition, grid_of, step_bytes_of
from planner.distributed_sort.dataset.input_files import beginning_of, size_of
from planner.distributed_sort.dataset.joined_files import joined_bytes, read_joined
from planner.distributed_sort.dataset.partition_reader import (
    UnreadableCopy,
    nodes_with,
    require_intact_copy,
    unreadable_copy,
)
from planner.distributed_sort.job.nodes import LOST, Nodes
from planner.distributed_sort.job.waiting import Emit, KilledForMemoryError
from planner.distributed_sort.node_files.node_environment import JobFiles, node_name
from planner.distributed_sort.node_files.run_files import file_errors, read_exactly, write_atomically
from planner.errors import BadInputError, InputChangedError, IoFailureError
from planner.native import core
from planner.units import count_of

_MOST_ATTEMPTS: Final = 10
_READS_AGAIN_S: Final = (0.0, 1.0)
"""Pauses before unreadable input is read again, from the next copy."""

Restore = Callable[[Dataset, Collection[int], Sequence[UnreadableCopy]], Dataset]
"""Returns a dataset whose partitions, given by number, can be read although nodes were lost and copies are bad."""


@dataclass(frozen=True, kw_only=True)
class InputTask:
    """A call with a partition of the input, given by its number, and other arguments; preferably not on the node
    `avoided`, where any can do it.
    """

    partition: int
    task: Callable[..., Any]
    arguments: tuple[Any, ...]
    avoided: str = ""


def _unchanged(source: Dataset, numbers: Collection[int], faults: Sequence[UnreadableCopy]) -> Dataset:
    del numbers, faults
    return source


def outcomes(
    tasks: Sequence[InputTask], source: Dataset, nodes: Nodes, emit: Emit, *, failed: str, restore: Restore = _unchanged
) -> list[Any]:
    """Return the outcomes of tasks in their order. Work that is lost with a node, or whose input cannot be read, is
    done elsewhere, from partitions that `restore` makes readable.

    Raises the error of a task's last attempt, BadInputError when all copies of a partition are damaged, and
    IoFailureError, which begins with `failed`, when a partition is unavailable.
    """
    whole, damages = source, list[UnreadableCopy]()
    missing, done, pauses_s = dict(enumerate(tasks)), dict[int, Any](), iter(_READS_AGAIN_S)
    for attempt in range(_MOST_ATTEMPTS):
        ended, failures = _run_attempt(missing, source, nodes, attempt=attempt)
        done |= ended
        missing = {number: task for number, task in missing.items() if number not in done}
        if not missing:
            return [done[number] for number in range(len(tasks))]
        if lost_nodes := nodes.detect_losses(at_once=True):
            emit({"event": "lost", "nodes": sorted(lost_nodes), "left": nodes.names})
        faults = [failure.fault for failure in failures if failure.fault is not None]
        damages += [fault for fault in faults if fault.is_damaged]
        for number in {fault.partition for fault in damages}:
            require_intact_copy(number, whole.partitions[number].readable_from(nodes.names), damages)
        passing = [failure for failure in failures if failure.fault is None or not failure.fault.is_damaged]
        if passing and not lost_nodes:
            if (pause_s := next(pauses_s, None)) is None:
                raise passing[0].error
            time.sleep(pause_s)
        source = restore(source, {task.partition for task in missing.values()}, faults)
    lost = {task.partition: source.partitions[task.partition] for task in missing.values()}
    unit = source.layout.unit
    raise IoFailureError(
        f"{failed} in {_MOST_ATTEMPTS} attempts",
        [f"{part.uri if part.copies else 'a recipe'}: {count_of(part.records, unit)}" for part in lost.values()],
        code="attempts-failed",
    )


@dataclass(frozen=True, kw_only=True)
class _Failure:
    error: IoFailureError
    fault: UnreadableCopy | None


def _run_attempt(
    tasks: Mapping[int, InputTask], source: Dataset, nodes: Nodes, *, attempt: int
) -> tuple[dict[int, Any], list[_Failure]]:
    """Do tasks and return their outcomes, without lost ones, and the reasons of failures; none still runs."""
    began, ended, failures = {}, dict[int, Any](), list[_Failure]()
    for number, task in tasks.items():
        spared = [name for name in nodes.names if name != task.avoided] or nodes.names
        anywhere = spared[(number + attempt) % len(spared)]
        reachable, node = _choose_reader(source.partitions[task.partition], nodes, anywhere, attempt=attempt)
        began[number] = reachable, node, nodes.run(node, task.task, reachable, *task.arguments)
    for number, (reachable, node, reference) in began.items():
        try:
            if (outcome := nodes.wait_for(reference, nodes=(node,))) is not LOST:
                ended[number] = outcome
        except (InputChangedError, KilledForMemoryError):
            raise
        except IoFailureError as error:
            fault = unreadable_copy(tasks[number].partition, node, reachable, error)
            failures.append(_Failure(error=error, fault=fault))
    return ended, failures


def _choose_reader(partition: Partition, nodes: Nodes, anywhere: str, *, attempt: int) -> tuple[Partition, str]:
    """Return a partition with copies that the cluster reaches, and a node to read it on: each with a copy by turns,
    then `anywhere` if all nodes reach or can make it. Raises IoFailureError.
    """
    reachable = partition.readable_from(nodes.names)
    if not (holders := nodes_with(reachable)):
        absent = ", ".join(sorted(copy.node for copy in partition.copies))
        raise IoFailureError(f"{partition.uri} lies on {absent}, which is not in the cluster", code="node-absent")
    shared = replace(reachable, copies=tuple(copy for copy in reachable.copies if not copy.node))
    is_shared = shared.recipe is not None or any(not copy.compression for copy in shared.copies)
    if is_shared and "" not in holders:
        holders = [*holders, ""]
    holder = holders[attempt % len(holders)]
    return (reachable, holder) if holder else (shared if is_shared else reachable, anywhere)


COMPRESSED_PIECE_BYTES: Final = 16 << 20
"""Bytes of compressed text read by one request."""
_MOST_NAMED: Final = 10


@dataclass(frozen=True, kw_only=True)
class Decompressed:
    """A partition with a copy of plain text, and the bytes of the compressed file that were read."""

    partition: Partition
    read_bytes: int


def with_decompressed_copies(
    source: Dataset,
    files: JobFiles,
    nodes: Nodes,
    emit: Emit,
    *,
    needed: Collection[int] | None = None,
    suspected: Mapping[int, str] = MappingProxyType({}),
) -> tuple[Dataset, int]:
    """Return a dataset with a plain copy of each partition, or of each `needed` one, and the number of bytes read for
    that.

    The text of a `suspected` partition could not be read, on the named node or on any: existing texts are read through
    before reuse, and preferably another node makes a new one.

    Raises BadInputError naming a damaged file, IoFailureError when a file cannot be read.
    """
    numbers = [
        number
        for number, partition in enumerate(source.partitions)
        if (needed is None or number in needed) and not has_decompressed_copy(partition.readable_from(nodes.names))
    ]
    numbers.sort(key=lambda number: -source.partitions[number].records)
    tasks = [
        InputTask(
            partition=number,
            task=or_error,
            arguments=(partial(decompress, is_suspected=number in suspected), files, number, source.layout),
            avoided=suspected.get(number, ""),
        )
        for number in numbers
    ]
    done: list[Decompressed] = _require_success(
        outcomes(tasks, source, nodes, emit, failed="input could not be decompressed")
    )
    partitions = list(source.partitions)
    for number, outcome in zip(numbers, done, strict=True):
        partitions[number] = outcome.partition
    return replace(source, partitions=tuple(partitions)), sum(outcome.read_bytes for outcome in done)


def _require_success(ended: Sequence[Decompressed | BadInputError]) -> list[Decompressed]:
    """Return outcomes without errors. Raises the first error, with the messages of the others as details."""
    errors = [outcome for outcome in ended if isinstance(outcome, BadInputError)]
    if errors:
        others = [error.message for error in errors[1:]]
        raise BadInputError(
            errors[0].message, [*errors[0].details, *others][:_MOST_NAMED], field=errors[0].field, code=errors[0].code
        )
    return [outcome for outcome in ended if isinstance(outcome, Decompressed)]


def has_decompressed_copy(partition: Partition) -> bool:
    """Return whether slices of a partition can be read from one of its copies, or no copy is needed."""
    return not partition.copies or any(not copy.compression for copy in partition.copies)


def or_error(partition: Partition, task: Callable[..., Any], *arguments: Any) -> Any:
    """Do a task with a partition, and return the error of a damaged file, which another try would not help, so that
    errors can name all of them.
    """
    try:
        return task(partition, *arguments)
    except BadInputError as error:
        return error


def decompress(
    partition: Partition, files: JobFiles, number: int, layout: Layout, *, is_suspected: bool = False
) -> Decompressed:
    """Write a partition's file, or the files that it joins, to one of this node's disks as plain text, unless an
    earlier attempt has. Raises BadInputError where a file is damaged, IoFailureError.
    """
    copy = next(copy for copy in partition.copies if copy.compression and copy.node in ("", node_name()))
    texts, read_bytes = DecompressedTexts(files.decompressed_folders(), number), 0
    if (path := texts.find_complete(is_read_through=is_suspected)) is None:
        read_bytes = stored_bytes(copy)
        path = texts.write(decompressed_text(copy, layout))
    decompressed_bytes = size_in_name(path)
    return Decompressed(
        partition=with_decompressed_copy(partition, copy, path, decompressed_bytes), read_bytes=read_bytes
    )


def stored_bytes(copy: Copy) -> int:
    """Return the size of a compressed copy's files. Raises IoFailureError."""
    return joined_bytes(copy) if copy.parts else size_of(copy.uri)


def decompressed_text(copy: Copy, layout: Layout) -> Iterator[Bytes]:
    """Yield the text of a compressed copy, or of the files that it joins, as one. Raises BadInputError where a file is
    damaged, IoFailureError.
    """
    if copy.parts:
        try:
            yield from read_joined(copy, layout)
        except BadInputError as error:
            raise error.reworded(f"{node_name()}: {error.message}") from error
        return
    size = size_of(copy.uri)
    pieces = beginning_of(copy.uri, size, piece_bytes=COMPRESSED_PIECE_BYTES, version=copy.version)
    try:
        for chunk in decompress_text(pieces, copy.compression):
            yield np.frombuffer(chunk, np.uint8)
    except BadInputError as error:
        raise error.reworded(f"{node_name()}: {copy.uri}: {error.message}") from error


def with_decompressed_copy(partition: Partition, copy: Copy, path: Path, decompressed_bytes: int) -> Partition:
    """Return a partition whose compressed copy is now a file of `decompressed_bytes` bytes on this node.

    Raises IoFailureError where the length differs from the earlier one.
    """
    records = partition.records if partition.groups else decompressed_bytes - copy.offset
    if partition.is_estimated:
        partition = replace(partition, records=records, is_estimated=False)
    if records != partition.records:
        raise IoFailureError(
            f"{copy.uri} holds {records} bytes instead of {partition.records}: it was changed", code="input-changed"
        )
    plain = Copy(uri=str(path), node=node_name(), offset=copy.offset)
    return replace(partition, copies=(plain, *partition.copies))


_STEP_BYTES: Final = 4 << 20


class DecompressedTexts:
    """The texts of one input file in some folders, one on each disk."""

    def __init__(self, folders: Sequence[Path], number: int) -> None:
        self._folders = folders
        self._number = number

    def find_complete(self, *, is_read_through: bool = False) -> Path | None:
        """Return a text of its original length, and readable if that is asked; others are deleted."""
        for path in self._paths():
            if _is_complete(path, is_read_through=is_read_through):
                return path
            with suppress(OSError):
                path.unlink()
        return None

    def write(self, chunks: Iterable[Bytes]) -> Path:
        """Write a text; to the next disk if an old one could not be deleted. Raises IoFailureError."""
        turn = self._number + sum(1 for _ in self._paths())
        folder, token = self._folders[turn % len(self._folders)], secrets.token_hex(4)
        unnamed = folder / f"new-{self._number:06d}-{token}"
        size = write_atomically(unnamed, chunks, durable=False)
        with file_errors("write", unnamed):
            return unnamed.rename(folder / f"input-{self._number:06d}-{size}-{token}")

    def _paths(self) -> Iterator[Path]:
        for folder in self._folders:
            yield from sorted(folder.glob(f"input-{self._number:06d}-*-*"))


def size_in_name(path: Path) -> int:
    """Return the length of a text when it was written."""
    return int(path.name.split("-")[2])


def _is_complete(path: Path, *, is_read_through: bool) -> bool:
    try:
        if path.stat().st_size != size_in_name(path):
            return False
        if is_read_through:
            _read_through(path)
    except (OSError, IoFailureError):
        return False
    return True


def _read_through(path: Path) -> None:
    """Read all of a file. Raises OSError, IoFailureError."""
    left, into = size_in_name(path), np.empty(_STEP_BYTES, np.uint8)
    with path.open("rb", buffering=0) as file:
        while left:
            step = into[: min(left, _STEP_BYTES)]
            read_exactly(file, step, path)
            left -= len(step)


class ReadableInput:
    """The readable `source`, which changes: after each step it has the copies that can be read. `read_bytes` counts the
    bytes of compressed files read so far.
    """

    def __init__(self, source: Dataset, *, files: JobFiles, nodes: Nodes, emit: Emit) -> None:
        self.source, self.read_bytes = source, 0
        self._files = files
        self._nodes = nodes
        self._emit = emit

    def decompress(self) -> None:
        """Have compressed files decompressed. Raises BadInputError where they are damaged, IoFailureError."""
        self._restore(self.source, range(len(self.source.partitions)), ())

    def outcomes(self, tasks: Sequence[InputTask], *, failed: str) -> list[Any]:
        """Return the outcomes of tasks that read the input. Raises the errors of `outcomes` and
        `decompress`.
        """
        return outcomes(tasks, self.source, self._nodes, self._emit, failed=failed, restore=self._restore)

    def _restore(self, source: Dataset, numbers: Collection[int], faults: Sequence[UnreadableCopy]) -> Dataset:
        """Remove unreadable copies where possible, and make missing plain text."""
        partitions, suspected = list(source.partitions), dict[int, str]()
        for fault in faults:
            if (rest := fault.remove_from(partitions[fault.partition])) is not None:
                partitions[fault.partition], suspected[fault.partition] = rest, fault.node
                self._emit({"event": "unreadable", "node": fault.node, "reason": fault.reason})
        source = replace(source, partitions=tuple(partitions))
        self.source, read_bytes = with_decompressed_copies(
            source, self._files, self._nodes, self._emit, needed=numbers, suspected=suspected
        )
        self.read_bytes += read_bytes
        return self.source


_STEPS_PER_TASK: Final = 256


def find_quotes(readable: ReadableInput) -> int:
    """Add the positions of quotes to partitions of CSV, and return the number of bytes read.

    Raises IoFailureError when a partition cannot be read.
    """
    source = readable.source
    if source.layout.text is None or source.layout.text.csv is None:
        return 0
    step = step_bytes_of(source.bytes)
    tasks = [
        InputTask(partition=number, task=flips, arguments=(source.layout, first, step))
        for number, partition in enumerate(source.partitions)
        for first in range(0, partition.records, step * _STEPS_PER_TASK)
    ]
    counted = readable.outcomes(tasks, failed="the quotes of CSV could not be counted")
    of_partition: list[list[bytes]] = [[] for _ in source.partitions]
    for task, odd in zip(tasks, counted, strict=True):
        of_partition[task.partition].append(odd)
    partitions = (
        replace(partition, quotes=grid_of(odd, step))
        for partition, odd in zip(readable.source.partitions, of_partition, strict=True)
    )
    readable.source = replace(readable.source, partitions=tuple(partitions))
    return source.bytes


def flips(partition: Partition, layout: Layout, first: int, step_bytes: int) -> bytes:
    """Return for each step of a stretch whether it has an odd number of quotes. Raises IoFailureError."""
    if layout.text is None:
        raise ValueError("only text has quotes")
    order, end = layout.text.order().for_core(), min(partition.records, first + step_bytes * _STEPS_PER_TASK)
    odd = bytearray()
    room = np.empty(min(step_bytes, end - first), np.uint8)
    for begin in range(first, end, step_bytes):
        count = min(step_bytes, end - begin)
        with partition_reader.naming_file(partition):
            step = partition_reader.read_records(partition, layout, first=begin, records=count, into=room[:count])
        odd.append(core.is_within_quotes_behind(step.data, order))
    return bytes(odd)
