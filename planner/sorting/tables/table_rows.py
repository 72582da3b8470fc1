"""Rows of Arrow record batches, which the sort core copies in any order from where they lie.

Fixed-size values and text are copied from the batches directly. Other columns (dictionaries, lists, structs, views) are
left to pyarrow, which first joins them into one piece.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, Protocol

import numpy as np

from planner.native import core
from planner.sorting.tables.arrow_library import arrow
from planner.sorting.tables.table_keys import dictionary_without_views, without_views

MOST_ROWS: Final = 2**32 - 2
"""The sort core numbers rows with 32 bits."""
MOST_OFFSET: Final = {4: 2**31 - 1, 8: 2**63 - 1}
"""Greatest offset by size of the offset in bytes."""


class _Column(Protocol):
    def take(self, rows: Any) -> Any:
        """Return an array or a chunked array of the values at these rows."""


class TableRows:
    """The rows of record batches with one schema, at most `MOST_ROWS`."""

    def __init__(self, batches: Sequence[Any], schema: Any) -> None:
        self._schema = schema
        self._places = core.ChunkedRows([batch.num_rows for batch in batches])
        self._columns = [
            _column(field.type, [batch.column(number) for batch in batches], self._places)
            for number, field in enumerate(schema)
        ]

    def at(self, rows: Any) -> Any:
        """Return a table of these rows, given as 32-bit numbers in a numpy array."""
        return self._table([column.take(rows) for column in self._columns], len(rows))

    def take_all(self, rows: Any) -> Any:
        """Return the same table, but drop each column once it is copied: these rows can be taken only once."""
        return self._table([self._columns.pop(0).take(rows) for _ in range(len(self._columns))], len(rows))

    def _table(self, columns: list[Any], rows: int) -> Any:
        library = arrow()
        return library.table(columns, schema=self._schema) if columns else library.table({}).slice(0, rows)


def is_taken_in_place(value_type: Any) -> bool:
    """Return whether values of a type are copied from where they lie, without joining them first."""
    return bool(offset_bytes(value_type) or arrow("pyarrow.types").is_boolean(value_type) or value_bytes(value_type))


def offset_bytes(value_type: Any) -> int:
    """Return the size of the offsets of a text type; 0 for other types."""
    types = arrow("pyarrow.types")
    if types.is_string(value_type) or types.is_binary(value_type):
        return 4
    return 8 if types.is_large_string(value_type) or types.is_large_binary(value_type) else 0


def value_bytes(value_type: Any) -> int:
    """Return the bytes of a value; 0 if that is not a whole number or the size varies."""
    types = arrow("pyarrow.types")
    has_width = types.is_primitive(value_type) or types.is_decimal(value_type) or types.is_fixed_size_binary(value_type)
    return 0 if not has_width or types.is_boolean(value_type) else int(value_type.bit_width) // 8


def _column(value_type: Any, chunks: list[Any], places: Any) -> _Column:
    if not chunks or not is_taken_in_place(value_type):
        return OtherColumn(value_type, chunks)
    if size := offset_bytes(value_type):
        return _Texts(value_type, chunks, places, offset_bytes=size)
    return (_Values if value_bytes(value_type) else _Bits)(value_type, chunks, places)


class _Validity:
    """Validity of values; None if all are valid."""

    def __init__(self, chunks: Sequence[Any], places: Any) -> None:
        self._places = places
        self._bits = [(chunk.buffers()[0] if chunk.null_count else None, chunk.offset) for chunk in chunks]
        self._has_nulls = any(bits is not None for bits, _ in self._bits)

    def take(self, rows: Any) -> Any:
        if not self._has_nulls:
            return None
        taken = arrow().allocate_buffer(-(-len(rows) // 8))
        self._places.gather_bits(self._bits, rows, taken)
        return taken


class _Values:
    """Fixed-size values."""

    def __init__(self, value_type: Any, chunks: Sequence[Any], places: Any) -> None:
        self._type, self._places = value_type, places
        self._width = value_bytes(value_type)
        self._validity = _Validity(chunks, places)
        self._chunks = [_slice(chunk.buffers()[1], chunk.offset, len(chunk), self._width) for chunk in chunks]

    def take(self, rows: Any) -> Any:
        values = arrow().allocate_buffer(len(rows) * self._width)
        self._places.gather_values(self._chunks, rows, values, width=self._width)
        return arrow().Array.from_buffers(self._type, len(rows), [self._validity.take(rows), values])


class _Bits:
    """Booleans."""

    def __init__(self, value_type: Any, chunks: Sequence[Any], places: Any) -> None:
        self._type, self._places = value_type, places
        self._validity = _Validity(chunks, places)
        self._chunks = [(chunk.buffers()[1], chunk.offset) for chunk in chunks]

    def take(self, rows: Any) -> Any:
        bits = arrow().allocate_buffer(-(-len(rows) // 8))
        self._places.gather_bits(self._chunks, rows, bits)
        return arrow().Array.from_buffers(self._type, len(rows), [self._validity.take(rows), bits])


class _Texts:
    """Text and bytes of any length."""

    def __init__(self, value_type: Any, chunks: Sequence[Any], places: Any, *, offset_bytes: int) -> None:
        self._type, self._places, self._offset_bytes = value_type, places, offset_bytes
        self._validity = _Validity(chunks, places)
        self._offsets = [_slice(chunk.buffers()[1], chunk.offset, len(chunk) + 1, offset_bytes) for chunk in chunks]
        nothing = arrow().py_buffer(b"")
        self._texts = [chunk.buffers()[2] or nothing for chunk in chunks]

    def take(self, rows: Any) -> Any:
        """Return the texts, in several chunks if they have more bytes than offsets can count."""
        pieces = self._pieces(rows)
        return pieces[0] if len(pieces) == 1 else arrow().chunked_array(pieces, type=self._type)

    def _pieces(self, rows: Any) -> list[Any]:
        size = self._offset_bytes
        offsets = arrow().allocate_buffer((len(rows) + 1) * size)
        total = self._places.gather_offsets(self._offsets, rows, offsets, offset_bytes=size)
        if total > MOST_OFFSET[size]:
            half = len(rows) // 2
            return [*self._pieces(rows[:half]), *self._pieces(rows[half:])]
        texts = arrow().allocate_buffer(total)
        self._places.gather_texts(self._offsets, self._texts, rows, texts, offset_bytes=size)
        return [arrow().Array.from_buffers(self._type, len(rows), [self._validity.take(rows), offsets, texts])]


class OtherColumn:
    """A column of a type that the sort core does not support; pyarrow takes its values."""

    def __init__(self, value_type: Any, chunks: Sequence[Any]) -> None:
        self._type = value_type
        some = [chunk for chunk in chunks if len(chunk)] or [arrow().nulls(0, value_type)]
        self._whole = _make_takeable(arrow().chunked_array(some, type=value_type))

    def take(self, rows: Any) -> Any:
        taken = self._whole.take(array_of(rows))
        if arrow("pyarrow.types").is_run_end_encoded(self._type):
            return arrow("pyarrow.compute").run_end_encode(taken, run_end_type=self._type.run_end_type)
        return taken.cast(self._type)


def array_of(numbers: Any) -> Any:
    """Return an array of numpy's numbers, without a copy; `pyarrow.array` would load pandas, which takes a while."""
    number_type = arrow().from_numpy_dtype(numbers.dtype)
    return arrow().Array.from_buffers(number_type, len(numbers), [None, arrow().py_buffer(numbers)])


def numbers_of(values: Any) -> Any:
    """Return numbers without nulls, without a copy: `to_numpy` would load pandas, which takes a quarter of a second."""
    count, dtype = len(values), np.dtype(values.type.to_pandas_dtype())
    return np.frombuffer(values.buffers()[1] or b"", dtype, count, values.offset * dtype.itemsize if count else 0)


def are_null(values: Any) -> Any:
    """Return for each value whether it is null, in a numpy array."""
    return numbers_of(values.is_null().cast("uint8")).view(bool)


def _slice(buffer: Any, first: int, count: int, size: int) -> Any:
    """Return `count` values of `size` bytes, starting at value `first`."""
    return arrow().py_buffer(b"") if not buffer or not buffer.size else buffer.slice(first * size, count * size)


def _make_takeable(column: Any) -> Any:
    """Return a column whose values pyarrow can take: in one piece, with one dictionary, no views."""
    library, types = arrow(), arrow("pyarrow.types")
    if types.is_dictionary(column.type):
        column = _unify_dictionaries(dictionary_without_views(column))
    elif types.is_run_end_encoded(column.type):
        column = arrow("pyarrow.compute").run_end_decode(column)
    elif (plain := without_views(column.type)) != column.type:
        column = column.cast(plain)
    return column if column.num_chunks == 1 else library.chunked_array([column.combine_chunks()], type=column.type)


def _unify_dictionaries(column: Any) -> Any:
    """Return a column whose chunks have one dictionary."""
    if any(chunk.dictionary.null_count for chunk in column.chunks):  # pyarrow cannot unify these
        return column.cast(column.type.value_type).dictionary_encode().cast(column.type)
    return column.unify_dictionaries()
