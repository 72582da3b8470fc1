"""The order of a table's rows: keys as bytes of one size, sorted by the sort core with all threads.

Each key column becomes an unsigned number of 1 to 16 bytes: long texts by their rank among those of the column. The
numbers stand one after another, the row's own behind them, and the sort core sorts these records. What has no such
number is left to pyarrow.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from planner.native import core
from planner.sorting.table_keys import KeyColumn, arrow

_MOST_TEXT_BYTES: Final = 15
_SAMPLED_ROWS: Final = 10_000
_FEWEST_PAIRS: Final = 20
"""Equal pairs in the sample that tell how many values there are."""
_REPEATED: Final = 4
"""So many rows to a value, and a dictionary is faster than ranks."""


def bytes_beside_row(key_types: Sequence[Any]) -> int:
    """Return how many bytes the order of a row takes at most, beside the row itself, while it is found."""
    place_bytes, entry_bytes, most_bytes, null_bytes = 8, 12, 16, 2
    sizes = [min(key_type.bit_width // 8, most_bytes) if _has_width(key_type) else most_bytes for key_type in key_types]
    return 2 * (sum(sizes) + null_bytes * len(sizes) + place_bytes) + place_bytes + entry_bytes


def _has_width(key_type: Any) -> bool:
    types = arrow("pyarrow.types")
    return bool(types.is_primitive(key_type) or types.is_decimal(key_type))


def row_order(parts: Sequence[KeyColumn], rows: int) -> Any:
    """Return the places of rows in order; equal ones as they were."""
    numbers = [_numbers(part) for part in parts]
    if rows < 2 or any(number is None for number in numbers):  # nothing to sort
        return _order_of_pyarrow(parts)
    return _order_of_numbers(numbers, rows)


def _order_of_pyarrow(parts: Sequence[KeyColumn]) -> Any:
    names = [str(number) for number in range(len(parts))]
    table = arrow().table([part.values for part in parts], names=names)
    order = [(name, "descending" if part.descending else "ascending") for name, part in zip(names, parts, strict=True)]
    return arrow("pyarrow.compute").sort_indices(table, sort_keys=order)


def _order_of_numbers(numbers: list[Any], rows: int) -> Any:
    import numpy as np

    key_bytes = sum(number.shape[1] for number in numbers)
    place_bytes = 4 if rows < 2**32 else 8
    records = np.empty((rows, key_bytes + place_bytes), np.uint8)
    begin = 0
    while numbers:
        number = numbers.pop(0)
        records[:, begin : begin + number.shape[1]] = number
        begin += number.shape[1]
    places = np.arange(rows, dtype=f">u{place_bytes}")
    records[:, key_bytes:] = places.view(np.uint8).reshape(rows, place_bytes)
    core.sort_records_in_place(records.data, record_bytes=records.shape[1], key_offset=0, key_bytes=records.shape[1])
    return arrow().array(np.ascontiguousarray(records[:, key_bytes:]).view(f">u{place_bytes}")[:, 0].astype(np.uint64))


def _numbers(part: KeyColumn) -> Any:
    """Return a row of bytes for each value, which compare as the values do; None if there are none for the type."""
    import numpy as np

    values = part.values
    values = values.combine_chunks() if hasattr(values, "combine_chunks") else values
    if hasattr(values, "chunks"):  # too long for one
        return None
    number = _unsigned(values)
    return number if number is None or not part.descending else np.bitwise_not(number)


def _unsigned(values: Any) -> Any:
    import numpy as np

    types = arrow("pyarrow.types")
    if types.is_binary(values.type) or types.is_large_binary(values.type) or types.is_fixed_size_binary(values.type):
        short = _padded(values)
        return _as_bytes(_ranks(values)) if short is None else short
    if types.is_decimal(values.type):
        return _of_decimals(values) if values.type.bit_width == 128 else None  # of which numpy has none
    if not (types.is_integer(values.type) or types.is_float32(values.type) or types.is_float64(values.type)):
        return None
    plain = (values.fill_null(0) if values.null_count else values).to_numpy(zero_copy_only=False)
    size = plain.dtype.itemsize
    if plain.dtype.kind == "u":
        return _as_bytes(plain)
    bits = plain.view(f"u{size}")
    sign = bits.dtype.type(1 << (8 * size - 1))
    if plain.dtype.kind == "i":
        return _as_bytes(bits ^ sign)
    return _as_bytes(np.where(bits & sign, ~bits, bits | sign))


def _as_bytes(numbers: Any) -> Any:
    import numpy as np

    return numbers.astype(numbers.dtype.newbyteorder(">")).view(np.uint8).reshape(len(numbers), numbers.dtype.itemsize)


def _of_decimals(values: Any) -> Any:
    import numpy as np

    size = values.type.byte_width
    stored = np.frombuffer(values.buffers()[1], np.uint8, count=len(values) * size, offset=values.offset * size)
    number = stored.reshape(len(values), size)[:, ::-1].copy()
    number[:, 0] ^= 0x80
    if values.null_count:
        number[values.is_null().to_numpy(zero_copy_only=False)] = 0
    return number


def _padded(values: Any) -> Any:
    """Return short texts with zeros behind them and their lengths; None if there are longer ones."""
    import numpy as np

    compute, library = arrow("pyarrow.compute"), arrow()
    if arrow("pyarrow.types").is_fixed_size_binary(values.type):
        return None
    lengths = compute.binary_length(values)
    longest = compute.max(lengths).as_py() or 0
    if longest > _MOST_TEXT_BYTES:
        return None
    text = library.large_string() if arrow("pyarrow.types").is_large_binary(values.type) else library.string()
    filled = compute.fill_null(values.view(text), "") if values.null_count else values.view(text)
    padded = compute.ascii_rpad(filled, width=longest, padding="\0") if longest else filled
    numbers = np.empty((len(values), longest + 1), np.uint8)
    if longest:
        data = np.frombuffer(padded.buffers()[2], np.uint8, len(values) * longest)
        numbers[:, :longest] = data.reshape(len(values), longest)
    numbers[:, longest] = lengths.fill_null(0).to_numpy(zero_copy_only=False)
    return numbers


def _ranks(values: Any) -> Any:
    """Return of each text its rank among those of the column; of nulls any."""
    import numpy as np

    compute = arrow("pyarrow.compute")
    if not _has_few_values(values):
        return compute.rank(values, tiebreaker="dense").to_numpy().astype(np.uint32)
    coded = values.dictionary_encode()
    order = compute.sort_indices(coded.dictionary).to_numpy()
    ranks = np.empty(len(order) + 1, np.uint32)
    ranks[order] = np.arange(len(order), dtype=np.uint32)
    return ranks[coded.indices.fill_null(len(order)).to_numpy(zero_copy_only=False)]


def _has_few_values(values: Any) -> bool:
    """Whether a sample has so many equal pairs that most values come several times."""
    import numpy as np

    rows = len(values)
    if rows <= _SAMPLED_ROWS:
        return False
    places = np.random.default_rng(rows).integers(0, rows, _SAMPLED_ROWS)
    pairs = _SAMPLED_ROWS - len(values.take(arrow().array(places)).unique())
    return pairs >= _FEWEST_PAIRS and _SAMPLED_ROWS**2 / (2 * pairs) * _REPEATED <= rows
