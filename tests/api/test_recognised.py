"""`sort` and `validate` report the file kind they detect where the user gives none."""

from __future__ import annotations

from pathlib import Path

import pyarrow
import pyarrow.parquet
import pytest
from typer.testing import CliRunner, Result

from planner.cli.app import build
from planner.errors import BadInputError, ValidationFailedError


def call(*words: object) -> Result:
    return CliRunner().invoke(build(only=str(words[0])), [str(word) for word in words])


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "people.csv"
    path.write_text("name,age\nEve,9\nBob,10\nAda,36\n")
    return path


def test_csv_is_sorted_and_validated_by_its_columns(table: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.csv"
    sorted_ = call("sort", table, out, "--key", "age:num:desc")
    assert f"{table}: taken for CSV; --format says otherwise" in sorted_.stderr
    assert out.read_text() == "name,age\nAda,36\nBob,10\nEve,9\n"
    done = call("validate", out, "--key", "age:num:desc", "--input", table)
    assert (done.exit_code, done.stdout.split()[:2]) == (0, ["Rows:", "3"])
    assert isinstance(call("validate", table, "--key", "age:num:desc").exception, ValidationFailedError)
    out.write_text("name,age\nAda,36\nBob,11\nEve,9\n")
    changed = call("validate", out, "--key", "age:num:desc", "--input", table)
    assert isinstance(changed.exception, ValidationFailedError) and "not the data" in str(changed.exception)


@pytest.mark.parametrize("command", ["sort", "validate"])
def test_rows_need_a_key(command: str, table: Path, tmp_path: Path) -> None:
    refused = call(command, table, *([tmp_path / "out"] if command == "sort" else []))
    assert isinstance(refused.exception, BadInputError)
    assert "is CSV: say which columns are its keys, --key NAME" in str(refused.exception)


def test_parquet_is_parquet_under_any_name(tmp_path: Path) -> None:
    source, out = tmp_path / "a.dat", tmp_path / "b.dat"
    pyarrow.parquet.write_table(pyarrow.table({"n": [3, 1, 2]}), source)
    assert "taken for Parquet" in call("sort", source, out, "--key", "n").stderr
    done = call("validate", out, "--key", "n", "--input", source, "--json")
    assert done.exit_code == 0 and '"rows": 3' in done.stdout
    assert isinstance(call("validate", source, "--key", "n").exception, ValidationFailedError)


def test_text_is_sorted_by_lines(tmp_path: Path) -> None:
    (tmp_path / "a.log").write_text("b\na\n")
    done = call("sort", tmp_path / "a.log", tmp_path / "out")
    assert "taken for lines of text" in done.stderr and (tmp_path / "out").read_text() == "a\nb\n"
    assert "taken for lines of text" in call("validate", tmp_path / "out").stderr


def test_keys_of_lines_are_those_of_lines_in_csv_too(table: Path, tmp_path: Path) -> None:
    done = call("sort", table, tmp_path / "out", "--separator", ",", "--key", "2,2n")
    assert "taken for" not in done.stderr and (tmp_path / "out").read_text().startswith("name,age\nEve,9")
