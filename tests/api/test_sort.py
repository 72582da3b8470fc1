"""`planner.sort` and `planner.find_disorder` return a result, print nothing and refuse invalid input."""

from __future__ import annotations

import gzip
import lzma
import os
import threading
from pathlib import Path
from typing import Any

import pytest
from approvals import Approve
from refusals import refused

import planner
from planner.errors import BadInputError

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """Return a CSV file."""
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


def test_notes_go_to_the_caller(table: Path, approve: Approve) -> None:
    notes: list[str] = []
    planner.sort(table, table.with_name("out"), key="2n", separator=",", format="lines", say=notes.append)
    assert len(notes) == 1
    approve(notes[0])


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
        ({"format": "csv", "key": "age", "lines": True}, "`lines` does not go with `format=csv`"),
        ({"format": "parquet", "key": "k", "separator": ","}, "`separator` does not go with `format=parquet`"),
        ({"key": "age", "key_offset": 3}, "`key_offset` does not go with `key`"),
        ({"record_size": 0}, "^record_size: "),
        ({"lines": True, "stable": True, "ray": "127.0.0.1:1"}, "`stable` does not go with `ray`"),
    ],
)
def test_options_that_exclude_each_other_are_refused(table: Path, options: dict[str, Any], reason: str) -> None:
    with pytest.raises(BadInputError, match=reason):
        planner.sort(table, table.with_name("out"), **options)
    assert not table.with_name("out").exists()


@pytest.mark.parametrize("options", [{"merge": True}, {"unique": True}, {"limit": 2}, {"compress": "none"}])
def test_records_are_not_taken_for_lines(tmp_path: Path, options: dict[str, Any]) -> None:
    source, out = tmp_path / "in.dat", tmp_path / "out.dat"
    records = [bytes([key]) * 10 + b"\n\x00" * 45 for key in (1, 2, 3)]
    source.write_bytes(b"".join(records))
    for said in ({"format": "records"}, {"record_size": 100}):
        planner.sort(source, out, force=True, **said, **options)
        assert out.read_bytes() == b"".join(records[: options.get("limit")])


def test_text_of_a_multiple_of_100_bytes_is_text(tmp_path: Path) -> None:
    source, out = tmp_path / "in.txt", tmp_path / "out.txt"
    source.write_text("\n".join(f"{99 - i:04d}" for i in range(40)) + "\n")
    assert source.stat().st_size == 200
    notes: list[str] = []
    planner.sort(source, out, say=notes.append)
    assert notes == [f"{source}: taken for lines of text; --format says otherwise"]
    assert out.read_text().split() == sorted(source.read_text().split())
    found = planner.find_disorder(source)
    assert found and (found.number, found.text) == (2, "0098")


@pytest.mark.parametrize("path", ["/proc/filesystems", "/sys/kernel/mm/transparent_hugepage/enabled"])
def test_files_are_read_to_their_end_whatever_their_size(path: str, tmp_path: Path) -> None:
    if not Path(path).exists():
        pytest.skip("this kernel has no such file")
    expected = sorted(Path(path).read_bytes().splitlines(keepends=True))
    for options in ({"lines": True}, {"lines": True, "key_size": 100}, {}):
        planner.sort(path, tmp_path / "out", force=True, **options)  # type: ignore[arg-type]
        assert (tmp_path / "out").read_bytes() == b"".join(expected)
    assert planner.validate(path, lines=True).report.records == len(expected)


@pytest.mark.parametrize("compress", ["none", "gz"])
def test_a_file_that_appears_meanwhile_is_kept(compress: Any, tmp_path: Path) -> None:
    source, out = tmp_path / "in", tmp_path / "out"
    os.mkfifo(source)

    def feed() -> None:
        with source.open("w") as pipe:
            out.write_text("precious")
            pipe.write("2\n1\n")

    for force in (False, True):
        out.unlink(missing_ok=True)
        writer = threading.Thread(target=feed)
        writer.start()
        if force:
            planner.sort(source, out, lines=True, compress=compress, force=True)
        else:
            with pytest.raises(BadInputError, match="appeared during the sort"):
                planner.sort(source, out, lines=True, compress=compress)
        writer.join()
        assert (out.read_bytes() == b"precious") is not force
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in", "out"]


@pytest.mark.parametrize(
    ("beginning", "name"),
    [
        (b"PK\x03\x04", "ZIP"),
        (b"\x1f\x9d\x90", "compressed by compress"),
        (b"\x02\x21\x4c\x18", "LZ4 in its old frames"),
        (lzma.compress(b"a\n", format=lzma.FORMAT_ALONE)[:20], "LZMA"),
    ],
)
def test_what_is_no_text_is_refused_by_name(beginning: bytes, name: str, tmp_path: Path) -> None:
    source = tmp_path / "in"
    source.write_bytes(beginning + b"\n" * (100 - len(beginning)))
    for options in ({}, {"lines": True}, {"format": "csv", "key": "1"}):
        with refused("not-text", name):
            planner.sort(source, tmp_path / "out", **options)  # type: ignore[arg-type]
    planner.sort(source, tmp_path / "out", format="records")


def test_arrow_is_a_table_and_no_text(tmp_path: Path) -> None:
    source = tmp_path / "in"
    source.write_bytes(b"ARROW1\0\0" + b"\n" * 92)
    with refused("missing-key", "key='NAME'", field="key"):
        planner.sort(source, tmp_path / "out")
    for options, code in (({"key": "a"}, "not-a-table"), ({"lines": True}, "not-text")):
        with refused(code, "in"):
            planner.sort(source, tmp_path / "out", **options)  # type: ignore[arg-type]


def test_an_address_is_no_file_and_the_error_says_who_reads_it(tmp_path: Path) -> None:
    lines = tmp_path / "in.txt"
    lines.write_text("b\na\n")
    for inputs, output in (("s3://bucket/in", tmp_path / "out"), (lines, "s3://bucket/out")):
        with refused("is-address", "s3://bucket/") as caught:
            planner.sort(inputs, output, lines=True)
        assert "--ray auto" in caught.value.details[0]


@pytest.mark.parametrize(("separator", "byte"), [("\\t", "\t"), ("\\0", "\0")])
def test_a_separator_of_lines_may_be_written_with_a_backslash(separator: str, byte: str, tmp_path: Path) -> None:
    (tmp_path / "in").write_text(f"a a{byte}2\nb{byte}1\n")
    planner.sort(tmp_path / "in", tmp_path / "out", key="2,2n", separator=separator, format="lines")
    assert (tmp_path / "out").read_text() == f"b{byte}1\na a{byte}2\n"
