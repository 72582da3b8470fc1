"""Rows taken from record batches in place, compared with the rows that pyarrow takes."""

from __future__ import annotations

import random
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from planner.sorting.tables import table_rows
from planner.sorting.tables.table_rows import TableRows

ROWS = 400
TYPES: dict[str, Any] = {
    "int8": lambda i: i % 100,
    "int16": lambda i: i,
    "float": lambda i: i / 3,
    "int64": lambda i: i - 200,
    "decimal128(9, 2)": lambda i: Decimal(i) / 4,
    "decimal256(50, 0)": Decimal,
    "bool": lambda i: i % 3 == 0,
    "string": lambda i: "x" * (i % 40) + str(i),
    "large_binary": lambda i: b"\0" * (i % 5),
    "fixed": lambda i: b"%05d" % i,
    "dictionary": lambda i: f"value {i % 7}",
    "list": lambda i: list(range(i % 4)),
    "view": lambda i: f"a text that is too long for a view {i}",
    "null": lambda i: None,
}
ARROW = {
    "int8": pa.int8(), "int16": pa.int16(), "float": pa.float32(), "int64": pa.int64(), "bool": pa.bool_(),
    "decimal128(9, 2)": pa.decimal128(9, 2), "decimal256(50, 0)": pa.decimal256(50, 0), "string": pa.string(),
    "large_binary": pa.large_binary(), "fixed": pa.binary(5), "dictionary": pa.dictionary(pa.int8(), pa.string()),
    "list": pa.list_(pa.int64()), "view": pa.string_view(), "null": pa.null(),
}  # fmt: skip


def table_of(chance: random.Random, *, nulls: float) -> pa.Table:
    """Return a table of all types in chunks that start inside the arrays they are cut from."""
    columns = {}
    for name, value in TYPES.items():
        values = [None if chance.random() < nulls else value(i) for i in range(ROWS + 20)]
        columns[name] = pa.array(values, ARROW[name])
    whole = pa.table(columns)
    cuts = sorted(chance.sample(range(1, ROWS), 4))
    bounds = list(zip([0, *cuts], [*cuts, ROWS], strict=True))
    return pa.concat_tables([whole.slice(begin + 7, end - begin) for begin, end in [*bounds, (3, 3)]])


@pytest.mark.parametrize("nulls", [0, 0.3, 1])
def test_rows_of_every_type_come_as_pyarrow_takes_them(nulls: float) -> None:
    chance = random.Random(61)
    for _ in range(5):
        table = table_of(chance, nulls=nulls)
        rows = np.array(chance.choices(range(ROWS), k=chance.randrange(2 * ROWS)), np.uint32)
        taken = TableRows(table.to_batches(), table.schema).at(rows)
        taken.validate(full=True)
        there = table.to_pylist()
        assert taken.schema == table.schema and taken.to_pylist() == [there[row] for row in rows]


def test_no_rows_and_no_batches() -> None:
    table = table_of(random.Random(62), nulls=0.1)
    nothing = np.empty(0, np.uint32)
    assert TableRows(table.to_batches(), table.schema).at(nothing).num_rows == 0
    assert TableRows([], table.schema).at(nothing).schema == table.schema


def test_text_beyond_what_offsets_can_count_comes_in_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    """A chunk holds at most 10 bytes: "aaaa" three times makes 12, so 8 and 4."""
    monkeypatch.setitem(table_rows.MOST_OFFSET, 4, 10)
    batch = pa.record_batch({"a": pa.array(["aaaa", "b", None])})
    taken = TableRows([batch], batch.schema).at(np.array([0, 0, 0, 2], np.uint32)).column("a")
    assert [len(chunk) for chunk in taken.chunks] == [2, 2]
    assert taken.to_pylist() == ["aaaa", "aaaa", "aaaa", None]


def test_a_row_that_is_not_there_is_refused() -> None:
    batch = pa.record_batch({"a": pa.array([1, 2])})
    with pytest.raises(Exception, match="a row is not in the table"):
        TableRows([batch], batch.schema).at(np.array([2], np.uint32))
