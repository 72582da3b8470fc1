"""Parquet files whose row groups are freed as they are read: runs, and a merge that can resume at any row."""

from __future__ import annotations

import base64
import os
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from io import BufferedWriter, BytesIO
from pathlib import Path
from typing import Any, Final

from planner.native import Progress, core
from planner.sorting.consuming.consuming_sort import SortedRun, Step
from planner.sorting.consuming.inputs import Range
from planner.sorting.consuming.work_folder import Merge, Run, State
from planner.sorting.sort_job import SortJob
from planner.sorting.tables.arrow_library import arrow, arrow_errors, opened, within_address_space
from planner.sorting.tables.parquet import free_bytes_of, sort_row_groups
from planner.sorting.tables.parquet_output import ANNOTATIONS, ParquetStyle, SortedFile, style_of
from planner.sorting.tables.parquet_pages import has_checksums
from planner.sorting.tables.parquet_parts import JoinedParts, Struct, file_of_groups, footer_of
from planner.sorting.tables.parquet_rows import ParquetInput, decoded_bytes, keys_of, read_footers
from planner.sorting.tables.parquet_schemas import int96_leaves
from planner.sorting.tables.table_keys import ColumnKey
from planner.sorting.tables.table_runs import MOST_MERGED, Runs, Tables, drop_repeats

_STRETCHES: Final = 30
_STEPS: Final = 60
"""As for text, but including the share of row groups that are partly taken."""
_GROUPS_OF_A_RUN: Final = 32
"""Each run being merged keeps at most one partly taken row group."""
_STRETCHES_IN_MEMORY: Final = 6
_PIECES: Final = 14
"""This fraction of the memory holds a piece of every run."""
_LEAST_PIECE_BYTES: Final = 1 << 16
_GROUPS_IN_MEMORY: Final = 8
_RUN, _ROW = "number of the run", "row in the run"
"""Columns added to those of the files while runs are merged."""


def form_of(job: SortJob) -> dict[str, Any]:
    """Return what is needed to resume once rows are gone. Raises BadInputError."""
    with arrow_errors(f"cannot sort {job.inputs[0]}: pyarrow says"):
        sources = read_footers(job.inputs, fills=job.union_by_name, folders=job.folders)
        parsed = keys_of(job.keys, sources)
    units = [source.int96_unit for source in sources if int96_leaves(source.metadata)]
    stored = [key._replace(categories=key.categories and key.categories.to_pylist()) for key in parsed]
    checked = has_checksums(sources[0].path, sources[0].metadata)
    read: dict[str, Any] = {"unit": next(iter(units), None), "fills": job.union_by_name}
    read["folders"] = list(map(dict, job.folders))
    read["categories"] = dict(sources[0].categories)
    return {"keys": stored, "unique": job.unique, "read": read, "has_checksums": checked}


class TableEngine:
    """The engine of Parquet."""

    most_merged = MOST_MERGED

    def __init__(self, state: State, folder: Path, progress: Progress, *, memory_bytes: int, threads: int) -> None:
        if threads:
            arrow().set_cpu_count(threads)
        self._folder = str(folder)
        self._progress = progress
        self._memory_bytes = within_address_space(memory_bytes or core.default_memory_bytes(within_address_space=False))
        self._inputs = read_footers(state.inputs, **state.form["read"])
        self._footers = [footer_of(source.metadata) for source in self._inputs]
        self._style = style_of(self._inputs[0].metadata, has_checksums=state.form["has_checksums"])
        self._keys = [_restored_key(key) for key in state.form["keys"]]
        self._is_unique = state.form["unique"]
        self._merging: _TableMerge | None = None

    def make_run(self, place: tuple[int, int], path: str) -> SortedRun:
        """Sort some row groups."""
        views, end = self._next_groups(place)
        rows = sum(view.metadata.num_rows for view in views)
        limits: dict[str, Any] = {"memory_bytes": self._memory_bytes, "temp_dirs": (self._folder,)}
        job = SortJob(output=path, unique=self._is_unique, force=True, **limits)
        views = views or [_view(self._inputs[0], self._footers[0], ())]
        style = replace(self._style, group_rows=rows // _GROUPS_OF_A_RUN + 1)
        report = sort_row_groups(job, views, self._keys, self._progress, style=style)
        return SortedRun(end, end[0] == len(self._inputs), report.rows)

    def _next_groups(self, place: tuple[int, int]) -> tuple[list[ParquetInput], tuple[int, int]]:
        """Return a stretch of row groups, grouped by file, and the place after it."""
        most_bytes = min(decoded_bytes(self._inputs) // _STRETCHES, self._memory_bytes // _STRETCHES_IN_MEMORY)
        number, group = place
        views, size = [], 0
        while number < len(self._inputs) and size <= most_bytes:
            footer, begin = self._inputs[number].metadata, group
            while group < footer.num_row_groups and (size <= most_bytes or group == begin):
                size += footer.row_group(group).total_byte_size
                group += 1
            if group > begin:
                views.append(_view(self._inputs[number], self._footers[number], range(begin, group)))
            if group == footer.num_row_groups:
                number, group = number + 1, 0
        return views, (number, group)

    def input_ranges(self, number: int, end: int | None) -> list[Range]:
        """Return the bytes of row groups; the footer stays."""
        footer = self._inputs[number].metadata
        return _chunk_ranges(footer, range(footer.num_row_groups if end is None else end))

    def run_ranges(self, path: str, end: int) -> list[Range]:
        """Return the row groups of a run whose last row is within the rows."""
        footer = arrow("pyarrow.parquet").read_metadata(opened(path))
        groups, behind = [], 0
        for number in range(footer.num_row_groups):
            behind += footer.row_group(number).num_rows
            if behind <= end:
                groups.append(number)
        return _chunk_ranges(footer, groups)

    def merge(self, merge: Merge, runs: Sequence[Run], paths: Sequence[str], path: str, *, is_last: bool) -> Step:
        """Write another piece."""
        with arrow_errors(f"cannot write {path}: pyarrow says"):
            if self._merging is None or self._merging.name != merge.name:
                self._merging = self._new_merge(merge, runs, paths, path, is_last=is_last)
            return self._merging.step(merge, decoded_bytes(self._inputs) // _STEPS)

    def _new_merge(
        self, merge: Merge, runs: Sequence[Run], paths: Sequence[str], path: str, *, is_last: bool
    ) -> _TableMerge:
        free_bytes = free_bytes_of(self._memory_bytes)
        batch_bytes = max(free_bytes // _PIECES // len(paths), _LEAST_PIECE_BYTES)
        first = replace(self._inputs[0], batch_bytes=batch_bytes)
        sources = [
            replace(first, path=run, metadata=arrow("pyarrow.parquet").read_metadata(opened(run))) for run in paths
        ]
        rows = self._style.group_rows if is_last else _rows(sources) // (_GROUPS_OF_A_RUN * 2) + 1
        merging = _TableMerge(merge.name, self._keys, self._progress, self._folder, is_unique=self._is_unique)
        merging.read([(source, run.taken) for source, run in zip(sources, runs, strict=True)])
        merging.cut(rows=rows, size_bytes=free_bytes // _GROUPS_IN_MEMORY)
        merging.write_to(path, merge, first.schema, self._style)
        return merging


def _rows(sources: Sequence[ParquetInput]) -> int:
    return sum(source.metadata.num_rows for source in sources)


def _restored_key(values: Sequence[Any]) -> ColumnKey:
    key = ColumnKey(*values)
    return key if key.categories is None else key._replace(categories=arrow().array(key.categories))


def _view(source: ParquetInput, footer: Struct, groups: Sequence[int]) -> ParquetInput:
    """Return a file restricted to these row groups."""
    metadata = arrow("pyarrow.parquet").read_metadata(BytesIO(file_of_groups(footer, groups)))
    return replace(source, metadata=metadata)


def _chunk_ranges(footer: Any, groups: Sequence[int]) -> list[Range]:
    """Return the ranges of the columns of row groups, with adjacent ones joined."""
    chunks = [footer.row_group(group).column(number) for group in groups for number in range(footer.num_columns)]
    ranges: list[Range] = []
    for begin, size in sorted((_first_byte(chunk), chunk.total_compressed_size) for chunk in chunks):
        if ranges and sum(ranges[-1]) == begin:
            ranges[-1] = (ranges[-1][0], ranges[-1][1] + size)
        elif size:
            ranges.append((begin, size))
    return ranges


def _first_byte(chunk: Any) -> int:
    dictionary = chunk.dictionary_page_offset if chunk.has_dictionary_page else None
    return int(min(dictionary or chunk.data_page_offset, chunk.data_page_offset))


class _TableMerge:
    """A merge of runs whose rows carry their run and their position in it."""

    def __init__(
        self, name: str, keys: Sequence[ColumnKey], progress: Progress, folder: str, *, is_unique: bool
    ) -> None:
        self.name = name
        self._keys = keys
        self._progress = progress
        self._runs = Runs(keys, [folder], progress=progress)
        self._is_unique = is_unique
        self._taken: list[int] = []
        self._waiting: list[Any] = []
        self._is_end = False

    def read(self, runs: Sequence[tuple[ParquetInput, int]]) -> None:
        """Start each run after the rows already taken."""
        for number, (source, taken) in enumerate(runs):
            self._runs.add_sorted(partial(_tagged_rows, source, number, taken))
            self._taken.append(taken)
        tables = self._noting(self._runs.merge())
        self._tables = drop_repeats(tables, self._keys) if self._is_unique else tables

    def _noting(self, tables: Tables) -> Tables:
        """Record the row up to which each run is read."""
        for table in tables:
            for number, row in _extremes(table, "max").items():
                self._taken[number] = row + 1
            yield table

    def cut(self, *, rows: int, size_bytes: int) -> None:
        """Make row groups of `rows` rows or `size_bytes` bytes, whichever comes first."""
        self._rows, self._size_bytes = rows, size_bytes

    def write_to(self, path: str, merge: Merge, schema: Any, style: ParquetStyle) -> None:
        """Continue writing a file."""
        raw = open(path, "r+b" if merge.end else "wb", buffering=0)  # noqa: PTH123, SIM115  # until the last step
        raw.seek(merge.end)
        self._file = BufferedWriter(raw)
        annotations = style.details.get(ANNOTATIONS)
        joined = JoinedParts(self._file, footer=base64.b64decode(merge.footer), end=merge.end, annotations=annotations)
        self._output = SortedFile(self._file, schema, style, self._keys, joined=joined)

    def step(self, merge: Merge, most_bytes: int) -> Step:
        """Write row groups of about `most_bytes`; a resumed sort reads again the rows that were read beyond them."""
        rows = merge.rows
        for part in self._output.write_parts(self._groups(most_bytes), arrow().cpu_count()):
            rows += part.rows
            self._progress.add_bytes(part.decoded_bytes)
        footer = b"" if self._is_end else self._output.footer()
        end = self._output.finish() if self._is_end else self._output.end
        self._file.flush()
        if self._is_end:
            self._file.raw.truncate(end)  # a sort that was killed may have written beyond
            os.fsync(self._file.fileno())
            self._file.close()
        stored = base64.b64encode(footer).decode()
        return Step(replace(merge, end=end, rows=rows, footer=stored), self._positions(), self._is_end)

    def _positions(self) -> list[int]:
        """Return how many rows of each run are written, or equal a written one."""
        positions = list(self._taken)
        for table in reversed(self._waiting):
            for number, row in _extremes(table, "min").items():
                positions[number] = min(positions[number], row)
        return positions

    def _groups(self, most_bytes: int) -> Iterator[Any]:
        """Yield row groups. One row is always held back, so that the rows before it are all that are not greater."""
        size = 0
        for table in self._tables:
            self._waiting.append(table)
            while rows := self._rows_that_are_due():
                whole = arrow().concat_tables(self._waiting)
                self._waiting = [whole.slice(rows)]
                group = whole.slice(0, rows).select(range(whole.num_columns - 2))
                size += group.nbytes
                yield group
            if size > most_bytes:
                return
        self._is_end = True
        if any(table.num_rows for table in self._waiting):
            whole = arrow().concat_tables(self._waiting)
            yield whole.select(range(whole.num_columns - 2))
        self._waiting = []

    def _rows_that_are_due(self) -> int:
        rows = sum(table.num_rows for table in self._waiting)
        if rows > self._rows:
            return self._rows
        return rows - 1 if sum(table.nbytes for table in self._waiting) > self._size_bytes else 0


def _tagged_rows(source: ParquetInput, number: int, taken: int) -> Tables:
    """Yield the rows of a run after those already taken, with their positions."""
    footer, first, group = source.metadata, 0, 0
    while group < footer.num_row_groups and first + footer.row_group(group).num_rows <= taken:
        first += footer.row_group(group).num_rows
        group += 1
    if group == footer.num_row_groups:
        return
    compute, library = arrow("pyarrow.compute"), arrow()
    rest = _view(source, footer_of(footer), range(group, footer.num_row_groups))  # without freed groups
    for batch in rest.batches():
        table = library.Table.from_batches([batch])
        table = table.append_column(_RUN, library.repeat(library.scalar(number, library.int32()), batch.num_rows))
        places = library.array(range(first, first + batch.num_rows), library.int64())
        table = table.append_column(_ROW, places)
        first += batch.num_rows
        is_cut = first - batch.num_rows < taken
        yield table.filter(compute.greater_equal(table.column(_ROW), taken)) if is_cut else table


def _extremes(table: Any, which: str) -> dict[int, int]:
    """Return the least or the greatest row of each run."""
    found = table.select([table.num_columns - 2, table.num_columns - 1]).group_by(_RUN).aggregate([(_ROW, which)])
    return dict(zip(found.column(_RUN).to_pylist(), found.column(f"{_ROW}_{which}").to_pylist(), strict=True))
