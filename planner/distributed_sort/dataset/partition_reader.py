"""Reading a partition's records from any source: this node's disks, an object store, or the generator."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from planner.arrays import Bytes
from planner.distributed_sort.dataset.dataset import Copy, Layout, Partition
from planner.distributed_sort.dataset.file_versions import require_version, version_in
from planner.distributed_sort.dataset.object_store import is_object, read_range, read_ranges, size_of
from planner.distributed_sort.node_files.node_environment import node_name
from planner.distributed_sort.node_files.run_files import file_errors, read_exactly
from planner.errors import BadInputError, InputChangedError, IoFailureError
from planner.native import core, core_errors
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
