"""Parquet files as the content of a dataset: slices are whole row groups, and each partition becomes one file.

Rows are transferred as Arrow IPC streams one after another, each with its length and its rows, so the gathered data of
a partition is counted in bytes. Dictionaries and the schema's metadata are left out, and the output gets them again.
The records of a sorted partition are its file, as it is written and copied. Boundaries of partitions are placed among
rows by sorting both, so that every order is the one used on a single machine.
"""

from __future__ import annotations

import base64
import json
import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Any, Final

import numpy as np

from planner.arrays import Bytes, Ints
from planner.distributed_sort.content.base import WHOLE, Content, RowsSummary, Splitting, divide, parse_rows
from planner.distributed_sort.content.table_file import (
    conform,
    open_copy,
    open_parquet,
    parquet_of,
    require_int96_fits,
    require_schema,
)
from planner.distributed_sort.dataset import partition_reader
from planner.distributed_sort.dataset.dataset import Layout, Partition, TableFormat
from planner.distributed_sort.dataset.partition_reader import DamagedFileError, Slice, copy_here
from planner.errors import IoFailureError
from planner.native import core_errors
from planner.sorting.tables.arrow_library import arrow
from planner.sorting.tables.parquet_output import parquet_writer, row_groups
from planner.sorting.tables.table import sorted_pieces
from planner.sorting.tables.table_hash import rows_checksum
from planner.sorting.tables.table_keys import ColumnKey, first_of_equals, key_columns
from planner.sorting.tables.table_order import extra_bytes_per_row, row_order
from planner.sorting.tables.table_rows import TableRows
from planner.sorting.tables.table_runs import count_disorder, drop_repeats
from planner.units import count_text

_HEAD: Final = struct.Struct("<QQ")
"""Length of the following stream in bytes, and its rows: 16 bytes, so that the stream's buffers stay aligned."""


def transfer_schema(schema: Any) -> Any:
    """Return a schema without dictionaries and metadata."""
    library, types = arrow(), arrow("pyarrow.types")
    fields = (
        library.field(field.name, field.type.value_type if types.is_dictionary(field.type) else field.type)
        for field in schema
    )
    return library.schema(list(fields))


def pack_rows(table: Any) -> bytes:
    """Return rows as bytes."""
    sink = arrow().BufferOutputStream()
    _write(table, sink)
    return bytes(sink.getvalue())


def pack_groups(table: Any, order: Any, edges: Ints) -> tuple[Bytes, Ints]:
    """Return rows in an order as bytes, with one stream for the rows between two edges and no bytes for no rows, and
    the beginnings of the streams.
    """
    rows = TableRows(table.to_batches(), table.schema)
    sink = arrow().BufferOutputStream()
    offsets = [0]
    for begin, end in pairwise(edges.tolist()):
        if begin < end:
            _write(rows.at(order[begin:end]), sink)
        offsets.append(sink.tell())
    return np.frombuffer(sink.getvalue(), np.uint8), np.array(offsets, np.int64)


def unpack_rows(streams: Any) -> Iterator[Any]:
    """Yield the tables in some bytes, which share their memory."""
    library, buffer, at = arrow(), arrow().py_buffer(streams), 0
    while at < buffer.size:
        size, _ = _HEAD.unpack(buffer[at : at + _HEAD.size])
        at += _HEAD.size
        yield arrow("pyarrow.ipc").open_stream(library.BufferReader(buffer.slice(at, size))).read_all()
        at += size


def count_rows(streams: Any) -> int:
    """Return the number of rows."""
    buffer, at, rows = arrow().py_buffer(streams), 0, 0
    while at < buffer.size:
        size, of_stream = _HEAD.unpack(buffer[at : at + _HEAD.size])
        at, rows = at + _HEAD.size + size, rows + of_stream
    return rows


def key_table(table: Any, keys: Sequence[ColumnKey]) -> tuple[Any, list[ColumnKey]]:
    """Return the key columns, one for each key, and the keys by their places among these columns."""
    columns = [table.column(key.column) for key in keys]
    names = [str(place) for place in range(len(keys))]
    return arrow().table(columns, names=names), [key._replace(column=place) for place, key in enumerate(keys)]


def _write(table: Any, sink: Any) -> None:
    stream = arrow().BufferOutputStream()
    with arrow("pyarrow.ipc").new_stream(stream, table.schema) as writer:
        writer.write_table(table)
    content = stream.getvalue()
    sink.write(_HEAD.pack(content.size, table.num_rows))
    sink.write(content)


@dataclass(frozen=True, kw_only=True)
class TableSplitting(Splitting):
    """Boundaries between ranges of rows: a packed table of keys, b'' for none, and whether each range begins `behind`
    the rows that have the key.
    """

    boundaries: bytes
    behind: tuple[bool, ...]

    def document(self) -> dict[str, Any]:
        rows = base64.b64encode(self.boundaries).decode()
        return super().document() | {"tables": {"rows": rows, "behind": self.behind}}

    def order(self, rows: Any, keys: Sequence[ColumnKey]) -> tuple[Any, Ints]:
        """Return the order of rows, given as their key columns, and the beginnings of the partitions and the end of the
        last.

        The sort is stable: boundaries stand before all rows or behind them, and so before or behind equal ones.
        """
        bounds = next(unpack_rows(self.boundaries), None) if self.boundaries else None
        behind = np.array(self.behind, np.bool_)
        first, last = ([], []) if bounds is None else (_filter_rows(bounds, ~behind), _filter_rows(bounds, behind))
        before = first[0].num_rows if first else 0
        together = arrow().concat_tables([*first, rows, *last])
        order = row_order(key_columns(together, keys), together.num_rows)
        is_row = (order >= before) & (order < before + rows.num_rows)
        places = np.flatnonzero(~is_row) - np.arange(len(behind))
        return order[is_row] - np.uint32(before), self.edges([0, *places.tolist(), rows.num_rows])


def split_tables(
    sample: Sequence[bytes], keys: Sequence[ColumnKey], *, partitions: int, unique: bool
) -> TableSplitting:
    """Return about `partitions` partitions of equal weight from packed key columns; one if they have no rows."""
    tables = [table for stream in sample for table in unpack_rows(stream)]
    if not sum(table.num_rows for table in tables):
        return TableSplitting(boundaries=b"", behind=(), **WHOLE)
    whole = arrow().concat_tables(tables)
    rows = TableRows(whole.to_batches(), whole.schema)
    order = row_order(key_columns(whole, keys), whole.num_rows)
    ordered = rows.at(order)
    firsts = first_of_equals(key_columns(ordered, keys, all_parts=True), whole.num_rows)
    begins = np.flatnonzero(np.array(firsts.to_pylist(), np.bool_))
    places, behind = _boundaries(begins, whole.num_rows, partitions)
    shares = np.diff([0, *_cuts(begins, places, behind, whole.num_rows), whole.num_rows]) / whole.num_rows
    is_one_key = [not unique and _holds_one_key(places, behind, at) for at in range(len(shares))]
    return TableSplitting(
        boundaries=pack_rows(rows.at(order[places])) if places else b"",
        behind=tuple(behind),
        **divide(shares, is_one_key, partitions=partitions),
    )


def _boundaries(begins: Ints, rows: int, partitions: int) -> tuple[list[int], list[bool]]:
    """Return the places of boundaries in a sorted sample, whose equal keys begin at `begins`. A key that would fill a
    partition has a range of its own: it is chosen twice, or, with few partitions, once.
    """
    at = np.searchsorted(begins, np.arange(1, partitions) * rows // partitions, side="right") - 1
    wanted, times = np.unique(at, return_counts=True)
    is_divided = (times > 1) | (np.diff([*begins, rows])[wanted] * partitions >= rows)
    chosen = [
        (int(begins[key]), is_behind)
        for key, own in zip(wanted, is_divided, strict=True)
        for is_behind in (False, True)[: 1 + own]
    ]
    return [place for place, _ in chosen], [is_behind for _, is_behind in chosen]


def _cuts(begins: Ints, places: Sequence[int], behind: Sequence[bool], rows: int) -> list[int]:
    """Return the number of sampled rows before each boundary."""
    ends = np.append(begins[1:], rows)
    at = np.searchsorted(begins, places)
    return [int((ends if is_behind else begins)[place]) for place, is_behind in zip(at, behind, strict=True)]


def _holds_one_key(places: Sequence[int], behind: Sequence[bool], at: int) -> bool:
    """Return whether a range holds a single key: from the key to behind the same key."""
    return 0 < at < len(places) and places[at] == places[at - 1] and behind[at]


def _filter_rows(table: Any, wanted: Any) -> list[Any]:
    return [table.filter(arrow().array(wanted))] if len(wanted) else []


_MOST_SAMPLED_GROUPS: Final = 32
"""Most row groups sampled of a file, evenly spaced; all keys of each are decoded, as its rows may be in order."""
_MOST_GROUP_BYTES: Final = 128 << 20
_PIECE_BYTES: Final = 8 << 20
_SORT_COPIES: Final = 3
"""Copies in memory during a sort: rows as gathered, in order, and as a file."""
_BATCH_ROWS: Final = 1 << 16


class Tables(Content):
    """Rows of tables of one format."""

    suffix = ".parquet"

    def __init__(self, layout: Layout, table: TableFormat) -> None:
        self._table = table
        self._row_bytes = layout.record_size
        self._schema = table.arrow_schema()
        self._keys = table.column_keys()
        self._on_the_way = transfer_schema(self._schema)

    def sample(self, partition: Partition, keys: int) -> list[bytes]:
        """See Content: packed tables of the key columns."""
        samples = list[bytes]()
        with open_parquet(partition) as file:
            count = file.metadata.num_row_groups
            taken = sorted({number * count // _MOST_SAMPLED_GROUPS for number in range(_MOST_SAMPLED_GROUPS)})
            taken = taken if count else []
            share = keys / max(1, sum(file.metadata.row_group(group).num_rows for group in taken))
            for group in taken:
                rows = file.read_row_group(group, columns=self._key_names(), use_threads=False)
                rows = conform(rows, self._key_schema(), partition)
                places = _spread_places(rows.num_rows, round(rows.num_rows * share), seed=group)
                named = self._select_keys(rows.take(arrow().array(places)))
                samples.append(pack_rows(named))
        return samples

    def split(self, samples: list[list[bytes]], partitions: int) -> tuple[TableSplitting, int]:
        streams = [stream for of_partition in samples for stream in of_partition]
        keys = [key._replace(column=place) for place, key in enumerate(self._keys)]
        splitting = split_tables(streams, keys, partitions=partitions, unique=self._table.unique)
        return splitting, sum(map(len, streams))

    def read_slice(self, partition: Partition, slice_: Slice) -> Any:
        """See Content: the row groups that begin in the slice. Raises IoFailureError when the file has changed."""
        with open_copy(copy := copy_here(partition)) as (file, footer):
            rows = footer.group_rows
            if sum(rows) != partition.records:
                raise IoFailureError(
                    f"{copy.uri} has {count_text(sum(rows), 'row')} instead of {partition.records}: it was changed",
                    code="input-changed",
                )
            require_schema(copy.uri, footer, self._schema)
            begins = np.cumsum([0, *rows[:-1]])
            within = (begins >= slice_.first) & (begins < slice_.first + slice_.records)
            groups = [group for group in np.flatnonzero(within).tolist() if rows[group]]
            if not groups:
                return self._on_the_way.empty_table()
            require_int96_fits(copy.uri, footer, groups)
            rows_read = file.read_row_groups(groups, use_threads=False)
            if rows_read.num_rows != sum(rows[group] for group in groups):
                raise DamagedFileError(f"{copy.uri} is damaged: its pages have other rows than its footer says")
            return conform(rows_read, self._schema, partition).cast(self._on_the_way)

    def size_bytes(self, rows: Any) -> int:
        """See Content: the size in memory."""
        return int(rows.nbytes)

    def checksum(self, rows: Any, threads: int) -> int:
        del threads
        return rows_checksum(rows)

    def group(self, rows: Any, splitting: TableSplitting, threads: int) -> tuple[Bytes, Ints]:
        """See Content: bytes of packed tables."""
        del threads
        keys, places = key_table(rows, self._keys)
        with core_errors():
            order, edges = splitting.order(keys, places)
            return pack_groups(rows, order, edges)

    def needed_bytes(self, gathered: Bytes, threads: int) -> int:
        del threads
        beside = extra_bytes_per_row([self._schema.field(key.column).type for key in self._keys])
        return _SORT_COPIES * len(gathered) + count_rows(gathered) * beside

    def sort(self, gathered: Bytes, threads: int) -> Bytes:
        """See Content: the partition's file."""
        del threads
        sink = arrow().BufferOutputStream()
        style = self._table.style()
        with core_errors(), parquet_writer(sink, self._schema, style, self._keys) as writer:
            for table in row_groups(self._sort_rows(gathered), rows=style.group_rows, size_bytes=_MOST_GROUP_BYTES):
                writer.write_table(table.cast(self._schema), row_group_size=style.group_rows)
        return np.frombuffer(sink.getvalue(), np.uint8)

    def summary(self, output: Bytes, threads: int) -> TableSummary:
        """See Content: read back from the file, so that the encoding is checked as well."""
        del threads
        return self._summarize_file(parquet_of(arrow().BufferReader(arrow().py_buffer(output))))

    def parse_summary(self, serialized: bytes) -> TableSummary:
        return TableSummary(**parse_rows(serialized), table=self._table)

    def empty_summary(self) -> TableSummary:
        return TableSummary(table=self._table)

    def describe(self, output: Bytes, summary: TableSummary) -> Partition:
        with parquet_of(arrow().BufferReader(arrow().py_buffer(output))) as file:
            footer = file.metadata
            groups = tuple(footer.row_group(group).num_rows for group in range(footer.num_row_groups))
        return Partition(
            records=summary.records,
            copies=(),
            first_key=format_keys(summary.first),
            last_key=format_keys(summary.last),
            groups=groups,
        )

    def read_output(self, partition: Partition) -> Bytes:
        return partition_reader.read_file(partition)

    def validate(self, partition: Partition, threads: int) -> tuple[TableSummary, int]:
        """See Content: row group by row group."""
        del threads
        with open_parquet(partition) as file:
            summary = self._summarize_file(file)
        return summary, summary.records

    def _sort_rows(self, gathered: Bytes) -> Iterator[Any]:
        """Yield the rows of packed tables in order; where keys are unique, only the first of equal rows."""
        tables = list(unpack_rows(gathered)) or [self._on_the_way.empty_table()]
        pieces = sorted_pieces(tables, self._keys, piece_bytes=_PIECE_BYTES)
        return drop_repeats(pieces, self._keys) if self._table.unique else pieces

    def _summarize_file(self, file: Any) -> TableSummary:
        whole = self.empty_summary()
        for batch in file.iter_batches(_BATCH_ROWS, use_threads=False):
            whole.append(TableSummary.of(self._table, arrow().Table.from_batches([batch])))
        return whole

    def _key_names(self) -> list[str] | None:
        """Return the columns that hold keys; None for all, where names are ambiguous."""
        names = self._schema.names
        return [names[key.column] for key in self._keys] if len(set(names)) == len(names) else None

    def _key_schema(self) -> Any:
        """Return the schema of the columns read for keys."""
        if (names := self._key_names()) is None:
            return self._schema
        return arrow().schema([self._schema.field(name) for name in dict.fromkeys(names)])

    def _select_keys(self, rows: Any) -> Any:
        """Return the key columns of rows that may have been read without the others."""
        names = self._schema.names
        places = [rows.schema.names.index(names[key.column]) for key in self._keys]
        if rows.schema.names == names:
            places = [key.column for key in self._keys]
        keys = [key._replace(column=place) for key, place in zip(self._keys, places, strict=True)]
        table, _ = key_table(rows, keys)
        return table.cast(transfer_schema(table.schema))


def _spread_places(rows: int, wanted: int, *, seed: int) -> Ints:
    """Return the places of about `wanted` rows, one drawn from each stretch: rows may repeat at equal distances."""
    count = min(rows, max(1, wanted))
    drawn = np.random.default_rng(seed).random(count)
    return ((np.arange(count) + drawn) * rows / max(1, count)).astype(np.int64)


_MOST_SHOWN: Final = 80
"""Most characters of a value in a manifest."""


@dataclass(kw_only=True)
class TableSummary(RowsSummary):
    """Summary of consecutive rows; the first and last are their packed keys."""

    table: TableFormat

    def disorder_before(self, first: bytes) -> tuple[int, int]:
        meeting = arrow().concat_tables([*unpack_rows(self.last), *unpack_rows(first)])
        return count_disorder(meeting, _keys(self.table)[1])

    @staticmethod
    def of(table: TableFormat, rows: Any) -> TableSummary:
        """Return the summary of a table's rows."""
        if not rows.num_rows:
            return TableSummary(table=table)
        own, keys = key_table(rows, _keys(table)[0])
        own = own.cast(transfer_schema(own.schema))
        unordered, duplicates = count_disorder(own, keys)
        return TableSummary(
            table=table,
            records=rows.num_rows,
            checksum=rows_checksum(rows),
            unordered=unordered,
            duplicates=duplicates,
            first=pack_rows(own.slice(0, 1)),
            last=pack_rows(own.slice(own.num_rows - 1)),
        )


def format_keys(keys: bytes) -> str:
    """Return the key values of one row as stored in a manifest, '' for none: a list in JSON, long values cut."""
    rows = [table.to_pylist()[0] for table in unpack_rows(keys)]
    return json.dumps([_format_value(value) for value in rows[0].values()], ensure_ascii=False) if rows else ""


def _format_value(value: Any) -> Any:
    if value is None or isinstance(value, bool | int):
        return value
    return (value.hex() if isinstance(value, bytes) else str(value))[:_MOST_SHOWN]


@lru_cache(maxsize=8)
def _keys(table: TableFormat) -> tuple[list[ColumnKey], list[ColumnKey]]:
    """Return the keys of whole rows, and the same for rows that consist of keys alone."""
    keys = table.column_keys()
    return keys, [key._replace(column=place) for place, key in enumerate(keys)]
