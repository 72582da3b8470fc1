"""The sort core's order of rows, compared with pyarrow's."""

from __future__ import annotations

import decimal
import random
import subprocess
import sys
from typing import Any

import pyarrow as pa
import pytest

from planner.sorting.tables import table_order
from planner.sorting.tables.table_keys import KeyColumn
from planner.sorting.tables.table_order import _order_of_pyarrow, row_order

ROWS = 3000
CHANCE = random.Random(41)
LONG = "the same beginning of every text, "
COLUMNS: dict[str, Any] = {
    "int8": pa.array([CHANCE.randint(-128, 127) for _ in range(ROWS)], pa.int8()),
    "uint64": pa.array([CHANCE.choice([0, 1, 2**64 - 1]) for _ in range(ROWS)], pa.uint64()),
    "double": pa.array([CHANCE.choice([0.0, -1.5, 1.5, float("inf"), -float("inf"), 5e-324]) for _ in range(ROWS)]),
    "float": pa.array([CHANCE.choice([0.0, -1.5, 2.5]) for _ in range(ROWS)], pa.float32()),
    "decimal": pa.array([decimal.Decimal(CHANCE.randint(-999, 999)) / 10 for _ in range(ROWS)], pa.decimal128(30, 1)),
    "high decimal": pa.array(
        [decimal.Decimal(CHANCE.randint(-(10**30), 10**30)) for _ in range(ROWS)], pa.decimal128(38, 0)
    ),
    "short": pa.array([CHANCE.choice([b"", b"\0", b"a", b"a\0", b"\xff" * 15]) for _ in range(ROWS)]),
    "large short": pa.array([CHANCE.choice([b"", b"a", b"ab"]) for _ in range(ROWS)], pa.large_binary()),
    "no text": pa.array([b""] * ROWS),
    "repeated": pa.array([LONG.encode() + b"%d" % CHANCE.randrange(30) for _ in range(ROWS)]),
    "differing": pa.array([LONG.encode() + b"%d" % CHANCE.randrange(10**9) for _ in range(ROWS)]),
    "fixed": pa.array([bytes(CHANCE.choices(b"\0a\xff", k=3)) for _ in range(ROWS)], pa.binary(3)),
    "wide decimal": pa.array([decimal.Decimal(CHANCE.randint(-99, 99)) for _ in range(ROWS)], pa.decimal256(50, 0)),
}


@pytest.mark.parametrize("name", COLUMNS)
@pytest.mark.parametrize("descending", [False, True])
def test_one_column_as_pyarrow_orders_it(name: str, descending: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table_order, "_SAMPLED_ROWS", 500)  # so that frequent texts get a dictionary
    for values in (COLUMNS[name], COLUMNS[name].slice(7, 1000), COLUMNS[name].slice(0, 1)):
        for column in (values, pa.chunked_array([values.slice(0, 30), values.slice(30, 0), values.slice(30)])):
            parts = [KeyColumn(column, descending)]
            assert row_order(parts, len(values)).tolist() == _order_of_pyarrow(parts).tolist()


def test_a_chunk_without_values_may_lack_its_buffers() -> None:
    empty = pa.Array.from_buffers(pa.decimal128(9, 2), 0, [None, None])
    values = pa.array([decimal.Decimal(2), None, decimal.Decimal(1)], pa.decimal128(9, 2))
    parts = [KeyColumn(pa.chunked_array([empty, values, empty]), False)]
    assert row_order(parts, 3).tolist() == [1, 2, 0]  # a null counts as 0 here; a separate column gives its place


def test_several_columns_and_nulls() -> None:
    chance = random.Random(42)
    for _ in range(20):
        parts = []
        for name in chance.sample(list(COLUMNS), 3):
            values = COLUMNS[name].slice(0, 300)
            holes = pa.array([chance.random() < 0.2 for _ in range(300)])
            with_nulls = pa.compute.if_else(holes, pa.scalar(None, values.type), values)
            descending = chance.random() < 0.5
            parts += [KeyColumn(holes.cast("uint8"), False), KeyColumn(with_nulls, descending)]
        assert row_order(parts, 300).tolist() == _order_of_pyarrow(parts).tolist()


def test_only_texts_that_come_often_are_worth_a_dictionary(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table_order, "_SAMPLED_ROWS", 500)
    assert table_order._has_few_values(COLUMNS["repeated"])
    assert not table_order._has_few_values(COLUMNS["differing"])


def test_numbers_do_not_load_pandas() -> None:
    """Loading pandas takes longer than sorting a million rows."""
    code = (
        "import sys, pyarrow as pa; from planner.sorting.tables.table_keys import KeyColumn;"
        "from planner.sorting.tables.table_order import row_order;"
        "values = pa.Array.from_buffers(pa.int64(), 2, [None, pa.py_buffer(bytes([2] + [0] * 15))]);"
        "texts = values.cast('string').cast('binary');"
        "assert row_order([KeyColumn(values, False), KeyColumn(texts, True)], 2).tolist() == [1, 0];"
        "assert 'pandas' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
