"""Parquet files where they lie: on this node's disks, or in an object store, where only ranges are read."""

from __future__ import annotations

import io
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

import numpy as np

from planner.distributed_sort.dataset import object_store
from planner.distributed_sort.dataset.dataset import Copy, FileVersion, Partition
from planner.distributed_sort.dataset.file_versions import of_one_version, version_of
from planner.distributed_sort.dataset.partition_reader import DamagedFileError, copy_here
from planner.distributed_sort.node_files.node_environment import node_name
from planner.distributed_sort.node_files.run_files import file_errors
from planner.errors import BadInputError, IoFailureError
from planner.sorting.tables.arrow_library import arrow
from planner.sorting.tables.folder_columns import folder_values
from planner.sorting.tables.parquet_pages import page_sizes
from planner.sorting.tables.parquet_parts import require_own_rows
from planner.sorting.tables.parquet_schemas import int96_leaves, int96_needs, united_schema

_FOOTERS_KEPT: Final = 8
"""Footers that a process keeps: each can take tens of megabytes."""


class StoredObject(io.RawIOBase):
    """An object of a store as a read-only file."""

    def __init__(self, uri: str, size: int) -> None:
        super().__init__()
        self._uri, self._size, self._at = uri, size, 0

    def readable(self) -> bool:
        """Return True."""
        return True

    def seekable(self) -> bool:
        """Return True."""
        return True

    def tell(self) -> int:
        """Return the position of the next read."""
        return self._at

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Go to a byte counted from the beginning, from the current position, or from the end."""
        base = {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self._size}[whence]
        self._at = max(0, base + offset)
        return self._at

    def readinto(self, into: Any) -> int:
        """Read as much as fits, by one request. Raises IoFailureError."""
        count = max(0, min(len(into), self._size - self._at))
        object_store.read_range(self._uri, np.frombuffer(into, np.uint8)[:count], offset=self._at)
        self._at += count
        return count


@dataclass(frozen=True)
class Footer:
    """The end of a file: pyarrow's metadata and schema, and the rows of each row group."""

    metadata: Any
    schema: Any
    group_rows: tuple[int, ...]


def folders_of(uri: str, below: str = "") -> dict[str, str | None]:
    """Return the columns that folder names add to a file below a place."""
    return folder_values(uri.removeprefix(below).split("/")[:-1])


def conform(rows: Any, schema: Any, partition: Partition) -> Any:
    """Return rows of a file with the columns of a schema: the file's own by name, those its folders add, or nulls."""
    if rows.schema.equals(schema):
        return rows
    library = arrow()
    values = {name: value for copy in partition.copies for name, value in folders_of(copy.uri).items()}
    own = defaultdict[str, list[Any]](list)
    for name, column in zip(rows.schema.names, rows.columns, strict=True):
        own[name].append(column)

    def column_of(field: Any) -> Any:
        if own[field.name]:
            return own[field.name].pop(0).cast(field.type)
        value = library.scalar(values.get(field.name), library.string()).cast(field.type)
        return library.repeat(value, rows.num_rows)

    return library.Table.from_arrays([column_of(field) for field in schema], schema=schema)


def require_schema(uri: str, footer: Footer, schema: Any) -> None:
    """Raise IoFailureError unless a file's columns still fit the united schema."""
    with suppress(BadInputError):
        if united_schema([schema, footer.schema], [uri, uri], fills=True).equals(schema):
            return
    raise IoFailureError(f"{uri} has other columns than before: it was changed", code="input-changed")


@contextmanager
def open_parquet(partition: Partition) -> Iterator[Any]:
    """Open a partition's copy that this node reaches, as pyarrow's `ParquetFile`. Raises IoFailureError, and
    DamagedFileError for a file that is not Parquet.
    """
    with open_copy(copy_here(partition)) as (file, _):
        yield file


@contextmanager
def open_copy(copy: Copy) -> Iterator[tuple[Any, Footer]]:
    """Open a copy as `opened` does, and return its footer too."""
    with _parquet_errors(copy), of_one_version(copy) as version:
        with _footer_errors():
            footer = _footer(copy.uri, version)
        with _file(copy.uri, version.size_bytes, footer.metadata) as file:
            yield file, footer


def parquet_of(source: Any, *, is_far: bool = False, metadata: Any = None, unit: str | None = None) -> Any:
    """Return pyarrow's `ParquetFile`; a source that `is_far` is read in long ranges. Page checksums are verified where
    the file has them. Spark's 96-bit times have microseconds, and may be beyond the range of nanoseconds.
    """
    library = arrow("pyarrow.parquet")
    if unit is None and metadata is not None:
        unit = _int96_unit(metadata)
    return library.ParquetFile(
        source, metadata=metadata, pre_buffer=is_far, page_checksum_verification=True, coerce_int96_timestamp_unit=unit
    )


def _int96_unit(metadata: Any) -> str:
    return "us" if metadata.created_by.startswith("parquet-mr") else "ns"


def require_int96_fits(uri: str, footer: Footer, groups: Sequence[int]) -> None:
    """Raise BadInputError for 96-bit times that do not fit the unit known for their writer."""
    columns = int96_leaves(footer.metadata)
    if not columns:
        return
    size = version_of(uri).size_bytes

    def batches(unit: str) -> Iterator[Any]:
        with _file(uri, size, footer.metadata, unit=unit) as file:
            yield from file.iter_batches(row_groups=list(groups), columns=columns, use_threads=False)

    is_far, is_fine = int96_needs(batches)
    if is_far if _int96_unit(footer.metadata) == "ns" else is_fine:
        raise BadInputError(
            f"{uri}: a cluster cannot keep its times of 96 bits",
            [
                "some are beyond 2262, or finer than a microsecond",
                "sort on one machine, or write timestamps of 64 bits",
            ],
            code="unsupported-type",
        )


@lru_cache(maxsize=_FOOTERS_KEPT)
def _footer(uri: str, version: FileVersion) -> Footer:
    """Return the footer of a file. A process parses it once, not for each task: that can take 40 ms."""
    size = version.size_bytes
    with _file(uri, size, None) as unread:
        metadata = unread.metadata
    with StoredObject(uri, size) if object_store.is_object(uri) else Path(uri).open("rb") as raw:
        try:
            require_own_rows(raw, metadata, name="it")
        except BadInputError as error:
            raise arrow().ArrowInvalid("; ".join((error.sentence, *error.details))) from error
    if not object_store.is_object(uri):  # where each page would take a request
        page_sizes(uri, metadata)
    with _file(uri, size, metadata) as file:
        rows = tuple(metadata.row_group(group).num_rows for group in range(metadata.num_row_groups))
        return Footer(metadata, file.schema_arrow, rows)


def _file(uri: str, size: int, metadata: Any, *, unit: str | None = None) -> Any:
    is_far = object_store.is_object(uri)
    return parquet_of(StoredObject(uri, size) if is_far else uri, is_far=is_far, metadata=metadata, unit=unit)


@contextmanager
def _parquet_errors(copy: Copy) -> Iterator[None]:
    """Turn errors of the system and of pyarrow into errors that name node and file."""
    try:
        with file_errors("read", copy.uri):
            yield
    except arrow().ArrowInvalid as error:
        raise DamagedFileError(f"{node_name()}: no Parquet file, or damaged or encrypted: {error}") from error


@contextmanager
def _footer_errors() -> Iterator[None]:
    """Turn footer errors, which pyarrow raises as system errors without a number, into content errors."""
    try:
        yield
    except OSError as error:
        if error.errno is not None:
            raise
        raise arrow().ArrowInvalid(str(error)) from error
    except UnicodeDecodeError as error:  # a name that is no text
        raise arrow().ArrowInvalid(str(error)) from error
