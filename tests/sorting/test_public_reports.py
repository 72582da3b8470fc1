"""Faults of other sorters that were reported in public, tried here; docs/platforms.md lists them."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import planner
from planner.sorting.tables.table import sort_table

PAGE = Path(__file__).resolve().parents[2] / "docs" / "platforms.md"
GNU: dict[str, tuple[list[str], bytes, bytes]] = {
    "uutils/coreutils#14331": (["-n", "-k1.2"], b"19\n21\n", b"21\n19\n"),
    "uutils/coreutils#14119": (["-k2,3"], b"aa\n0aa\r\n", b"0aa\r\naa\n"),
    "uutils/coreutils#7185": (["-k", "18446744073709551616"], b"2\n1\n", b"1\n2\n"),
    "uutils/coreutils#10315": (["-n"], b"+10\n+2\n1\n", b"+10\n+2\n1\n"),
    "uutils/coreutils#13319": (["-rn"], b"1 ./b\n1 fsp\n2\n1 btr\n", b"2\n1 fsp\n1 btr\n1 ./b\n"),
    "uutils/coreutils#13202": (["-u"], b"d-Xv1\nd-X-v1\na-\na\n", b"a\na-\nd-X-v1\nd-Xv1\n"),
    "uutils/coreutils#1193": (["-n"], b"NaN\nNaN\n3.0\n2.0\n", b"NaN\nNaN\n2.0\n3.0\n"),
    "uutils/coreutils#9148": ([], b"ZIM\r\n -z\r\n\r\n  --z\r\n", b"\r\n  --z\r\n -z\r\nZIM\r\n"),
}
"""Options of `planner gnusort`, an input, and what GNU sort makes of it."""


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


def test_numbers_below_zero_without_a_header(tmp_path: Path) -> None:  # BurntSushi/xsv#357
    rows = ['foo,"-113.65",bar\n', 'foo,"-300.28",bar\n', 'foo,"-285.49",bar\n']
    assert sorted_csv(tmp_path, "".join(rows), key="2:num") == rows[1] + rows[2] + rows[0]


def test_equal_numbers_are_kept_once(tmp_path: Path) -> None:  # dathere/qsv#1665
    assert sorted_csv(tmp_path, "data\n3\n1\n3\n10\n5\n", key="data:num", unique=True) == "data\n1\n3\n5\n10\n"


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


def test_the_page_lists_what_is_tried_here() -> None:
    here = set(re.findall(r"[\w-]+/[\w-]+#\d+", Path(__file__).read_text(encoding="utf-8")))
    assert here == set(re.findall(r"[\w-]+/[\w-]+#\d+", PAGE.read_text(encoding="utf-8")))
