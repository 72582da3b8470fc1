"""Parquet files of several writers with equivalent columns: hints, the order of columns, times of 96 bits."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from approvals import Approve
from refusals import refused

from planner.errors import BadInputError
from planner.native import Progress
from planner.sorting.sort_job import SortJob
from planner.sorting.tables.parquet import find_disorder, sort_tables

FAR = [dt.datetime(9999, 12, 31), dt.datetime(2020, 1, 1, 0, 0, 0, 1), dt.datetime(1600, 1, 1)]


def sorted_files(folder: Path, *tables: Any, key: str, **written: Any) -> Path:
    """Return the sorted output of tables that are written to files."""
    for number, table in enumerate(tables):
        pq.write_table(table, folder / f"in{number}", **written)
    inputs = tuple(str(folder / f"in{number}") for number in range(len(tables)))
    job = SortJob(
        inputs=inputs,
        output=str(folder / "out"),
        force=True,
        key=(key,),
        memory_bytes=1 << 30,
        temp_dirs=(str(folder),),
    )
    sort_tables(job, Progress())
    return folder / "out"


def rows(path: Path, select: str = "*") -> list[Any]:
    return duckdb.sql(f"select {select} from read_parquet('{path}')").fetchall()


def test_zones_are_hints_of_writers(tmp_path: Path) -> None:
    tables = [pa.table({"k": pa.array([n], pa.timestamp("us", zone))}) for n, zone in ((2, "UTC"), (1, "Asia/Tokyo"))]
    out = pq.read_table(sorted_files(tmp_path, *tables, key="k"))
    assert out.schema.field("k").type == pa.timestamp("us", "UTC")
    assert out.column("k").cast("int64").to_pylist() == [1, 2]
    tables[1] = pa.table({"k": pa.array([1], pa.timestamp("us"))})  # without a zone: another type
    with refused("schema-mismatch"):
        sorted_files(tmp_path, *tables, key="k")


@pytest.mark.parametrize("nested", [False, True])
def test_times_of_96_bits_keep_their_whole_range(nested: bool, tmp_path: Path) -> None:
    times = pa.array(FAR, pa.timestamp("us"))
    columns = {"k": [2, 1, 3], "s": pa.StructArray.from_arrays([times], ["t"]) if nested else times}
    table = pa.table(columns)
    out = sorted_files(tmp_path, table, key="k", use_deprecated_int96_timestamps=True, store_schema=False)
    assert rows(out) == duckdb.sql(f"select * from read_parquet('{tmp_path / 'in0'}') order by k").fetchall()
    assert pq.ParquetFile(out).schema.column(1).physical_type == "INT96"


def test_times_of_96_bits_are_keys(tmp_path: Path) -> None:
    near = pa.table({"t": pa.array([2, 1], pa.timestamp("ns"))})
    out = sorted_files(tmp_path, near, key="t", use_deprecated_int96_timestamps=True)
    assert pq.read_table(out).column("t").cast("int64").to_pylist() == [1, 2]
    far = pa.table({"t": pa.array(FAR, pa.timestamp("us"))})
    out = sorted_files(tmp_path, far, far.slice(1), key="t", use_deprecated_int96_timestamps=True, store_schema=False)
    assert [row[0] for row in rows(out)] == sorted(FAR + FAR[1:])
    assert find_disorder(SortJob(inputs=(str(tmp_path / "in0"),), format="parquet", key=["t"]), Progress()) == (
        2,
        [FAR[1]],
    )


def test_times_that_no_type_holds_are_refused(tmp_path: Path) -> None:
    fine = pa.table({"t": pa.array([1], pa.timestamp("ns"))})
    far = pa.table({"t": pa.array(FAR, pa.timestamp("us"))})
    with refused("unsupported-type"):
        sorted_files(tmp_path, fine, far, key="t", use_deprecated_int96_timestamps=True, store_schema=False)


WIDTHS = [
    (pa.int32(), pa.int64(), pa.int64()),
    (pa.int8(), pa.uint8(), pa.int16()),
    (pa.uint64(), pa.int32(), pa.int64()),
    (pa.decimal128(10, 2), pa.decimal128(12, 4), pa.decimal128(12, 4)),
    (pa.decimal128(5, 1), pa.int32(), pa.decimal128(11, 1)),
    (pa.decimal128(10, 2), pa.int64(), pa.decimal128(22, 2)),
    (pa.float32(), pa.float64(), pa.float64()),
    (pa.int32(), pa.float64(), pa.float64()),
    (pa.int64(), pa.float32(), pa.float64()),
]


@pytest.mark.parametrize("is_swapped", [False, True])
@pytest.mark.parametrize(("one", "other", "common"), WIDTHS, ids=str)
def test_numbers_of_unlike_width_are_united(
    one: Any, other: Any, common: Any, is_swapped: bool, tmp_path: Path
) -> None:
    numbers = [[4, 0, None, 2], [3, 1, 100]]
    types = (other, one) if is_swapped else (one, other)
    tables = [pa.table({"n": pa.array(values, to)}) for values, to in zip(numbers, types, strict=True)]
    encoding = {"n": "DELTA_BINARY_PACKED"} if pa.types.is_integer(types[0]) and pa.types.is_integer(types[1]) else None
    out = sorted_files(tmp_path, *tables, key="n", use_dictionary=False, column_encoding=encoding)
    assert pq.read_schema(out).field("n").type == common
    both = f"read_parquet(['{tmp_path / 'in0'}', '{tmp_path / 'in1'}'], union_by_name=true)"
    assert rows(out) == duckdb.sql(f"select n from {both} order by n nulls last").fetchall()


NO_VALUES = [
    (pa.nulls(1), pa.array([5], pa.int32())),  # pola-rs/polars#23106
    (pa.nulls(1), pa.array(["a"], pa.large_string())),
    (pa.nulls(1), pa.array([{"x": [1]}])),
    (pa.nulls(1), pa.array(["a"]).dictionary_encode()),
    (pa.array([[]], pa.list_(pa.null())), pa.array([["a"]])),
    (pa.array([{"x": None}], pa.struct([("x", pa.null())])), pa.array([{"x": 1}])),
]


@pytest.mark.parametrize("is_swapped", [False, True])
@pytest.mark.parametrize(("nothing", "values"), NO_VALUES, ids=lambda array: str(array.type))
def test_columns_without_a_value_have_no_type_of_their_own(
    nothing: Any, values: Any, is_swapped: bool, tmp_path: Path
) -> None:
    tables = [pa.table({"k": [2], "v": nothing}), pa.table({"k": [1], "v": values})]
    out = pq.read_table(sorted_files(tmp_path, *tables[:: -1 if is_swapped else 1], key="k"))
    assert out.column("v").to_pylist() == values.to_pylist() + nothing.to_pylist()


def test_a_key_may_have_no_value_in_a_file(tmp_path: Path) -> None:
    out = sorted_files(tmp_path, pa.table({"k": pa.nulls(1)}), pa.table({"k": [2, 1]}), key="k:first")
    assert pq.read_table(out).column("k").to_pylist() == [None, 1, 2]


UNITS = [
    (pa.timestamp("ms"), pa.timestamp("us")),
    (pa.timestamp("us", "UTC"), pa.timestamp("ns", "Asia/Tokyo")),
    (pa.time32("ms"), pa.time64("us")),
    (pa.duration("ms"), pa.duration("ns")),
]


@pytest.mark.parametrize(("coarse", "fine"), UNITS, ids=str)
def test_times_of_unlike_units_become_those_of_the_finer(coarse: Any, fine: Any, tmp_path: Path) -> None:
    tables = [pa.table({"k": pa.array([2, 0], coarse)}), pa.table({"k": pa.array([1], fine)})]
    out = pq.read_table(sorted_files(tmp_path, *tables, key="k")).column("k")
    assert out.type == (pa.timestamp("ns", "UTC") if pa.types.is_timestamp(fine) and fine.tz else fine)
    factor = {"us": 1000, "ns": 1_000_000 if coarse.unit == "ms" else 1000}[fine.unit]
    assert out.cast("int64").to_pylist() == [0, 1, 2 * factor]


def test_a_time_beyond_the_finer_unit_is_refused(tmp_path: Path) -> None:
    tables = [pa.table({"k": pa.array(FAR, pa.timestamp("us"))}), pa.table({"k": pa.array([1], pa.timestamp("ns"))})]
    with refused("number-does-not-fit", "in0: column k", "timestamp[ns]"):
        sorted_files(tmp_path, *tables, key="k")


def test_an_encoding_of_integers_is_not_kept_for_floats(tmp_path: Path) -> None:
    whole = pa.table({"n": pa.array([2, 1], pa.int32())})
    pq.write_table(whole, tmp_path / "in0", use_dictionary=False, column_encoding={"n": "DELTA_BINARY_PACKED"})
    pq.write_table(pa.table({"n": [1.5]}), tmp_path / "in1")
    inputs = (str(tmp_path / "in0"), str(tmp_path / "in1"))
    job = SortJob(
        inputs=inputs, output=str(tmp_path / "out"), force=True, key=("n",), memory_bytes=1 << 30, temp_dirs=()
    )
    sort_tables(job, Progress())
    assert rows(tmp_path / "out") == [(1.0,), (1.5,), (2.0,)]


@pytest.mark.parametrize(
    ("one", "other"),
    [(pa.array([2**53 + 1]), pa.array([0.5])), (pa.array([2**64 - 1], pa.uint64()), pa.array([1]))],
    ids=["float", "uint64"],
)
def test_a_number_that_the_common_type_does_not_hold_is_refused(one: Any, other: Any, tmp_path: Path) -> None:
    with refused("number-does-not-fit", "in0: column n"):
        sorted_files(tmp_path, pa.table({"n": one}), pa.table({"n": other}), key="n")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("other", [pa.float64(), pa.string()], ids=str)
def test_decimals_are_not_united_with_what_would_round_them(other: Any, tmp_path: Path) -> None:
    tables = [pa.table({"n": pa.array(["1"]).cast(to)}) for to in (pa.decimal128(20, 1), other)]
    with refused("schema-mismatch"):
        sorted_files(tmp_path, *tables, key="n")


@pytest.mark.parametrize(
    "other", [pa.large_string(), pa.string_view(), pa.dictionary(pa.int32(), pa.string())], ids=str
)
def test_hints_of_writers_do_not_matter(other: pa.DataType, tmp_path: Path) -> None:
    first = pa.table({"k": [2], "s": pa.array(["b"])})
    second = pa.table({"s": pa.array(["a"]).cast(other), "k": [1]})
    assert rows(sorted_files(tmp_path, first, second, key="k")) == [(1, "a"), (2, "b")]
    assert rows(sorted_files(tmp_path, first, second, key="s:desc")) == [(2, "b"), (1, "a")]


def test_what_cannot_be_null_is_united_with_what_can(tmp_path: Path) -> None:
    strict = pa.table({"k": [2]}, pa.schema([pa.field("k", pa.int64(), nullable=False)]))
    assert rows(sorted_files(tmp_path, strict, pa.table({"k": [None, 1]}), key="k")) == [(1,), (2,), (None,)]


def test_columns_that_differ_are_named(tmp_path: Path, approve: Approve) -> None:
    with refused("schema-mismatch") as caught:
        sorted_files(tmp_path, pa.table({"k": [1]}), pa.table({"k": ["1"]}), key="k")
    assert caught.value.details == ("column k: string, not int64",)
    with pytest.raises(BadInputError) as caught:
        sorted_files(tmp_path, pa.table({"k": [1], "a": [1]}), pa.table({"k": [1], "b": [1]}), key="k")
    approve(caught.value.details[:2])
