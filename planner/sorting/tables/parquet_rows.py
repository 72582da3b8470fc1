"""Rows of Parquet files, decoded ahead of their use by several threads."""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from itertools import accumulate, islice
from pathlib import Path
from typing import Any, Final

from planner.errors import BadInputError, reading
from planner.native import Progress, core, core_errors
from planner.sorting.tables.arrow_library import arrow, arrow_errors, opened
from planner.sorting.tables.folder_columns import columns_twice, folder_scalars, twice_said
from planner.sorting.tables.parquet_pages import PageSizes, page_sizes
from planner.sorting.tables.parquet_parts import require_own_rows
from planner.sorting.tables.parquet_schemas import (
    conforming,
    int96_leaves,
    int96_unit,
    interval_leaves,
    require_no_interval,
    united_schema,
    with_folders,
)
from planner.sorting.tables.table_keys import (
    ColumnKey,
    common_categories,
    has_categories,
    hold_categories,
    parse_table_keys,
    require_one_order_within,
    stored_categories,
    with_categories,
    with_one_order,
)
from planner.sorting.tables.table_runs import Tables

BATCH_ROWS: Final = 1 << 14
_BATCH_BYTES: Final = 1 << 23
_BUFFERS_BYTES: Final = 1 << 24
"""Memory of a decoding thread for what it has read of all columns but not yet decoded."""
_BUFFER_BYTES: Final = (1 << 14, 1 << 18)
"""Least and most of it for one column."""
_PAGE_COPIES: Final = 3
"""A page is in memory as stored and decompressed; what was freed stays a little longer, as measured."""
_ROW_COPIES: Final = 10
"""Most copies of a long row in memory, as measured: pages, decoded by pyarrow, packed, taken and encoded."""
_BESIDE_ROW_BYTES: Final = 150_000_000
"""Memory that Python and pyarrow take before any row."""


@dataclass(frozen=True)
class ParquetInput:
    """A file by its name, and its footer; it is open only while it is read, as there may be thousands."""

    path: str
    metadata: Any
    schema: Any
    memory_bytes: int | None = None
    """Limit on the memory for a row and for sorting it."""
    least_mb: int = 0
    """Memory for the pages of all inputs, so that a suggested size is enough for them, too."""
    int96_unit: str = "ns"
    """Unit in which 96-bit times are read."""
    folders: Mapping[str, Any] = field(default_factory=dict)
    """Columns from the folders of a file, with their values."""
    categories: Mapping[str, Any] = field(default_factory=dict)
    """Categories of ordered columns in the order of all files."""
    batch_bytes: int = _BATCH_BYTES
    """Bytes per batch: longer rows are decoded fewer than `BATCH_ROWS` at a time."""
    version: Any = None
    """The version of the file before its footer was read."""
    name: str = ""
    """What errors call it: its path unless given."""

    @property
    def shown(self) -> str:
        """What errors call it."""
        return self.name or self.path

    def require_unchanged(self) -> None:
        """Raise InputChangedError where the file was written or replaced since its footer was read; it may be gone."""
        with core_errors():
            self.version.require_unchanged()

    def batches(self, groups: Sequence[int] | None = None, *, use_threads: bool = True) -> Iterator[Any]:
        """Yield the rows of all row groups, or of some. Raises BadInputError that names the file."""
        damaged = f"{self.shown} is damaged or encrypted, or pyarrow cannot read it"
        wanted = range(self.metadata.num_row_groups) if groups is None else groups
        rows = sum(self.metadata.row_group(group).num_rows for group in wanted)
        with self.opened() as file, arrow_errors(damaged):
            first_row = self._first_rows[groups[0] if groups else 0]
            conform = conforming(file.schema_arrow, self.schema, self.folders, path=self.shown)
            for batch in file.iter_batches(self._batch_rows, row_groups=groups, use_threads=use_threads):
                self._require_rows_fit(batch, first_row)
                first_row += batch.num_rows
                rows -= batch.num_rows
                yield with_one_order(conform(batch), self.categories)
            if rows:
                raise BadInputError(f"{damaged}: {abs(rows)} rows are missing or too many", code="not-a-table")

    @property
    def rows(self) -> int:
        """The number of rows."""
        return int(self.metadata.num_rows)

    @property
    def group_bytes(self) -> Sequence[int]:
        """The approximate bytes of the rows of each row group in memory, from the metadata."""
        return [self.metadata.row_group(number).total_byte_size for number in range(self.metadata.num_row_groups)]

    @contextmanager
    def opened(self) -> Iterator[Any]:
        """Open the file, once its pages are known to agree with its footer."""
        self.pages  # noqa: B018  # raises BadInputError
        with _open(self.path, self.metadata, int96_unit=self.int96_unit) as file:
            yield file

    @cached_property
    def _first_rows(self) -> list[int]:
        """The number of the first row of each row group, from 1, and of the row after the last."""
        footer = self.metadata
        return list(accumulate((footer.row_group(i).num_rows for i in range(footer.num_row_groups)), initial=1))

    @cached_property
    def _batch_rows(self) -> int:
        return max(min(BATCH_ROWS, int(self.batch_bytes // max(self.pages.row, 1))), 1)

    @cached_property
    def pages(self) -> PageSizes:
        """The memory for its pages and for an average row of a row group."""
        return page_sizes(self.path, self.metadata)

    @property
    def decoding_bytes(self) -> int:
        """The memory that a thread takes to decode a row group, beside its rows."""
        columns: int = self.metadata.num_columns
        return _PAGE_COPIES * self.pages.longest + self.pages.dictionaries + columns * _buffer_bytes(columns)

    def _require_rows_fit(self, batch: Any, first_row: int) -> None:
        if self.memory_bytes is None:
            return
        most_bytes = max(self.memory_bytes - _BESIDE_ROW_BYTES, 0) // _ROW_COPIES
        if batch.nbytes <= most_bytes:
            return
        if (shared := _dictionary_bytes(batch)) > most_bytes:
            raise self._does_not_fit("the dictionaries of its columns have", shared)
        row, size = _longest_row(batch)
        if size - shared > most_bytes:
            raise self._does_not_fit(f"row {first_row + row} has", size - shared)

    def _does_not_fit(self, what: str, size: int) -> BadInputError:
        needed_mb = max(memory_for_row(size) // 1_000_000 + 1, self.least_mb)
        return BadInputError(
            f"{self.shown}: {what} {size} bytes, too many to sort in {self.memory_bytes} bytes of memory",
            [f"give --memory of at least {needed_mb}MB"],
            code="memory",
        )

    def require_cells_fit(self) -> None:
        """Raise BadInputError for a value whose page alone shows that it is too long, before anything is read."""
        cell = self.pages.cell
        if cell and self.memory_bytes is not None and memory_for_row(cell.bytes) > self.memory_bytes:
            raise self._does_not_fit(f"{cell.place} has at least", cell.bytes)


def memory_for_row(size: int) -> int:
    """Return the memory that sorting a row of `size` bytes takes."""
    return size * _ROW_COPIES + _BESIDE_ROW_BYTES


def _dictionary_bytes(batch: Any) -> int:
    """Return the bytes of the dictionaries of columns, which every row taken from the batch has in full."""
    types = arrow("pyarrow.types")
    columns = (column for column in batch.columns if types.is_dictionary(column.type))
    return sum(int(column.dictionary.nbytes) for column in columns)


def _longest_row(batch: Any) -> tuple[int, int]:
    """Return the position and bytes of a row that is longer than all others together, or of a long row."""
    first = 0
    while batch.num_rows > 1:
        half = batch.num_rows // 2
        left, right = batch.slice(0, half), batch.slice(half)
        if left.nbytes < right.nbytes:
            first += half
        batch = left if left.nbytes >= right.nbytes else right
    return first, batch.nbytes


def read_footer(path: str) -> ParquetInput:
    """Read a footer. Raises BadInputError if it is not Parquet, damaged or encrypted, and as `read_footers`."""
    return read_footers([path])[0]


def read_footers(
    paths: Sequence[str],
    *,
    unit: str | None = None,
    fills: bool = False,
    folders: Sequence[Mapping[str, str | None]] = (),
    categories: Mapping[str, Any] | None = None,
    names: Sequence[str] = (),
    say: Callable[[str], None] | None = None,
) -> list[ParquetInput]:
    """Return inputs read with one schema; 96-bit times in the given unit, or in the one that holds them all. Errors
    call the files by `names` if there are any. `say` gets the columns that files and folders both have.

    With `fills`, columns missing in some files are null there; the folders of each path may add some. Ordered
    `categories` are those of all files otherwise. Raises BadInputError also for columns that differ, for categories
    without a common order, and for 96-bit times that no unit holds.
    """
    sources, twice = list[ParquetInput](), set[str]()
    for number, (path, name) in enumerate(zip(paths, names or paths, strict=True)):
        version = core.FileVersion(os.fsencode(path))
        with _open(path, None) as file:
            sources.append(ParquetInput(path, file.metadata, file.schema_arrow, version=version, name=name))
        if folders:
            with sources[-1].opened() as file:
                twice |= columns_twice(file, folders[number], path=name)
    if twice and say:
        say(twice_said(twice))
    if timed := [source for source in sources if int96_leaves(source.metadata)]:
        unit = unit or int96_unit({source.path: partial(_int96_batches, source) for source in timed})
        sources = [_in_unit(source, unit) if int96_leaves(source.metadata) else source for source in sources]
    if folders:
        columns = folder_scalars(folders)
        sources = [replace(source, folders=values) for source, values in zip(sources, columns, strict=True)]
    schemas = [with_folders(source.schema, source.folders) for source in sources]
    schema = united_schema(schemas, names or paths, fills=fills)
    if categories is None:
        ordered = [field.name for field in schema if has_categories(field.type)]
        categories = {name: common_categories(name, _dictionaries(sources, name)) for name in ordered}
        for name in (field.name for field in schema if hold_categories(field.type)):
            require_one_order_within(name, _first_rows(sources, name))
    return [replace(source, schema=schema, categories=categories) for source in sources]


def _dictionaries(sources: Sequence[ParquetInput], column: str) -> Iterator[Any]:
    """Yield the dictionaries of a column in all row groups, or the categories that Polars stores with it."""
    for source in sources:
        if column not in source.schema.names:
            continue
        if (stored := stored_categories(source.schema.field(column))) is not None:
            yield stored
        else:
            yield from (row.dictionary for row in _first_rows([source], column))


def _first_rows(sources: Sequence[ParquetInput], column: str) -> Iterator[Any]:
    """Yield the first value of a column in each row group: its dictionaries are the group's."""
    for source in (source for source in sources if column in source.schema.names):
        for group in range(source.metadata.num_row_groups):
            with source.opened() as file:
                batches = file.iter_batches(1, row_groups=[group], columns=[column])
                yield from (batch.column(0) for batch in islice(batches, 1))


def _int96_batches(source: ParquetInput, unit: str) -> Iterator[Any]:
    with replace(source, int96_unit=unit).opened() as file:
        yield from file.iter_batches(BATCH_ROWS, columns=int96_leaves(source.metadata))


def _in_unit(source: ParquetInput, unit: str) -> ParquetInput:
    with _open(source.path, source.metadata, int96_unit=unit) as file:
        return replace(source, schema=file.schema_arrow, int96_unit=unit)


@contextmanager
def _open(path: str, metadata: Any, *, int96_unit: str = "ns") -> Iterator[Any]:
    parquet = arrow("pyarrow.parquet")
    with reading(path), arrow_errors(f"{path} is no Parquet file, or is damaged or encrypted"):
        content = opened(path)
        try:
            file = parquet.ParquetFile(
                content,
                metadata=metadata,
                pre_buffer=False,
                buffer_size=_buffer_bytes(metadata.num_columns if metadata else 1),
                coerce_int96_timestamp_unit=int96_unit,
                page_checksum_verification=True,
            )
        except arrow().ArrowNotImplementedError as error:
            raise BadInputError(
                f"{path} has what pyarrow does not read", [str(error)], code="unsupported-file"
            ) from error
    with reading(path), content, file:
        if metadata is None:
            with Path(path).open("rb") as stored:
                require_own_rows(stored, file.metadata, name=path)
        yield file


def _buffer_bytes(columns: int) -> int:
    """Return the size of one column's read buffer."""
    return max(min(_BUFFERS_BYTES // max(columns, 1), _BUFFER_BYTES[1]), _BUFFER_BYTES[0])


def keys_of(texts: Sequence[str], inputs: Sequence[ParquetInput]) -> list[ColumnKey]:
    """Return the keys by which inputs of one schema are sorted. Raises BadInputError."""
    schema = inputs[0].schema
    keys = parse_table_keys(texts, schema)
    intervals = [leaf for source in inputs if source.metadata for leaf in interval_leaves(source.metadata)]
    for key in keys:
        require_no_interval(schema.names[key.column], intervals)
    if not any(has_categories(schema.field(key.column).type) for key in keys):
        return keys
    batch = next((batch for source in inputs for batch in source.batches()), None)
    rows = arrow().Table.from_batches([] if batch is None else [batch], schema=schema)
    return with_categories(keys, rows)


def decoded_bytes(inputs: Sequence[ParquetInput]) -> int:
    """Return the approximate bytes of the rows of all files in memory."""
    return sum(sum(source.group_bytes) for source in inputs)


def largest_group_bytes(inputs: Sequence[ParquetInput]) -> int:
    """Return the approximate bytes of the rows of the largest row group in memory, at least 1."""
    return max([1, *(size for source in inputs for size in source.group_bytes)])


def rows_of(source: ParquetInput, progress: Progress) -> Tables:
    """Yield the rows of a file; decoded rows count as progress. Raises KeyboardInterrupt if cancelled."""
    for batch in source.batches():
        count_rows(batch, progress)
        yield arrow().Table.from_batches([batch])


def prefetch_rows(
    inputs: Sequence[ParquetInput],
    progress: Progress,
    prepare: Callable[[Any], Iterable[Any]],
    *,
    threads: int,
    most_bytes: int,
) -> Iterator[Any]:
    """Yield the results of `prepare` for the batches of all files in order, while threads decode and prepare the next.

    Ready results of the row group in use take about `most_bytes`, and as much those of later ones, plus a batch for
    each thread. At least one thread runs. Raises KeyboardInterrupt if cancelled.
    """
    groups = [(source, number) for source in inputs for number in range(len(source.group_bytes))]
    threads = max(threads, 1)
    ready = _Ready(len(groups), most_bytes)
    with ThreadPoolExecutor(threads) as pool:
        try:
            for _ in range(min(threads, len(groups))):
                pool.submit(ready.fill, groups, prepare, side_by_side=len(groups) < threads)
            for prepared in ready.batches():
                count_rows(prepared, progress)
                yield prepared
        finally:
            ready.stop()


_Group = tuple[ParquetInput, int]


class _Ready:
    """Batches of row groups that threads put in and one consumer takes out in order.

    A thread waits if too much is ready of all groups; at the consumer's group, if there is too much of that group: so
    one thread can always continue.
    """

    def __init__(self, groups: int, most_bytes: int) -> None:
        self._changed = threading.Condition()
        self._batches: list[deque[Any]] = [deque() for _ in range(groups)]
        self._most_bytes = most_bytes
        self._bytes = self._begun = self._taken = 0
        self._is_stopped = False

    def fill(self, groups: Sequence[_Group], prepare: Callable[[Any], Iterable[Any]], *, side_by_side: bool) -> None:
        """Decode the groups that no other thread has begun, their columns in parallel if there are few groups."""
        while (number := self._next()) is not None:
            end: BaseException | None = None
            try:
                source, group = groups[number]
                batches = source.batches([group], use_threads=side_by_side)
                for prepared in (part for batch in batches for part in prepare(batch)):
                    if not self._put(number, prepared):
                        return
            except BaseException as error:  # raised in the consumer
                end = error
            with self._changed:
                self._batches[number].append(end)
                self._changed.notify_all()

    def _next(self) -> int | None:
        with self._changed:
            if self._is_stopped or self._begun == len(self._batches):
                return None
            self._begun += 1
            return self._begun - 1

    def _put(self, number: int, batch: Any) -> bool:
        """Return whether more is wanted."""
        size = batch.nbytes
        with self._changed:
            self._changed.wait_for(lambda: self._is_stopped or self._has_room(number, size))
            self._batches[number].append(batch)
            self._bytes += size
            self._changed.notify_all()
            return not self._is_stopped

    def _has_room(self, number: int, size: int) -> bool:
        if self._bytes + size <= self._most_bytes:
            return True
        waiting = self._batches[number]
        is_in_use = self._taken == number
        return is_in_use and (not waiting or sum(batch.nbytes for batch in waiting) + size <= self._most_bytes)

    def batches(self) -> Iterator[Any]:
        """Yield all batches in order; raise any error of a decoding thread."""
        for number, waiting in enumerate(self._batches):
            with self._changed:
                self._taken = number
                self._changed.notify_all()
            while (batch := self._take(waiting)) is not None:
                if isinstance(batch, BaseException):
                    raise batch
                yield batch

    def _take(self, waiting: deque[Any]) -> Any:
        with self._changed:
            self._changed.wait_for(lambda: waiting)
            batch = waiting.popleft()
            self._bytes -= getattr(batch, "nbytes", 0)
            self._changed.notify_all()
            return batch

    def stop(self) -> None:
        """Stop all threads."""
        with self._changed:
            self._is_stopped = True
            self._changed.notify_all()


def count_rows(batch: Any, progress: Progress) -> None:
    """Count a batch of rows as progress. Raises KeyboardInterrupt if cancelled."""
    if progress.is_cancelled:
        raise KeyboardInterrupt
    progress.add_bytes(batch.nbytes)
