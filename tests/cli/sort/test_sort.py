"""`planner sort` by keys of text."""

from __future__ import annotations

import gzip
import json
import struct
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from planner.cli.app import build
from planner.errors import BadInputError


def call(*words: str) -> str:
    """Run a command that must succeed, and return its output."""
    done = CliRunner().invoke(build(only="sort"), ["sort", *words], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.stdout


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """Return a file of words and numbers."""
    path = tmp_path / "data.txt"
    path.write_bytes(b"10,b,x\n9,a,y\n9,b,z\n10,a,w")
    return path


def test_several_keys_each_in_its_direction(data: Path) -> None:
    out = data.with_name("out")
    report = json.loads(call("--separator", ",", "--key", "2,2r", "--key", "1,1n", str(data), str(out), "--json"))
    assert out.read_bytes() == b"9,b,z\n10,b,x\n9,a,y\n10,a,w\n"
    assert (report["lines"], report["runs"]) == (4, 0)


def test_the_first_of_equal_keys_and_the_first_lines(data: Path) -> None:
    out = data.with_name("out")
    call("--separator", ",", "--key", "1,1n", "--unique", str(data), str(out))
    assert out.read_bytes() == b"9,a,y\n10,b,x\n"
    call("--separator", ",", "--key", "1,1n", "--stable", "--limit", "3", str(data), str(out), "--force")
    assert out.read_bytes() == b"9,a,y\n9,b,z\n10,b,x\n"


def test_sorted_files_are_merged(data: Path) -> None:
    (data.with_name("a")).write_bytes(b"1\n10\n")
    (data.with_name("b")).write_bytes(b"2\n")
    out = data.with_name("out")
    call("--key", "1n", "--merge", "--limit", "2", str(data.with_name("a")), str(data.with_name("b")), str(out))
    assert out.read_bytes() == b"1\n2\n"


def test_lines_that_end_with_nul(data: Path) -> None:
    out = data.with_name("out")
    data.write_bytes(b"b\nc\0a")
    call("-z", str(data), str(out))
    assert out.read_bytes() == b"a\0b\nc\0"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--key", "0"], "--key: field number is zero"),
        (["--key", "1dn"], "--key: options '-dn' are incompatible"),
        (["--separator", ",,", "--key", "1"], "--separator is one byte"),
        (["--separator", ","], "--separator: whole lines are sorted"),
        (["--key", "1", "--record-size", "10"], "--key 1: a key of records is OFFSET:SIZE"),
        (["--lines", "--record-size", "10"], "--record-size does not go with --lines"),
        (["--key", "0:4", "--key", "2"], "invalid field specification"),
        (["--format", "records", "--key", "0:4", "-z"], "-z does not go with --format records"),
        (["--format", "csv"], "say which columns"),
        (["--format", "csv", "--key", "1", "--separator", '"'], "cannot separate"),
    ],
)
def test_what_cannot_be_is_refused(words: list[str], message: str, data: Path) -> None:
    with pytest.raises(BadInputError, match=message):
        call(*words, str(data), str(data.with_name("out")))
    assert not data.with_name("out").exists()


@pytest.mark.parametrize("option", ["--merge", "--limit=1", "--compress=gz"])
def test_a_check_writes_nothing(option: str, data: Path) -> None:
    with pytest.raises(BadInputError, match="--check writes nothing: leave out --"):
        call("--check", option, "--key", "1", str(data))


def test_a_reader_that_leaves_ends_the_sort_quietly(tmp_path: Path) -> None:
    (tmp_path / "in").write_text("line\n" * 100_000)
    for packed in ("none", "gz"):
        words = ["sort", "--lines", str(tmp_path / "in"), "-", "--compress", packed]
        with subprocess.Popen(
            [sys.executable, "-m", "planner", *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE
        ) as sort:
            assert sort.stdout and sort.stderr
            sort.stdout.close()
            assert (sort.stderr.read(), sort.wait()) == (b"", 0)


def test_csv_by_names_and_its_check(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = data.with_name("out.csv")
    data.write_bytes(b"a name,n\nx,10\ny,9\nz,\n")
    report = json.loads(call("--format", "csv", "--key", "n:num:first", str(data), str(out), "--json"))
    assert out.read_bytes() == b"a name,n\nz,\ny,9\nx,10\n"
    assert report["rows"] == 3
    call("--check", "--format", "csv", "--key", "n:num:first", str(out))
    done = CliRunner().invoke(build(only="sort"), ["sort", "--check", "--format", "csv", "--key", "a name", str(out)])
    assert done.exit_code == 1
    assert f"{out}:3: disorder: y,9" in capsys.readouterr().err + done.stderr


def test_lines_compressed_by_name_and_key_range(data: Path) -> None:
    data.write_bytes(b"1b\n2a\n1a\n")
    packed, out = data.with_name("packed.gz"), data.with_name("out")
    call("--lines", str(data), str(packed))
    assert packed.read_bytes().startswith(b"\x1f\x8b")
    call("--lines", "--key-offset", "1", "--key-size", "1", str(packed), str(out))
    assert out.read_bytes() == b"1a\n2a\n1b\n"
    call("--lines", "--check", str(packed))


def test_text_replaces_its_own_input_by_force_only(data: Path) -> None:
    with pytest.raises(BadInputError, match="replace it with --force"):
        call("--key", "1", str(data), str(data))
    call("--key", "1,1n", "--separator", ",", "--force", str(data), str(data))
    assert data.read_bytes().startswith(b"9,a,y\n")


def test_parquet_by_columns(data: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    source, out = data.with_name("in.parquet"), data.with_name("out.parquet")
    pq.write_table(pa.table({"a": [1, None, 3]}), source)
    assert json.loads(call("--format", "parquet", "--key", "a:desc", str(source), str(out), "--json"))["rows"] == 3
    assert pq.read_table(out).column("a").to_pylist() == [3, 1, None]
    call("--format", "parquet", "--check", "--key", "a:desc", str(out))
    done = CliRunner().invoke(
        build(only="sort"), ["sort", "--format", "parquet", "--check", "--key", "a", str(out), "--json"]
    )
    assert done.exit_code == 1
    assert json.loads(done.stdout) == {"version": 3, "sorted": False, "first_unsorted": 2, "text": "1"}


def test_records_by_typed_keys(tmp_path: Path) -> None:
    source, out, packed = tmp_path / "in", tmp_path / "out", tmp_path / "out.gz"
    numbers = [3, -1, 2, 3]
    source.write_bytes(b"".join(struct.pack("<iH", number, i) for i, number in enumerate(numbers)))
    keys = ["--record-size", "6", "--key", "0:i32le:desc"]
    assert json.loads(call(*keys, "--unique", "--limit", "2", str(source), str(out), "--json"))["records"] == 2
    assert out.read_bytes() == struct.pack("<iHiH", 3, 0, 2, 2)
    call("--check", *keys, "--unique", str(out))
    done = CliRunner().invoke(build(only="sort"), ["sort", "--check", *keys, str(source), "--json"])
    text = "0x" + struct.pack("<i", 2).hex()  # only the key
    assert json.loads(done.stdout) == {"version": 3, "sorted": False, "first_unsorted": 3, "text": text}
    call("--record-size", "6", "--key-offset", "4", "--key-size", "2", str(source), str(packed))
    assert gzip.decompress(packed.read_bytes()) == source.read_bytes()
    call(*keys, str(source), str(packed), "--force")
    call(*keys, "--merge", str(out), str(packed), str(out), "--force")
    assert len(out.read_bytes()) == 36
