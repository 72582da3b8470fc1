"""The order of a table's rows: keys as bytes of one size, sorted by the sort core with all threads.

Each key column becomes an unsigned number of 1 to 16 bytes: long texts by their rank in the column. The numbers are
concatenated, and the sort core returns the order of these records. Types without such a number are left to pyarrow.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, Final, NamedTuple

import numpy as np

from planner.native import core
from planner.sorting.tables.arrow_library import arrow
from planner.sorting.tables.table_keys import KeyColumn
from planner.sorting.tables.table_rows import are_null, array_of, numbers_of

_MOST_TEXT_BYTES: Final = 15
_SAMPLED_ROWS: Final = 10_000
_FEWEST_PAIRS: Final = 20
"""Fewest equal pairs in the sample for an estimate of the number of distinct values."""
_REPEATED: Final = 4
"""Rows per value from which a dictionary is faster than ranks."""
_FEWEST_SHARED: Final = 8
"""Number of chunks from which threads are worth starting."""
_FEWEST_ROWS: Final = 4096
"""Chunks of fewer rows on average are joined into one piece."""


def extra_bytes_per_row(key_types: Sequence[Any]) -> int:
    """Return the greatest number of bytes per row that finding the order takes, in addition to the row itself.

    A key's number has up to 16 bytes and two for nulls and NaN. Ranks of texts, and numbers without NaN, take up to 20
    more while they are made.
    """
    place_bytes, entry_bytes, most_bytes, null_bytes, making_bytes = 8, 12, 16, 2, 20
    key_types = [leaf for key_type in key_types for leaf in _leaf_types(key_type)]
    sizes = [min(key_type.bit_width // 8, most_bytes) if _has_width(key_type) else most_bytes for key_type in key_types]
    return sum(sizes) + (null_bytes + making_bytes) * len(sizes) + place_bytes + entry_bytes


def _leaf_types(key_type: Any) -> list[Any]:
    """Return the types of the fields of a struct, which are sorted in turn."""
    if not arrow("pyarrow.types").is_struct(key_type):
        return [key_type]
    return [leaf for field in key_type for leaf in _leaf_types(field.type)]


def _has_width(key_type: Any) -> bool:
    types = arrow("pyarrow.types")
    return bool(types.is_primitive(key_type) or types.is_decimal(key_type))


def row_order(parts: Sequence[KeyColumn], rows: int) -> Any:
    """Return the indices of rows in order, as 32-bit numbers; equal rows keep their order."""
    encoders = [_encoder(part) for part in parts]
    if rows < 2 or any(encoder is None for encoder in encoders):  # nothing to sort
        return _order_of_pyarrow(parts)
    return _order_of_numbers(encoders, rows)


def _order_of_pyarrow(parts: Sequence[KeyColumn]) -> Any:
    names = [str(number) for number in range(len(parts))]
    table = arrow().table([part.values for part in parts], names=names)
    order = [(name, "descending" if part.descending else "ascending") for name, part in zip(names, parts, strict=True)]
    return arrow("pyarrow.compute").sort_indices(table, sort_keys=order).to_numpy().astype(np.uint32)


def _order_of_numbers(encoders: Sequence[Any], rows: int) -> Any:
    record_bytes = sum(encoder.width for encoder in encoders)
    records, order = _pool_array(rows * record_bytes).reshape(rows, record_bytes), _pool_array(4 * rows).view(np.uint32)
    _write_numbers(encoders, records)
    core.record_order(records.data, order.data, record_bytes=record_bytes)
    return order


def _pool_array(size: int) -> Any:
    """Return bytes of pyarrow's pool, which returns them to the system: glibc keeps some for each thread of a run."""
    return np.frombuffer(arrow().allocate_buffer(size), np.uint8)


def _write_numbers(encoders: Sequence[Any], records: Any) -> None:
    """Write the numbers chunk by chunk, so that intermediate ones stay in the cache; threads share the chunks."""
    tasks = []
    column = 0
    for encoder in encoders:
        row = 0
        for chunk in encoder.chunks:
            tasks.append((encoder, chunk, records[row : row + len(chunk), column : column + encoder.width]))
            row += len(chunk)
        column += encoder.width
    if len(tasks) < _FEWEST_SHARED:
        for task in tasks:
            _write_chunk(task)
        return
    with ThreadPoolExecutor(arrow().cpu_count()) as pool:
        for _ in pool.map(_write_chunk, tasks):
            pass


def _write_chunk(task: tuple[Any, Any, Any]) -> None:
    encoder, chunk, out = task
    numbers = encoder.numbers(chunk)
    out[:] = np.bitwise_not(numbers) if encoder.descending else numbers


class _Encoder(NamedTuple):
    """Encoder of values as numbers of `width` bytes, highest first, that compare as the values do."""

    width: int
    chunks: Sequence[Any]
    numbers: Callable[[Any], Any]
    descending: bool


def _encoder(part: KeyColumn) -> _Encoder | None:
    """Return the encoder of a column; None for a type that cannot be numbered."""
    types, column_type = arrow("pyarrow.types"), part.values.type
    chunks = _chunks(part.values)
    if types.is_binary(column_type) or types.is_large_binary(column_type):
        longest = max((_longest_bytes(chunk) for chunk in chunks), default=0)
        if longest <= _MOST_TEXT_BYTES:
            return _Encoder(longest + 1, chunks, partial(_pad, longest=longest), part.descending)
    if types.is_binary(column_type) or types.is_large_binary(column_type) or types.is_fixed_size_binary(column_type):
        whole = part.values.combine_chunks() if hasattr(part.values, "chunks") else part.values
        if hasattr(whole, "chunks"):  # too long for one chunk
            return None
        return _Encoder(4, [_ranks(whole)], _as_bytes, part.descending)
    if types.is_decimal(column_type):
        return _encoder_of_decimals(part, chunks) if column_type.bit_width == 128 else None
    if types.is_integer(column_type) or types.is_float32(column_type) or types.is_float64(column_type):
        return _Encoder(np.dtype(column_type.to_pandas_dtype()).itemsize, chunks, _of_numbers, part.descending)
    return None


def _chunks(values: Any) -> list[Any]:
    """Return the chunks of a column, small ones joined: each costs as much time as some thousand rows."""
    if not hasattr(values, "chunks"):
        return [values]
    if values.num_chunks > 1 and len(values) < values.num_chunks * _FEWEST_ROWS:
        values = values.combine_chunks()
    chunks = values.chunks if hasattr(values, "chunks") else [values]
    return [chunk for chunk in chunks if len(chunk)]  # empty ones may lack their buffers


def _of_numbers(values: Any) -> Any:
    plain = numbers_of(values.fill_null(0) if values.null_count else values)
    size = plain.dtype.itemsize
    if plain.dtype.kind == "u":
        return _as_bytes(plain)
    bits = plain.view(f"u{size}")
    sign = bits.dtype.type(1 << (8 * size - 1))
    if plain.dtype.kind == "i":
        return _as_bytes(bits ^ sign)
    return _as_bytes(np.where(bits & sign, ~bits, bits | sign))


def _as_bytes(numbers: Any) -> Any:
    return numbers.astype(numbers.dtype.newbyteorder(">")).view(np.uint8).reshape(len(numbers), numbers.dtype.itemsize)


def _encoder_of_decimals(part: KeyColumn, chunks: Sequence[Any]) -> _Encoder:
    """Return an encoder of 8 bytes if they hold all values; numpy has no larger numbers."""

    def low_half(chunk: Any) -> Any:
        low = _words(chunk)[:, 0]
        if chunk.null_count:
            low = np.where(are_null(chunk), np.int64(0), low)
        return _as_bytes(low.view(np.uint64) ^ np.uint64(1 << 63))

    are_low = (np.array_equal(words[:, 1], words[:, 0] >> 63) for words in map(_words, chunks))
    width, numbers = (8, low_half) if all(are_low) else (16, _of_decimals)
    return _Encoder(width, chunks, numbers, part.descending)


def _words(values: Any) -> Any:
    """Return decimals as two words each, the lower first; nulls may have any value."""
    stored = np.frombuffer(values.buffers()[1], np.int64, count=2 * len(values), offset=values.offset * 16)
    return stored.reshape(len(values), 2)


def _of_decimals(values: Any) -> Any:
    number = _words(values).view(np.uint8)[:, ::-1].copy()
    number[:, 0] ^= 0x80
    if values.null_count:
        number[are_null(values)] = 0
    return number


def _longest_bytes(values: Any) -> int:
    compute = arrow("pyarrow.compute")
    return compute.max(compute.binary_length(values)).as_py() or 0


def _pad(values: Any, *, longest: int) -> Any:
    """Return short texts padded with zeros and followed by their lengths."""
    compute, library = arrow("pyarrow.compute"), arrow()
    text = library.large_string() if arrow("pyarrow.types").is_large_binary(values.type) else library.string()
    filled = compute.fill_null(values.view(text), "") if values.null_count else values.view(text)
    padded = compute.ascii_rpad(filled, width=longest, padding="\0") if longest else filled
    numbers = np.empty((len(values), longest + 1), np.uint8)
    if longest:
        begin = padded.offset * longest
        numbers[:, :longest] = np.frombuffer(padded.buffers()[2], np.uint8, len(values) * longest, begin).reshape(
            len(values), longest
        )
    numbers[:, longest] = numbers_of(compute.binary_length(filled))
    return numbers


def _ranks(values: Any) -> Any:
    """Return the rank of each text in the column; nulls may have any rank."""
    compute = arrow("pyarrow.compute")
    if not _has_few_values(values):
        return numbers_of(compute.rank(values, tiebreaker="dense")).astype(np.uint32)
    coded = values.dictionary_encode()
    order = numbers_of(compute.sort_indices(coded.dictionary))
    ranks = np.empty(len(order) + 1, np.uint32)
    ranks[order] = np.arange(len(order), dtype=np.uint32)
    return ranks[numbers_of(coded.indices.fill_null(len(order)))]


def _has_few_values(values: Any) -> bool:
    """Return whether a sample has enough equal pairs to show that most values repeat several times."""
    rows = len(values)
    if rows <= _SAMPLED_ROWS:
        return False
    places = np.random.default_rng(rows).integers(0, rows, _SAMPLED_ROWS)
    pairs = _SAMPLED_ROWS - len(values.take(array_of(places)).unique())
    return pairs >= _FEWEST_PAIRS and _SAMPLED_ROWS**2 / (2 * pairs) * _REPEATED <= rows
