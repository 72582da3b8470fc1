"""Tables in other files than Parquet (CSV, JSON lines, Arrow, ORC), staged as Parquet for the sort of tables.

Each input is read once, in pieces, into an unnamed file of Parquet beside the temporary files; the sort then reads it
like any other. The types of text columns are known only after the last row, so text is staged as it is and converted
when the sort decodes it; CSV that leaves enough memory for that stays there, and no file is written.
"""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Final

from planner.compression.text_codecs import Source, open_source
from planner.errors import BadInputError, reading
from planner.native import Progress, core, core_errors
from planner.sorting.column_keys import columns_of
from planner.sorting.sort_job import SortJob
from planner.sorting.tables.arrow_library import LIBRARY_BYTES, arrow, arrow_errors, opened
from planner.sorting.tables.csv_tables import PARSING_BYTES, FoundTypes, csv_batches, require_names
from planner.sorting.tables.folder_columns import folder_scalars
from planner.sorting.tables.json_lines import LINE, read_json_lines
from planner.sorting.tables.parquet_pages import PageSizes
from planner.sorting.tables.parquet_rows import BATCH_ROWS, ParquetInput, read_footer, read_footers
from planner.sorting.tables.parquet_schemas import conforming, with_folders
from planner.sorting.tables.table_keys import has_categories, hold_categories, parse_table_keys
from planner.sorting.tables.table_runs import writing_in
from planner.sorting.text.csv_keys import read_first_row
from planner.sorting.text.text_job import csv_columns

Say = Callable[[str], None]
_NUMBERED: Final = re.compile("#?[0-9]+(:|$)")
_MOST_SHOWN: Final = 12
"""Columns of CSV whose types are said."""


@contextmanager
def staged_tables(
    job: SortJob, progress: Progress, *, keeps_lines: bool = False, say: Say | None = None
) -> Iterator[list[ParquetInput]]:
    """Yield the job's inputs as staged Parquet with one schema; with `keeps_lines` JSON lines as their keys and whole
    lines. Raises BadInputError for files that are damaged or differ; IoFailureError.
    """
    with ExitStack() as open_files, core_errors():
        stage = partial(_Stage, job, open_files)
        if job.format == "csv":
            yield _staged_csv(job, progress, stage, say)
        elif job.format == "jsonl":
            yield _staged_json(job, progress, stage, keeps_lines=keeps_lines)
        else:
            yield _staged_batches(job, progress, stage)


@contextmanager
def table_inputs(job: SortJob, progress: Progress, *, fills: bool = False) -> Iterator[list[ParquetInput]]:
    """Yield the job's inputs as Parquet: themselves, or staged; with `fills` missing columns are null."""
    if job.format == "parquet":
        yield read_footers(job.inputs, fills=fills, folders=job.folders)
    else:
        with staged_tables(job, progress) as inputs:
            yield inputs


@dataclass(frozen=True)
class _HeldRows(ParquetInput):
    """Tables in memory, whose rows are read once: each table is dropped when the next one begins."""

    tables: list[Any] = field(default_factory=list)
    rows: int = 0
    group_bytes: Sequence[int] = ()

    @property
    def pages(self) -> PageSizes:
        """None: the rows are decoded."""
        return PageSizes(0, 0)

    @property
    def decoding_bytes(self) -> int:
        """None beyond a thread's share."""
        return 0

    def batches(self, groups: Sequence[int] | None = None, *, use_threads: bool = True) -> Iterator[Any]:
        """Yield the rows of all tables, or of some; none is as long as what is parsed at a time, so all fit."""
        del use_threads
        for number in range(len(self.tables)) if groups is None else groups:
            table, self.tables[number] = self.tables[number], None
            conform = conforming(table.schema, self.schema, self.folders, path=self.shown)
            yield from map(conform, table.to_batches(BATCH_ROWS))


class _Stage:
    """Unnamed files of Parquet with the rows of one input: a new one begins where the columns change. With `room_bytes`
    that many of added rows are held in memory instead.
    """

    def __init__(self, job: SortJob, open_files: ExitStack, name: str, *, room_bytes: int | None = None) -> None:
        self._name = name
        self._open_files = open_files
        self._directory = os.fspath(job.temp_dirs[0]) if job.temp_dirs else "."
        self._pool = open_files.enter_context(ThreadPoolExecutor(1))
        self._waiting: Future[None] | None = None
        self._file: Any = None
        self._writer: Any = None
        self.paths: list[str] = []
        self.held: list[Any] = []
        self.room_bytes = room_bytes

    def add(self, table: Any) -> None:
        """Hold rows, or write them and all that were held."""
        self.room_bytes = (self.room_bytes or 0) - table.nbytes
        self.held.append(table)
        while self.room_bytes < 0 and self.held:
            self.write(self.held.pop(0))

    def write(self, table: Any) -> None:
        """Add rows as a row group."""
        if self._writer is None or self._writer.schema != table.schema:
            self.begin(table.schema)
        self._wait()
        write = partial(self._writer.write_table, row_group_size=max(table.num_rows, 1))
        self._waiting = self._pool.submit(write, table)

    def _wait(self) -> None:
        """Wait for the rows that a thread writes. Raises what stopped it."""
        if self._waiting is not None:
            with arrow_errors(f"cannot stage {self._name}: pyarrow says"), writing_in(self._directory):
                self._waiting.result()
            self._waiting = None

    def begin(self, schema: Any) -> None:
        """Begin another file."""
        self.end()
        _require_staged(schema, self._name)
        self._file = tempfile.TemporaryFile(dir=self._directory)  # noqa: SIM115  # as long as the stack
        self._open_files.callback(self._drop, self._file)
        self.paths.append(f"/proc/self/fd/{self._file.fileno()}")
        orders = any(has_categories(field.type) or hold_categories(field.type) for field in schema)  # in dictionaries
        options = {"compression": "lz4", "use_dictionary": orders, "write_statistics": False}
        self._writer = arrow("pyarrow.parquet").ParquetWriter(self._file, schema, **options)
        self._open_files.callback(self._drop, self._writer)

    def _drop(self, file: Any) -> None:
        """Close a file that an error left open, once a thread no longer writes; its last bytes may not fit on the disk,
        as the error says.
        """
        wait([self._waiting] if self._waiting else [])
        with suppress(OSError, ValueError):
            file.close()

    def end(self) -> None:
        """Write the footer of the last file."""
        if self._writer is not None:
            self._wait()
            with writing_in(self._directory):
                self._writer.close()
                self._file.flush()
            self._writer = None


def _require_staged(schema: Any, name: str) -> None:
    """Raise BadInputError for a type that Parquet does not have, or for ordered categories that it does not keep."""
    for column in schema:
        file = arrow().BufferOutputStream()
        try:
            arrow("pyarrow.parquet").ParquetWriter(file, arrow().schema([column])).close()
        except arrow().ArrowNotImplementedError as error:
            raise BadInputError(
                f"{name}: column {column.name!r} is of type {column.type}, which no sort takes",
                ["leave it out, or write it with another type"],
                code="unsupported-type",
            ) from error
        kept = arrow("pyarrow.parquet").read_schema(arrow().BufferReader(file.getvalue())).field(0).type
        if str(kept).count("ordered=1") < str(column.type).count("ordered=1"):
            raise BadInputError(
                f"{name}: column {column.name!r} has ordered categories that are no text; cast them to text first",
                [str(column.type)],
                code="unsupported-type",
            )


def _staged_csv(job: SortJob, progress: Progress, stage: Callable[..., _Stage], say: Say | None) -> list[ParquetInput]:
    csv = csv_columns(job, quote=job.quote)
    first: tuple[str, ...] = ()
    stages, types = [], FoundTypes(())
    free_bytes = max((job.memory_bytes or 0) - LIBRARY_BYTES, 0)
    room_bytes, threads = free_bytes * 3 // 10, max(min(arrow().cpu_count(), free_bytes // PARSING_BYTES), 1)
    for source in _sources(job, progress):
        row = read_first_row(source.head(), name=source.name, delimiter=csv.delimiter, quote=csv.quote)
        names = row.values if csv.header else tuple(str(number + 1) for number in range(len(row.values)))
        require_names(names, path=source.name)
        if not first:
            first, types = names, FoundTypes(names)
        if names and names != first:
            raise BadInputError(
                f"{source.name} and {job.inputs[0]} have different columns",
                [f"{', '.join(names)}; not {', '.join(first)}"],
                code="schema-mismatch",
            )
        source.read_in_chunks()
        stages.append(stage(source.name, room_bytes=room_bytes))
        chunks = source.chunks or ()
        how = {"skipped_bytes": csv.skipped_bytes(row), "csv": csv, "threads": threads}
        for batch in csv_batches(chunks, names=first, path=source.name, **how):
            types.add(batch)
            stages[-1].add(arrow().Table.from_batches([batch]))
        stages[-1].end()
        room_bytes = max(stages[-1].room_bytes or 0, 0)
        _require_unchanged(source)
    schema = types.schema()
    if say and first:
        shown = [f"{field.name} {field.type}" for field in schema][:_MOST_SHOWN]
        more = f" and {len(first) - len(shown)} more" if len(first) > len(shown) else ""
        say(f"note: {job.inputs[0]}: columns taken as {', '.join(shown)}{more}")
    return _inputs(job, stages, schema)


def _sources(job: SortJob, progress: Progress) -> Iterator[Source]:
    """Yield text inputs, each opened when its turn comes."""
    looks = job.looks or (None,) * len(job.inputs)
    for path, look in zip(job.inputs, looks, strict=True):
        yield open_source(path, progress, memory_bytes=job.memory_bytes or 0, look=look)


def _require_unchanged(source: Any) -> None:
    if source.version is not None:
        source.version.require_unchanged()


def _staged_json(
    job: SortJob, progress: Progress, stage: Callable[[str], _Stage], *, keeps_lines: bool
) -> list[ParquetInput]:
    united, names = arrow().schema([]), dict[str, None]()
    has_numbers = any(_NUMBERED.match(part) for key in job.keys for part in columns_of([key], ()))
    wanted = _begins_of_keys(job.keys) if keeps_lines and not has_numbers else None
    stages = []
    for source in _sources(job, progress):
        source.read_in_chunks()
        stages.append(stage(source.name))
        for some in read_json_lines(source.chunks or (), path=source.name, wanted=wanted):
            table = some.members.append_column(LINE, some.lines) if keeps_lines else some.members
            names |= dict.fromkeys(some.names)
            united = _united(united, table.schema, source.name)
            conform = conforming(table.schema, united, path=source.name)
            stages[-1].write(arrow().Table.from_batches(map(conform, table.to_batches()), schema=united))
        stages[-1].end()
        _require_unchanged(source)
    if keeps_lines and names:
        members = [(name, united.field(name).type if name in united.names else arrow().null()) for name in names]
        parse_table_keys(job.keys, arrow().schema(members))  # an error names all members
        united = arrow().schema([*(field for field in united if field.name != LINE), united.field(LINE)])
    return _inputs(job, stages, united)


def _begins_of_keys(keys: Sequence[str]) -> set[str]:
    """Return what a key's column may be called, as names may hold colons, commas and dots."""
    every = {part for key in keys for part in (key, *columns_of([key], ()))}
    words = {":".join(key.split(":")[:size]) for key in every for size in range(1, key.count(":") + 2)}
    return {".".join(word.split(".")[:size]) for word in words for size in range(1, word.count(".") + 2)}


def _united(united: Any, schema: Any, name: str) -> Any:
    try:
        return arrow().unify_schemas([united, schema], promote_options="permissive")
    except (arrow().ArrowTypeError, arrow().ArrowInvalid) as error:
        raise BadInputError(
            f"{name}: a column has values of types that have none in common: {error}", code="mixed-types"
        ) from error


def _staged_batches(job: SortJob, progress: Progress, stage: Callable[[str], _Stage]) -> list[ParquetInput]:
    """Return inputs of Arrow and ORC, whose files say their types."""
    stages = []
    for path in job.inputs:
        version = core.FileVersion(os.fsencode(path))
        stages.append(stage(path))
        damaged = f"{path} is damaged, or pyarrow cannot read it"
        with reading(path), arrow_errors(damaged), opened(path) as file:
            batches, schema = (_arrow_batches if job.format == "arrow" else _orc_batches)(file)
            stages[-1].begin(schema)
            for batch in batches:
                batch.validate(full=True)
                progress.add_bytes(batch.nbytes)
                stages[-1].write(arrow().Table.from_batches([batch], schema=schema))
        stages[-1].end()
        version.require_unchanged()
    paths = [path for each in stages for path in each.paths]
    return read_footers(paths, names=job.inputs, fills=job.union_by_name, folders=job.folders)


def _arrow_batches(file: Any) -> tuple[Iterable[Any], Any]:
    """Return the batches and the schema of an Arrow file or stream."""
    library = arrow("pyarrow.ipc")
    is_file = file.read(6) == b"ARROW1"
    file.seek(0)
    if not is_file:
        reader = library.open_stream(file)
        return reader, reader.schema
    reader = library.open_file(file)
    return map(reader.get_batch, range(reader.num_record_batches)), reader.schema


def _orc_batches(file: Any) -> tuple[Iterable[Any], Any]:
    reader = arrow("pyarrow.orc").ORCFile(file)
    return map(reader.read_stripe, range(reader.nstripes)), reader.schema


def _inputs(job: SortJob, stages: Sequence[_Stage], schema: Any) -> list[ParquetInput]:
    """Return staged files that are read with one schema, with the names and folders of the inputs that they hold."""
    folders = folder_scalars(job.folders) or [{}] * len(stages)
    for of in folders:
        schema = with_folders(schema, of)
    inputs: list[ParquetInput] = []
    for stage, name, of in zip(stages, job.inputs, folders, strict=True):
        inputs += (replace(read_footer(path), schema=schema, name=name, folders=of) for path in stage.paths)
        if stage.room_bytes is not None and not stage.paths:
            rows, sizes = sum(each.num_rows for each in stage.held), [each.nbytes for each in stage.held]
            inputs.append(_HeldRows(name, None, schema, folders=of, tables=stage.held, rows=rows, group_bytes=sizes))
    return inputs
