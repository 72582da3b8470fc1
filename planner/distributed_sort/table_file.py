"""Parquet files where they lie: on this node's disks, or in an object store, of which only ranges are read."""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from planner.distributed_sort import object_store
from planner.distributed_sort.dataset import Copy, Partition
from planner.distributed_sort.node_environment import node_name
from planner.distributed_sort.partition_reader import copy_here
from planner.distributed_sort.run_files import failing
from planner.errors import BadInputError
from planner.sorting.table_keys import arrow


class StoredObject(io.RawIOBase):
    """An object of a store as a file that can only be read."""

    def __init__(self, uri: str) -> None:
        super().__init__()
        self._uri, self._size, self._at = uri, object_store.size_of(uri), 0

    def readable(self) -> bool:
        """It is."""
        return True

    def seekable(self) -> bool:
        """It is."""
        return True

    def tell(self) -> int:
        """Return where the next byte is read."""
        return self._at

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Go to a byte counted from the beginning, from here, or from the end."""
        base = {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self._size}[whence]
        self._at = max(0, base + offset)
        return self._at

    def readinto(self, into: Any) -> int:
        """Read as much as there is room for, by one request. Raises IoFailureError."""
        count = max(0, min(len(into), self._size - self._at))
        object_store.read_range(self._uri, np.frombuffer(into, np.uint8)[:count], offset=self._at)
        self._at += count
        return count


@contextmanager
def opened(partition: Partition) -> Iterator[Any]:
    """Open a partition's copy that this node reaches, as pyarrow's `ParquetFile`. Raises IoFailureError, and
    BadInputError for what is no Parquet.
    """
    with opened_copy(copy_here(partition)) as file:
        yield file


@contextmanager
def opened_copy(copy: Copy) -> Iterator[Any]:
    """Open a copy as `opened` does."""
    is_object = object_store.is_object(copy.uri)
    try:
        with (
            failing("read", copy.uri),
            parquet_of(StoredObject(copy.uri) if is_object else copy.uri, is_far=is_object) as file,
        ):
            yield file
    except arrow().ArrowInvalid as error:
        raise BadInputError(f"{node_name()}: no Parquet file, or damaged or encrypted: {error}") from error


def parquet_of(source: Any, *, is_far: bool = False) -> Any:
    """Return pyarrow's `ParquetFile`; what `is_far` is read in long ranges."""
    return arrow("pyarrow.parquet").ParquetFile(source, pre_buffer=is_far)
