"""Faults of other sorters that were reported in public, tried here; tests/public_reports.md lists them."""

from __future__ import annotations

import gzip
import itertools
import math
import re
import struct
import subprocess
import sys
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zstandard
from refusals import refused

import planner
from planner.errors import BadInputError
from planner.sorting.tables.table import sort_table
from tests.sorting.arrow_tables import write_encrypted

PAGE = Path(__file__).resolve().parents[1] / "public_reports.md"
GNU: dict[str, tuple[list[str], bytes, bytes]] = {
    "uutils/coreutils#14331": (["-n", "-k1.2"], b"19\n21\n", b"21\n19\n"),
    "uutils/coreutils#14119": (["-k2,3"], b"aa\n0aa\r\n", b"0aa\r\naa\n"),
    "uutils/coreutils#7185": (["-k", "18446744073709551616"], b"2\n1\n", b"1\n2\n"),
    "uutils/coreutils#10315": (["-n"], b"+10\n+2\n1\n", b"+10\n+2\n1\n"),
    "uutils/coreutils#13319": (["-rn"], b"1 ./b\n1 fsp\n2\n1 btr\n", b"2\n1 fsp\n1 btr\n1 ./b\n"),
    "uutils/coreutils#13202": (["-u"], b"d-Xv1\nd-X-v1\na-\na\n", b"a\na-\nd-X-v1\nd-Xv1\n"),
    "uutils/coreutils#1193": (["-n"], b"NaN\nNaN\n3.0\n2.0\n", b"NaN\nNaN\n2.0\n3.0\n"),
    "uutils/coreutils#11980": ([], b"01\n0_1\n02\n0_1\n01\n02\n", b"01\n01\n02\n02\n0_1\n0_1\n"),
    "coreutils/coreutils#23": (["-hu"], b"1K\n1024\n1M\n1k\n2K\n1024\n-1K\n", b"-1K\n1024\n1K\n2K\n1M\n"),
    "uutils/coreutils#14120": (["-t=", "-k", "2"], b"a=b=c\nb=a=d\n", b"b=a=d\na=b=c\n"),
    "uutils/coreutils#9148": ([], b"ZIM\r\n -z\r\n\r\n  --z\r\n", b"\r\n  --z\r\n -z\r\nZIM\r\n"),
}
"""Options of `planner gnusort`, an input, and GNU sort's output."""


def gnusort(arguments: list[str], content: bytes, **options: Any) -> subprocess.CompletedProcess[bytes]:
    command = [sys.executable, "-m", "planner", "gnusort", *arguments]
    return subprocess.run(command, input=content, capture_output=True, check=False, **options)


@pytest.mark.parametrize("report", GNU)
def test_lines_are_sorted_as_gnu_sort_sorts_them(report: str) -> None:
    arguments, content, expected = GNU[report]
    assert gnusort(arguments, content).stdout == expected


def test_the_last_line_of_one_file_never_joins_the_next(tmp_path: Path) -> None:  # uutils/coreutils#14126
    (tmp_path / "a").write_bytes(b"a\nb\nc\nrm")
    (tmp_path / "b").write_bytes(b" -rf /\n")
    assert gnusort(["-S", "8b", str(tmp_path / "a"), str(tmp_path / "b")], b"").stdout == b" -rf /\na\nb\nc\nrm\n"


def test_a_full_device_ends_with_an_error() -> None:  # uutils/coreutils#12991
    with Path("/dev/full").open("wb") as full:
        command = [sys.executable, "-m", "planner", "gnusort"]
        done = subprocess.run(command, input=b"b\na\n", stdout=full, stderr=subprocess.PIPE, check=False)
    assert (done.returncode, done.stderr) == (2, b"sort: write failed: 'standard output': No space left on device\n")


def sorted_csv(tmp_path: Path, content: str, **options: Any) -> str:
    (tmp_path / "in.csv").write_text(content)
    planner.sort(tmp_path / "in.csv", tmp_path / "out.csv", **options)
    return (tmp_path / "out.csv").read_text()


CSV: dict[str, tuple[dict[str, Any], str, str]] = {
    "thephpleague/csv#586": ({"key": "1:int"}, '\ufeff"a\n,b",c\n2,x\n1,y\n', '\ufeff"a\n,b",c\n1,y\n2,x\n'),
    "melihbirim/csvql#103": ({"key": "id:int"}, "\ufeffid,n\n2,b\n1,a\n", "\ufeffid,n\n1,a\n2,b\n"),
    "wireservice/csvkit#563": ({"key": "1:int"}, "id,id\n2,b\n1,a\n", "id,id\n1,a\n2,b\n"),
    "JoshClose/CsvHelper#645": ({"key": "n"}, 'k;n\n"a\r";b\nc;a\n', 'k;n\nc;a\n"a\r";b\n'),
    "python/cpython#97611": ({"key": "y:int"}, 's;y\n"\tD";71\n"\tC";60\n', 's;y\n"\tC";60\n"\tD";71\n'),
    "duckdb/duckdb#14115": ({"key": "d"}, "d|c\n2|New York, NY\n1|Reno, NV\n", "d|c\n1|Reno, NV\n2|New York, NY\n"),
    "duckdb/duckdb#9343": ({"key": "one:int"}, "\n\none,two\n2,b\n\n1,a\n", "one,two\n1,a\n2,b\n"),
    "FlatFilers/csvjson-app#84": ({"key": "id"}, "id\n888E010010\n101E010031\n", "id\n101E010031\n888E010010\n"),
    "dathere/qsv#1381": ({"key": "o:fold", "unique": True}, "o\nlegis\nLegis\nTamil\n", "o\nlegis\nTamil\n"),
    "dathere/qsv#2391": ({"key": "t:int"}, "p,t\n4,280\n1,282862\n2,283\n", "p,t\n4,280\n2,283\n1,282862\n"),
    "KhiopsML/khiops#650": ({"key": "id"}, "id\tx\n2\ta,b\n1\tc\n2\ta,b\n", "id\tx\n1\tc\n2\ta,b\n2\ta,b\n"),
    "johnkerl/miller#1068": ({"key": "k:natural"}, "k,v\na10,1\n,2\na9,3\n", "k,v\na9,3\na10,1\n,2\n"),
}
"""Options of a sort of CSV, an input, and its rows in order."""


@pytest.mark.parametrize("report", CSV)
def test_rows_of_csv_are_kept_and_in_order(tmp_path: Path, report: str) -> None:
    options, content, expected = CSV[report]
    (tmp_path / "in.csv").write_bytes(content.encode())
    planner.sort(tmp_path / "in.csv", tmp_path / "out.csv", format="csv", **options)
    assert (tmp_path / "out.csv").read_bytes().decode() == expected


REFUSED: dict[str, tuple[dict[str, Any], str, str]] = {
    "melihbirim/csvql#102": ({"key": "id"}, "id,id,name\n1,2,Alice\n", "2 columns are called 'id'"),
    "MarkPflug/Sylvan#198": ({"key": "k"}, "k,v\r2,b\r1,a\r", "carriage returns alone end its rows"),
}
"""Options of a sort of CSV, an input, and the error."""


@pytest.mark.parametrize("report", REFUSED)
def test_csv_that_is_unclear_is_refused(tmp_path: Path, report: str) -> None:
    options, content, error = REFUSED[report]
    with pytest.raises(BadInputError, match=error):
        sorted_csv(tmp_path, content, format="csv", **options)
    assert not (tmp_path / "out.csv").exists()


def test_numbers_below_zero_without_a_header(tmp_path: Path) -> None:  # BurntSushi/xsv#357
    rows = ['foo,"-113.65",bar\n', 'foo,"-300.28",bar\n', 'foo,"-285.49",bar\n']
    assert sorted_csv(tmp_path, "".join(rows), key="2:num") == rows[1] + rows[2] + rows[0]


def test_equal_numbers_are_kept_once(tmp_path: Path) -> None:  # dathere/qsv#1665
    assert sorted_csv(tmp_path, "data\n3\n1\n3\n10\n5\n", key="data:num", unique=True) == "data\n1\n3\n5\n10\n"


def test_the_line_that_tells_excel_the_separator_stays_first(tmp_path: Path) -> None:  # mholt/PapaParse#951
    def result(rows: str, **options: Any) -> str:
        return sorted_csv(tmp_path, rows, format="csv", force=True, **options)

    assert result("sep=;\nid;n\n2;b\n1;a\n", key="id:int") == "sep=;\nid;n\n1;a\n2;b\n"
    assert result("sep=,\nid,n\n2,b\n1,a\n", key="1") == "sep=,\nid,n\n1,a\n2,b\n"
    assert result("sep=;\n2;b\n1;a\n", key="1", no_header=True) == "sep=;\n1;a\n2;b\n"


def test_dates_and_leading_zeros_stay_as_they_are(tmp_path: Path) -> None:  # wireservice/csvkit#637
    content = "a,b\n00126017,30/12/2008\n00125867,31/01/2011\n"
    assert sorted_csv(tmp_path, content, key="a:int") == "a,b\n00125867,31/01/2011\n00126017,30/12/2008\n"


def test_single_quotes_within_values_are_text(tmp_path: Path) -> None:  # wireservice/csvkit#421
    content = "id,command\n2,/foo/bar 'name' 'xxxx'\n1,/first/command 'xxx'\n"
    assert sorted_csv(tmp_path, content, key="id") == "id,command\n1,/first/command 'xxx'\n2,/foo/bar 'name' 'xxxx'\n"


def test_a_value_with_another_separator_hides_no_row(tmp_path: Path) -> None:  # duckdb/duckdb#25827
    assert sorted_csv(tmp_path, "c0\nv0\na;b\n", key="c0") == "c0\na;b\nv0\n"


def test_natural_order_and_then_a_number(tmp_path: Path) -> None:  # shenwei356/csvtk#79
    content = "chr10,222\nchr20,222\nchr20,111\nchr1,122\nchr10,111\nchr2,111\n"
    expected = "chr1,122\nchr2,111\nchr10,111\nchr10,222\nchr20,111\nchr20,222\n"
    assert sorted_csv(tmp_path, content, key=["1:natural", "2:int"]) == expected


def test_natural_order_of_very_long_numbers() -> None:  # paradakh/human-sort#1
    texts = ["repodata/93799116714138518510466598811458300927505008811145034533776-b", "repodata/43191200" + "0" * 400]
    assert sort_table(pa.table({"s": texts}), keys="s:natural").column("s").to_pylist() == texts


def test_nulls_stay_last_in_descending_order_of_two_columns() -> None:  # pola-rs/polars#15205
    table = pa.table({"a": [1, 2, 3, None, None], "b": [3, 1, 2, 4, 1]})
    found = sort_table(table, keys=["a:desc", "b:desc"])
    assert found.column("a").to_pylist() == [3, 2, 1, None, None]
    assert found.column("b").to_pylist() == [2, 1, 3, 4, 1]


def test_nan_beside_infinity_and_null() -> None:  # pola-rs/polars#3740
    values = [0.0, None, float("nan"), float("-inf"), float("inf")]
    found = sort_table(pa.table({"val": values}), keys="val").column("val").to_pylist()
    assert str(found) == "[-inf, 0.0, inf, nan, None]"


def test_texts_with_control_characters(tmp_path: Path) -> None:  # duckdb/duckdb#18124
    texts = ["\1 N", "\1\2\3", "\2\n", "\2\na", "\2 C", "\2-m", "\U00100b0flo", "", "\0", "\0\0", "\1"]
    pq.write_table(pa.table({"s": texts}), tmp_path / "in")
    planner.sort(tmp_path / "in", tmp_path / "out", format="parquet", key="s")
    assert pq.read_table(tmp_path / "out").column("s").to_pylist() == sorted(texts, key=str.encode)


def test_many_small_row_groups(tmp_path: Path) -> None:  # duckdb/duckdb#16652
    table = pa.table({"id": [i for i in range(25) for _ in range(59)], "row": range(25 * 59)})
    pq.write_table(table, tmp_path / "in", row_group_size=60)
    planner.sort(tmp_path / "in", tmp_path / "out", format="parquet", key="id:desc")
    found = pq.read_table(tmp_path / "out").column("row").to_pylist()
    assert found == sorted(range(25 * 59), key=lambda row: -(row // 59))


def test_very_long_lines_in_order_are_in_order(tmp_path: Path) -> None:  # uutils/coreutils#13823
    text = b"".join(sorted(b"%02X" % (i * 37 % 256) * size + b"\n" for i, size in enumerate(range(9, 70_000, 997))))
    (tmp_path / "in").write_bytes(text)
    assert gnusort(["-c", str(tmp_path / "in")], b"").returncode == 0
    (tmp_path / "in").write_bytes(text + b"00\n")
    assert gnusort(["-c", str(tmp_path / "in")], b"").returncode == 1


def sorted_column(folder: Path, table: pa.Table, **options: Any) -> list[Any]:
    """Return the first column of a table that is written, sorted as Parquet and read."""
    pq.write_table(table, folder / "in", row_group_size=2)
    planner.sort(folder / "in", folder / "out", format="parquet", force=True, **options)
    return pq.read_table(folder / "out").column(0).to_pylist()


def test_nulls_move_in_what_is_sorted_already(tmp_path: Path) -> None:  # pola-rs/polars#19945
    first = pa.table({"a": [None, 1, 2, 3]})
    assert sorted_column(tmp_path, first, key="a") == [1, 2, 3, None]
    assert sorted_column(tmp_path, pq.read_table(tmp_path / "out"), key="a:first") == [None, 1, 2, 3]


def test_nulls_are_last_where_rows_are_limited() -> None:  # pola-rs/polars#7982
    table = pa.table({"a": [None, 1, None, 2], "b": [4, 3, 2, 1]})
    assert sort_table(table, keys=["a", "b"]).slice(0, 3).column("b").to_pylist() == [3, 1, 2]


def test_nulls_among_equal_numbers_keep_places_apart() -> None:  # pola-rs/polars#23982
    table = pa.table({"x": [1, 3, None, 3, 7], "row": range(5)})
    assert sort_table(table, keys="x").column("row").to_pylist() == [0, 1, 3, 4, 2]
    assert sort_table(table, keys="x:first").column("row").to_pylist() == [2, 0, 1, 3, 4]


def test_a_reversed_order_keeps_nulls_where_the_key_says() -> None:  # pola-rs/polars#27917
    table = pa.table({"x": [10, None, 30, 20, None, 40]})
    assert sort_table(table, keys="x:desc").column("x").to_pylist() == [40, 30, 20, 10, None, None]
    assert sort_table(table, keys="x:desc:first").column("x").to_pylist() == [None, None, 40, 30, 20, 10]


def test_booleans_follow_their_rows(tmp_path: Path) -> None:  # duckdb/duckdb#1578
    rows = [(i * 7919 % 10_007, i % 3 == 0) for i in range(10_007)]
    table = pa.table({"flag": [flag for _, flag in rows], "id": [number for number, _ in rows]})
    assert sorted_column(tmp_path, table, key="id") == [flag for _, flag in sorted(rows)]


def test_row_groups_of_a_sorted_file_do_not_overlap(tmp_path: Path) -> None:  # duckdb/duckdb#14349
    table = pa.table({"term": [f"{i * 7919 % 10_007:05}" for i in range(10_007)]})
    pq.write_table(table, tmp_path / "in", row_group_size=500)
    planner.sort(tmp_path / "in", tmp_path / "out", format="parquet", key="term")
    footer = pq.ParquetFile(tmp_path / "out").metadata
    ranges = [footer.row_group(i).column(0).statistics for i in range(footer.num_row_groups)]
    assert len(ranges) > 1
    assert all(a.max < b.min for a, b in itertools.pairwise(ranges))


def test_a_footer_says_no_order_that_it_has_no_words_for(tmp_path: Path) -> None:  # pola-rs/polars#23151
    table = pa.table({"s": ["a10", "a9"], "n": [1, 2]})
    assert sorted_column(tmp_path, table, key=["n", "s:natural"]) == ["a10", "a9"]
    assert pq.ParquetFile(tmp_path / "out").metadata.row_group(0).sorting_columns == (pq.SortingColumn(1),)
    assert sorted_column(tmp_path, table, key=["s:natural", "n"]) == ["a9", "a10"]
    assert pq.ParquetFile(tmp_path / "out").metadata.row_group(0).sorting_columns in (None, ())


def test_chunks_with_dictionaries_of_their_own(tmp_path: Path) -> None:  # apache/arrow#37493
    chunks = [pa.array(texts).dictionary_encode() for texts in (["c", "a", None], ["b", "c"])]
    table = pa.table({"s": pa.chunked_array(chunks)})
    assert sort_table(table, keys="s").column("s").to_pylist() == ["a", "b", "c", "c", None]
    assert sorted_column(tmp_path, table, key="s") == ["a", "b", "c", "c", None]


def test_a_struct_that_is_null_hides_what_its_fields_hold() -> None:  # apache/arrow#14781
    mask = pa.array([False, True, False, False, False])
    structs = pa.StructArray.from_arrays([pa.array([5, 3, 4, 2, 1]), pa.array(range(5))], names=["a", "b"], mask=mask)
    table = pa.table({"s": structs, "row": range(5)})
    assert sort_table(table, keys="s").column("row").to_pylist() == [4, 3, 2, 0, 1]


def test_a_column_of_nulls_is_one_of_the_other_file(tmp_path: Path) -> None:  # pola-rs/polars#23106
    pq.write_table(pa.table({"id": pa.array([], pa.int32()), "name": pa.array([], pa.string())}), tmp_path / "a")
    pq.write_table(pa.table({"id": [None], "name": ["x"]}), tmp_path / "b")
    planner.sort([tmp_path / "a", tmp_path / "b"], tmp_path / "out", format="parquet", key=["name", "id"])
    assert pq.read_table(tmp_path / "out").to_pylist() == [{"id": None, "name": "x"}]


def test_encrypted_columns_end_in_an_error(tmp_path: Path) -> None:  # apache/arrow#51361
    write_encrypted(tmp_path / "in", pa.table({"k": [2, 1], "z": [1, 2]}))
    with refused("encrypted"):
        planner.sort(tmp_path / "in", tmp_path / "out", format="parquet", key="z")


def test_times_of_day_in_utc_stay_in_utc(tmp_path: Path) -> None:  # apache/arrow-rs#8027
    table = pa.table({"t": pa.array([2, 1], pa.time64("us")), "n": [1, 2]})
    pq.write_table(table, tmp_path / "in", write_time_adjusted_to_utc=True)
    planner.sort(tmp_path / "in", tmp_path / "out", format="parquet", key="t")
    before, after = (str(pq.ParquetFile(tmp_path / name).schema.column(0).logical_type) for name in ("in", "out"))
    assert before == after
    assert "isAdjustedToUTC=true" in after


@pytest.mark.parametrize(
    "expected",
    [
        ["0", "1", "9", "a[0]", "a[00]", "a[1]", "a[9]"],  # paour/natorder#14
        ["05", "06", "07*", "08A", "09 B", "10", "11", "12A", "13"],  # yobacca/natural-orderby#57
        ["a00000", "a0b", "a1b"],  # nwoltman/string-natural-compare#3
        ["5", "007", "8"],  # sourcefrog/natsort#13
    ],
)
def test_zeros_in_natural_order(expected: list[str]) -> None:
    assert sort_table(pa.table({"s": expected[::-1]}), keys="s:natural").column("s").to_pylist() == expected


def test_texts_beside_nulls(tmp_path: Path) -> None:  # ray-project/ray#48927
    assert sorted_column(tmp_path, pa.table({"x": [None, None, "c", "a", None]}), key="x") == ["a", "c", *[None] * 3]


def test_all_members_of_gzip_are_read(tmp_path: Path) -> None:  # scverse/rustar-aligner#219
    (tmp_path / "in.gz").write_bytes(gzip.compress(b"b\n") + gzip.compress(b"a\n"))
    planner.sort(tmp_path / "in.gz", tmp_path / "out", lines=True)
    assert (tmp_path / "out").read_text() == "a\nb\n"


def test_zeros_behind_gzip_are_padding(tmp_path: Path) -> None:  # pauldmccarthy/indexed_gzip#69
    (tmp_path / "in.gz").write_bytes(gzip.compress(b"b\na\n") + bytes(100))
    planner.sort(tmp_path / "in.gz", tmp_path / "out", lines=True)
    assert (tmp_path / "out").read_text() == "a\nb\n"


def test_other_bytes_behind_gzip_are_refused(tmp_path: Path) -> None:  # icsharpcode/SharpZipLib#116
    (tmp_path / "in.gz").write_bytes(gzip.compress(b"b\na\n") + b"more")
    with refused("broken-compression", "in.gz"):
        planner.sort(tmp_path / "in.gz", tmp_path / "out", lines=True)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("order", [(0, 1), (1, 0), (1, 0, 1)])
def test_frames_of_zstd_without_data(tmp_path: Path, order: tuple[int, ...]) -> None:
    """facebook/zstd#904 and LibtraceTeam/wandio#18."""
    frames = (zstandard.compress(b"b\na\n"), b"\x5e\x2a\x4d\x18\x04\0\0\0data")
    (tmp_path / "in").write_bytes(b"".join(frames[number] for number in order))
    planner.sort(tmp_path / "in", tmp_path / "out", lines=True)
    assert (tmp_path / "out").read_text() == "a\nb\n"


NOT_A_NUMBER = struct.unpack("<d", b"\1\0\0\0\0\0\xf8\xff")[0]
CATEGORIES = pa.dictionary(pa.int8(), pa.string())
TABLES: dict[str, tuple[list[str], list[Any], pa.DataType, list[Any]]] = {
    "numpy/numpy#21867": (["x"], [*map(np.float16, ("nan", "2", "-1"))], pa.float16(), [-1.0, 2.0, math.nan]),
    "ClickHouse/ClickHouse#72960": (["x"], [np.float16(9), np.float16(-2), None], pa.float16(), [-2.0, 9.0, None]),
    "apache/arrow-rs#1941": (["x"], [NOT_A_NUMBER, -math.inf, 1.0], pa.float64(), [-math.inf, 1.0, math.nan]),
    "apache/arrow-rs#1785": (["x"], [Decimal("2E+2"), Decimal("-1E+2")], pa.decimal128(3, -2), [-100, 200]),
    "pola-rs/polars#13270": (["x"], ["foo", None, "bar", None], CATEGORIES, ["bar", "foo", None, None]),
    "pola-rs/polars#16004": (["x"], [None, None], CATEGORIES, [None, None]),
    "pola-rs/polars#17009": (["x", "y"], [None, Decimal(2), Decimal(1)], pa.decimal128(38, 0), [1, 2, None]),
    "apache/datafusion#4649": (["x:first"], ["b", None, "a"], CATEGORIES, [None, "a", "b"]),
    "Eventual-Inc/Daft#4152": (["x:desc"], [1, 3, 2, None], pa.int64(), [3, 2, 1, None]),
}
"""Keys, a column and its type, and its values in order."""


@pytest.mark.parametrize("report", TABLES)
def test_values_of_tables_are_in_order(report: str) -> None:
    keys, values, value_type, expected = TABLES[report]
    table = pa.table({"x": pa.array(values, value_type), "y": range(len(values))})
    found = sort_table(table, keys=keys)
    assert str(found.column("x").to_pylist()) == str(pa.array(expected, found.column("x").type).to_pylist())


def test_nulls_within_structs_in_descending_order_of_many_runs(tmp_path: Path) -> None:  # StarRocks/starrocks#77374
    structs = [{"a": i * 7919 % 5 or None, "b": i * 31 % 3 or None} for i in range(40_000)]
    table = pa.table({"s": structs, "row": range(40_000), "p": ["x" * 3000] * 40_000})
    pq.write_table(table, tmp_path / "in", row_group_size=500)
    planner.sort(tmp_path / "in", tmp_path / "out", format="parquet", key="s:desc", memory_bytes=330 << 20)
    order = sort_table(table, keys="s:desc").column("row")
    assert pq.read_table(tmp_path / "out", columns=["row"]).column("row").equals(order)


def test_rows_whose_keys_are_null_count_within_a_limit(tmp_path: Path) -> None:  # apache/datafusion#22190
    assert sorted_column(tmp_path, pa.table({"x": pa.array([None], pa.int64())}), key="x", limit=20) == [None]


def test_names_that_differ_by_case_alone(tmp_path: Path) -> None:  # duckdb/duckdb#13053
    assert sorted_column(tmp_path, pa.table({"column": [1, 2], "COLUMN": [5, 4]}), key="COLUMN") == [2, 1]


def test_a_damaged_page_is_no_page(tmp_path: Path) -> None:  # Lychee-Technology/forma#347
    table = pa.table({"id": [bytes([i]) * 16 for i in range(200)]})
    pq.write_table(table, tmp_path / "in", write_page_checksum=True, compression="none", use_dictionary=False)
    content = bytearray((tmp_path / "in").read_bytes())
    content[1000] ^= 64
    (tmp_path / "in").write_bytes(content)
    with refused("not-a-table", "CRC"):
        planner.sort(tmp_path / "in", tmp_path / "out", format="parquet", key="id")


def test_types_beyond_those_of_parquet_are_kept(tmp_path: Path) -> None:  # apache/arrow#48254
    storage = pa.array([b"b" * 16, b"a" * 16, None], pa.binary(16))
    table = pa.table({"x": pa.ExtensionArray.from_storage(pa.uuid(), storage)})
    assert [str(value)[:2] for value in sorted_column(tmp_path, table, key="x")] == ["61", "62", "No"]
    assert pq.ParquetFile(tmp_path / "out").schema_arrow.field("x").type == pa.uuid()


def test_folders_are_columns_and_what_others_leave_there_is_no_row(tmp_path: Path) -> None:
    """prestodb/presto#2233, bigdatagenomics/adam#520, duckdb/duckdb#15916 and apache/datafusion#24211."""
    for day, value in {"06": 2, "10": 1, "__HIVE_DEFAULT_PARTITION__": 3}.items():
        (tmp_path / "in" / f"day={day}").mkdir(parents=True)
        pq.write_table(pa.table({"x": [value]}), tmp_path / "in" / f"day={day}" / "a.parquet")
        (tmp_path / "in" / f"day={day}" / ".a.parquet.crc").write_text("crc")
    (tmp_path / "in" / "_SUCCESS").write_text("no rows")
    planner.sort(tmp_path / "in", tmp_path / "out", format="parquet", key=["day", "x:desc"])
    found = pq.ParquetFile(tmp_path / "out")
    assert found.read().to_pylist() == [{"x": 2, "day": "06"}, {"x": 1, "day": "10"}, {"x": 3, "day": None}]
    assert found.metadata.row_group(0).sorting_columns == (pq.SortingColumn(1), pq.SortingColumn(0, True))


def test_a_folder_with_a_log_of_deleted_rows_is_refused(tmp_path: Path) -> None:  # derekwisong/datui#237
    (tmp_path / "in" / "_delta_log").mkdir(parents=True)
    pq.write_table(pa.table({"x": [1]}), tmp_path / "in" / "a.parquet")
    with refused("is-table", "Delta"):
        planner.sort(tmp_path / "in", tmp_path / "out", format="parquet", key="x")


def test_a_range_index_is_not_that_of_one_file(tmp_path: Path) -> None:  # NVIDIA/cudf#8536
    pd.DataFrame({"a": [3, 1, 2]}).to_parquet(tmp_path / "in")
    planner.sort([tmp_path / "in"] * 2, tmp_path / "out", format="parquet", key="a")
    assert pq.read_schema(tmp_path / "out").pandas_metadata["index_columns"] == []
    assert pd.read_parquet(tmp_path / "out")["a"].to_dict() == dict(enumerate([1, 1, 2, 2, 3, 3]))


def test_the_page_lists_what_is_tried_here() -> None:
    here = set(re.findall(r"[\w-]+/[\w-]+#\d+", Path(__file__).read_text(encoding="utf-8")))
    assert here == set(re.findall(r"[\w-]+/[\w-]+#\d+", PAGE.read_text(encoding="utf-8")))
