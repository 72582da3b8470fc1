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


def test_compressed_lines_are_no_lines(tmp_path: Path) -> None:
    sorted_log = tmp_path / "sorted.log.gz"
    sorted_log.write_bytes(gzip.compress(b"a\nb\n"))
    with pytest.raises(BadInputError, match=r"is compressed \(gz\): decompress it"):
        call("validate", "--lines", sorted_log)


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


def test_keys_of_lines_are_checked_by_sort(tmp_path: Path) -> None:
    file = tmp_path / "bad.csv"
    file.write_text("a,2\nb,1\n")
    with pytest.raises(BadInputError, match="planner sort --check --key 2,2n"):
        call("validate", "--lines", "--key", "2,2n", file)


def test_the_place_of_disorder_counts_from_1_as_check_does(tmp_path: Path, approve: Approve) -> None:
    file = tmp_path / "bad.dat"
    file.write_bytes(b"".join(bytes([key]) * 100 for key in (1, 2, 1)))
    failed = CliRunner().invoke(build(), ["validate", "--format", "records", str(file)])
    approve(failed.stdout)
    checked = CliRunner().invoke(build(), ["sort", "--check", "--format", "records", str(file)])
    assert (checked.exit_code, checked.stderr) == (1, f"{file}:3: disorder: 0x{'01' * 10}\n")
