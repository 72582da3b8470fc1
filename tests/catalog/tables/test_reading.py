"""Typed CSV tables: round trips, unknowns that stay unknown, and every bad cell of a file reported at once."""

from __future__ import annotations

import csv
import math
from datetime import date
from io import StringIO
from pathlib import Path

import numpy as np
import pytest
from approvals import Approve
from hypothesis import given
from hypothesis import strategies as st
from refusals import refused

from planner.catalog.tables import Column, Schema, read_table, scan_table
from planner.catalog.tables.reading import rows_of
from planner.errors import BadInputError

SCHEMA = Schema(
    name="disks",
    meaning="for the tests",
    key=("name", "nodes"),
    columns=(
        Column(name="name", meaning="a key"),
        Column(name="nodes", kind="whole", least=1, required=False, meaning="a count"),
        Column(name="bytes_per_s", kind="number", above=0, most=1e12, meaning="a rate"),
        Column(name="kind", kind="choice", choices=("nvme", "hdd"), required=False, meaning="a word"),
        Column(name="near", kind="yes_no", meaning="a flag"),
        Column(name="as_of", kind="day", meaning="a day"),
        Column(name="note", required=False, meaning="free text"),
    ),
)
HEADER = ",".join(SCHEMA.names)


def written(directory: Path, text: str) -> Path:
    path = directory / "disks.csv"
    path.write_text(text, encoding="utf-8")
    return path


def problems_of(directory: Path, text: str) -> list[str]:
    _, problems = scan_table(written(directory, text), SCHEMA)
    return [str(problem).removeprefix(str(directory / "disks.csv")) for problem in problems]


def test_columns_have_their_types_and_blanks_stay_unknown(tmp_path: Path) -> None:
    text = f"{HEADER}\na,2,1.5e9,nvme,yes,2014-09-06,x\nb,,3,,no,2026-01-31,\n"
    table = read_table(written(tmp_path, text), SCHEMA)
    assert table["name"].tolist() == ["a", "b"]
    assert table["nodes"][0] == 2
    assert math.isnan(table["nodes"][1])
    assert table["bytes_per_s"].tolist() == [1.5e9, 3.0]
    assert table["kind"].tolist() == ["nvme", ""]
    assert table["near"].tolist() == [True, False]
    assert table["as_of"].astype(object).tolist() == [date(2014, 9, 6), date(2026, 1, 31)]
    assert next(iter(table.rows([1])))["note"] == ""


def test_an_optional_column_may_be_absent_and_is_unknown_then(tmp_path: Path) -> None:
    table = read_table(written(tmp_path, "name,nodes,bytes_per_s,near,as_of\na,1,5,no,2020-01-01\n"), SCHEMA)
    assert table["kind"].tolist() == [""]
    assert table["note"].tolist() == [""]


def test_every_bad_cell_is_reported_with_its_line_column_value_and_what_was_expected(
    tmp_path: Path, approve: Approve
) -> None:
    text = f"""{HEADER}
a,1.5,5,nvme,yes,2020-01-01,
b,1,fast,nvmee,yes,2020-01-01,

c,0,-1,hdd,perhaps,2020-13-01,
,1,inf,hdd,,01.02.2020,
d,1,2e12,hdd,no,2020-01-01
a,1,5,hdd,no,2020-01-01,
a,1,5,hdd,no,2020-01-01,
"""
    approve(problems_of(tmp_path, text))


def test_rows_with_the_same_blank_in_the_key_repeat(tmp_path: Path) -> None:
    text = f"{HEADER}\na,,5,,no,2020-01-01,\na,,6,,no,2020-01-01,\n"
    assert problems_of(tmp_path, text) == [":3, column name: 'a': repeats name, nodes of line 2"]


def test_lines_are_counted_as_an_editor_does_when_a_cell_spans_two(tmp_path: Path) -> None:
    text = f'{HEADER}\na,1,5,,no,2020-01-01,"two\nlines"\nb,1,x,,no,2020-01-01,\n'
    assert problems_of(tmp_path, text) == [":4, column bytes_per_s: 'x': expected a number, above 0, at most 1e+12"]


def test_a_wrong_header_names_the_unknown_the_missing_and_the_repeated_column(tmp_path: Path, approve: Approve) -> None:
    text = "name,nodes,byte_per_s,near,as_of,as_of\na,1,5,no,2020-01-01,2020-01-01\n"
    approve(problems_of(tmp_path, text))


@pytest.mark.parametrize(
    "content", [b"\xff\xfe", b"", b'name,"x\n', b"name\0,x\n"], ids=["bytes", "empty", "quote", "nul"]
)
def test_what_is_no_table_is_bad_input_and_not_a_crash(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "disks.csv"
    path.write_bytes(content)
    with pytest.raises(BadInputError):
        read_table(path, SCHEMA)


def test_a_missing_file_is_bad_input(tmp_path: Path) -> None:
    with pytest.raises(BadInputError, match=r"disks\.csv"):
        read_table(tmp_path / "disks.csv", SCHEMA)


def test_one_error_carries_all_problems(tmp_path: Path) -> None:
    path = written(tmp_path, f"{HEADER}\na,x,y,z,w,v,\n")
    with pytest.raises(BadInputError, match="5 problems") as caught:
        read_table(path, SCHEMA)
    assert len(caught.value.details) == 5


TEXTS = st.text(st.characters(exclude_categories=("Cc", "Cs", "Z")), max_size=8)
NUMBERS = st.floats(min_value=1e-300, max_value=1e12, exclude_min=True)
ROWS = st.tuples(
    st.one_of(st.none(), st.integers(1, 2**53)),
    NUMBERS,
    st.sampled_from(["", "nvme", "hdd"]),
    st.booleans(),
    st.dates(),
    TEXTS,
)


@given(rows=st.lists(ROWS, max_size=20))
def test_what_is_written_is_read_back_exactly(tmp_path_factory: pytest.TempPathFactory, rows: list[tuple]) -> None:
    path = tmp_path_factory.mktemp("table") / "disks.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(SCHEMA.names)
        for index, (nodes, rate, machine_kind, near, day, note) in enumerate(rows):
            shown = "" if nodes is None else nodes
            writer.writerow(
                [f"n{index}", shown, repr(rate), machine_kind, "yes" if near else "no", day.isoformat(), note]
            )
    table = read_table(path, SCHEMA)
    assert len(table) == len(rows)
    for index, (nodes, rate, machine_kind, near, day, note) in enumerate(rows):
        assert np.array_equal(table["nodes"][index], math.nan if nodes is None else float(nodes), equal_nan=True)
        assert table["bytes_per_s"][index] == rate
        assert (table["kind"][index], table["near"][index], table["note"][index]) == (machine_kind, near, note)
        assert table["as_of"][index].item() == day


@given(rates=st.lists(st.one_of(NUMBERS.map(repr), st.text(max_size=5), st.just("nan"), st.just("-1")), min_size=1))
def test_a_number_is_either_finite_and_in_range_or_reported(
    tmp_path_factory: pytest.TempPathFactory, rates: list[str]
) -> None:
    path = tmp_path_factory.mktemp("table") / "disks.csv"
    with path.open("w", newline="", encoding="utf-8", errors="replace") as file:
        writer = csv.writer(file)
        writer.writerow(["name", "nodes", "bytes_per_s", "near", "as_of"])
        writer.writerows([f"n{index}", 1, rate, "no", "2020-01-01"] for index, rate in enumerate(rates))
    table, problems = scan_table(path, SCHEMA)
    values = table["bytes_per_s"]
    assert not ((values <= 0) | (values > 1e12) | np.isinf(values)).any()
    assert len(problems) >= int(np.isnan(values).sum())


FILE = Path("runs.csv")
CELLS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=5)


def test_cells_are_by_column_with_the_line_that_a_row_ends_on() -> None:
    text = 'node,net\n\na,1\r\n"b\nc",2\n'
    assert rows_of(FILE, text) == (["node", "net"], [(3, {"node": "a", "net": "1"}), (5, {"node": "b\nc", "net": "2"})])
    assert rows_of(FILE, "") == ([], [])


@given(st.lists(st.lists(CELLS, min_size=3, max_size=3), max_size=5))
def test_what_was_written_is_read(rows: list[list[str]]) -> None:
    file = StringIO(newline="")
    csv.writer(file, quoting=csv.QUOTE_ALL).writerows([["a", "b", "c"], *rows])
    _, read = rows_of(FILE, file.getvalue())
    assert [list(row.values()) for _, row in read] == rows


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("a,b,a\n1,2,3\n", "column 'a' appears more than once"),
        ("a,b\n1,2\n\n1\n", "runs.csv:4: 1 cells, the header has 2"),
        ("a,b\n1,2,\n", "runs.csv:2: 3 cells, the header has 2"),
    ],
)
def test_what_would_be_shifted_or_overwritten_is_refused(text: str, problem: str) -> None:
    with pytest.raises(BadInputError, match=r"runs\.csv: 1 problem") as caught:
        rows_of(FILE, text)
    assert caught.value.details == (problem,)


def test_what_is_no_csv_is_refused() -> None:
    with refused("not-csv", "runs.csv"):
        rows_of(FILE, 'a\n"1\n')
