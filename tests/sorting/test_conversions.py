"""Sorts of one kind of table into another: what is kept, and what is refused by name."""

from __future__ import annotations

import csv
import datetime
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.ipc
import pyarrow.orc
import pyarrow.parquet as pq
import pytest

import planner
from planner.errors import BadInputError, PlannerError


def sort(tmp_path: Path, content: str | bytes, name: str, output: str, key: str, **asked: Any) -> Path:
    """Sort a file of some content into another in the same folder."""
    source = tmp_path / name
    source.write_bytes(content if isinstance(content, bytes) else content.encode())
    planner.sort(source, tmp_path / output, key=key, **asked)
    return tmp_path / output


@pytest.mark.parametrize(
    ("values", "wanted"),
    [
        (["1", "-20", "0"], pa.int64()),
        (["1", "2.5", "1e-3"], pa.float64()),
        (["9223372036854775807", "-9223372036854775808"], pa.int64()),
        (["9223372036854775808", "1"], pa.string()),
        (["123456789012345678", "0.5"], pa.string()),  # a double would round it
        (
            ["0.42857142857142855", "0.000012345678901234567", "-.12345678901234567"],
            pa.float64(),
        ),  # 17 digits that count
        (["0.123456789012345678"], pa.string()),
        (["0.12345678901234567890", "1"], pa.string()),
        (["007", "010"], pa.string()),
        (["-0", "1"], pa.float64()),
        (["+1", "2"], pa.string()),
        ([" 1", "2"], pa.string()),
        (["nan", "1"], pa.string()),
        (["inf", "1"], pa.string()),
        (["1_000"], pa.string()),
        (["0x1F"], pa.string()),
        (["true", "False"], pa.bool_()),
        (["true", "1"], pa.string()),
        (["2024-02-29", "1999-12-31"], pa.date32()),
        (["2024-02-30"], pa.string()),
        (["2024-01-01 10:00:00", "2024-01-01T10:00"], pa.timestamp("us")),
        (["2024-01-01 10:00:00Z", "2024-01-01T10:00:00+02:00"], pa.timestamp("us", "UTC")),
        (["2024-01-01 10:00:00", "2024-01-01T10:00:00Z"], pa.string()),
        (["2024-01-01 10:00:00.123456789"], pa.timestamp("ns")),
        (["1066-10-14 10:00:00.123456789"], pa.string()),  # before the first nanosecond
        (["", ""], pa.string()),
        (['""', "1"], pa.string()),
    ],
)
def test_a_column_of_text_gets_the_type_that_keeps_all_its_values(
    values: list[str], wanted: Any, tmp_path: Path
) -> None:
    rows = "".join(f"{number},{value}\n" for number, value in enumerate(values))
    out = sort(tmp_path, "n,v\n" + rows, "in.csv", "out.parquet", "n")
    assert pq.read_schema(out).field("v").type == wanted


@pytest.mark.parametrize("memory_bytes", [4 << 30, 320 << 20], ids=["held", "staged"])
def test_the_type_holds_for_values_of_all_files_and_blocks(memory_bytes: int, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("k,v\n" + "1,500000000005\n" * 1_500_000)  # more than a block, and than is held
    (tmp_path / "b.csv").write_text("k,v\n0,last is text\n")
    inputs = [tmp_path / "a.csv", tmp_path / "b.csv"]
    planner.sort(inputs, tmp_path / "out.parquet", key="k:desc,v", memory_bytes=memory_bytes)
    found = pq.read_table(tmp_path / "out.parquet")
    assert found.schema.types == [pa.int64(), pa.string()]
    assert (found.num_rows, found.column("v")[0].as_py(), found.column("v")[-1].as_py()) == (
        1_500_001, "500000000005", "last is text",
    )  # fmt: skip


QUOTED = '{number},"line one\nof, {number} ""with"" é {filling}"\n'
STRAY = '{number},5" pipe of {filling}\n'
CLOSED_EARLY = '{number},"a"b{filling}\n'
FILLING = "x" * 990


@pytest.mark.parametrize("strays", [{}, {3: STRAY}, {12_000: STRAY, 12_001: CLOSED_EARLY, 12_002: STRAY}])
def test_rows_are_the_same_wherever_csv_is_cut(strays: dict[int, str], tmp_path: Path) -> None:
    rows = [strays.get(number, QUOTED).format(number=number, filling=FILLING) for number in range(25_000)]
    (tmp_path / "in.csv").write_text("n,text\n" + "".join(rows))  # some 25 MB, of which 8 are parsed at a time
    planner.sort(tmp_path / "in.csv", tmp_path / "out.parquet", key="n", threads=3)
    with (tmp_path / "in.csv").open(newline="") as file:
        wanted = [(int(number), text) for number, text in list(csv.reader(file))[1:]]
    found = pq.read_table(tmp_path / "out.parquet").to_pydict()
    assert list(zip(found["n"], found["text"], strict=True)) == wanted


@pytest.mark.parametrize("memory_bytes", [4 << 30, 320 << 20], ids=["held", "staged"])
def test_a_wrong_row_is_counted_from_the_begin_of_the_file(memory_bytes: int, tmp_path: Path) -> None:
    rows = [QUOTED.format(number=number, filling=FILLING) for number in range(60_000)]
    (tmp_path / "in.csv").write_text("n,text\n" + "".join(rows) + "alone\n" + "".join(rows[:20_000]))
    with pytest.raises(BadInputError, match="Row #60001: Expected 2 columns, got 1"):
        planner.sort(tmp_path / "in.csv", tmp_path / "out.parquet", key="n", memory_bytes=memory_bytes)


def test_a_row_longer_than_what_is_parsed_at_a_time_is_refused(tmp_path: Path) -> None:
    (tmp_path / "in.csv").write_text('n,text\n1,short\n2,"' + "y" * (18 << 20) + '"\n3,"short"\n')
    with pytest.raises(BadInputError, match="straddl"):
        planner.sort(tmp_path / "in.csv", tmp_path / "out.parquet", key="n")


def test_an_empty_value_is_null_and_a_quoted_one_text(tmp_path: Path) -> None:
    out = sort(tmp_path, 'k,v\n2,""\n1,\n3,x\n', "in.csv", "out.jsonl", "k")
    assert [json.loads(line)["v"] for line in out.read_text().splitlines()] == [None, "", "x"]


def test_json_lines_stay_as_they_are_when_they_are_sorted_by_members(tmp_path: Path) -> None:
    lines = ['{"a": {"b": 2}, "z":1.50}', '{ "a":{"b":1,"c":"é"},"y":[1,2] }', '{"z":"other"}', '{"a":{"b":10}}']
    out = sort(tmp_path, "\n".join(lines), "in.jsonl", "out.jsonl.gz", "a.b:desc")
    planner.sort(out, tmp_path / "plain.jsonl", key="a.b")
    assert (tmp_path / "plain.jsonl").read_text().splitlines() == [lines[1], lines[0], lines[3], lines[2]]


def test_json_lines_need_one_type_only_for_their_keys(tmp_path: Path) -> None:
    out = sort(tmp_path, '{"k":2,"v":"x"}\n{"k":1,"v":{"y":1}}\n', "in.jsonl", "out.jsonl", "k")
    assert out.read_text() == '{"k":1,"v":{"y":1}}\n{"k":2,"v":"x"}\n'
    with pytest.raises(BadInputError, match="'v' from line 1 on have no common type"):
        planner.sort(tmp_path / "in.jsonl", tmp_path / "out.parquet", key="k")


def test_whole_numbers_are_never_rounded(tmp_path: Path) -> None:
    for text in (
        '{"k":9007199254740993}\n{"k":0.5}\n',
        '{"k":18446744073709551616}\n',
        '{"v":[9007199254740993,0.5]}\n',
    ):
        with pytest.raises(BadInputError, match="no common type"):
            sort(tmp_path, text, "in.jsonl", "out.parquet", "k" if "k" in text else "v")
    out = sort(tmp_path, '{"k":9007199254740993}\n{"k":9007199254740992}\n', "in.jsonl", "out2.parquet", "k")
    assert pq.read_table(out).column("k").to_pylist() == [2**53, 2**53 + 1]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"k":1}\n\n{"k":\n', "line 3 is no JSON"),
        ("[1]\n", r"line 1 is no JSON object(.|\n)*jq -c '\.\[\]'"),
        ('[\n {"a": 1}\n]\n', r"line 1 is no JSON(.|\n)*jq -c '\.\[\]'"),
        ('{\n "a": 1\n}\n', r"line 1 is no JSON(.|\n)*jq -c \."),
        ('{"k":1} {"k":2}\n', "line 1 is no JSON"),
        ('{"k":NaN}\n', "NaN is no number"),
        ('{"k":"\\ud800"}\n', "out.parquet|surrogate"),
        ('{"other":1}\n', "there is no column 'k'. The columns are other"),
        ('{"k":[1]}\n', "which has no order"),
    ],
)
def test_wrong_lines_of_json_are_named(text: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(BadInputError, match=message):
        sort(tmp_path, text, "in.jsonl", "out.parquet", "k")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in.jsonl"]


def test_what_a_format_does_not_keep_is_named(tmp_path: Path) -> None:
    table = pa.table({"k": [2, 1], "list": [[1], None], "blob": [b"\xff", b""], "real": [1.0, float("nan")]})
    pq.write_table(table, tmp_path / "in.parquet")
    for output, lost in (("out.csv", ["list", "blob"]), ("out.jsonl", ["blob"])):
        with pytest.raises(BadInputError, match=f"cannot hold {len(lost)} of the columns") as raised:
            planner.sort(tmp_path / "in.parquet", tmp_path / output, key="k")
        assert [line.split("'")[1] for line in raised.value.details] == lost
    pq.write_table(table.drop(["blob"]), tmp_path / "in.parquet")
    with pytest.raises(BadInputError, match="column 'real', row 1: JSON has no NaN"):
        planner.sort(tmp_path / "in.parquet", tmp_path / "out.jsonl", key="k")
    assert [path.name for path in tmp_path.iterdir()] == ["in.parquet"]


def test_arrow_keeps_every_type_that_parquet_has(tmp_path: Path) -> None:
    table = pa.table(
        {
            "k": pa.array([3, 1, 2], pa.uint8()),
            "c": pa.array(["x", "y", None]).dictionary_encode(),
            "d": pa.array([1, None, 2], pa.duration("ms")),
            "t": pa.array([datetime.time(1), None, datetime.time(2)], pa.time64("ns")),
            "m": pa.array([[("a", 1)], None, []], pa.map_(pa.string(), pa.int64())),
        }
    )
    with pyarrow.ipc.new_stream(tmp_path / "in.arrow", table.schema) as writer:
        writer.write_table(table)
    planner.sort(tmp_path / "in.arrow", tmp_path / "out.arrow", key="k")
    found = pyarrow.ipc.open_file(tmp_path / "out.arrow").read_all()
    assert found.schema.equals(table.schema)
    assert found.equals(table.take([1, 2, 0]).unify_dictionaries())


def test_a_damaged_arrow_file_is_named(tmp_path: Path) -> None:
    with pyarrow.ipc.new_file(tmp_path / "in.arrow", pa.schema({"k": pa.string()})) as writer:
        writer.write_table(pa.table({"k": ["b", "a"]}))
    whole = (tmp_path / "in.arrow").read_bytes()
    for cut in range(9, len(whole), 7):
        (tmp_path / "in.arrow").write_bytes(whole[:cut])
        with pytest.raises(BadInputError, match=r"in\.arrow is damaged"):
            planner.sort(tmp_path / "in.arrow", tmp_path / "out.arrow", key="k")


@pytest.mark.parametrize(
    ("name", "content", "output", "asked", "message"),
    [
        ("in.csv", "a,a\n1,2\n", "out.parquet", {"key": "#1"}, "two columns are called 'a'"),
        ("in.csv", "a,b\n1\n", "out.parquet", {"key": "a"}, "in.csv: pyarrow says"),
        ("in.csv", "a,b\n1,2\n", "out.orc", {"key": "a"}, "does not convert|no sort writes"),
        ("in.csv", "a,b\n1,2\n", "out.parquet", {"key": "a", "consume_input": True}, "keeps the format"),
        ("in.csv", "a,b\n1,2\n", "out.parquet", {"key": "a", "compress": "gz"}, "compressed within"),
        ("in.csv", "a,b\n1,2\n", "out.parquet.gz", {"key": "a"}, "compressed within"),
        ("in.csv", "a,b\n1,2\n", "out", {"key": "a", "file_bytes": 10**6}, "only tables are written as several"),
        ("in.csv", "a,b\nx,2\n", "out.parquet", {"key": "a:num"}, "of type string, which has its own order"),
        ("in.csv", "a,b\n1,2\n", "out.parquet", {"key": "a:fold"}, "is no text"),
        ("in.txt", "b\na\n", "out.txt", {"output_format": "parquet"}, "the rows stay lines"),
    ],
)
def test_conversions_that_are_refused(
    name: str, content: str, output: str, asked: dict[str, Any], message: str, tmp_path: Path
) -> None:
    (tmp_path / name).write_text(content)
    with pytest.raises(BadInputError, match=message):
        planner.sort(tmp_path / name, tmp_path / output, **asked)
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_a_folder_of_files_of_a_size(tmp_path: Path) -> None:
    rows = 200_000
    pq.write_table(
        pa.table({"k": range(rows, 0, -1), "v": [os.urandom(8).hex() for _ in range(rows)]}), tmp_path / "in.parquet"
    )
    planner.sort(tmp_path / "in.parquet", tmp_path / "out", key="k", file_bytes=1_000_000)
    files = sorted((tmp_path / "out").iterdir())
    assert len(files) > 2
    assert all(path.stat().st_size < 2_000_000 for path in files)
    found = pa.concat_tables(map(pq.read_table, files))
    assert found.column("k").to_pylist() == list(range(1, rows + 1))
    with pytest.raises(BadInputError, match="no folder is replaced"):
        planner.sort(tmp_path / "in.parquet", tmp_path / "out", key="k", file_bytes=1_000_000, force=True)


def run(*words: str, cwd: Path) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run([sys.executable, "-m", "planner", "sort", *words], cwd=cwd, capture_output=True, check=False)


def test_without_an_output_the_result_goes_to_standard_output(tmp_path: Path) -> None:
    (tmp_path / "in.csv").write_text("k,v\n2,b\n1,a\n")
    assert run("in.csv", "--key", "k", cwd=tmp_path).stdout == b"k,v\n1,a\n2,b\n"
    as_parquet = run("in.csv", "--key", "k", "--output-format", "parquet", cwd=tmp_path).stdout
    assert pq.read_table(pa.BufferReader(as_parquet)).to_pydict() == {"k": [1, 2], "v": ["a", "b"]}
    (tmp_path / "in.parquet").write_bytes(as_parquet)
    again = run("in.parquet", "--key", "k:desc", cwd=tmp_path).stdout
    assert pq.read_table(pa.BufferReader(again)).to_pydict() == {"k": [2, 1], "v": ["b", "a"]}
    stream = run("in.parquet", "--key", "k", "--output-format", "arrow", cwd=tmp_path).stdout
    assert pyarrow.ipc.open_stream(stream).read_all().to_pydict() == {"k": [1, 2], "v": ["a", "b"]}


@pytest.mark.parametrize("format", ["csv", "jsonl", "arrow", "orc", "parquet"])
def test_check_finds_the_first_row_out_of_order_in_every_kind(format: str, tmp_path: Path) -> None:
    table = pa.table({"k": [1, 3, 2], "v": ["a", "b", "c"]})
    source = tmp_path / f"in.{format}"
    if format == "orc":
        pyarrow.orc.write_table(table, source)
    else:
        pq.write_table(table, tmp_path / "t.parquet")
        planner.sort(tmp_path / "t.parquet", source, key="v")
    found = planner.find_disorder(source, key="k:int" if format == "csv" else "k")
    assert found is not None
    assert found.number == 3 + (format == "csv")


def test_a_full_disk_of_temporary_files_is_named(tmp_path: Path) -> None:
    (tmp_path / "in.csv").write_text("k,v\n" + "1,x\n" * 1000)
    with pytest.raises(PlannerError, match=r"no-such"):
        planner.sort(tmp_path / "in.csv", tmp_path / "out.parquet", key="k", temp_dirs=[tmp_path / "no-such"])


def test_dictionaries_that_differ_by_row_group_become_one_in_an_arrow_file(tmp_path: Path) -> None:
    rows = 5000
    table = pa.table({"k": [number * 7919 % rows for number in range(rows)], "c": [f"v{n}" for n in range(rows)]})
    parts = [table.slice(begin, 500) for begin in range(0, rows, 500)]
    with pq.ParquetWriter(tmp_path / "in.parquet", dictionary_schema := pa.schema(
        {"k": pa.int64(), "c": pa.dictionary(pa.int32(), pa.string())}
    )) as writer:  # fmt: skip
        for part in parts:
            writer.write_table(part.cast(dictionary_schema))
    planner.sort(tmp_path / "in.parquet", tmp_path / "out.arrow", key="k")
    found = pyarrow.ipc.open_file(tmp_path / "out.arrow").read_all()
    assert found.schema.equals(dictionary_schema)
    assert found.cast(table.schema).equals(table.sort_by("k"))


def test_an_empty_file_of_json_lines_stays_one(tmp_path: Path) -> None:
    assert sort(tmp_path, "", "in.jsonl", "out.jsonl", "k").read_bytes() == b""
    with pytest.raises(BadInputError, match="has no rows, and so no columns"):
        planner.sort(tmp_path / "in.jsonl", tmp_path / "out.parquet", key="k")


def test_a_missing_file_is_named_before_the_name_of_the_output(tmp_path: Path) -> None:
    with pytest.raises(BadInputError, match="no such file"):
        planner.sort(tmp_path / "missing.csv", tmp_path / "out.parquet", key="k")


def test_lines_of_a_pipe_replace_a_file(tmp_path: Path) -> None:
    (tmp_path / "out.txt").write_text("old")
    words = [sys.executable, "-m", "planner", "sort", "--lines", "-", "out.txt", "--force"]
    subprocess.run(words, cwd=tmp_path, input=b"b\na\n", check=True)
    assert (tmp_path / "out.txt").read_text() == "a\nb\n"


def test_a_line_end_within_quotes_is_whole_wherever_blocks_end(tmp_path: Path) -> None:
    """The quote in a plain field leaves the ends of rows unknown, so that the file is parsed as a stream."""
    plain, begin, block_bytes = b'1,ab"c\n', b'2,"', 8 << 20
    middle = b"x" * (block_bytes - len(plain) - len(begin) - 1)
    (tmp_path / "in.csv").write_bytes(b"k,v\n" + plain + begin + middle + b'\r\ntail"\n3,z\n')
    planner.sort(tmp_path / "in.csv", tmp_path / "out.parquet", key="k", format="csv")
    values = pq.read_table(tmp_path / "out.parquet")["v"].to_pylist()
    assert values == ['ab"c', (middle + b"\r\ntail").decode(), "z"]


def test_columns_of_one_name_are_written(tmp_path: Path) -> None:
    numbers = pa.array(range(40_000))
    pq.write_table(pa.Table.from_arrays([numbers, numbers, numbers], names=["k", "a", "a"]), tmp_path / "in.parquet")
    planner.sort(tmp_path / "in.parquet", tmp_path / "out.parquet", key="k:desc")
    assert pq.ParquetFile(tmp_path / "out.parquet").metadata.num_rows == 40_000


@pytest.mark.parametrize(
    ("name", "content", "output", "asked", "expected"),
    [
        ("a.csv", 'k,v\n2,x\n1,"y,z"\n', "o.tsv", {}, '"k"\t"v"\n1\t"y,z"\n2\t"x"\n'),
        ("a.csv", "k;v\n2;x\n1;y\n", "o.tsv", {}, '"k"\t"v"\n1\t"y"\n2\t"x"\n'),
        ("a.tsv", "k\tv\n2\tx\n1\ty,z\n", "o.csv", {}, '"k","v"\n1,"y,z"\n2,"x"\n'),
        ("a.csv", "k,v\n2,x\n1,y\n", "o.txt", {"output_format": "tsv"}, '"k"\t"v"\n1\t"y"\n2\t"x"\n'),
        ("a.csv", "k\tv\n2\tx\n1\ty\n", "o.csv", {}, "k\tv\n1\ty\n2\tx\n"),
        ("a.csv", "k;v\n2;x\n1;y\n", "o.csv", {}, "k;v\n1;y\n2;x\n"),
        ("a.tsv", "k\tv\n2\tx\n1\ty\n", "o.txt", {}, "k\tv\n1\ty\n2\tx\n"),
    ],
)
def test_tsv_has_tabs_and_csv_of_it_commas(
    tmp_path: Path, name: str, content: str, output: str, asked: dict[str, Any], expected: str
) -> None:
    """Where nothing says otherwise, rows of CSV stay as they are."""
    (tmp_path / name).write_text(content)
    planner.sort(tmp_path / name, tmp_path / output, key="k", **asked)
    assert (tmp_path / output).read_text() == expected
