"""Sorting Parquet files of any size by their columns, within a given memory."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from typing import Any, Final

from planner.errors import BadInputError
from planner.native import Progress, core, core_errors
from planner.sorting.sort_job import SortJob, TableFormat
from planner.sorting.tables.arrow_library import (
    LEAST_BYTES,
    LIBRARY_BYTES,
    arrow,
    arrow_errors,
    lean_memory,
    within_address_space,
)
from planner.sorting.tables.destination import write_tables
from planner.sorting.tables.json_lines import LINE
from planner.sorting.tables.packed_rows import PackedBatch, Packing
from planner.sorting.tables.parquet_output import MOST_GROUP_ROWS, ParquetStyle, SortedFile, row_groups, style_of
from planner.sorting.tables.parquet_pages import has_checksums
from planner.sorting.tables.parquet_rows import (
    ParquetInput,
    count_rows,
    decoded_bytes,
    keys_of,
    largest_group_bytes,
    prefetch_rows,
    read_footers,
    rows_of,
)
from planner.sorting.tables.table import sorted_batches
from planner.sorting.tables.table_files import staged_tables, table_inputs
from planner.sorting.tables.table_keys import ColumnKey
from planner.sorting.tables.table_order import extra_bytes_per_row
from planner.sorting.tables.table_output import LinesFile, TableFile
from planner.sorting.tables.table_rows import is_taken_in_place, offset_bytes
from planner.sorting.tables.table_runs import (
    Runs,
    Tables,
    drop_repeats,
    first_disorder,
    in_order,
    made_in_turn,
    prefetch_tables,
    take_first,
)

_MOST_RUN_BYTES: Final = 1 << 36
"""Limit at which the rows, with the memory for their order, can still be numbered with 32 bits."""
_MOST_IN_ONE_BYTES: Final = 1 << 30
"""Limit for columns that are joined into one piece, whose offsets may have 32 bits."""
_PIECES: Final = 14
"""This fraction of the memory holds a piece of every merged run. As much again is loaded, sorted and written."""
_LEAST_PIECE_BYTES: Final = 1 << 18
_MOST_TAKEN_BYTES: Final = 1 << 23
"""Limit without a merge: small enough that a row group is ready when the one before it is written."""
_AHEAD: Final = 8
"""Rows decoded but not yet taken, of the group in use and of later ones, may each take this fraction of the memory."""
_ENCODED: Final = 12
"""Row groups being encoded, of all threads together, may take this fraction of the memory; as much is read, waits and
is written.
"""
_STYLE: Final = ParquetStyle(
    compression="zstd", dictionaries=None, group_rows=MOST_GROUP_ROWS, has_decimal_integers=False
)
"""How Parquet is written from what is no Parquet."""
_GROUPS_OF_FILE: Final = 8
"""Least parts of a file of a given size that are written at a time: a file may be larger by some of them."""
_THREAD_BYTES: Final = 5 << 23
"""Memory of a decoding thread for pages of all columns."""


@dataclass(frozen=True)
class ParquetReport:
    """Rows written, runs and bytes spilled; `runs` is 0 if memory held all rows at once."""

    rows: int
    runs: int
    spilled_bytes: int


def sort_tables(
    job: SortJob,
    progress: Progress,
    *,
    format: TableFormat = "parquet",
    say: Callable[[str], None] | None = None,
    see: Callable[[Any], None] | None = None,
    restyle: Callable[[ParquetStyle], ParquetStyle] | None = None,
) -> ParquetReport:
    """Sort tables into a format: Parquet into Parquet with the inputs' schema, metadata and compression, JSON lines
    into JSON lines as they are. The output appears whole or not at all. Threads call `see` with each batch of rows as
    it was read; `restyle` changes the style of Parquet.

    Raises BadInputError for an invalid key, for schemas that differ, for damaged files, for columns that the format
    does not keep and for less than 320 MiB of memory; IoFailureError.
    """
    if job.threads:
        arrow().set_cpu_count(job.threads)
    memory_bytes = job.memory_bytes or core.default_memory_bytes(within_address_space=False)
    free_bytes_of(memory_bytes)
    job = replace(job, memory_bytes=within_address_space(memory_bytes))
    with ExitStack() as stack:
        stack.enter_context(lean_memory())
        stack.enter_context(core_errors())
        stack.enter_context(arrow_errors(f"cannot sort {job.inputs[0]} into {job.output}: pyarrow says"))
        if job.format in (None, "parquet"):
            return _Sort(job, progress, format=format, say=say, see=see, restyle=restyle).run()
        progress.begin_phase(0, bytes_total=0)
        keeps_lines = job.format == format == "jsonl"
        staged = stack.enter_context(staged_tables(job, progress, keeps_lines=keeps_lines, say=say))
        if not staged and keeps_lines:  # no rows stay as they are, too
            for _ in write_tables(job, iter(()), LinesFile, format=format, threads=1, before_commit=lambda: None):
                pass
            return ParquetReport(0, 0, 0)
        if not staged:
            raise BadInputError(f"{job.inputs[0]} has no rows, and so no columns to sort by", code="no-columns")
        return _Sort(job, progress, inputs=staged, style=_STYLE, format=format).run()


def sort_row_groups(
    job: SortJob, inputs: Sequence[ParquetInput], keys: Sequence[ColumnKey], progress: Progress, *, style: ParquetStyle
) -> ParquetReport:
    """Sort the row groups listed in the files' metadata, instead of the job's inputs, into one file of a style."""
    with lean_memory(), core_errors(), arrow_errors(f"cannot sort {inputs[0].path}: pyarrow says"):
        return _Sort(job, progress, inputs=inputs, keys=keys, style=style).run()


def free_bytes_of(memory_bytes: int) -> int:
    """Return the part of the memory that is left for rows. Raises BadInputError if there is too little."""
    if memory_bytes < LEAST_BYTES:
        raise BadInputError(
            "sorting Parquet needs --memory of at least 320MiB, most of which pyarrow takes", code="memory"
        )
    return memory_bytes - LIBRARY_BYTES


def see_rows(
    paths: Sequence[str], see: Callable[[str, Any], None], progress: Progress, *, memory_bytes: int | None, phase: int
) -> None:
    """Read files of one schema in threads, which call `see` with the file and each batch of its rows.

    Raises BadInputError for damaged files; KeyboardInterrupt if cancelled.
    """

    def look(source: ParquetInput, group: int) -> None:
        for batch in source.batches([group], use_threads=False):
            count_rows(batch, progress)
            see(source.path, batch)

    with lean_memory(), core_errors(), arrow_errors(f"cannot read {paths[0]}: pyarrow says"):
        sources = read_footers(paths)
        progress.begin_phase(phase, bytes_total=decoded_bytes(sources))
        free_bytes = free_bytes_of(memory_bytes or core.default_memory_bytes(within_address_space=False))
        most = free_bytes // (2 * max(_THREAD_BYTES, *(source.decoding_bytes for source in sources)))
        looks = (partial(look, source, group) for source in sources for group in range(len(source.group_bytes)))
        for _ in made_in_turn(looks, threads=max(min(arrow().cpu_count(), most), 1)):
            pass


def find_disorder(job: SortJob, progress: Progress) -> tuple[int, list[Any]] | None:
    """Return the number, from 1, and the key values of the first row that is out of order in tables read in turn.

    If the job asks for `unique`, rows with equal keys are out of order, too. Raises BadInputError.
    """
    with ExitStack() as stack:
        stack.enter_context(core_errors())
        stack.enter_context(arrow_errors(f"cannot check {job.inputs[0]}: pyarrow says"))
        sources = stack.enter_context(table_inputs(job, progress))
        if not sources:
            return None
        keys = keys_of(job.keys, sources)
        progress.begin_phase(0, bytes_total=decoded_bytes(sources))
        rows = chain.from_iterable(rows_of(source, progress) for source in sources)
        return first_disorder(rows, keys, unique=job.unique)


class _Sort:
    def __init__(
        self,
        job: SortJob,
        progress: Progress,
        *,
        inputs: Sequence[ParquetInput] | None = None,
        keys: Sequence[ColumnKey] | None = None,
        style: ParquetStyle | None = None,
        format: TableFormat = "parquet",
        say: Callable[[str], None] | None = None,
        see: Callable[[Any], None] | None = None,
        restyle: Callable[[ParquetStyle], ParquetStyle] | None = None,
    ) -> None:
        self._job = job
        self._see = see
        self._format = format
        self._progress = progress
        self._reads_files = inputs is None  # and frees none of their space
        self._memory_bytes = job.memory_bytes or 0
        sources = inputs or read_footers(job.inputs, fills=job.union_by_name, folders=job.folders, say=say)
        self._inputs = [replace(source, memory_bytes=self._memory_bytes) for source in sources]
        self._first = self._inputs[0]
        self._keys = keys_of(job.keys, self._inputs) if keys is None else list(keys)
        style = style or style_of(
            self._first.metadata, has_checksums=has_checksums(self._first.path, self._first.metadata)
        )
        self._style = restyle(style) if restyle else style
        self._threads, page_bytes = self._share_pages()
        self._free_bytes = free_bytes_of(self._memory_bytes) - page_bytes
        self._run_bytes = min(self._free_bytes * 6 // 10, _MOST_RUN_BYTES)
        self._runs = Runs(self._keys, [os.fspath(each) for each in job.temp_dirs], progress=progress)

    def _share_pages(self) -> tuple[int, int]:
        """Return the number of decoding threads, and the memory for their pages beyond the usual share.

        Raises BadInputError if the pages are too long even for one thread.
        """
        pages = [source.pages.longest for source in self._inputs]
        decoding = [source.decoding_bytes for source in self._inputs]
        of_thread = max(sum(decoding) if self._job.merge else max(decoding), _THREAD_BYTES)
        needed_bytes = LEAST_BYTES + of_thread - _THREAD_BYTES
        free_bytes = self._memory_bytes - needed_bytes
        needed_mb = needed_bytes // 1_000_000 + 1
        for source in self._inputs:
            replace(source, least_mb=needed_mb).require_cells_fit()
        if free_bytes < 0:
            path = self._inputs[pages.index(max(pages))].shown
            raise BadInputError(
                f"{path}: its pages of up to {max(pages)} bytes do not fit: give --memory of at least {needed_mb}MB",
                ["pyarrow decodes a page whole, and pages hold very long rows; files with shorter pages take less"],
                code="memory",
            )
        threads = 1 + min(arrow().cpu_count() - 1, free_bytes // (2 * of_thread))
        return threads, threads * (of_thread - _THREAD_BYTES)

    def run(self) -> ParquetReport:
        self._progress.begin_phase(0, bytes_total=decoded_bytes(self._inputs))
        if self._job.merge:
            for source in self._inputs:
                self._runs.add_sorted(partial(self._sorted_rows, source))
            tables, runs = self._runs.merge(), 0
        else:
            last = self._make_runs()
            runs = len(self._runs)
            tables = self._runs.merge() if runs else last
        if self._job.unique:
            tables = drop_repeats(tables, self._keys)
        if self._job.limit is not None:
            tables = take_first(tables, self._job.limit)
        return ParquetReport(self._write(tables), runs, self._runs.spilled_bytes)

    def _sorted_rows(self, source: ParquetInput) -> Tables:
        return in_order(rows_of(source, self._progress), self._keys, path=source.shown)

    def _make_runs(self) -> Tables:
        """Sort as much as memory holds at a time. Returns the run if there is only one."""
        schema = self._first.schema
        beside_row = extra_bytes_per_row([schema.field(key.column).type for key in self._keys])
        packing = Packing(schema, self._keys)
        in_one_piece = self._put_in_one_piece(packing)
        waiting: list[PackedBatch] = []
        size = size_in_one = 0
        for batch in self._decode(packing):
            waiting.append(batch)
            size += batch.nbytes + batch.num_rows * beside_row
            size_in_one += sum(batch.unpacked.column(column).nbytes for column in in_one_piece)
            if size + size_in_one >= self._run_bytes or size_in_one >= _MOST_IN_ONE_BYTES:
                self._add_run(waiting, packing)
                waiting, size, size_in_one = [], 0, 0
        if not len(self._runs):
            return sorted_batches(waiting, packing, piece_bytes=_MOST_TAKEN_BYTES)
        if waiting:
            self._add_run(waiting, packing)
        return iter(())

    def _add_run(self, batches: list[PackedBatch], packing: Packing) -> None:
        """Write a run; the rows of the first predict the number of runs, and so the size of their pieces."""
        if not len(self._runs):
            all_rows = sum(source.rows for source in self._inputs)
            runs = all_rows * 5 // (4 * sum(batch.num_rows for batch in batches)) + 1
            self._runs.expect(runs, memory_bytes=max(self._free_bytes // _PIECES, _LEAST_PIECE_BYTES))
        self._runs.add(sorted_batches(batches, packing, piece_bytes=self._runs.piece_bytes))

    def _decode(self, packing: Packing) -> Iterator[PackedBatch]:
        most_bytes = self._free_bytes // _AHEAD
        see = self._see

        def prepare(batch: Any) -> Iterable[PackedBatch]:
            if see:
                see(batch)
            return packing.pack(batch)

        return prefetch_rows(self._inputs, self._progress, prepare, threads=self._threads, most_bytes=most_bytes)

    def _put_in_one_piece(self, packing: Packing) -> list[int]:
        """Return the unpacked columns that are in memory twice while a run is sorted."""
        types = [self._first.schema.field(column).type for column in packing.unpacked]
        texts = {key.column for key in packing.keys if offset_bytes(types[key.column])}
        return [place for place, of in enumerate(types) if place in texts or not is_taken_in_place(of)]

    def _write(self, tables: Iterator[Any]) -> int:
        self._progress.begin_phase(1, bytes_total=decoded_bytes(self._inputs))
        most = self._free_bytes // (_ENCODED * largest_group_bytes(self._inputs))  # so that none must be cut
        threads = min(arrow().cpu_count(), max(most, 1))
        size_bytes = self._free_bytes // (_ENCODED * threads)
        rows_at_once = self._style.group_rows
        if self._job.file_bytes:
            all_rows = sum(source.rows for source in self._inputs)
            row_bytes = decoded_bytes(self._inputs) / max(all_rows, 1)
            rows_at_once = max(min(rows_at_once, int(self._job.file_bytes / (_GROUPS_OF_FILE * max(row_bytes, 1)))), 1)
        groups = prefetch_tables(row_groups(tables, rows=rows_at_once, size_bytes=size_bytes))
        rows = 0
        for part in write_tables(
            self._job, groups, self._file, format=self._format, threads=threads, before_commit=self._require_unchanged
        ):
            rows += part.rows
            self._progress.add_bytes(part.decoded_bytes)
        return rows

    def _require_unchanged(self) -> None:
        for source in self._inputs if self._reads_files else ():
            source.require_unchanged()

    def _file(self, file: Any) -> SortedFile | TableFile:
        """Return a file of the format of the output."""
        schema, compression = self._first.schema, self._job.compression
        if self._format == "parquet":
            return SortedFile(file, schema, self._style, self._keys)
        if self._format == "jsonl" and LINE in schema.names and not self._reads_files:
            return LinesFile(file, compression=compression)
        return TableFile(file, schema, self._format, compression=compression)
