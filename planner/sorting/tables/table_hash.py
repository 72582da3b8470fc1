"""A hash of every row of an Arrow table; the sum of the hashes shows lost or changed rows in any order.

It depends on the values alone: not on chunks, on dictionaries, or on the size of offsets. Values become words of 64
bits, multiplied by an odd number for each place and added; the finalizer of MurmurHash3 (Appleby, 2011) mixes the sum.
"""

from __future__ import annotations

import threading
from typing import Any, Final

import numpy as np

from planner.native import core
from planner.sorting.tables.arrow_library import arrow
from planner.sorting.tables.table_rows import are_null, numbers_of

_NULL: Final = np.uint64(0x6E756C6C)
_HASH_BITS: Final = 32
_ALL_BITS: Final = (1 << 64) - 1


def rows_checksum(table: Any) -> int:
    """Return the sum of the rows' 32-bit hashes, just as the checksum of records is a sum of CRC-32."""
    return int(row_hashes(table).sum(dtype=np.uint64))


def row_hashes(table: Any) -> Any:
    """Return a 32-bit number for each row. Raises TypeError for a type that Parquet cannot hold."""
    together = np.zeros(table.num_rows, np.uint64)
    for place, column in enumerate(table.columns):
        row = 0
        for chunk in column.chunks:
            core.add_hashes(_hashes(chunk), together[row : row + len(chunk)].data, place=place)
            row += len(chunk)
    return (_mix(together) >> np.uint64(_HASH_BITS)).astype(np.uint32)


class Checksums:
    """Sums, over rows in any order, of the hashes of each column's values and of whole rows; equal for equal rows."""

    def __init__(self) -> None:
        self.rows = 0
        self.columns: dict[str, int] = {}
        self._together = 0
        self._adding = threading.Lock()

    def add(self, batch: Any) -> None:
        """Add the rows of a record batch; threads may do so at the same time."""
        together = np.zeros(batch.num_rows, np.uint64)
        sums = {}
        for place, (name, column) in enumerate(zip(batch.schema.names, batch.columns, strict=True)):
            sums[name] = core.add_hashes(_hashes(column), together.data, place=place)
        whole = int(_mix(together).sum(dtype=np.uint64))
        with self._adding:
            self.rows += batch.num_rows
            self._together = (self._together + whole) & _ALL_BITS
            for name, added in sums.items():
                self.columns[name] = (self.columns.get(name, 0) + added) & _ALL_BITS

    def difference(self, other: Checksums) -> list[str]:
        """Return what differs: columns, rows or their number; nothing for the same rows in any order."""
        names = [
            name for name in {**self.columns, **other.columns} if self.columns.get(name) != other.columns.get(name)
        ]
        found = [f"column {name!r} has other values" for name in names if self.rows and other.rows]
        if self.rows != other.rows:
            found.insert(0, f"{self.rows} rows became {other.rows}")
        return found or (["values went to other rows"] if self._together != other._together else [])


def _hashes(values: Any) -> Any:
    """Return 64 bits for each value of an array; nulls are equal."""
    hashes = _of_type(values, arrow("pyarrow.types"))
    if values.null_count:
        hashes[are_null(values)] = _NULL
    return hashes


def _of_type(values: Any, types: Any) -> Any:
    value_type = values.type
    if hasattr(value_type, "storage_type"):
        return _hashes(values.storage)
    if types.is_dictionary(value_type):
        places = numbers_of(values.indices.fill_null(0).cast("int64"))
        return _hashes(values.dictionary)[places] if len(values.dictionary) else np.full(len(values), _NULL)
    if types.is_null(value_type):
        return np.full(len(values), _NULL)
    if types.is_struct(value_type):
        together = np.zeros(len(values), np.uint64)
        for place in range(value_type.num_fields):
            core.add_hashes(_hashes(values.field(place)), together.data, place=place)
        return together
    if types.is_fixed_size_list(value_type):
        size = value_type.list_size
        ends = np.arange(len(values) + 1, dtype=np.int64) * size
        return _of_lists(values.values.slice(values.offset * size, len(values) * size), ends)
    if types.is_list(value_type) or types.is_large_list(value_type) or types.is_map(value_type):
        return _of_stretches(values)
    return _of_flat(values, types)


def _of_flat(values: Any, types: Any) -> Any:
    library, value_type = arrow(), values.type
    if types.is_boolean(value_type):
        return _of_flat(values.cast("uint8"), types)
    if types.is_string_view(value_type) or types.is_binary_view(value_type):
        return _of_texts(values.cast(library.large_binary()))
    if types.is_string(value_type) or types.is_large_string(value_type):
        return _of_texts(values.view(library.binary() if types.is_string(value_type) else library.large_binary()))
    if types.is_binary(value_type) or types.is_large_binary(value_type):
        return _of_texts(values)
    if types.is_run_end_encoded(value_type):
        return _hashes(arrow("pyarrow.compute").run_end_decode(values))
    if not (types.is_primitive(value_type) or types.is_decimal(value_type) or types.is_fixed_size_binary(value_type)):
        raise TypeError(f"rows with values of type {value_type} have no checksum")
    width = value_type.bit_width // 8
    hashes = np.empty(len(values), np.uint64)
    core.hash_values(_bytes(values.buffers()[1], values.offset * width, len(values) * width), hashes.data, width=width)
    return hashes


def _of_stretches(values: Any) -> Any:
    """Return hashes of lists from their offsets."""
    ends = numbers_of(values.offsets.cast("int64"))
    return _of_lists(values.values.slice(int(ends[0]), int(ends[-1] - ends[0])), ends - ends[0])


def _of_lists(items: Any, ends: Any) -> Any:
    """Return hashes of lists of `items`: each begins at the end of the previous one."""
    lengths = np.diff(ends)
    place = np.arange(ends[-1]) - np.repeat(ends[:-1], lengths)
    sums = np.zeros(len(items) + 1, np.uint64)
    np.cumsum(_mix(_hashes(items) + _odds(place)), out=sums[1:])
    return _mix(sums[ends[1:]] - sums[ends[:-1]] + _odds(lengths))


def _of_texts(values: Any) -> Any:
    """Return hashes of byte strings of any length."""
    size = 8 if arrow("pyarrow.types").is_large_binary(values.type) else 4
    _, offsets, texts = values.buffers()
    hashes = np.empty(len(values), np.uint64)
    begins = _bytes(offsets, values.offset * size, (len(values) + 1) * size if len(values) else 0)
    core.hash_texts(begins, texts or b"", hashes.data, offset_bytes=size)
    return hashes


def _bytes(buffer: Any, begin: int, size: int) -> Any:
    return np.frombuffer(buffer or b"", np.uint8, count=size, offset=begin if size else 0)


def _odds(places: Any) -> Any:
    """Return an odd number for each place, without a pattern."""
    return _mix(places.astype(np.uint64) + np.uint64(0x9E3779B97F4A7C15)) | np.uint64(1)


def _mix(words: Any) -> Any:
    mixed = words ^ (words >> np.uint64(33))
    mixed = mixed * np.uint64(0xFF51AFD7ED558CCD)
    mixed ^= mixed >> np.uint64(33)
    mixed *= np.uint64(0xC4CEB9FE1A85EC53)
    mixed ^= mixed >> np.uint64(33)
    return mixed
