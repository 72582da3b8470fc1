"""Arrow tables in memory, compared with DuckDB."""

from __future__ import annotations

import random
from itertools import pairwise
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import planner
from planner.errors import BadInputError
from planner.sorting.tables.table import sort_table
from tests.sorting.arrow_tables import order_of_duckdb, random_keys, random_table


def check_tables(count: int) -> None:
    """Compare `count` random tables with DuckDB."""
    chance = random.Random(20)
    for number in range(count):
        table, keys = random_table(chance, chance.randint(0, 60)), random_keys(chance)
        ours = sort_table(table, keys=keys)
        assert ours.schema.equals(table.schema, check_metadata=True)
        rows = ours.column("row").to_pylist()
        assert rows == order_of_duckdb(table, keys), (number, keys)
        for name in ("list", "pair", "color", "price"):
            values = table.column(name).to_pylist()
            assert ours.column(name).to_pylist() == [values[row] for row in rows]


def test_random_tables_as_duckdb_has_them() -> None:
    check_tables(12)


@pytest.mark.soak
def test_very_many_random_tables() -> None:
    check_tables(20_000)


def check_slices(queries: int, *, seed: int) -> int:
    """Compare slices of random tables, each a case, with DuckDB, which orders all slices of a table in one query.

    Slices start and end anywhere; some have no row. Returns the number of cases.
    """
    chance = random.Random(seed)
    cases = 0
    for number in range(queries):
        table, keys = random_table(chance, 2000), random_keys(chance)
        cuts = sorted({0, 2000, *(chance.randrange(2000) for _ in range(99))})
        slices = [table.slice(first, end - first) for first, end in pairwise(cuts)]
        of_slice = [i for i, part in enumerate(slices) for _ in range(part.num_rows)]
        numbered = table.append_column("slice", pa.array(of_slice, pa.int32()))
        ours = [row for part in slices for row in sort_table(part, keys=keys).column("row").to_pylist()]
        assert ours == order_of_duckdb(numbered, ["slice", *keys]), (seed, number, keys)
        cases += len(slices)
    return cases


def test_slices_of_random_tables_as_duckdb_has_them() -> None:
    assert check_slices(2, seed=30) > 150


@pytest.mark.soak
def test_a_million_slices_of_random_tables() -> None:
    cases = sum(check_slices(100, seed=seed) for seed in range(31, 135))
    assert cases >= 1_000_000


def test_whatever_exports_an_arrow_stream() -> None:
    frame = pd.DataFrame({"a": [2, 3, 1], "b": ["x", "y", "z"]})
    assert planner.sort_table(frame, keys="a:desc").column("b").to_pylist() == ["y", "x", "z"]
    batches = pa.RecordBatchReader.from_batches(
        pa.schema({"a": pa.int64()}), [pa.record_batch({"a": [2, 1]}), pa.record_batch({"a": [0]})]
    )
    assert sort_table(batches, keys=["1"]).column("a").to_pylist() == [0, 1, 2]


def test_keys_that_cannot_be() -> None:
    table = pa.table({"time": [1], "list": [[1]]})
    for keys, message in (
        ("tme", "Did you mean time"),
        (
            "time:dsc",
            "'dsc' is none of bytes, int, num, float, date, fold, natural, asc, desc, last, first. Did you mean desc",
        ),
        ("list", "'list' is of type list<.*>, which has no order"),
        ([], "say which columns"),
    ):
        with pytest.raises(BadInputError, match=message):
            sort_table(table, keys=keys)


def test_types_that_are_stored_as_others() -> None:
    texts = pa.chunked_array(
        [pa.RunEndEncodedArray.from_arrays([2], ["x"]), pa.RunEndEncodedArray.from_arrays([1], ["b"])]
    )
    numbers = pa.array([3, 1, 2])
    names = pa.array([bytes([9] * 16), bytes([5] * 16), None], pa.uuid())
    documents = pa.array(["{}", None, "[]"], pa.json_())
    table = pa.table({"n": numbers, "runs": texts, "uuid": names, "json": documents})
    order = {"n": [1, 2, 3], "runs": [2, 3, 1], "uuid": [1, 3, 2], "json": [2, 3, 1]}  # "[" comes before "{"
    for key, rows in order.items():
        ours = sort_table(table, keys=key)
        assert ours.column("n").to_pylist() == rows, key
        assert ours.schema.equals(table.schema)
        assert ours.column("runs").to_pylist() == [["x", "b", "x"][row - 1] for row in rows]


@pytest.mark.parametrize("value_type", [pa.date32(), pa.decimal128(5, 2), pa.timestamp("us", "UTC"), pa.string_view()])
def test_dictionaries_without_rows(value_type: Any) -> None:
    empty = pa.DictionaryArray.from_arrays(pa.array([], pa.int8()), pa.array([], value_type))
    for column in (empty, pa.chunked_array([], empty.type)):
        table = pa.table({"a": column, "b": pa.array([], pa.int8())})
        assert sort_table(table, keys=["a", "b:desc"]).equals(table)


def test_row_labels_that_no_column_holds_are_numbered_again(tmp_path: Path) -> None:  # NVIDIA/cudf#8536
    """pandas keeps a RangeIndex in the metadata alone, so that sorted rows had the labels of other rows."""
    frame = pd.DataFrame({"x": [1, 0]}, index=pd.RangeIndex(5, 7, name="id"))
    assert list(sort_table(frame, keys="x").to_pandas().index) == [0, 1]
    assert list(sort_table(frame.set_axis([5, 6]), keys="x").to_pandas().index) == [6, 5]
    frame.to_parquet(tmp_path / "in")
    planner.sort([tmp_path / "in"] * 2, tmp_path / "out", format="parquet", key="x")
    labels = pq.read_schema(tmp_path / "out").pandas_metadata
    assert labels["index_columns"] == [] and [column["name"] for column in labels["columns"]] == ["x"]
    assert list(pd.read_parquet(tmp_path / "out").index) == [0, 1, 2, 3]


@pytest.mark.parametrize("metadata", [b"no JSON", b"[]", b"{}", b'{"index_columns": 1}'])
def test_metadata_that_only_looks_like_pandas_is_kept(metadata: bytes) -> None:
    table = pa.table({"x": [2, 1]}).replace_schema_metadata({"pandas": metadata})
    assert sort_table(table, keys="x").schema.equals(table.schema, check_metadata=True)
