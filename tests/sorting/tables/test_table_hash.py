"""A checksum of rows depends only on their values."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from planner.native import core
from planner.sorting.tables.table_hash import row_hashes, rows_checksum

ROWS = 500
COLUMNS: dict[str, Any] = {
    "numbers": pa.array([n % 97 if n % 5 else None for n in range(ROWS)], pa.int16()),
    "texts": pa.array([f"{n}" * (n % 40) if n % 7 else None for n in range(ROWS)]),
    "bits": pa.array([None if n % 4 == 0 else n % 2 == 0 for n in range(ROWS)]),
    "lists": pa.array([[1, None, 3][: n % 4] if n % 5 else None for n in range(ROWS)]),
    "pairs": pa.array([[n, n + 1] if n % 3 else None for n in range(ROWS)], pa.list_(pa.int32(), 2)),
    "records": pa.array([{"x": n, "y": str(n)} if n % 7 else None for n in range(ROWS)]),
    "maps": pa.array([[("k", n)] * (n % 3) for n in range(ROWS)], pa.map_(pa.string(), pa.int64())),
    "names": pa.array([f"kind {n % 9}" if n % 3 else None for n in range(ROWS)]).dictionary_encode(),
    "money": pa.array([Decimal(n) / 8 for n in range(ROWS)], pa.decimal128(30, 4)),
    "bytes": pa.array([b"%05d" % n for n in range(ROWS)], pa.binary(5)),
    "dates": pa.array([date(2020, 1, 1 + n % 28) for n in range(ROWS)]),
    "nothing": pa.nulls(ROWS),
}


def test_neither_order_nor_chunks_count() -> None:
    table = pa.table(COLUMNS)
    shuffled = table.take(np.random.default_rng(1).permutation(ROWS))
    cut = pa.concat_tables([shuffled.slice(0, 3), shuffled.slice(3, 100), shuffled.slice(103)])
    assert rows_checksum(cut) == rows_checksum(table) == int(row_hashes(table).astype(np.uint64).sum())


@pytest.mark.parametrize("name", sorted(set(COLUMNS) - {"nothing"}))
def test_another_value_in_one_row_has_another_hash(name: str) -> None:
    table = pa.table({"a": COLUMNS[name], "b": pa.array(range(ROWS))})
    values = COLUMNS[name].to_pylist()
    values[11] = None
    changed = row_hashes(pa.table({"a": pa.array(values, COLUMNS[name].type), "b": pa.array(range(ROWS))}))
    assert np.flatnonzero(changed != row_hashes(table)).tolist() == [11]


def test_how_values_are_stored_does_not_count() -> None:
    plain = pa.table({"t": COLUMNS["names"].cast(pa.string())})
    for other in (COLUMNS["names"], plain["t"].cast(pa.large_string()), plain["t"].cast(pa.string_view())):
        assert rows_checksum(pa.table({"t": other})) == rows_checksum(plain)


def test_values_that_change_columns_are_others() -> None:
    assert rows_checksum(pa.table({"a": [1], "b": [2]})) != rows_checksum(pa.table({"a": [2], "b": [1]}))
    assert rows_checksum(pa.table({"a": [""]})) != rows_checksum(pa.table({"a": [None]}, pa.schema([("a", "string")])))
    assert rows_checksum(pa.table({"a": ["a\0"]})) != rows_checksum(pa.table({"a": ["a"]}))


def test_hashes_of_many_rows_hardly_meet() -> None:
    hashes = row_hashes(pa.table({"a": pa.array(range(100_000)), "b": pa.array(["same"] * 100_000)}))
    assert len(np.unique(hashes)) > 99_990


def test_no_rows() -> None:
    assert rows_checksum(pa.table(COLUMNS).slice(0, 0)) == 0


def test_checksums_stay_as_they_were_stored() -> None:
    assert rows_checksum(pa.table(COLUMNS)) == 1_061_414_501_628


@pytest.mark.parametrize("ends", [[0, 5], [3, 1], [-1, 2]])
def test_a_text_outside_its_buffer_is_refused(ends: list[int]) -> None:
    with pytest.raises(core.RecordError):
        core.hash_texts(np.array(ends, np.int32), b"four", np.zeros(1, np.uint64), offset_bytes=4)


def test_buffers_of_another_size_are_refused() -> None:
    hashes = np.zeros(2, np.uint64)
    with pytest.raises(ValueError, match="another size"):
        core.hash_values(b"abc", hashes, width=2)
    with pytest.raises(ValueError, match="offsets"):
        core.hash_texts(np.zeros(2, np.int32), b"", hashes, offset_bytes=4)
    with pytest.raises(ValueError, match="hashes"):
        core.add_hashes(hashes, np.zeros(3, np.uint64), place=0)
