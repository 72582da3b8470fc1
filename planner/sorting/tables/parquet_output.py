"""Writing of sorted rows as Parquet: with the schema, metadata, compression and row groups of the inputs."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from inspect import signature
from itertools import accumulate, chain, takewhile
from math import log2
from random import Random
from typing import Any, Final, NamedTuple

import numpy as np

from planner.sorting.tables.arrow_library import arrow
from planner.sorting.tables.parquet_parts import JoinedParts, footer_of, leaf_elements
from planner.sorting.tables.parquet_schemas import int96_leaves, without_row_numbers
from planner.sorting.tables.table_keys import ColumnKey
from planner.sorting.tables.table_rows import array_of, offset_bytes, value_bytes
from planner.sorting.tables.table_runs import made_in_turn

MOST_GROUP_ROWS: Final = 1 << 20
ANNOTATIONS: Final = "annotations"
"""Key of a style's details: annotations of leaves in the footer, by their paths."""
_LEAST_COLUMN_BYTES: Final = 1 << 16
"""Mean bytes per column below which one thread writes a row group, as fast as the footers of parts could be joined."""
_ENCODINGS: Final = ("BYTE_STREAM_SPLIT", "DELTA_BINARY_PACKED", "DELTA_LENGTH_BYTE_ARRAY", "DELTA_BYTE_ARRAY")
_UTC: Final = ("isAdjustedToUTC=false", "isAdjustedToUTC=true")
_ITEM: Final = "element"
"""Name of list items in Parquet's specification."""
_MOST_INTEGER_DIGITS: Final = 18
"""Decimals with more digits are stored as bytes."""
_LEAST_PART_BYTES: Final = 1 << 22
"""Smaller row groups are encoded several at a time: each part has its own footer, which takes time."""
_MOST_DICTIONARY_BYTES: Final = 1 << 20
"""Limit of pyarrow's writer."""
_LEAST_SAMPLED_ROWS: Final = 1 << 15
_SAMPLED_ROWS: Final = 4096


@dataclass(frozen=True, kw_only=True)
class ParquetStyle:
    """Format of a written file, whatever its schema: compression in pyarrow's terms, the leaves that have dictionaries
    (None: all may), the rows of a row group, and whether decimals are integers.

    `details` are further options of pyarrow's writer, which take precedence.
    """

    compression: str
    dictionaries: tuple[str, ...] | None
    group_rows: int
    has_decimal_integers: bool
    details: Mapping[str, Any] = field(default_factory=dict)


def style_of(metadata: Any, *, has_checksums: bool = False) -> ParquetStyle:
    """Return the style in which a file was written, from its footer; only pages show whether they have checksums."""
    groups = metadata.num_row_groups
    rows = max((metadata.row_group(i).num_rows for i in range(groups)), default=0)
    schema = metadata.schema.to_arrow_schema()
    is_compliant = all(name == _ITEM for field in schema for name in _item_names(field.type))
    written = _written_schema(schema, is_compliant=is_compliant)
    leaves = [written.column(number).path for number in range(len(written))]
    return ParquetStyle(
        compression=_compression(metadata),
        dictionaries=_dictionaries(metadata, leaves),
        group_rows=min(rows, MOST_GROUP_ROWS) if rows else MOST_GROUP_ROWS,
        has_decimal_integers=_has_decimal_integers(metadata),
        details=_details(metadata, leaves)
        | {"write_page_checksum": has_checksums, "use_compliant_nested_type": is_compliant}
        | {ANNOTATIONS: _annotations(metadata, written)},
    )


def _annotations(metadata: Any, written: Any) -> dict[str, Any]:
    """Return a footer's annotations of leaves, such as intervals, that pyarrow does not write, for `JoinedParts`."""
    pairs = [(metadata.schema.column(number), written.column(number)) for number in range(len(written))]
    lost = [number for number, pair in enumerate(pairs) if _is_lost(*(leaf.logical_type for leaf in pair))]
    if not lost:
        return {}
    elements = leaf_elements(footer_of(metadata))
    return {pairs[number][1].path: elements[number][1] for number in lost}


def _is_lost(had: Any, has: Any) -> bool:
    if has.type == "NONE":
        return bool(had.type != "NONE")
    return bool(had.type == "TIME" and str(had) != str(has) and str(had) == str(has).replace(*_UTC))


def _item_names(value_type: Any) -> Iterator[str]:
    """Yield the names of the items of lists."""
    types = arrow("pyarrow.types")
    if not types.is_nested(value_type):
        return
    if hasattr(value_type, "value_field") and not types.is_map(value_type):
        yield value_type.value_field.name
    for number in range(value_type.num_fields):
        yield from _item_names(value_type.field(number).type)


@lru_cache(maxsize=8)
def _written_schema(schema: Any, *, is_compliant: bool) -> Any:
    """Return the schema that pyarrow writes; other writers may name groups of lists differently."""
    file = arrow().BufferOutputStream()
    arrow("pyarrow.parquet").ParquetWriter(file, schema, use_compliant_nested_type=is_compliant).close()
    return arrow("pyarrow.parquet").read_metadata(arrow().BufferReader(file.getvalue())).schema


def parquet_writer(file: Any, schema: Any, style: ParquetStyle, keys: Sequence[ColumnKey]) -> Any:
    """Return pyarrow's writer of a file that is sorted by keys, and marked so in its footer.

    Footers cannot express the order of categories, structs and natural order, so the marked keys end before the first
    such key.
    """
    parquet = arrow("pyarrow.parquet")
    schema = without_row_numbers(schema)
    leaves = [0, *accumulate(_leaves(field.type) for field in schema)]
    said = [
        parquet.SortingColumn(leaves[key.column], key.descending, key.nulls_first)
        for key in takewhile(lambda key: _is_said(key, schema), keys)
    ]
    options = {
        "compression": style.compression,
        "use_dictionary": True if style.dictionaries is None else list(style.dictionaries),
        "sorting_columns": said,
        "store_decimal_as_integer": style.has_decimal_integers,
        **style.details,
        "column_encoding": _fitting_encodings(style.details.get("column_encoding") or {}, schema) or None,
    }
    if codecs := style.details.get("compression"):
        written = _written_schema(schema, is_compliant=options.get("use_compliant_nested_type", True))
        names = [written.column(number).path for number in range(len(written))]
        more = [name for name in names if name not in codecs]  # from other files or folders
        options["compression"] = {**codecs, **dict.fromkeys(more, style.compression)}
        options["use_dictionary"] = options["use_dictionary"] is True or [*options["use_dictionary"], *more]
    known = signature(parquet.ParquetWriter.__init__).parameters  # fewer in older versions of pyarrow
    writer = parquet.ParquetWriter(file, schema, **{name: value for name, value in options.items() if name in known})
    if schema.metadata and not options.get("store_schema", True):  # which keeps metadata, too
        writer.add_key_value_metadata(schema.metadata)
    return writer


def _fitting_encodings(encodings: Mapping[str, str], schema: Any) -> dict[str, str]:
    """Return the encodings without integer encodings for columns that other files made floats or long decimals."""
    types = arrow("pyarrow.types")
    widened = {
        column.name
        for column in schema
        if types.is_floating(column.type)
        or (types.is_decimal(column.type) and column.type.precision > _MOST_INTEGER_DIGITS)
    }
    return {leaf: name for leaf, name in encodings.items() if not (name == "DELTA_BINARY_PACKED" and leaf in widened)}


def _is_said(key: ColumnKey, schema: Any) -> bool:
    is_struct = arrow("pyarrow.types").is_struct(schema.field(key.column).type)
    return key.categories is None and not key.natural and not is_struct


def _leaves(value_type: Any) -> int:
    """Return the number of Parquet columns for an Arrow type."""
    if not arrow("pyarrow.types").is_nested(value_type):
        return 1
    return sum(_leaves(value_type.field(number).type) for number in range(value_type.num_fields))


class SortedFile:
    """A file encoded in parts by threads and written in order by one; small row groups are encoded by one thread."""

    def __init__(
        self,
        file: Any,
        schema: Any,
        style: ParquetStyle,
        keys: Sequence[ColumnKey],
        *,
        joined: JoinedParts | None = None,
    ) -> None:
        self._file = file
        self._how = schema, style, keys
        self._annotations = style.details.get(ANNOTATIONS)
        self._joined = joined or JoinedParts(file, annotations=self._annotations)
        self._is_complete = False

    def write(self, groups: Iterator[Any], *, threads: int) -> Iterator[Any]:
        """Write tables as row groups; yield the rows and decoded bytes of each written part."""
        first = next(groups, None)
        if first is None:
            return
        is_small = first.nbytes < _LEAST_COLUMN_BYTES * first.num_columns
        write = self._write_alone if is_small and not self._annotations else self.write_parts
        yield from write(chain([first], groups), threads)

    def _write_alone(self, groups: Iterator[Any], threads: int) -> Iterator[Any]:
        del threads
        with parquet_writer(self._file, *self._how) as writer:
            for table in groups:
                writer.write_table(table, row_group_size=MOST_GROUP_ROWS)
                yield _Part(None, table.num_rows, table.nbytes)
        self._is_complete = True

    def write_parts(self, groups: Iterator[Any], threads: int) -> Iterator[Any]:
        """Do the same with threads, so that more may follow."""
        tasks = (partial(self._encode, stretch) for stretch in _stretches(groups))
        yield from map(self._append, made_in_turn(tasks, threads=threads))

    def finish(self) -> int:
        """Write the footer; return the size of the file."""
        if self._is_complete:
            return int(self._file.tell())
        if not self._joined.end:
            self._append(self._encode([]))
        return self._joined.finish()

    def footer(self) -> bytes:
        """Return the footer of the written parts."""
        return self._joined.footer()

    @property
    def end(self) -> int:
        """Number of bytes of parts written."""
        return self._joined.end

    def _encode(self, tables: list[Any]) -> _Part:
        file = arrow().BufferOutputStream()
        rows = size = 0
        schema, style, keys = self._how
        with parquet_writer(file, schema, _without_long_dictionaries(style, tables), keys) as writer:
            for table in tables:
                writer.write_table(table, row_group_size=MOST_GROUP_ROWS)
                rows += table.num_rows
                size += table.nbytes
        tables.clear()
        return _Part(file.getvalue(), rows, size)

    def _append(self, part: _Part) -> _Part:
        begin = self._joined.end
        self._joined.add(part.file)
        _begin_to_sync(self._file, begin, self._joined.end - begin)
        return part._replace(file=None)


class _Part(NamedTuple):
    """A Parquet file in memory, and its contents."""

    file: Any
    rows: int
    decoded_bytes: int


def _without_long_dictionaries(style: ParquetStyle, tables: Sequence[Any]) -> ParquetStyle:
    """Return a style without the dictionaries that would take more than the values of the first row group, as a sample
    of them shows, or more than pyarrow's writer lets them: it then has made them in vain.
    """
    if not tables or tables[0].num_rows < _LEAST_SAMPLED_ROWS:
        return style
    columns = zip(tables[0].schema.names, tables[0].columns, strict=True)
    long = {name for name, values in columns if _has_long_dictionary(values)}
    named = style.dictionaries
    if named is None:
        written = _written_schema(tables[0].schema, is_compliant=style.details.get("use_compliant_nested_type", True))
        named = tuple(written.column(number).path for number in range(len(written)))
    return replace(style, dictionaries=tuple(name for name in named if name not in long)) if long else style


def _has_long_dictionary(values: Any) -> bool:
    """Return whether the distinct values of a column, as many as equal pairs in a sample let expect, take more than a
    dictionary may; False for types whose values are not compared here.
    """
    types = arrow("pyarrow.types")
    if not (offset_bytes(values.type) or value_bytes(values.type)):
        return False
    numbers = np.frombuffer(Random(0).randbytes(8 * _SAMPLED_ROWS), np.uint64)
    parts = [chunk for chunk in values.chunks if len(chunk)]
    shares = [numbers[: len(part) * _SAMPLED_ROWS // len(values)] for part in parts]
    taken = [part.take(array_of(share % len(part))) for part, share in zip(parts, shares, strict=True)]
    sample = arrow().chunked_array(taken, values.type).drop_null()
    try:
        pairs = len(sample) - len(sample.unique())
    except arrow().ArrowNotImplementedError:  # such as half floats
        return False
    rows = len(values) * len(sample) / _SAMPLED_ROWS
    distinct = min(len(sample) ** 2 / (2 * max(pairs, 1)), rows)
    is_short = types.is_decimal(values.type) and values.type.precision <= _MOST_INTEGER_DIGITS
    plain_bytes = 8 if is_short else max(sample.nbytes / max(len(sample), 1), 1)
    most = min(_MOST_DICTIONARY_BYTES, rows * (plain_bytes - log2(max(distinct, 1)) / 8))
    return bool(distinct * plain_bytes > most)


def _begin_to_sync(file: Any, begin: int, size: int) -> None:
    """Let the system start writing a range to the disk without waiting for it."""
    file.flush()
    if hasattr(os, "posix_fadvise"):
        with suppress(OSError):  # it is only advice
            os.posix_fadvise(file.fileno(), begin, size, os.POSIX_FADV_DONTNEED)


def _stretches(tables: Iterator[Any]) -> Iterator[list[Any]]:
    """Yield lists of tables, small ones several at a time."""
    waiting: list[Any] = []
    size = 0
    for table in tables:
        waiting.append(table)
        size += table.nbytes
        if size >= _LEAST_PART_BYTES:
            yield waiting
            waiting, size = [], 0
    if waiting:
        yield waiting


def row_groups(tables: Iterator[Any], *, rows: int, size_bytes: int) -> Iterator[Any]:
    """Yield tables of `rows` rows or `size_bytes` bytes, whichever comes first, from smaller and larger ones."""
    waiting: list[Any] = []
    have = size = 0
    for table in tables:
        begin = 0
        while begin < table.num_rows:
            part = table.slice(begin, rows - have)
            begin += part.num_rows
            have += part.num_rows
            size += part.nbytes
            waiting.append(part)
            if have == rows or size >= size_bytes:
                yield arrow().concat_tables(waiting)
                waiting, have, size = [], 0, 0
    if waiting:
        yield arrow().concat_tables(waiting)


def _compression(metadata: Any) -> str:
    if not (metadata.num_row_groups and metadata.num_columns):
        return "snappy"
    return _codec(metadata.row_group(0).column(0))


def _details(metadata: Any, names: Sequence[str]) -> dict[str, Any]:
    """Return further details of the first row group and its first page: codecs of all leaves, encodings, page index,
    Bloom filters, 96-bit times, and whether Arrow's schema is kept.
    """
    details: dict[str, Any] = {"store_schema": b"ARROW:schema" in (metadata.metadata or {})}
    if not (metadata.num_row_groups and metadata.num_columns):
        return details
    group = metadata.row_group(0)
    chunks = [group.column(number) for number in range(metadata.num_columns)]
    leaves = [metadata.schema.column(number) for number in range(metadata.num_columns)]
    has_timestamps = any(leaf.logical_type.type == "TIMESTAMP" for leaf in leaves)
    return details | {
        "compression": {name: _codec(chunk) for name, chunk in zip(names, chunks, strict=True)},
        "column_encoding": {
            name: encoding for name, chunk in zip(names, chunks, strict=True) if (encoding := _encoding(chunk))
        }
        or None,
        "write_page_index": any(chunk.has_offset_index for chunk in chunks),
        "bloom_filter_options": {
            name: {"ndv": max(group.num_rows, 1)}
            for name, chunk in zip(names, chunks, strict=True)
            if getattr(chunk, "bloom_filter_offset", None)
        },
        "use_deprecated_int96_timestamps": bool(int96_leaves(metadata)) and not has_timestamps,
    }


def _encoding(chunk: Any) -> str | None:
    """Return the encoding of values, if it is neither plain nor by a dictionary."""
    return None if chunk.has_dictionary_page else next((name for name in chunk.encodings if name in _ENCODINGS), None)


def _codec(chunk: Any) -> str:
    name: str = chunk.compression
    return "none" if name == "UNCOMPRESSED" else name.lower()


def _dictionaries(metadata: Any, names: Sequence[str]) -> tuple[str, ...] | None:
    """Return the leaves that had dictionaries; other leaves are not worth trying."""
    if not metadata.num_row_groups:
        return None
    group = metadata.row_group(0)
    return tuple(name for i, name in enumerate(names) if group.column(i).has_dictionary_page)


def _has_decimal_integers(metadata: Any) -> bool:
    """Return whether a decimal is stored as an integer, which is faster than as bytes."""
    schema = metadata.schema
    columns = [schema.column(i) for i in range(metadata.num_columns)]
    return any(column.converted_type == "DECIMAL" and column.physical_type.startswith("INT") for column in columns)
