"""Reading a partition's records wherever they can be had: this node's disks, an object store, or the generator."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from planner.arrays import Bytes
from planner.distributed_sort.dataset.dataset import Copy, Layout, Partition
from planner.distributed_sort.dataset.object_store import is_object, read_range, read_ranges, size_of
from planner.distributed_sort.node_files.node_environment import node_name
from planner.distributed_sort.node_files.run_files import file_errors, read_exactly
from planner.errors import BadInputError, IoFailureError
from planner.native import core, core_errors


class InputUnreadableError(IoFailureError):
    """A node could not read a copy of its input; another copy, or the same one made again, may do."""


class InputDamagedError(InputUnreadableError):
    """A copy of the input is damaged, whoever reads it; another copy may be sound."""


class DamagedFileError(BadInputError):
    """What a file holds is not of its format."""


@dataclass(frozen=True, kw_only=True)
class Slice:
    """Records `first` to `first + records - 1` of an input partition: what one map task takes."""

    number: int
    partition: int
    first: int
    records: int


def read_records(partition: Partition, layout: Layout, *, first: int, records: int, into: Bytes | None = None) -> Bytes:
    """Return some records of a partition, read from a copy that this node reaches, else remade from the recipe.

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
    """Return so many records of a partition from each of `starts` on. Raises IoFailureError as `read_records` does."""
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
    """Return a copy that this node reaches, best one on its own disks. Raises IoFailureError when there is none."""
    if copies := _copies_here(partition):
        return copies[0]
    raise IoFailureError(
        f"{node_name()}: {_display_name(partition)} cannot be read here, and nothing says how to remake it"
    )


def copies_at(partition: Partition, node: str) -> list[Copy]:
    """Return the copies that a node reads, in the order in which it prefers them."""
    reached = (copy for copy in partition.copies if copy.node in ("", node) and not copy.compression)
    return sorted(reached, key=lambda copy: not copy.node)


def _copies_here(partition: Partition) -> list[Copy]:
    return copies_at(partition, node_name())


def without_copies_on(partition: Partition, node: str) -> Partition:
    """Return a partition without the copies on a node, if it can be had otherwise than from such a copy of another
    node: made again, decompressed again, or read where all nodes reach it. Else return it as it is.
    """
    rest = replace(partition, copies=tuple(copy for copy in partition.copies if not _is_plain_on(copy, node)))
    others = (copy for copy in rest.copies if not copy.node or copy.compression)
    return rest if rest.recipe is not None or any(others) else partition


def _is_plain_on(copy: Copy, node: str) -> bool:
    return copy.node == node and not copy.compression


@contextmanager
def naming_file(partition: Partition) -> Iterator[None]:
    """Add the file to what is wrong with its records, and tell what cannot be read from other failures. A damaged copy
    is such a failure, since only who orders the task knows of all copies.
    """
    try:
        yield
    except DamagedFileError as error:
        raise InputDamagedError(f"{copy_here(partition).uri}: {error.message}", error.details) from error
    except BadInputError as error:
        raise BadInputError(f"{_display_name(partition)}: {error.message}", error.details) from error
    except IoFailureError as error:
        raise InputUnreadableError(error.message, error.details) from error


def nodes_with(partition: Partition) -> list[str]:
    """Return the nodes that a partition is to be read on: those whose disks it lies on, [''] where any can read it.
    Where there is a plain copy, nobody needs a compressed one.
    """
    plain = [copy for copy in partition.copies if not copy.compression]
    nodes = [copy.node for copy in plain or partition.copies if copy.node]
    return nodes or ([""] if partition.copies or partition.recipe else [])


def _display_name(partition: Partition) -> str:
    """Return what the user calls the file: not the text that a compressed one has become."""
    if not partition.copies:
        return f"a partition of {partition.records} records"
    return next((copy.uri for copy in partition.copies if copy.compression), partition.uri)


def _read_copy(copy: Copy, into: Bytes, *, offset: int) -> None:
    if is_object(copy.uri):
        read_range(copy.uri, into, offset=offset)
        return
    with file_errors("read", copy.uri), Path(copy.uri).open("rb", buffering=0) as file:
        file.seek(offset)
        read_exactly(file, into, copy.uri)
