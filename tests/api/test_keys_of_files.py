"""A key means the same in every table and for every operation, or is refused; each input is looked into once."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

import planner
from planner.api.input_dataset import files_dataset
from planner.cli.app import build
from planner.errors import BadInputError
from planner.sorting.records.keys import Key
from planner.sorting.sort_job import InputFormat

NAMES = ("state", "a.b", "amount", "x,y", "p q", "#2", "t:desc")
ROWS = (
    ("CA", "b10", 30, "c", "2", "m", "w"),
    ("AL", "b9", 4, "d", "1", "k", "z"),
    ("NY", "b2", 200, "a", "3", "n", "x"),
    ("AL", "a", -5, "b", "1", "l", "y"),
)
TABLES = ("in.csv", "in.TSV", "in.csv.gz", "semicolons.csv", "in.parquet", "table.dat")


def written(folder: Path, name: str) -> Path:
    """Write the rows as a table; `table.dat` is Parquet, too."""
    path = folder / name
    if name in ("in.parquet", "table.dat"):
        pq.write_table(pa.table({each: [row[place] for row in ROWS] for place, each in enumerate(NAMES)}), path)
        return path
    mark = {"in.TSV": "\t", "semicolons.csv": ";"}.get(name, ",")
    lines = [[f'"{value}"' if mark in str(value) else str(value) for value in row] for row in (NAMES, *ROWS)]
    text = "".join(mark.join(line) + "\n" for line in lines).encode()
    path.write_bytes(gzip.compress(text) if name.endswith(".gz") else text)
    return path


def order_of(path: Path) -> list[int]:
    """Return the numbers of the rows in a file."""
    if path.read_bytes().startswith(b"PAR1"):
        amounts = pq.read_table(path).column("amount").to_pylist()
    else:
        text = (gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()).decode()
        head, *lines = text.replace("\t", ",").replace(";", ",").splitlines()
        assert head.startswith("state,a.b,amount,")
        amounts = [int(line.split(",")[2]) for line in lines]
    return [[row[2] for row in ROWS].index(amount) for amount in amounts]


MEANT = {
    "state": [1, 3, 0, 2],
    "state:desc": [2, 0, 1, 3],
    "state,amount:num": [3, 1, 0, 2],
    "amount:num:desc": [2, 0, 1, 3],
    "amount:int": [3, 1, 0, 2],
    "amount:float": [3, 1, 0, 2],
    "2": [3, 0, 2, 1],
    "#1,#3:num": [3, 1, 0, 2],
    "a.b": [3, 0, 2, 1],
    "a.b:natural": [3, 2, 1, 0],
    "a.b:bytes:desc": [1, 2, 0, 3],
    "x,y": [2, 3, 0, 1],
    "x,y:desc": [1, 0, 3, 2],
    "p q,state:desc": [1, 3, 0, 2],
    "#2": [1, 3, 0, 2],
    "t:desc": [0, 2, 3, 1],
    "t:desc:desc": [1, 3, 2, 0],
    "t:desc:asc:first": [0, 2, 3, 1],
}
REFUSED = {
    "nope": "unknown-column",
    "State": "unknown-column",
    "state,": "unknown-column",
    "#8": "unknown-column",
    "0": "unknown-column",
    "0:10": "unknown-column",
    "2n": "unknown-column",
    "1,1nr": "unknown-column",
    "state:data": "unknown-word",
    "state:asc:desc": "contradiction",
    "amount:int:num": "contradiction",
}
OPERATIONS: tuple[tuple[str, ...], ...] = (
    ("sort",), ("sort", "--merge"), ("sort", "--unique"), ("sort", "--limit", "2"), ("sort", "--consume-input"),
    ("sort", "--check"), ("validate",),
)  # fmt: skip


def done(words: tuple[str, ...], source: Path, output: Path, key: str) -> BaseException | None:
    files = [str(source), str(output), "--force"] if words[0] == "sort" and "--check" not in words else [str(source)]
    return CliRunner().invoke(build(only=words[0]), [*words, "--key", key, *files]).exception


@pytest.mark.parametrize("name", TABLES)
@pytest.mark.parametrize("key", MEANT)
def test_a_key_means_the_same_in_every_table(name: str, key: str, tmp_path: Path) -> None:
    source = written(tmp_path, name)
    out = tmp_path / f"out{''.join(source.suffixes)}"
    assert done(("sort",), source, out, key) is None and order_of(out) == MEANT[key]
    for words in OPERATIONS[1:4]:
        assert done(words, out, more := out.with_name(f"more{''.join(out.suffixes)}"), key) is None
        assert order_of(more) == [row for row in MEANT[key] if row in order_of(more)]
    assert done(("sort", "--check"), out, out, key) is done(("validate",), out, out, key) is None
    taken = out.with_name(f"taken{''.join(source.suffixes).replace('.gz', '')}")
    assert done(("sort", "--consume-input"), source, taken, key) is None and order_of(taken) == MEANT[key]


@pytest.mark.parametrize("name", TABLES)
@pytest.mark.parametrize("key", REFUSED)
def test_every_operation_refuses_the_same_keys(name: str, key: str, tmp_path: Path) -> None:
    source = written(tmp_path, name)
    for words in OPERATIONS:
        error = done(words, source, tmp_path / f"out{''.join(source.suffixes).replace('.gz', '')}", key)
        assert isinstance(error, BadInputError) and error.code == REFUSED[key], words
    with pytest.raises(BadInputError) as caught:
        files_dataset(InputFormat(key=key), [str(source)])
    assert caught.value.code == REFUSED[key]


@pytest.mark.parametrize("name", TABLES[:4])
def test_a_cluster_takes_columns_as_one_machine_does(name: str, tmp_path: Path) -> None:
    for key, keys in {"2": [Key(1)], "#1,amount:num:desc": [Key(0), Key(2, options="Nr")], "x,y": [Key(3)]}.items():
        layout = files_dataset(InputFormat(key=key), [str(written(tmp_path, name))]).layout
        assert layout.text is not None and layout.text.csv is not None
        assert list(layout.text.keys) == keys and layout.text.csv.header.startswith("state")
    (plain := tmp_path / "plain.csv").write_text("20;b\n3;a\n")
    layout = files_dataset(InputFormat(key="1:num"), [str(plain)]).layout
    assert layout.text and layout.text.csv and (layout.text.csv.header, layout.text.csv.delimiter) == ("", ";")


def test_a_cluster_refuses_what_it_would_take_for_something_else(tmp_path: Path) -> None:
    (tmp_path / "quoted.csv").write_text("a,b\n'1,2',3\n'0,1',2\n")
    planner.generate(tmp_path / "records", records=3)
    for name, code in {"quoted.csv": "bad-quote", "records": "unsupported-key"}.items():
        with pytest.raises(BadInputError) as caught:
            files_dataset(InputFormat(key="1"), [str(tmp_path / name)])
        assert caught.value.code == code
    table = files_dataset(InputFormat(key="state"), [str(written(tmp_path, "table.dat"))])
    assert table.layout.table is not None


@pytest.mark.parametrize("name", ["a.jsonl", "a.ndjson", "a.json", "a.jsonl.gz"])
@pytest.mark.parametrize("key", ["state,n:desc", "state,#2:desc", "1,n:num:desc"])
def test_a_key_of_json_lines_is_a_member_unless_they_are_said_to_be_lines(name: str, key: str, tmp_path: Path) -> None:
    lines = [json.dumps({"state": row[0], "n": row[2]}) + "\n" for row in ROWS]
    text = "".join(lines).encode()
    (source := tmp_path / name).write_bytes(gzip.compress(text) if name.endswith("gz") else text)
    out = source
    for number, words in enumerate(OPERATIONS[:4]):
        assert done(words, out, out := tmp_path / f"{number}.jsonl", key) is None
        assert out.read_text() == "".join(lines[row] for row in (1, 3, 0, 2))[: len(out.read_text())]
    assert done(("sort", "--check"), out, out, key) is None
    assert done(("validate",), out, out, key) is None
    error = done(("sort", "--consume-input"), source, tmp_path / "other.jsonl", key)
    assert isinstance(error, BadInputError) and error.code == "no-conversion"
    for wrong in ("2n", "2,2n", "a.b", "#3"):
        error = done(("sort",), source, tmp_path / "other.jsonl", wrong)
        assert isinstance(error, BadInputError) and error.code == "unknown-column"
    planner.sort(source, tmp_path / "lines", format="lines", key="2")
    planner.sort(source, tmp_path / "whole")


@pytest.mark.parametrize("name", ["a.txt", "a.log", "a"])
def test_a_key_of_lines_is_a_field(name: str, tmp_path: Path) -> None:
    (source := tmp_path / name).write_text("n,a\n9,c\n10,b\n")
    for key in ("name", "#2", "a.b", "1:num", "n,a"):
        for words in OPERATIONS:
            error = done(words, source, tmp_path / "out", key)
            assert isinstance(error, BadInputError) and error.code in ("bad-key", "unsupported-key")
    planner.sort(source, tmp_path / "out", key="2,2", separator=",")
    assert (tmp_path / "out").read_text() == "n,a\n10,b\n9,c\n"


def test_kinds_of_values_are_those_of_columns(tmp_path: Path) -> None:
    columns = {"text": ["b", "a"], "real": [2.5, 1.0], "day": pa.array([2, 1], pa.date32()), "s": [{"i": 2}, {"i": 1}]}
    pq.write_table(pa.table(columns), source := tmp_path / "in.parquet")
    for key in ("text:bytes", "real:num", "real:float", "s.i:int", "s.i:num", "text:natural", "text:fold"):
        planner.sort(source, tmp_path / "out.parquet", key=key, force=True)
        assert pq.read_table(tmp_path / "out.parquet").column("text").to_pylist() == ["a", "b"]
    for key in ("text:num", "real:int", "real:fold", "s:int", "s:natural", "real:natural"):
        with pytest.raises(BadInputError) as caught:
            planner.sort(source, tmp_path / "out.parquet", key=key, force=True)
        assert caught.value.code in ("wrong-kind", "not-text")


def test_fields_of_structs_are_columns(tmp_path: Path) -> None:
    structs = [{"b": 2, "in": {"c": "x"}}, None, {"b": 1, "in": {"c": "z"}}, {"b": 1, "in": None}]
    pq.write_table(pa.table({"a": structs, "n": range(4)}), source := tmp_path / "in.parquet")
    for key, order in {"a.b": [2, 3, 0, 1], "a.b:desc:first": [1, 0, 2, 3], "a.in.c": [0, 2, 1, 3]}.items():
        planner.sort(source, out := tmp_path / "out.parquet", key=key, force=True)
        assert pq.read_table(out).column("n").to_pylist() == order and planner.find_disorder(out, key=key) is None
        assert not pq.ParquetFile(out).metadata.row_group(0).sorting_columns
    named = pa.table({"a": structs, "a.b": [4, 3, 2, 1], "n": range(4)})
    assert planner.sort_table(named, keys="a.b").column("n").to_pylist() == [3, 2, 1, 0]


@pytest.mark.parametrize("name", ["empty.csv", "empty.tsv"])
def test_an_empty_file_is_what_its_name_says(name: str, tmp_path: Path) -> None:
    (source := tmp_path / name).touch()
    for words in OPERATIONS:
        source.touch()
        assert done(words, source, tmp_path / "out", "state") is None, words


@pytest.mark.parametrize("words", [["--key", "1"], ["--key", "2,2n"], ["--merge"], ["--limit", "1"]])
def test_a_pipe_without_text_is_refused_unless_it_is_said_to_be_text(words: list[str], tmp_path: Path) -> None:
    command = [sys.executable, "-m", "planner", "sort", "-", str(tmp_path / "out"), *words]
    for content in (b"a\0b\nc\n", "b 1\na 2\n".encode("utf-16"), b"%PDF-1.4\n", gzip.compress(b"\0\1\n" * 9)):
        ended = subprocess.run(command, input=content, capture_output=True, check=False)
        assert ended.returncode == 2 and b"standard input" in ended.stderr and not (tmp_path / "out").exists()
    assert subprocess.run([*command, "--format", "lines"], input=b"a\0b\nc\n", check=False).returncode == 0


COUNTED = """
import sys, planner
opened = []
sys.addaudithook(lambda event, given: event == "open" and str(given[0]).endswith(sys.argv[1]) and opened.append(given))
planner.{call}
print(len(opened))
"""


@pytest.mark.parametrize(
    ("name", "call", "times"),
    [
        ("in.csv", "sort(sys.argv[1], 'out', key='state')", 1),
        ("in.TSV", "sort(sys.argv[1], 'out', key='state')", 1),
        ("semicolons.csv", "sort(sys.argv[1], 'out', key='state', unique=True)", 1),
        ("in.csv.gz", "sort(sys.argv[1], 'out', key='state')", 2),
        ("a.log", "sort(sys.argv[1], 'out')", 1),
        ("a.log", "sort(sys.argv[1], 'out', key='2', separator=',')", 1),
        ("a.log", "sort(sys.argv[1], 'out', format='lines')", 1),
        ("records", "sort(sys.argv[1], 'out')", 1),
        ("in.csv", "find_disorder(sys.argv[1], key='state')", 1),
        ("a.log", "validate(sys.argv[1])", 1),
        ("records", "validate(sys.argv[1])", 1),
    ],
)
def test_an_input_is_opened_once_before_it_is_read(name: str, call: str, times: int, tmp_path: Path) -> None:
    """The core's own openings do not count; decoders, and the sum of all rows, read the file once more."""
    if name == "records":
        planner.generate(tmp_path / name, records=10)
    elif name == "a.log":
        (tmp_path / name).write_text("b,1\na,2\n")
    else:
        written(tmp_path, name)
    options: dict[str, Any] = {"cwd": tmp_path, "capture_output": True, "text": True}
    ended = subprocess.run([sys.executable, "-c", COUNTED.format(call=call), name], check=True, **options)
    assert int(ended.stdout.split()[-1]) == times
