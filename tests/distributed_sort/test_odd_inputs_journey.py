"""Unusual inputs that occur in practice, sorted on a real Ray cluster."""

from __future__ import annotations

import csv
import gzip
import io
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from planner.api.input_dataset import files_dataset
from planner.distributed_sort.dataset.dataset import Dataset
from planner.sorting.sort_job import InputFormat

if TYPE_CHECKING:
    from conftest import SortCluster

QUOTED = [[str(number * 7919 % 30_011), 'a\n"q"\n' * (number % 9)] for number in range(20_000)]


def csv_of(rows: list[list[str]]) -> bytes:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["k", "t"])
    writer.writerows(rows)
    return text.getvalue().encode()


def written(folder: Path, files: dict[str, bytes]) -> list[str]:
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    return [str(folder)]


def held(output: Dataset) -> bytes:
    return b"".join(Path(partition.uri).read_bytes() for partition in output.partitions)


def rows_held(output: Dataset) -> list[list[str]]:
    parts = [Path(partition.uri).read_text() for partition in output.partitions]
    return [row for part in parts for row in list(csv.reader(io.StringIO(part, newline="")))[1:]]


LINES: dict[str, tuple[dict[str, bytes], dict[str, Any], bytes]] = {
    "nothing but an empty file": ({"a": b"", "b": b"x"}, {}, b"x\n"),
    "no newline at the end": ({"a": b"b\na", "b": b"d\nc"}, {}, b"a\nb\nc\nd\n"),
    "a path of many alphabets": ({"ü ñ/日本 語 #1?.txt": b"b\na\n"}, {}, b"a\nb\n"),
    "bytes of zero": ({"a": b"b\0x\na\0\n\n"}, {}, b"\na\0\nb\0x\n"),
    "ends of zero": ({"a": b"b\n\0a\0c"}, {"zero_terminated": True}, b"a\0b\n\0c\0"),
    "compressed beside plain": ({"a": gzip.compress(b"c\na"), "b": b"b"}, {}, b"a\nb\nc\n"),
    "compressed nothing": ({"a": gzip.compress(b""), "b": b"b"}, {}, b"b\n"),
    "one line again and again": ({"a": b"same\n" * 100_000}, {"unique": True}, b"same\n"),
    "three hundred files": (
        {f"{number:03d}": b"%d\n" % (number * 7 % 300) for number in range(300)},
        {"key": ["1n"]},
        b"".join(b"%d\n" % number for number in range(300)),
    ),
}


@pytest.mark.parametrize("odd", LINES)
def test_lines(sort_cluster: SortCluster, tmp_path: Path, odd: str) -> None:
    files, keys, expected = LINES[odd]
    source = files_dataset(InputFormat(format="lines", **keys), written(tmp_path / "in", files))
    output, _ = sort_cluster.sort(source, tmp_path / "j", output="odd-lines")
    assert held(output) == expected


ROWS: dict[str, tuple[dict[str, bytes], list[list[str]]]] = {
    "headers alone": ({"a": b"k,t\n", "b": b"k,t"}, []),
    "a header beside rows": ({"a": b"k,t\n", "b": b"k,t\n2,x\n1,y"}, [["1", "y"], ["2", "x"]]),
    "ends of two kinds": ({"a": b"k,t\r\n2,x\r\n1,z", "b": b"k,t\n0,y\n"}, [["0", "y"], ["1", "z"], ["2", "x"]]),
    "newlines within quotes": ({"a": csv_of(QUOTED)}, sorted(QUOTED, key=lambda row: (int(row[0]), row[1]))),
}


@pytest.mark.parametrize("odd", ROWS)
def test_rows(sort_cluster: SortCluster, tmp_path: Path, odd: str) -> None:
    files, expected = ROWS[odd]
    source = files_dataset(InputFormat(format="csv", key=["k:int", "t"]), written(tmp_path / "in", files))
    output, _ = sort_cluster.sort(source, tmp_path / "j", output="odd-rows")
    assert rows_held(output) == expected


def test_one_input_twice(sort_cluster: SortCluster, tmp_path: Path) -> None:
    folder = written(tmp_path / "in", {"a": b"b\na\n"})
    source = files_dataset(InputFormat(), [*folder, str(tmp_path / "in" / "a")])
    output, _ = sort_cluster.sort(source, tmp_path / "j", output="odd-twice")
    assert held(output) == b"a\na\nb\nb\n"


COUNT = 60_000
TABLES: dict[str, tuple[pa.Table, int]] = {
    "no rows": (pa.table({"k": pa.array([], pa.int64())}), 1),
    "one row group of all": (pa.table({"k": [n * 7919 % COUNT for n in range(COUNT)], "t": ["x" * 50] * COUNT}), COUNT),
    "a row group for each row": (pa.table({"k": [n * 7919 % 3001 for n in range(3000)]}), 1),
    "keys of null": (pa.table({"k": pa.array([None] * 10_000, pa.int64())}), 1000),
    "a key without a type": (pa.table({"k": pa.nulls(10), "v": range(10)}), 4),
    "a dictionary": (pa.table({"k": pa.array([f"n{n % 77}" for n in range(9000)] + [None]).dictionary_encode()}), 999),
    "an umlaut": (pa.table({"k": [2, 1], "schlüssel": [{"a": None}, None]}), 1),
}


@pytest.mark.parametrize("odd", TABLES)
def test_tables(sort_cluster: SortCluster, tmp_path: Path, odd: str) -> None:
    table, group_rows = TABLES[odd]
    pq.write_table(table, tmp_path / "日本.parquet", row_group_size=group_rows)
    source = files_dataset(InputFormat(format="parquet", key=["k"]), [str(tmp_path / "日本.parquet")])
    output, _ = sort_cluster.sort(source, tmp_path / "j", output="odd-tables")
    parts = [pq.read_table(partition.uri) for partition in output.partitions]
    assert all(part.schema.equals(table.schema) for part in parts)
    keys = [key for part in parts for key in part["k"].to_pylist()]
    assert keys == sorted(table["k"].to_pylist(), key=lambda key: (key is None, 0 if key is None else key))
