"""`planner validate` compares the output with the input, or reports that it did not."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest
from approvals import Approve
from command_line import invoked
from refusals import refused
from typer.testing import CliRunner

from planner.cli.app import build
from planner.errors import BadInputError, ValidationFailedError


def call(*arguments: object) -> str:
    """Return a command's stderr."""
    return invoked(*arguments).stderr


def test_what_went_in_is_compared_or_said_not_to_be(tmp_path: Path, approve: Approve) -> None:
    before, after = tmp_path / "in.dat", tmp_path / "out.dat"
    call("generate", "--records", "100", before)
    call("sort", before, after)
    approve(call("validate", after))
    assert "not compared" not in call("validate", after, "--input", before)
    damaged = bytearray(after.read_bytes())
    damaged[99] ^= 1  # in the value of the first record, which keeps the order
    after.write_bytes(damaged)
    assert "not compared" in call("validate", after)
    with refused("not-sorted", kind=ValidationFailedError):
        call("validate", after, "--input", before)


def test_lines_are_compared_too(tmp_path: Path) -> None:
    before, after = tmp_path / "in.log", tmp_path / "out.log"
    before.write_text("b\na\n")
    after.write_text("a\nb\n")
    assert "not compared" not in call("validate", "--lines", after, "--input", before)
    after.write_text("a\nc\n")
    with refused("not-sorted", kind=ValidationFailedError):
        call("validate", "--lines", after, "--input", before)


def test_compressed_lines_are_read_as_sort_reads_them(tmp_path: Path) -> None:
    before, after = tmp_path / "in.log.gz", tmp_path / "out.log.bz2"
    before.write_bytes(gzip.compress(b"b\na\n"))
    call("sort", "--lines", before, after)
    assert "Lines: 2\nUnordered: 0\n" in invoked("validate", "--lines", after, "--input", before).stdout
    with refused("not-sorted", kind=ValidationFailedError):
        call("validate", "--lines", before)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (("--checksum", "xyz"), "write it in hex"),
        (("--checksum", "1", "--input", "{}"), "--checksum does not go with --input"),
    ],
)
def test_what_cannot_be_compared_with_is_refused(tmp_path: Path, options: tuple[str, ...], sentence: str) -> None:
    file = tmp_path / "one.dat"
    call("generate", "--records", "1", file)
    with pytest.raises(BadInputError, match=sentence):
        call("validate", file, *(option.format(file) for option in options))


def test_rows_are_counted_by_order(tmp_path: Path, approve: Approve) -> None:
    table, arrow = tmp_path / "in.parquet", pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    parquet.write_table(arrow.table({"ts": [1, 1, 2, 2, 2, 3]}), table, row_group_size=2)
    assert "Rows: 6\nUnordered: 0\nDuplicate keys: 3\nChecksum: " in invoked("validate", table, "--key", "ts").stdout
    found = json.loads(invoked("validate", table, "--key", "ts", "--json").stdout)
    assert (found["unordered"], found["duplicates"]) == (0, 3)
    parquet.write_table(arrow.table({"ts": [3, 2, 2, 1, 5, 4]}), table, row_group_size=2)
    failed = CliRunner().invoke(build(), ["validate", str(table), "--key", "ts"])
    assert isinstance(failed.exception, ValidationFailedError)
    approve(failed.stdout)


def test_rows_of_csv_in_order_have_none_unordered(tmp_path: Path, approve: Approve) -> None:
    table = tmp_path / "in.csv"
    table.write_text("n\n1\n2\n")
    assert "Rows: 2\nUnordered: 0\nChecksum: " in invoked("validate", table, "--key", "n:num").stdout
    table.write_text("n\n2\n1\n")
    failed = CliRunner().invoke(build(), ["validate", str(table), "--key", "n:num"])
    approve(failed.stdout)


def test_csv_without_a_heading_is_known_as_sort_knows_it(tmp_path: Path, approve: Approve) -> None:
    """A first row mistaken for a heading was left out of the count and of the order check, so this file passed."""
    table = tmp_path / "in.csv"
    table.write_text("3;4\n1;2\n")
    failed = CliRunner().invoke(build(), ["validate", str(table), "--key", "1:int"])
    assert isinstance(failed.exception, ValidationFailedError)
    approve(failed.stdout)
    assert "Rows: 1\n" in invoked("validate", table, "--header", "--separator", ";", "--key", "3:int").stdout


def test_a_checksum_that_agrees_is_said_to(tmp_path: Path, approve: Approve) -> None:
    before, after = tmp_path / "in.dat", tmp_path / "out.dat"
    call("generate", "--records", "100", before)
    call("sort", before, after)
    out = invoked("validate", after, "--input", before).stdout
    approve(out.rstrip())
    checksum = out.split("Checksum: ")[1].split()[0]
    assert f"Checksum: {checksum} (that of --checksum)" in invoked("validate", after, "--checksum", checksum).stdout
    assert invoked("validate", after).stdout.rstrip().endswith(f"Checksum: {checksum}")


@pytest.mark.parametrize(
    ("content", "options", "unit"),
    [
        (b"c 10\na 9\nb 9\n", ("--lines", "--key", "2,2n", "--key", "1,1r"), "Lines"),
        (b"3;c\n20;a\n1;b\n", ("--lines", "--separator", ";", "--key", "1,1n"), "Lines"),
        (b"b\0a\nx\0", ("-z",), "Lines"),
        (b"~c,d~,3\n~a,~,1\nx,2\n", ("--format", "csv", "--no-header", "--quote", "~", "--key", "2:int"), "Rows"),
        (bytes(range(240)), ("--record-size", "24", "--key", "1:u32be:desc"), "Records"),
    ],
    ids=["columns", "separator", "NUL", "quotes", "records"],
)
def test_lines_and_records_are_validated_by_the_keys_of_their_sort(
    tmp_path: Path, content: bytes, options: tuple[str, ...], unit: str
) -> None:
    before, after = tmp_path / "in", tmp_path / "out"
    before.write_bytes(content)
    call("sort", *options, before, after)
    out = invoked("validate", *options, after, "--input", before).stdout
    assert f"{unit}: " in out and "Unordered: 0\n" in out and "(that of the input)" in out
    with refused("out-of-order", kind=ValidationFailedError):
        call("validate", *options, before, "--input", before)
    after.write_bytes(after.read_bytes().replace(b"c", b"d").replace(b"x", b"y"))
    with refused("wrong-content", kind=ValidationFailedError):
        call("validate", *options, after, "--input", before)


def test_a_folder_and_a_table_of_another_kind_are_compared_by_their_rows(tmp_path: Path) -> None:
    folder, after = tmp_path / "in", tmp_path / "out.parquet"
    folder.mkdir()
    for number, rows in enumerate(("3,2026-01-01,\n", "20,2025-12-31,x\n")):
        (folder / f"{number}.csv").write_text("n,day,s\n" + rows)
    call("sort", "--key", "n", folder, after)
    out = invoked("validate", after, "--key", "n", "--input", folder).stdout
    assert "Rows: 2\nUnordered: 0\nDuplicate keys: 0\n" in out and "(that of the input)" in out
    back = tmp_path / "back.csv"
    call("sort", "--key", "n:desc", after, back)
    assert "(that of the input)" in invoked("validate", back, "--key", "n:desc", "--input", after).stdout
    (folder / "1.csv").write_text("n,day,s\n20,2025-12-30,x\n")
    with refused("wrong-content", kind=ValidationFailedError):
        call("validate", after, "--key", "n", "--input", folder)
    (folder / "1.csv").write_text("n,day,s\n20,unknown,x\n")
    with refused("schema-mismatch", "column day: date32[day], and string in the input"):
        call("validate", after, "--key", "n", "--input", folder)


def test_the_place_of_disorder_counts_from_1_as_check_does(tmp_path: Path, approve: Approve) -> None:
    file = tmp_path / "bad.dat"
    file.write_bytes(b"".join(bytes([key]) * 100 for key in (1, 2, 1)))
    failed = CliRunner().invoke(build(), ["validate", "--format", "records", str(file)])
    approve(failed.stdout)
    checked = CliRunner().invoke(build(), ["sort", "--check", "--format", "records", str(file)])
    assert (checked.exit_code, checked.stderr) == (1, f"{file}:3: disorder: 0x{'01' * 10}\n")
