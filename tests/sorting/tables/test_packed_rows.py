"""Rows that are packed and taken again equal those that pyarrow takes from the same table."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from planner.sorting.tables import packed_rows
from planner.sorting.tables.packed_rows import PackedBatch, PackedTable, Packing
from planner.sorting.tables.table_keys import ColumnKey
from tests.sorting.arrow_tables import random_table


def packed(table: Any, packing: Packing, *, batch_rows: int) -> list[PackedBatch]:
    """Return all parts of a table."""
    batches = table.to_batches(max_chunksize=batch_rows)
    return [part for batch in batches for part in packing.pack(batch)]


@pytest.mark.parametrize("batch_rows", [1, 7, 1000])
def test_rows_of_every_type_come_as_pyarrow_takes_them(batch_rows: int) -> None:
    chance = random.Random(batch_rows)
    table = random_table(chance, 300).slice(5)  # so that values begin within their buffers
    for names in (table.column_names, ["name"], ["flag", "small"], ["list"], ["color", "day"]):
        part = table.select(names)
        packing = Packing(part.schema, [ColumnKey(0)])
        rows = PackedTable(packed(part, packing, batch_rows=batch_rows), packing)
        for count in (0, 1, 64, 65, 500):
            wanted = np.array([chance.randrange(part.num_rows) for _ in range(count)], np.uint32)
            ours = rows.at(wanted)
            ours.validate(full=True)
            assert ours.schema.equals(part.schema, check_metadata=True)
            assert str(ours.to_pylist()) == str(part.take(pa.array(wanted)).to_pylist())  # NaN is as good as NaN


def test_what_keys_need_is_kept_beside_and_what_is_not_packed() -> None:
    table = random_table(random.Random(3), 10)
    packing = Packing(table.schema, [ColumnKey(table.column_names.index("name"), descending=True)])
    (batch,) = packed(table, packing, batch_rows=10)
    assert batch.unpacked.schema.names == ["name", "color", "list", "pair"]
    assert packing.keys == [ColumnKey(0, descending=True)]


def test_texts_that_are_longer_than_most(monkeypatch: pytest.MonkeyPatch) -> None:
    table = pa.table({"text": ["x" * (1000 if row % 100 == 0 else 1) for row in range(1000)]})
    packing = Packing(table.schema, [])
    rows = PackedTable(packed(table, packing, batch_rows=64), packing)
    long_ones = np.arange(0, 1000, 100, dtype=np.uint32)
    assert rows.at(long_ones).column("text").to_pylist() == ["x" * 1000] * 10
    rows._columns[0].most_text_bytes = 2500
    pieces = rows.at(long_ones).column("text")
    assert pieces.num_chunks > 1
    assert pieces.to_pylist() == ["x" * 1000] * 10
    monkeypatch.setattr(packed_rows, "MOST_PACKED_BYTES", 3000)
    parts = packed(table, packing, batch_rows=1000)
    assert len(parts) > 2
    assert PackedTable(parts, packing).at(np.arange(1000, dtype=np.uint32)).equals(table)


def test_rows_that_are_not_there_and_other_columns_are_refused() -> None:
    table = pa.table({"n": [1, 2]})
    packing = Packing(table.schema, [])
    rows = PackedTable(packed(table, packing, batch_rows=2), packing)
    with pytest.raises(ValueError, match="a row is not in the table"):
        rows.at(np.array([2], np.uint32))
    other = Packing(table.schema, [])
    with pytest.raises(ValueError, match="a batch is of another packer"):
        PackedTable([*packed(table, packing, batch_rows=2), *packed(table, other, batch_rows=2)], packing)
