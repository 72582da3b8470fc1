"""Rows of any columns: nothing is renamed, shifted or dropped silently."""

from __future__ import annotations

import csv
from io import StringIO
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.catalog.tables.rows import rows_of
from planner.errors import BadInputError

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
    with pytest.raises(BadInputError, match=r"runs\.csv: cannot be read as CSV"):
        rows_of(FILE, 'a\n"1\n')
