"""`planner.sort` and `planner.find_disorder` return what was done, print nothing and refuse what cannot be."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import pytest

import planner
from planner.errors import BadInputError

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """Return a file of CSV."""
    path = tmp_path / "table.csv"
    path.write_text("name,age\nEve,9\nAda,36\n")
    return path


def test_records_are_sorted(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    source, output = tmp_path / "in.dat", tmp_path / "out.dat"
    planner.generate(source, records=1000)
    result = planner.sort(str(source), output, memory_bytes=100_000_000, threads=1)
    assert (result.counted, result.count, result.to_dict()["records"]) == ("records", 1000, 1000)
    assert planner.validate(output, input=[source]).passed
    assert planner.find_disorder(output) is None
    assert capfd.readouterr() == ("", "")


def test_lines_of_several_files(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"c\na\n")
    (tmp_path / "b.gz").write_bytes(gzip.compress(b"b\na\n"))
    inputs = [tmp_path / "a", tmp_path / "b.gz"]
    assert planner.sort(inputs, tmp_path / "out", format="lines", unique=True).counted == "lines"
    assert (tmp_path / "out").read_bytes() == b"a\nb\nc\n"


def test_rows_by_a_column(table: Path) -> None:
    output = table.with_name("sorted.csv")
    found = planner.find_disorder(table, format="csv", key="age:num:desc")
    assert found and (found.number, found.text) == (3, "Ada,36")
    assert planner.sort(table, output, format="csv", key=["age:num:desc"]).to_dict()["rows"] == 2
    assert output.read_text() == "name,age\nAda,36\nEve,9\n"
    assert planner.find_disorder(output, format="csv", key="age:num:desc") is None


def test_parquet_by_a_column(tmp_path: Path) -> None:
    pq.write_table(pa.table({"k": [3, 1, 2]}), tmp_path / "in.parquet")
    result = planner.sort(tmp_path / "in.parquet", tmp_path / "out.parquet", format="parquet", key="k")
    assert (result.counted, result.count) == ("rows", 3)
    assert pq.read_table(tmp_path / "out.parquet").column("k").to_pylist() == [1, 2, 3]
    found = planner.find_disorder(tmp_path / "in.parquet", format="parquet", key="k")
    assert found and found.number == 2


def test_notes_go_to_the_caller(table: Path) -> None:
    notes: list[str] = []
    planner.sort(table, table.with_name("out"), key="2n", separator=",", say=notes.append)
    assert len(notes) == 1 and "looks like a heading" in notes[0]


def test_what_exists_is_replaced_on_request_only(table: Path) -> None:
    output = table.with_name("out")
    output.write_text("kept")
    with pytest.raises(BadInputError, match="exists"):
        planner.sort(table, output, format="lines")
    assert output.read_text() == "kept"
    planner.sort(table, output, format="lines", force=True)
    assert output.read_text() == "Ada,36\nEve,9\nname,age\n"


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"format": "csv"}, "say which columns"),
        ({"format": "csv", "key": "age", "lines": True}, "rows are no lines"),
        ({"format": "parquet", "key": "k", "separator": ","}, "is for text"),
        ({"key": "age", "key_offset": 3}, "leave out --more-output, --key-offset"),
        ({"record_size": 0}, "at least one byte"),
        ({"lines": True, "stable": True, "ray": "127.0.0.1:1"}, "--stable is for one machine"),
    ],
)
def test_options_that_exclude_each_other_are_refused(table: Path, options: dict[str, Any], reason: str) -> None:
    with pytest.raises(BadInputError, match=reason):
        planner.sort(table, table.with_name("out"), **options)
    assert not table.with_name("out").exists()
