"""Rows of record batches that the sort core stores contiguously, so that taking a row reads one place in memory.

Fixed-size values and text are packed while still in the cache. Key columns are also kept separately until the order is
known. Other columns (dictionaries, lists, structs, views) are kept unpacked, and pyarrow takes their values.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final, NamedTuple

from planner.native import core
from planner.sorting.tables.arrow_library import arrow
from planner.sorting.tables.table_keys import ColumnKey
from planner.sorting.tables.table_rows import MOST_OFFSET, OtherColumn, is_taken_in_place, offset_bytes, value_bytes

MOST_PACKED_BYTES: Final = 1 << 30
"""The sort core packs less than 4 GiB at once."""
_ROOM: Final = 17, 16
"""Texts get a sixteenth more room than they take on average."""


class PackedBatch(NamedTuple):
    """Packed rows, and their columns that are left unpacked."""

    packed: Any
    unpacked: Any
    num_rows: int
    nbytes: int


class Packing:
    """Packing of the rows of a schema; several threads may pack at once."""

    def __init__(self, schema: Any, keys: Sequence[ColumnKey]) -> None:
        self.schema = schema
        self.columns = [number for number, field in enumerate(schema) if is_taken_in_place(field.type)]
        others = set(range(len(schema))).difference(self.columns)
        self.unpacked = sorted(others.union(key.column for key in keys))
        self.keys = [key._replace(column=self.unpacked.index(key.column)) for key in keys]
        """The keys, as columns of the unpacked part."""
        kinds = [_kind(schema.field(number).type) for number in self.columns]
        self._packer = core.RowPacker(kinds) if kinds else None

    def pack(self, batch: Any) -> Iterator[PackedBatch]:
        """Yield the rows of a record batch, in several parts if it is very large."""
        if batch.nbytes > MOST_PACKED_BYTES and batch.num_rows > 1:
            half = batch.num_rows // 2
            yield from self.pack(batch.slice(0, half))
            yield from self.pack(batch.slice(half))
            return
        unpacked, packed = batch.select(self.unpacked), None
        if self._packer is not None:
            packed = self._packer.pack(batch.num_rows, [_input(batch.column(number)) for number in self.columns])
        yield PackedBatch(packed, unpacked, batch.num_rows, unpacked.nbytes + (packed.nbytes if packed else 0))


class PackedTable:
    """The rows of packed batches, numbered consecutively."""

    def __init__(self, batches: Sequence[PackedBatch], packing: Packing) -> None:
        schema = self._schema = packing.schema
        packed = [batch.packed for batch in batches if batch.packed is not None]
        self._table = core.PackedTable(packed)
        rows = max(sum(batch.num_rows for batch in batches), 1)
        self._columns = [
            _Column(schema.field(number).type, [part.has_nulls(i) for part in packed], _sum_of_texts(packed, i) / rows)
            for i, number in enumerate(packing.columns if packed else ())
        ]
        self._others = {
            number: OtherColumn(schema.field(number).type, [batch.unpacked.column(i) for batch in batches])
            for i, number in enumerate(packing.unpacked)
            if number not in packing.columns
        }

    def at(self, rows: Any) -> Any:
        """Return a table of these rows, given as 32-bit numbers in a numpy array."""
        if not self._columns:
            return self._with_others([], rows)
        made = [column.allocate(len(rows)) for column in self._columns]
        text_bytes = self._table.take(rows, made)
        if any(size > column.most_text_bytes for size, column in zip(text_bytes, self._columns, strict=True)):
            half = len(rows) // 2
            return arrow().concat_tables([self.at(rows[:half]), self.at(rows[half:])])
        if any(texts is not None and size > len(texts) for (_, _, texts), size in zip(made, text_bytes, strict=True)):
            for column, size in zip(self._columns, text_bytes, strict=True):
                column.text_bytes_per_row = max(column.text_bytes_per_row, size / len(rows))
            return self.at(rows)
        arrays = [
            column.array(len(rows), buffers, size)
            for column, buffers, size in zip(self._columns, made, text_bytes, strict=True)
        ]
        return self._with_others(arrays, rows)

    def _with_others(self, arrays: list[Any], rows: Any) -> Any:
        """Return a table; `arrays` are the packed columns in order."""
        packed = iter(arrays)
        columns = [
            self._others[number].take(rows) if number in self._others else next(packed)
            for number in range(len(self._schema))
        ]
        return arrow().table(columns, schema=self._schema)


class _Column:
    """A packed column, and the buffers into which its values are copied."""

    def __init__(self, value_type: Any, has_nulls: Sequence[bool], text_bytes_per_row: float) -> None:
        self._type, self._has_nulls = value_type, any(has_nulls)
        self._offset_bytes, self._value_bytes = offset_bytes(value_type), value_bytes(value_type)
        self.text_bytes_per_row = text_bytes_per_row
        self.most_text_bytes = MOST_OFFSET[self._offset_bytes or 8]

    def allocate(self, rows: int) -> tuple[Any, Any, Any]:
        """Return buffers for `rows` rows: validity if there may be nulls, values or offsets, and texts."""
        new, bits = arrow().allocate_buffer, -(-rows // 8)
        validity = new(bits) if self._has_nulls else None
        if not self._offset_bytes:
            return validity, new(rows * self._value_bytes or bits), None
        more, less = _ROOM
        texts = new(int(rows * self.text_bytes_per_row) * more // less + 64)
        return validity, new((rows + 1) * self._offset_bytes), texts

    def array(self, rows: int, buffers: tuple[Any, Any, Any], text_bytes: int) -> Any:
        """Return the array made of filled buffers."""
        validity, values, texts = buffers
        parts = [validity, values] if texts is None else [validity, values, texts.slice(0, text_bytes)]
        return arrow().Array.from_buffers(self._type, rows, parts)


def _kind(value_type: Any) -> tuple[str, int]:
    if size := offset_bytes(value_type):
        return "text", size
    size = value_bytes(value_type)
    return ("value", size) if size else ("bit", 1)


def _input(values: Any) -> tuple[Any, int, Any, int, Any]:
    """Return the sort core's input for an array: validity, values, offsets or bits, and texts."""
    validity, data, *texts = values.buffers()
    if not values.null_count:
        validity = None
    first, size = values.offset, offset_bytes(values.type) or value_bytes(values.type)
    if size and data is not None:
        data = data.slice(first * size)
    return validity, first, data, first, texts[0] if texts else None


def _sum_of_texts(packed: Sequence[Any], column: int) -> int:
    return sum(part.text_bytes(column) for part in packed)
