"""Files are taken for what their names and their first bytes say."""

from __future__ import annotations

import gzip
import io
import tarfile
from contextlib import nullcontext
from pathlib import Path

import pytest

from planner.api.contents.file_kinds import common_kind, kind_of, recognised, require_fitting_name
from planner.api.generate import generate
from planner.errors import BadInputError


@pytest.mark.parametrize(
    ("name", "content", "text"),
    [
        ("a.csv", b"a,b\n1,2\n", "CSV"),
        ("a.TSV", b"a\tb\n1\t2\n", "CSV with tabs"),
        ("a.csv.gz", gzip.compress(b"a,b\n", mtime=0), "CSV, compressed (gz)"),
        ("a.log", b"one\ntwo\n", "lines of text"),
        ("a", "zo\u00eb\n".encode(), "lines of text"),
        ("a", b"\x1b[31mred\x1b[0m\n" * 100, "lines of text"),
        ("a", "\u00ff\u00e9\n".encode("latin-1") * 100, "lines of text"),
        ("a.dat", gzip.compress(b"one\n", mtime=0), "lines of text, compressed (gz)"),
        ("a.dat.gz", gzip.compress(bytes(range(200)), mtime=0), "records of 100 bytes, compressed (gz)"),
        ("a.gz", gzip.compress(b"", mtime=0), "lines of text, compressed (gz)"),
        ("a.gz", gzip.compress(b"one\n", mtime=0)[:-9], "lines of text, compressed (gz)"),
        ("a.dat", b"PAR1....PAR1", "Parquet"),
        ("a.csv", b"PAR1....PAR1", "Parquet"),
        ("a.csv", bytes(range(200)), "records of 100 bytes"),
        ("a", bytes(range(100)), "records of 100 bytes"),
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


ARCHIVE = io.BytesIO()
tarfile.TarFile.open(fileobj=ARCHIVE, mode="w").addfile(tarfile.TarInfo("a"))


@pytest.mark.parametrize(
    ("name", "content", "why"),
    [
        ("a.dat", gzip.compress(bytes(range(200)), mtime=0), "is compressed, and no text"),
        ("a.tar", ARCHIVE.getvalue(), "is an archive of tar"),
        ("a.tar.gz", gzip.compress(ARCHIVE.getvalue(), mtime=0), "is an archive of tar"),
        ("a.txt", "text\n".encode("utf-16") * 25, "is UTF-16: make it UTF-8 first"),
        ("a.gz", gzip.compress(b"PAR1....PAR1", mtime=0), "is Parquet that was compressed once more"),
        ("a.gz", gzip.compress(b"ARROW1\0\0", mtime=0), "is Arrow, which is no text"),
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
    with pytest.raises(BadInputError, match="lists the partitions of a dataset"):
        kind_of(manifest)


def test_a_key_of_lines_beside_csv_is_said(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("a,b\n")
    said: list[str] = []
    assert recognised([tmp_path / "a.csv"], {"key": ["1"]}, say=said.append) == {}
    assert said == [f"{tmp_path / 'a.csv'}: --key 1 is a key of lines; for one of columns say --format csv"]


@pytest.mark.parametrize(("name", "of_parquet", "of_text"), [
    ("a.csv", False, True), ("a.parquet", True, False), ("a.Parquet", True, False), ("a.parquet.gz", False, True),
    ("a.arrow", True, False), ("a", True, True), ("a.sorted", True, True), ("-", True, True),
])  # fmt: skip
def test_an_output_is_not_called_what_it_does_not_hold(name: str, of_parquet: bool, of_text: bool) -> None:
    for is_parquet, fits in ((True, of_parquet), (False, of_text)):
        with nullcontext() if fits else pytest.raises(BadInputError, match="a sort does not convert"):
            require_fitting_name(Path(name), is_parquet=is_parquet)
