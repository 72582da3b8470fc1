"""Reading a partition's records from any source: this node's disks, an object store, or the generator. Slices of it,
and copies that a living node could not read.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import accumulate, pairwise, zip_longest
from pathlib import Path

import numpy as np

from planner.arrays import Bytes
from planner.distributed_sort.dataset.dataset import Copy, Dataset, Layout, Partition
from planner.distributed_sort.dataset.file_versions import require_version, version_in
from planner.distributed_sort.dataset.object_store import is_object, read_range, read_ranges, size_of
from planner.distributed_sort.node_files.node_environment import node_name
from planner.distributed_sort.node_files.run_files import file_errors, read_exactly
from planner.errors import BadInputError, InputChangedError, IoFailureError
from planner.native import core, core_errors
from planner.sort_policy.sizing import slice_lengths
from planner.units import count_text


class InputUnreadableError(IoFailureError):
    """A node could not read a copy of its input; another copy, or the same one made again, may be readable."""

    code = "input-unreadable"


class InputDamagedError(InputUnreadableError):
    """A copy of the input is damaged for every reader; another copy may be sound."""

    code = "damaged-file"


class DamagedFileError(BadInputError):
    """The content of a file does not match its format."""

    code = "damaged-file"


@dataclass(frozen=True, kw_only=True)
class Slice:
    """Records `first` to `first + records - 1` of an input partition: the input of one map task."""

    number: int
    partition: int
    first: int
    records: int


def read_records(partition: Partition, layout: Layout, *, first: int, records: int, into: Bytes | None = None) -> Bytes:
    """Return some records of a partition, from a copy that this node reaches, else remade from the recipe.

    They are put `into` an array of their size, if one is given. Raises IoFailureError naming node and file when a copy
    cannot be read, or when there is none.
    """
    if into is None:
        into = np.empty(records * layout.record_size, np.uint8)
    if partition.recipe is None or _copies_here(partition):
        copy = copy_here(partition)
        _read_copy(copy, into, offset=copy.offset + first * layout.record_size)
    else:
        with core_errors():
            recipe = partition.recipe
            core.generate_records(into.data, start=recipe.start + first, skewed=recipe.skew, threads=1)
    return into


def read_windows(partition: Partition, layout: Layout, *, starts: Sequence[int], records: int) -> list[Bytes]:
    """Return `records` records of a partition from each of `starts`. Raises IoFailureError as `read_records` does."""
    copies, size = _copies_here(partition), layout.record_size
    if copies and is_object(copies[0].uri):
        places = [copies[0].offset + start * size for start in starts]
        return read_ranges(copies[0].uri, starts=places, length=records * size)
    return [read_records(partition, layout, first=start, records=records) for start in starts]


def read_file(partition: Partition) -> Bytes:
    """Return the whole file of a partition's copy. Raises IoFailureError naming node and file."""
    copy = copy_here(partition)
    with file_errors("read", copy.uri):
        size = size_of(copy.uri) if is_object(copy.uri) else Path(copy.uri).stat().st_size
    into = np.empty(size, np.uint8)
    _read_copy(copy, into, offset=0)
    return into


def copy_here(partition: Partition) -> Copy:
    """Return a copy that this node reaches, preferably on its own disks. Raises IoFailureError when there is none."""
    if copies := _copies_here(partition):
        return copies[0]
    raise IoFailureError(
        f"{node_name()}: {display_name(partition)} cannot be read here, and nothing says how to remake it",
        code="no-recipe",
    )


def copies_at(partition: Partition, node: str) -> list[Copy]:
    """Return the copies that a node reads, in its order of preference."""
    reached = (copy for copy in partition.copies if copy.node in ("", node) and not copy.compression)
    return sorted(reached, key=lambda copy: not copy.node)


def _copies_here(partition: Partition) -> list[Copy]:
    return copies_at(partition, node_name())


def without_copies_on(partition: Partition, node: str) -> Partition:
    """Return a partition without the copies on a node, if it has another source than such a copy on another node: made
    again, decompressed again, or read from a place that all nodes reach. Else return it unchanged.
    """
    rest = replace(partition, copies=tuple(copy for copy in partition.copies if not _is_decompressed_on(copy, node)))
    others = (copy for copy in rest.copies if not copy.node or copy.compression)
    return rest if rest.recipe is not None or any(others) else partition


def _is_decompressed_on(copy: Copy, node: str) -> bool:
    return copy.node == node and not copy.compression


@contextmanager
def naming_file(partition: Partition) -> Iterator[None]:
    """Add the file to errors of its records, and separate unreadable input from other failures. A damaged copy counts
    as unreadable input, since only the caller that ordered the task knows all copies.
    """
    try:
        yield
    except DamagedFileError as error:
        raise InputDamagedError(f"{copy_here(partition).uri}: {error.message}", error.details) from error
    except InputChangedError:
        raise
    except BadInputError as error:
        raise error.reworded(f"{display_name(partition)}: {error.message}") from error
    except IoFailureError as error:
        raise InputUnreadableError(error.message, error.details, field=error.field, code=error.code) from error


def nodes_with(partition: Partition) -> list[str]:
    """Return the nodes to read a partition on: those with a copy on their disks, [''] where any can read it. Where
    there is a plain copy, compressed ones are ignored.
    """
    plain = [copy for copy in partition.copies if not copy.compression]
    nodes = [copy.node for copy in plain or partition.copies if copy.node]
    return nodes or ([""] if partition.copies or partition.recipe else [])


def display_name(partition: Partition) -> str:
    """Return the user's name of the file: not that of the text made from a compressed one."""
    if not partition.copies:
        return f"a partition of {count_text(partition.records, 'record')}"
    return next((copy.uri for copy in partition.copies if copy.compression), partition.uri)


def _read_copy(copy: Copy, into: Bytes, *, offset: int) -> None:
    """Raises InputChangedError where the file has another version than the copy's."""
    if is_object(copy.uri):
        read_range(copy.uri, into, offset=offset, version=copy.version)
        return
    with file_errors("read", copy.uri), Path(copy.uri).open("rb", buffering=0) as file:
        try:
            file.seek(offset)
            read_exactly(file, into, copy.uri)
        finally:  # a shorter file cannot be read, either
            require_version(copy, version_in(os.fstat(file.fileno())))


def slices(source: Dataset, slice_records: int) -> Iterator[Slice]:
    """Yield slices of at most `slice_records` records of all partitions in turn: those of one node lie on different
    disks, so that all disks are read. Slices of tables have whole row groups, and may be longer.
    """
    record_size = source.layout.record_size
    lengths = [_lengths(partition, longest=slice_records, record_size=record_size) for partition in source.partitions]
    number, begins = 0, [0] * len(lengths)
    for turn in zip_longest(*lengths):
        for partition, records in enumerate(turn):
            if records is not None:
                yield Slice(number=number, partition=partition, first=begins[partition], records=records)
                begins[partition] += records
                number += 1


def _lengths(partition: Partition, *, longest: int, record_size: int) -> Iterator[int]:
    lengths = slice_lengths(partition.records, longest=longest, record_size=record_size)
    return _of_groups(lengths, partition.groups) if partition.groups else lengths


def _of_groups(lengths: Iterable[int], groups: Sequence[int]) -> Iterator[int]:
    """Yield lengths that end where groups end: a group belongs to the slice that it begins in."""
    *begins, total = accumulate(groups, initial=0)
    at = np.searchsorted(begins, list(accumulate(lengths, initial=0)))
    edges = sorted({begins[group] for group in at.tolist() if group < len(begins)})
    yield from (end - begin for begin, end in pairwise([*edges, total]))


@dataclass(frozen=True, kw_only=True)
class UnreadableCopy:
    """An input partition, by its number, whose copies at `uris` on a node could not be read, and the reason.

    A copy that `is_damaged` is so for every reader, and is a single one: the node's own, or one that all nodes reach.
    """

    partition: int
    node: str
    uris: frozenset[str]
    reason: str
    is_damaged: bool = False

    def remove_from(self, partition: Partition) -> Partition | None:
        """Return the partition without the copy. None if the task read a copy that has been replaced since, or if all
        other sources are such copies too; readers then take these by turns.
        """
        if self.is_damaged:
            rest = replace(partition, copies=tuple(copy for copy in partition.copies if not self.is_of(copy)))
            return rest if rest != partition and (rest.copies or rest.recipe is not None) else None
        own = frozenset(copy.uri for copy in partition.copies if copy.node == self.node and not copy.compression)
        rest = without_copies_on(partition, self.node)
        return rest if rest is not partition and own & self.uris else None

    def is_of(self, copy: Copy) -> bool:
        """Return whether a copy is the unreadable one."""
        return copy.uri in self.uris and copy.node in ("", self.node)


def unreadable_copy(number: int, node: str, read: Partition, error: IoFailureError) -> UnreadableCopy | None:
    """Return the copy that a task on a node failed to `read`, according to an error; None if reading did not fail."""
    if not isinstance(error, InputUnreadableError):
        return None
    is_damaged = isinstance(error, InputDamagedError)
    tried = copies_at(read, node)[:1] if is_damaged else [copy for copy in read.copies if copy.node == node]
    uris = frozenset(copy.uri for copy in tried if not copy.compression)
    return UnreadableCopy(partition=number, node=node, uris=uris, reason=error.message, is_damaged=is_damaged)


def require_intact_copy(number: int, partition: Partition, faults: Iterable[UnreadableCopy]) -> None:
    """Raise BadInputError, which names each damaged copy, when these faults leave a partition no sound copy."""
    damaged = [fault for fault in faults if fault.partition == number and fault.is_damaged]
    if not damaged or partition.recipe is not None:
        return
    if any(not any(fault.is_of(copy) for fault in damaged) for copy in partition.copies):
        return
    first, *others = dict.fromkeys(fault.reason for fault in damaged)
    if not others:
        raise BadInputError(first, code="damaged-file")
    raise BadInputError(
        "all copies of a file of the input are damaged: replace one", [first, *others], code="damaged-copies"
    )
