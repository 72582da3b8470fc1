"""Compressed text: its slices cannot be read alone, so one node decompresses each file before the sort.

Afterwards it is text on that node's disk. If the node is lost, or cannot read the text, the file is decompressed again,
preferably by another node.
"""

from __future__ import annotations

import secrets
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Final

import numpy as np

from planner.arrays import Bytes
from planner.compression.text_codecs import decompress_text
from planner.distributed_sort.dataset.dataset import Copy, Dataset, Layout, Partition
from planner.distributed_sort.dataset.input_files import beginning_of, size_of
from planner.distributed_sort.dataset.joined_files import joined_bytes, read_joined
from planner.distributed_sort.job.events import Emit
from planner.distributed_sort.job.nodes import Nodes
from planner.distributed_sort.node_files.node_environment import JobFiles, node_name
from planner.distributed_sort.node_files.run_files import file_errors, read_exactly, write_atomically
from planner.distributed_sort.node_tasks.input_tasks import InputTask, outcomes
from planner.errors import BadInputError, IoFailureError

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
            task=check_or_error if number in suspected else decompress_or_error,
            arguments=(files, number, source.layout),
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


def decompress_or_error(
    partition: Partition, files: JobFiles, number: int, layout: Layout
) -> Decompressed | BadInputError:
    """Decompress as `decompress` does, and return the error of a damaged file, so that errors can name all of them."""
    try:
        return decompress(partition, files, number, layout)
    except BadInputError as error:
        return error


def check_or_error(partition: Partition, files: JobFiles, number: int, layout: Layout) -> Decompressed | BadInputError:
    """Do the same for a suspected text."""
    try:
        return decompress(partition, files, number, layout, is_suspected=True)
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
