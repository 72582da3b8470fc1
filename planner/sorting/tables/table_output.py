"""Sorted rows as CSV, JSON lines or Arrow: a file with what these keep, or a refusal that names what they do not."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from math import isfinite
from typing import Any, Final, NamedTuple

from planner.compression.text_codecs import compressor
from planner.errors import BadInputError
from planner.sorting.sort_job import TableFormat
from planner.sorting.tables.arrow_library import arrow
from planner.sorting.tables.json_lines import LINE
from planner.sorting.tables.parquet_schemas import without_row_numbers
from planner.sorting.tables.table_keys import without_views

_IN_WORDS: Final = {"csv": "CSV", "tsv": "CSV with tabs", "jsonl": "JSON lines"}
_PIECE_ROWS: Final = 1 << 13
"""Rows that are Python objects at a time."""


class Written(NamedTuple):
    """Rows written, and their bytes in memory."""

    rows: int
    decoded_bytes: int


class TableFile:
    """A file of a format, written in order from tables of a schema, perhaps compressed.

    Raises BadInputError for columns that the format does not keep.
    """

    def __init__(self, file: Any, schema: Any, format: TableFormat, *, compression: str | None = None) -> None:
        self._file = file
        self._packing = compressor(compression, 0) if compression else None
        plain = [field.with_type(_plain(field.type, format)) for field in without_row_numbers(schema)]
        self._schema = arrow().schema(plain, metadata=schema.metadata)
        _require_kept(self._schema, format)
        self._encode = {"arrow": self._arrow, "jsonl": self._json}.get(format, self._csv)
        self._separator = "\t" if format == "tsv" else ","

    def write(self, groups: Iterator[Any], *, threads: int) -> Iterator[Written]:
        """Write tables; yield the rows and bytes of each."""
        del threads
        for content, written in self._encode(groups):
            self._put(content)
            yield written

    def finish(self) -> int:
        """Write what is left; return the size of the file."""
        if self._packing:
            self._file.write(self._packing.flush())
        self._file.flush()
        return int(self._file.tell()) if self._file.seekable() else 0

    def _put(self, content: Any) -> None:
        self._file.write(self._packing.compress(content) if self._packing else content)

    def _arrow(self, groups: Iterator[Any]) -> Iterator[tuple[Any, Written]]:
        """Yield an Arrow file; a pipe, which cannot be read from its end, gets a stream."""
        library, before = arrow("pyarrow.ipc"), dict[int, Any]()
        new = library.new_file if self._file.seekable() else library.new_stream
        new = partial(new, options=library.IpcWriteOptions(emit_dictionary_deltas=True))
        yield from self._by_pyarrow(groups, new, lambda table: _with_growing_dictionaries(table, before))

    def _csv(self, groups: Iterator[Any]) -> Iterator[tuple[Any, Written]]:
        library = arrow("pyarrow.csv")
        new = partial(library.CSVWriter, write_options=library.WriteOptions(delimiter=self._separator))
        yield from self._by_pyarrow(groups, new, lambda table: table)

    def _by_pyarrow(
        self, groups: Iterator[Any], new: Callable[..., Any], prepare: Callable[[Any], Any]
    ) -> Iterator[tuple[Any, Written]]:
        taker = _Taker()
        with new(arrow().PythonFile(taker, "w"), self._schema) as writer:
            for table in groups:
                writer.write_table(prepare(table.cast(self._schema)))
                yield taker.taken(), Written(table.num_rows, table.nbytes)
        yield taker.taken(), Written(0, 0)

    def _json(self, groups: Iterator[Any]) -> Iterator[tuple[Any, Written]]:
        before = 0
        for table in groups:
            for begin in range(0, table.num_rows, _PIECE_ROWS):
                rows = table.slice(begin, _PIECE_ROWS)
                yield _lines_of(rows, before=before), Written(rows.num_rows, rows.nbytes)
                before += rows.num_rows


class LinesFile(TableFile):
    """Lines of a column, as they were read."""

    def __init__(self, file: Any, *, compression: str | None = None) -> None:
        super().__init__(file, arrow().schema([]), "jsonl", compression=compression)

    def _json(self, groups: Iterator[Any]) -> Iterator[tuple[Any, Written]]:
        for table in groups:
            lines = table.column(LINE).to_pylist()
            yield b"\n".join([*lines, b""]), Written(table.num_rows, table.nbytes)


class _Taker:
    """A file that hands on what was written since."""

    closed = False

    def __init__(self) -> None:
        self._waiting: list[bytes] = []
        self._size = 0

    def write(self, content: Any) -> int:
        self._waiting.append(bytes(content))
        self._size += len(content)
        return len(content)

    def tell(self) -> int:
        return self._size

    def flush(self) -> None:
        """Do nothing: what was written is taken by `taken`."""

    def close(self) -> None:
        """Do nothing: the file itself is closed by who opened it."""

    def taken(self) -> bytes:
        content = b"".join(self._waiting)
        self._waiting.clear()
        return content


def _with_growing_dictionaries(table: Any, before: dict[int, Any]) -> Any:
    """Return a table whose dictionaries begin with those of the tables `before` it, by column: files take no others."""
    library = arrow()
    for number, field in enumerate(table.schema):
        if not arrow("pyarrow.types").is_dictionary(field.type):
            continue
        earlier = before.get(number, library.array([], field.type))
        both = library.chunked_array([earlier, *table.column(number).chunks], field.type).unify_dictionaries()
        before[number] = both.chunk(0).slice(0, 0)
        table = table.set_column(number, field, library.chunked_array(both.chunks[1:], field.type))
    return table


def _plain(value_type: Any, format: TableFormat) -> Any:
    """Return the type as which values are written: as it is in Arrow, without dictionaries in text."""
    types = arrow("pyarrow.types")
    if format == "arrow":
        return value_type
    if types.is_dictionary(value_type) or types.is_run_end_encoded(value_type):
        value_type = value_type.value_type
    is_text = format == "jsonl" and (types.is_temporal(value_type) or types.is_decimal(value_type))
    return arrow().string() if is_text and not types.is_duration(value_type) else without_views(value_type)


def _require_kept(schema: Any, format: TableFormat) -> None:
    if format == "arrow":
        return
    lost = [f"column {field.name!r}: {field.type}" for field in schema if not _is_kept(field.type, format)]
    if lost:
        raise BadInputError(
            f"{_IN_WORDS[format]} cannot hold {len(lost)} of the columns: write Parquet or Arrow, or leave them out",
            lost,
            code="not-kept",
        )


def _is_kept(value_type: Any, format: TableFormat) -> bool:
    types = arrow("pyarrow.types")
    if types.is_nested(value_type):
        inner = [value_type.field(number).type for number in range(value_type.num_fields)]
        return format == "jsonl" and not types.is_union(value_type) and all(_is_kept(each, format) for each in inner)
    kept = (
        types.is_boolean, types.is_integer, types.is_floating, types.is_decimal, types.is_string, types.is_large_string,
        types.is_date, types.is_time, types.is_timestamp, types.is_null,
    )  # fmt: skip
    return any(is_kept(value_type) for is_kept in kept)


def _lines_of(rows: Any, *, before: int) -> Any:
    """Return rows as JSON, each with its line's end. Raises BadInputError for a number that JSON does not have."""
    library, compute = arrow(), arrow("pyarrow.compute")
    parts: list[Any] = []
    for number, field in enumerate(rows.schema):
        begin = f"{', ' if number else '{'}{json.dumps(field.name, ensure_ascii=False)}: "
        try:
            parts += [library.scalar(begin), _json_texts(rows.column(number))]
        except ValueError as error:
            row = _first_not_finite(rows.column(number).to_pylist())
            raise BadInputError(
                f"column {field.name!r}, row {before + row + 1}: JSON has no NaN and no infinite number",
                ["write Parquet or Arrow, or make them null first"],
                code="not-kept",
            ) from error
    if not parts:
        return b"{}\n" * rows.num_rows
    lines = compute.binary_join_element_wise(*parts, "}\n", "", null_handling="replace", null_replacement="null")
    return "".join(lines.to_pylist()).encode()


def _json_texts(values: Any) -> Any:
    """Return the JSON of values, null for null; text that needs no escapes, numbers and times at once.

    Raises ValueError for NaN and infinite numbers.
    """
    types, compute = arrow("pyarrow.types"), arrow("pyarrow.compute")
    if types.is_dictionary(values.type) or types.is_run_end_encoded(values.type):
        values = values.cast(values.type.value_type)
    if types.is_boolean(values.type) or types.is_integer(values.type) or types.is_null(values.type):
        return values.cast("string")
    if types.is_floating(values.type) and compute.all(compute.is_finite(values)).as_py() is not False:
        texts = values.cast("string")
        is_whole = compute.match_substring_regex(texts, "^-?[0-9]+$")
        return compute.if_else(is_whole, compute.binary_join_element_wise(texts, ".0", ""), texts)
    if types.is_temporal(values.type) or types.is_decimal(values.type):
        values = values.cast("string")
    is_text = types.is_string(values.type) or types.is_large_string(values.type)
    if is_text and not compute.any(compute.match_substring_regex(values, r'["\\\x00-\x1f]')).as_py():
        return compute.binary_join_element_wise('"', values.cast("string"), '"', "")
    dumped = [
        value if value is None else json.dumps(value, ensure_ascii=False, allow_nan=False, default=_text)
        for value in values.to_pylist()
    ]
    return arrow().array(dumped, "string")


def _text(value: Any) -> str:
    """Return a value within a list or struct as text."""
    return str(value.isoformat() if hasattr(value, "isoformat") else value)


def _first_not_finite(values: Sequence[Any]) -> int:
    return next(row for row, value in enumerate(values) if _is_not_finite(value))


def _is_not_finite(value: Any) -> bool:
    if isinstance(value, dict):
        value = list(value.values())
    return (
        any(map(_is_not_finite, value)) if isinstance(value, list) else isinstance(value, float) and not isfinite(value)
    )
