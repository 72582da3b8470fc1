"""Whether a table is sorted: files in an order of their keys without overlap, and rows within each file in order."""

from __future__ import annotations

import tempfile
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from planner.native import Progress
from planner.sorting.tables.arrow_library import arrow
from planner.sorting.tables.table_keys import ColumnKey, first_of_equals, key_columns, parse_table_keys
from planner.sorting.tables.table_order import row_order
from planner.sorting.tables.table_runs import first_disorder
from planner.tables.layout import DataFile, Snapshot
from planner.tables.overlap import Range, clusters, depths_at, keys_of, overlap_of
from planner.tables.table_format import TableFormat

_BATCH_ROWS = 1 << 16


@dataclass(frozen=True, kw_only=True)
class TableCheck:
    """A check by `keys`: the depth of the overlap, overlapping files, and the first unsorted row of a file."""

    keys: tuple[str, ...]
    depth: int
    overlapping_files: int
    unknown_files: int
    unsorted_file: str = ""
    unsorted_row: int | None = None

    @property
    def is_sorted(self) -> bool:
        """True if every key is in one file, but for ends of ranges, and the rows of every file are in order."""
        return self.depth <= 1 and not self.unsorted_file


def check_table(
    table: TableFormat, snapshot: Snapshot, files: Sequence[DataFile], keys: Sequence[str], progress: Progress
) -> TableCheck:
    """Check the key columns of files until one is out of order; where none is, their ends give the depth, for metadata
    has no NaN, cuts texts, and may have no bounds. Raises BadInputError.
    """
    ends: list[tuple[DataFile, Any]] = []
    overlap = overlap_of(files, keys_of(keys, snapshot.schema))
    unsorted = next(unsorted_files(table, snapshot, files, keys, progress, ends=ends), None)
    ranges = [part.ranges for part in overlap.partitions] if unsorted else ranges_by_rows(ends, keys)
    return TableCheck(
        keys=tuple(keys),
        depth=max((depth for part in ranges for depth in depths_at(part)), default=0),
        overlapping_files=sum(len(each) for part in ranges for each in clusters(part) if len(each) > 1),
        unknown_files=sum(part.unknown for part in overlap.partitions),
        unsorted_file=unsorted[0].path if unsorted else "",
        unsorted_row=unsorted[1] if unsorted else None,
    )


def ranges_by_rows(ends: Sequence[tuple[DataFile, Any]], keys: Sequence[str]) -> list[list[Range]]:
    """Return the ranges of each partition's files in order, by the places of their least and greatest rows."""
    if not ends:
        return []
    rows = arrow().concat_tables([each for _, each in ends])
    parsed = parse_table_keys(keys, rows.schema)
    order = row_order(key_columns(rows, parsed, all_parts=True), rows.num_rows)
    begins = first_of_equals(key_columns(rows.take(order), parsed, all_parts=True), rows.num_rows)
    places = np.empty(rows.num_rows, np.int64)
    places[order] = np.cumsum(begins.to_numpy(zero_copy_only=False))
    found = defaultdict(list)
    for (file, _), low, high in zip(ends, places[::2].tolist(), places[1::2].tolist(), strict=True):
        found[file.partition].append(Range(((0, low),), ((0, high),), file))
    return [sorted(each, key=lambda one: (one.low, one.high)) for each in found.values()]


def unsorted_files(
    table: TableFormat,
    snapshot: Snapshot,
    files: Sequence[DataFile],
    keys: Sequence[str],
    progress: Progress,
    *,
    ends: list[tuple[DataFile, Any]] | None = None,
) -> Iterator[tuple[DataFile, int]]:
    """Yield the files whose rows are out of order, by their key columns, with the number of the first such row; `ends`
    gets the least and the greatest row of each file.
    """
    progress.begin_phase(0, bytes_total=sum(file.bytes for file in files))
    parsed = parse_table_keys(keys, snapshot.schema)
    names = list(dict.fromkeys(snapshot.schema.names[key.column] for key in parsed))
    narrow = arrow().schema([snapshot.schema.field(name) for name in names])
    narrow_keys = parse_table_keys(keys, narrow)
    for file in files:
        with tempfile.TemporaryDirectory() as folder:
            ends_of: list[Any] = []
            rows = _seen(_key_rows(table, file, Path(folder), narrow), ends_of)
            found = first_disorder(rows, narrow_keys, unique=False)
            if found and ends is not None:
                ends_of = _extremes(_key_rows(table, file, Path(folder), narrow), narrow_keys)
        if ends is not None and ends_of:
            ends.append((file, arrow().concat_tables(ends_of)))
        if found:
            yield file, found[0]
        progress.add_bytes(file.bytes)


def _seen(tables: Iterator[Any], ends: list[Any]) -> Iterator[Any]:
    """Pass tables on, and keep the first and last row."""
    for table in tables:
        if table.num_rows:
            ends[:] = [ends[0] if ends else table.slice(0, 1), table.slice(table.num_rows - 1)]
        yield table


def _extremes(tables: Iterator[Any], keys: Sequence[ColumnKey]) -> list[Any]:
    """Return the least and the greatest row."""
    ends: list[Any] = []
    for table in tables:
        rows = arrow().concat_tables([*ends, table])
        order = row_order(key_columns(rows, keys, all_parts=True), rows.num_rows)
        ends = [rows.slice(order[place], 1) for place in (0, -1)] if rows.num_rows else []
    return ends


def _key_rows(table: TableFormat, file: DataFile, folder: Path, schema: Any) -> Iterator[Any]:
    path = table.fetch(file, folder)
    for batch in table.rows(file, path, schema):
        yield arrow().Table.from_batches([batch])
