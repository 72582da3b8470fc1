"""`sort` and `validate` report the file kind they detect where the user gives none."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow
import pyarrow.parquet
import pytest
from approvals import Approve
from refusals import refused, require
from typer.testing import CliRunner, Result

import planner
from planner.cli.app import build
from planner.errors import BadInputError, ValidationFailedError


def call(*words: object) -> Result:
    return CliRunner().invoke(build(only=str(words[0])), [str(word) for word in words])


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "people.csv"
    path.write_text("name,age\nEve,9\nBob,10\nAda,36\n")
    return path


def test_a_word_that_is_no_file_is_named_before_formats_are_guessed(table: Path, tmp_path: Path) -> None:
    said: list[str] = []
    with pytest.raises(BadInputError, match=r"^desc: no such file"):
        planner.sort([table, "desc"], tmp_path / "out.csv", key="name", say=said.append)
    assert not said


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
    field = "--key" if command == "sort" else ""
    require(refused.exception, "missing-key", str(table), "--key NAME", "its columns are name, age;", field=field)


def test_columns_of_parquet_are_named_where_a_key_is_missing(tmp_path: Path) -> None:
    source = tmp_path / "sales.parquet"
    pyarrow.parquet.write_table(pyarrow.table({"day": [1], "amount": [2]}), source)
    refused = call("sort", source, tmp_path / "out.parquet")
    require(refused.exception, "missing-key", "--key NAME", "its columns are day, amount;", field="--key")


def test_python_names_a_missing_file_and_the_function_that_takes_keys(table: Path, tmp_path: Path) -> None:
    with refused("no-such-file", "gone.csv"):
        planner.validate(tmp_path / "gone.csv")
    with refused("unknown-argument", "Did you mean: planner.validate_rows(FILES, key='NAME')", field="key"):
        planner.validate(table, key="age")  # type: ignore[call-arg]
    found = planner.validate_rows(table, key="age:num")
    assert isinstance(found, planner.RowsValidation) and (found.rows, found.unordered) == (3, 0)


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


@pytest.mark.parametrize("name", ["in.csv", "in.tsv", "in.csv.gz", "in.parquet"])
@pytest.mark.parametrize(
    "key", ["1", "#1", "a", "a,b", "a,b:desc", "#1,2", "1,1", "2:desc,a", "1n", "1,1n", "2,3", "n,v"]
)
def test_a_key_of_a_table_is_columns_however_it_is_written(key: str, name: str, tmp_path: Path) -> None:
    """The heading is never sorted among the rows, and no key changes what separates the columns."""
    source, out = tmp_path / name, tmp_path / name.replace("in", "out")
    if name == "in.parquet":
        pyarrow.parquet.write_table(pyarrow.table({"a": ["20", "3"], "b": ["x y", "w v"]}), source)
    else:
        mark = "\t" if name == "in.tsv" else ","
        content = f"a{mark}b\n20{mark}x y\n3{mark}w v\n".encode()
        source.write_bytes(gzip.compress(content) if name.endswith("gz") else content)
    done = call("sort", source, out, "--key", key)
    if key in ("1n", "1,1n", "2,3", "n,v"):
        assert isinstance(done.exception, BadInputError) and not out.exists()
        return
    assert done.exit_code == 0
    rows = [("20", "x y"), ("3", "w v")]
    if name == "in.parquet":
        assert [tuple(row.values()) for row in pyarrow.parquet.read_table(out).to_pylist()] == rows
    else:
        text = (gzip.decompress(out.read_bytes()) if name.endswith("gz") else out.read_bytes()).decode()
        assert [tuple(line.split(mark)) for line in text.splitlines()] == [("a", "b"), *rows]


@pytest.mark.parametrize("separator", [[], ["--separator", ","]])
def test_a_column_may_be_called_like_two(separator: list[str], tmp_path: Path) -> None:
    (source := tmp_path / "in.csv").write_text('"b,a",a,b\n1,2,3\n0,4,1\n')
    for key, last in (("b,a", "1,2,3"), ("a,b", "0,4,1")):
        call("sort", source, tmp_path / "out.csv", "--key", key, "--force", *separator)
        assert (tmp_path / "out.csv").read_text().splitlines()[-1] == last


WORDS = [[], ["--check"], ["--merge"], ["--unique"], ["--limit", "1"], ["--key", "0:4"], ["--consume-input"]]


@pytest.mark.parametrize("words", WORDS, ids=lambda words: "".join(words) or "none")
def test_nothing_is_cut_into_records_by_its_size(words: list[str], tmp_path: Path) -> None:
    log = b"start\n" + b"crash\0\n" * 20
    for content in (bytes(range(200)), log.ljust(200, b"x") + b"\n" * 100, b"a" * 70_000 + b"\nb\n" * 10_000):
        (source := tmp_path / "in").write_bytes(content)
        files = [source] if words == ["--check"] else [source, tmp_path / "out"]
        for command in (["sort", *words, *files], ["validate", source], ["validate", source, "--input", source]):
            refused = call(*command)
            assert isinstance(refused.exception, BadInputError) and refused.exception.exit_code == 2
        assert source.read_bytes() == content and not (tmp_path / "out").exists()
    with pytest.raises(BadInputError):
        planner.validate(source)


def test_a_pipe_is_not_cut_into_records(tmp_path: Path) -> None:
    for words in (["sort", "-", tmp_path / "out"], ["sort", "--check", "-"], ["validate", "/dev/stdin"]):
        command = [sys.executable, "-m", "planner", *words]
        done = subprocess.run(command, input=b"b\na\n" * 50, capture_output=True, check=False)
        assert done.returncode == 2 and not (tmp_path / "out").exists()


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_lines_of_100_bytes_are_whole_lines(end: str, tmp_path: Path, approve: Approve) -> None:
    lines = [f"{letter * (100 - len(end))}{end}".encode() for letter in "cab"]
    (tmp_path / "in").write_bytes(b"".join(lines))
    done = call("sort", tmp_path / "in", tmp_path / "out", "--json")
    assert '"records": 3' in done.stdout or '"lines": 3' in done.stdout
    approve(done.stderr)
    assert (tmp_path / "out").read_bytes() == b"".join(sorted(lines))


@pytest.mark.parametrize(
    "options", [{}, {"ascii": True}, {"skew": True}, {"ascii": True, "skew": True, "start": 2**100}]
)
def test_generated_records_need_no_format(options: dict[str, Any], tmp_path: Path) -> None:
    source, out = tmp_path / "in.txt", tmp_path / "out"
    planner.generate(source, records=1000, **options)
    assert planner.sort(source, out).counted == "records"
    assert planner.validate(out, input=[source]).passed and planner.find_disorder(out) is None


@pytest.mark.parametrize("name", ["a.csv", "a.tsv", "a.csv.gz"])
def test_rows_of_csv_are_rows_also_with_newlines_in_quotes(name: str, tmp_path: Path) -> None:
    mark = "\t" if ".tsv" in name else ","
    rows = [f'{i}{mark}"two\nlines, {mark}and ""three""\n"\n' for i in range(40_000, 0, -1)]
    content = (f'id{mark}"a\nnote"\n' + "".join(rows)).encode()
    (tmp_path / name).write_bytes(gzip.compress(content) if name.endswith("gz") else content)
    found = call("validate", tmp_path / name, "--key", "id:int:desc", "--json")
    assert (found.exit_code, json.loads(found.stdout)["rows"]) == (0, 40_000)
    call("sort", tmp_path / name, tmp_path / f"out.{name}", "--key", "id:int")
    same = call("validate", tmp_path / f"out.{name}", "--key", "id:int", "--input", tmp_path / name)
    assert same.exit_code == 0 and same.stdout.splitlines()[0] == "Rows: 40000"
    (tmp_path / "other.csv").write_bytes(content.replace(b"two\nlines", b"lines\ntwo", 1))
    if name == "a.csv":
        changed = call("validate", tmp_path / "out.a.csv", "--key", "id:int", "--input", tmp_path / "other.csv")
        assert isinstance(changed.exception, ValidationFailedError)


@pytest.mark.parametrize("form", ["csv", "parquet", "log", "dat"])
def test_validate_takes_the_folders_and_files_that_sort_takes(form: str, tmp_path: Path) -> None:
    folder = tmp_path / "in"
    for year in (2025, 2026):
        (part := folder / f"year={year}").mkdir(parents=True)
        if form == "parquet":
            pyarrow.parquet.write_table(pyarrow.table({"id": [year, 1]}), part / "a.parquet")
        elif form == "dat":
            planner.generate(part / "a.dat", records=9, start=year)
        else:
            (part / f"a.{form}").write_text(f"id\n{year}\n1\n")
    out, keys = tmp_path / f"out.{form}", ["--key", "id:int" if form == "csv" else "id"]
    keys = keys if form in ("csv", "parquet") else []
    assert call("sort", folder, out, *keys).exit_code == 0
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    assert call("validate", out, *keys, "--input", folder).exit_code == 0
    (tmp_path / "sorted").mkdir()
    out.rename(tmp_path / "sorted" / out.name)
    assert call("validate", tmp_path / "sorted", *keys, "--input", folder).exit_code == 0
    for unsorted in ([folder], files):
        assert isinstance(call("validate", *unsorted, *keys).exception, ValidationFailedError)
    fewer = call("validate", tmp_path / "sorted", *keys, "--input", files[0])
    assert isinstance(fewer.exception, ValidationFailedError)


@pytest.mark.parametrize("form", ["csv", "parquet", "log"])
def test_the_order_goes_on_from_file_to_file(form: str, tmp_path: Path) -> None:
    for name, values in (("a", [1, 2]), ("b", [2, 3])):
        path = tmp_path / f"{name}.{form}"
        if form == "parquet":
            pyarrow.parquet.write_table(pyarrow.table({"id": values}), path)
        else:
            path.write_text("".join(f"{value}\n" for value in (["id"] if form == "csv" else []) + values))
    one, other = tmp_path / f"a.{form}", tmp_path / f"b.{form}"
    keys = ["--key", "id"] if form != "log" else []
    assert call("validate", one, other, *keys).exit_code == 0
    assert isinstance(call("validate", other, one, *keys).exception, ValidationFailedError)
    found = planner.find_disorder([other, one], key="id" if keys else None)
    assert found is not None and found.number == (4 if form == "csv" else 3)


def test_an_output_that_ends_like_a_folder_is_none(tmp_path: Path) -> None:
    (source := tmp_path / "in.log").write_text("b\na\n")
    (tmp_path / "there").mkdir()
    for folder in (f"{tmp_path}/new/", f"{tmp_path}/there/", f"{tmp_path}/there"):
        for words in (
            ["sort", source, folder],
            ["generate", "--records", "1", folder],
            ["sort", "--merge", source, folder],
        ):
            refused = call(*words)
            assert isinstance(refused.exception, BadInputError) and refused.exception.exit_code == 2
        with pytest.raises(BadInputError):
            planner.sort(source, folder)
        with pytest.raises(BadInputError):
            planner.sort(source, tmp_path / "out", more_outputs=[folder])
        with pytest.raises(BadInputError):
            planner.generate(folder, records=1)
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["in.log", "there"]
