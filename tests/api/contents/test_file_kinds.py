"""Detection of a file's kind from its name and first bytes."""

from __future__ import annotations

import gzip
import io
import tarfile
from contextlib import nullcontext
from pathlib import Path

import pyarrow as pa
import pytest
from refusals import refused

from planner.api.contents import file_kinds
from planner.api.contents.file_kinds import FileKind
from planner.api.contents.inspection import common_kind, inspect
from planner.api.contents.output_format import require_fitting_name
from planner.api.generate import generate
from planner.compression.text_codecs import look_at
from planner.errors import BadInputError


def kind_of(path: Path) -> FileKind | None:
    return file_kinds.kind_of(look_at(str(path)))


@pytest.mark.parametrize(
    ("name", "content", "text"),
    [
        ("a.csv", b"a,b\n1,2\n", "CSV"),
        ("a.TSV", b"a\tb\n1\t2\n", "CSV with tabs"),
        ("a.csv.gz", gzip.compress(b"a,b\n", mtime=0), "CSV, compressed (gz)"),
        ("a.log", b"one\ntwo\n", "lines of text"),
        ("a", "zo\u00eb\n".encode(), "lines of text"),
        ("a.log", b"one line without an end", "lines of text"),
        ("a", b"A" * 98 + b"\r\n" + b"b" * 98 + b"\r\n", "lines of text"),
        ("a", b"\x1b[31mred\x1b[0m\n" * 100, "lines of text"),
        ("a", "\u00ff\u00e9\n".encode("latin-1") * 100, "lines of text"),
        ("a.dat", gzip.compress(b"one\n", mtime=0), "lines of text, compressed (gz)"),
        ("a.gz", gzip.compress(b"", mtime=0), "lines of text, compressed (gz)"),
        ("a.gz", gzip.compress(b"one\n", mtime=0)[:-9], "lines of text, compressed (gz)"),
        ("a.dat", b"PAR1....PAR1", "Parquet"),
        ("a.csv", b"PAR1....PAR1", "Parquet"),
        ("a.json", b'{"k": 2}\n{"k": 1}\n', "lines of text"),
        ("a.json", b"[2, 1]\n[1, 2]\n", "lines of text"),
    ],
)
def test_a_file_is_what_it_holds(tmp_path: Path, name: str, content: bytes, text: str) -> None:
    (tmp_path / name).write_bytes(content)
    kind = kind_of(tmp_path / name)
    assert kind is not None and kind.text == text


@pytest.mark.parametrize("printable", [False, True])
def test_records_of_the_sort_benchmark_are_records_though_they_are_text(tmp_path: Path, printable: bool) -> None:
    generate(tmp_path / "a.txt", records=3, ascii=printable)
    kind = kind_of(tmp_path / "a.txt")
    assert kind is not None and kind.format == "records"
    packed = tmp_path / "a.dat.gz"
    packed.write_bytes(gzip.compress((tmp_path / "a.txt").read_bytes()))
    kind = kind_of(packed)
    assert kind is not None and kind.text == "records of 100 bytes, compressed (gz)"
    with pytest.raises(BadInputError, match="is compressed, and no text"):
        kind_of(packed.rename(tmp_path / "a.dat"))


STREAM = io.BytesIO()
pa.ipc.new_stream(STREAM, pa.schema([("k", pa.int64())])).close()
ARCHIVE = io.BytesIO()
tarfile.TarFile.open(fileobj=ARCHIVE, mode="w").addfile(tarfile.TarInfo("a"))


@pytest.mark.parametrize(
    ("name", "content", "why"),
    [
        ("a.dat", gzip.compress(bytes(range(200)), mtime=0), "has bytes that no text has"),
        ("a.dat.gz", gzip.compress(bytes(range(200)), mtime=0), "has bytes that no text has"),
        ("a.csv", bytes(range(200)), "has bytes that no text has"),
        ("a.dat", bytes(range(100)), "has bytes that no text has"),
        ("a", b"\xff" * 100, "has no line's end"),
        ("a", b"x" * 70_000 + b"\n", "has no line's end"),
        ("a.log", b"start\ncrash\0\n", "has bytes that no text has"),
        ("a.csv", "a,b\n1,2\n".encode("utf-16-le"), "is UTF-16: make it UTF-8 first"),
        ("a", "a,b\n".encode("utf-16"), "is UTF-16: make it UTF-8 first"),
        ("a.orc", b"ORC" + bytes(97), "is ORC: write it as Parquet first"),
        ("a.pkl", b"\x80\x04\x95" + bytes(97), "is a pickle of Python"),
        ("a.pdf", b"%PDF-1.4\n%text\n", "is a PDF"),
        ("a.tar", ARCHIVE.getvalue(), "is an archive of tar"),
        ("a.tar.gz", gzip.compress(ARCHIVE.getvalue(), mtime=0), "is an archive of tar"),
        ("a.txt", "text\n".encode("utf-16") * 25, "is UTF-16: make it UTF-8 first"),
        ("a.gz", gzip.compress(b"PAR1....PAR1", mtime=0), "is Parquet that was compressed once more"),
        ("a.gz", gzip.compress(b"ARROW1\0\0", mtime=0), "is Arrow, which is no text"),
        ("a.gz", gzip.compress(gzip.compress(b"b\na\n", mtime=0), mtime=0), "was compressed twice"),
        ("a.db", b"SQLite format 3\0" + bytes(84), "is a database of SQLite"),
        ("a.duckdb", bytes(8) + b"DUCK" + bytes(88), "is a database of DuckDB"),
        ("a.npy", b"\x93NUMPY" + bytes(94), "is an array of NumPy"),
        ("a.arrows", STREAM.getvalue().ljust(500, b"\0"), "is an Arrow stream"),
        ("a.arrows.gz", gzip.compress(STREAM.getvalue(), mtime=0), "is an Arrow stream"),
        ("a.json", b'[\n  {"k": 2},\n  {"k": 1}\n]\n', "is one JSON value on several lines"),
        ("a.JSON", b'\xef\xbb\xbf{\r\n  "k": 2\r\n}\r\n', "is one JSON value on several lines"),
        ("a.json.gz", gzip.compress(b'[\n{"k": 2}\n]\n', mtime=0), "is one JSON value on several lines"),
    ],
)
def test_what_is_neither_text_nor_records_is_refused(tmp_path: Path, name: str, content: bytes, why: str) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(BadInputError, match=why):
        kind_of(tmp_path / name)


def test_nothing_says_what_an_empty_file_or_a_pipe_holds(tmp_path: Path) -> None:
    (tmp_path / "a.csv").touch()
    assert kind_of(tmp_path / "a.csv") is kind_of(Path("/dev/null")) is kind_of(tmp_path / "none") is None


def test_files_of_several_kinds_are_refused(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("a\n")
    (tmp_path / "b.txt").write_text("a\n")
    with pytest.raises(BadInputError, match="different kinds"):
        common_kind([tmp_path / "a.csv", tmp_path / "b.txt"])


def test_a_manifest_is_not_sorted_as_text(tmp_path: Path) -> None:
    (manifest := tmp_path / "sorted.json").write_text('{"format": "planner-manifest-1", "records": 1}\n')
    with refused("is-manifest"):
        kind_of(manifest)


@pytest.mark.parametrize("key", [["1"], ["1n"], ["n,v"], ["0:10"], ["a"]])
def test_no_key_says_what_a_file_is(tmp_path: Path, key: list[str]) -> None:
    (tmp_path / "a.csv").write_text("a,b\n")
    (tmp_path / "a.log").write_text("a,b\n")
    assert inspect([tmp_path / "a.csv"], {"key": key}, say=None).format == "csv"
    assert inspect([tmp_path / "a.log"], {"key": key}, say=None).format == "lines"


@pytest.mark.parametrize(("name", "of_parquet", "of_text"), [
    ("a.csv", False, True), ("a.parquet", True, False), ("a.Parquet", True, False), ("a.parquet.gz", False, True),
    ("a.arrow", True, False), ("a", True, True), ("a.sorted", True, True), ("-", True, True),
])  # fmt: skip
def test_an_output_is_not_called_what_it_does_not_hold(name: str, of_parquet: bool, of_text: bool) -> None:
    for is_parquet, fits in ((True, of_parquet), (False, of_text)):
        with nullcontext() if fits else pytest.raises(BadInputError, match="a sort does not convert"):
            require_fitting_name(Path(name), is_parquet=is_parquet)


@pytest.mark.parametrize("name", ["a.csv.Z", "a.zip", "a.parquet.br", "a.tgz", "a.xlsx", "a.Avro"])
@pytest.mark.parametrize("is_parquet", [False, True])
def test_an_output_is_not_called_compressed_as_no_sort_writes(name: str, is_parquet: bool) -> None:
    """It would be plain text under that name."""
    with pytest.raises(BadInputError, match=r"no sort writes \.\w+; (text may be \.gz, \.zst|tables may be \.csv)"):
        require_fitting_name(Path(name), is_parquet=is_parquet)
