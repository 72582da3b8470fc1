"""Whether a table is sorted: files in an order of their keys without overlap, and rows within each file in order."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from planner.native import Progress
from planner.sorting.tables.arrow_library import arrow
from planner.sorting.tables.table_keys import parse_table_keys
from planner.sorting.tables.table_runs import first_disorder
from planner.tables.layout import DataFile, Snapshot, TableFormat
from planner.tables.overlap import keys_of, overlap_of

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
    """Check metadata, then the key columns of files until one is out of order. Raises BadInputError."""
    overlap = overlap_of(files, keys_of(keys, snapshot.schema))
    unsorted = next(unsorted_files(table, snapshot, files, keys, progress), None)
    return TableCheck(
        keys=tuple(keys),
        depth=overlap.depth,
        overlapping_files=sum(len(part.ranges) for part in overlap.partitions if part.depth > 1),
        unknown_files=sum(part.unknown for part in overlap.partitions),
        unsorted_file=unsorted[0].path if unsorted else "",
        unsorted_row=unsorted[1] if unsorted else None,
    )


def unsorted_files(
    table: TableFormat, snapshot: Snapshot, files: Sequence[DataFile], keys: Sequence[str], progress: Progress
) -> Iterator[tuple[DataFile, int]]:
    """Yield the files whose rows are out of order, by their key columns, with the number of the first such row."""
    progress.begin_phase(0, bytes_total=sum(file.bytes for file in files))
    parsed = parse_table_keys(keys, snapshot.schema)
    names = list(dict.fromkeys(snapshot.schema.names[key.column] for key in parsed))
    narrow = arrow().schema([snapshot.schema.field(name) for name in names])
    narrow_keys = parse_table_keys(keys, narrow)
    for file in files:
        with tempfile.TemporaryDirectory() as folder:
            found = first_disorder(_key_rows(table, file, Path(folder), narrow), narrow_keys, unique=False)
        if found:
            yield file, found[0]
        progress.add_bytes(file.bytes)


def _key_rows(table: TableFormat, file: DataFile, folder: Path, schema: Any) -> Iterator[Any]:
    path = table.fetch(file, folder)
    for batch in table.rows(file, path, schema):
        yield arrow().Table.from_batches([batch])
