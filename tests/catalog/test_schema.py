"""Every column of every kind of file: invalid cells are reported with their position and the expected value."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from planner.catalog.schema import ALL
from planner.catalog.tables import Column, Schema, scan_table

GOOD = {"text": "x", "number": "1", "whole": "1", "yes_no": "yes", "day": "2026-01-01"}


def good(column: Column) -> str:
    """Return a valid cell for the column."""
    if column.kind == "choice":
        return column.choices[0]
    if column.kind == "whole":
        return str(int(max(1, column.least or 1)))
    return str(column.above + 1) if column.kind == "number" and column.above else GOOD[column.kind]


def bad(column: Column) -> list[str]:
    """Return invalid cells for the column: of another kind, beyond a bound, or blank where a value is required."""
    wrong = {
        "text": [],
        "choice": ["neither"],
        "number": ["many", "nan", "inf", "1e400"],
        "whole": ["1.5", "many", "-3"],
        "yes_no": ["maybe"],
        "day": ["2026-02-30"],
    }[column.kind]
    wrong += [str(column.above)] if column.above is not None else []
    wrong += [str(column.least - 1)] if column.least is not None else []
    wrong += [str(column.most + 1)] if column.most is not None else []
    return wrong + [""] * (column.required or column.kind == "yes_no")


CASES = [(schema, column) for schema in ALL for column in schema.columns]


def scanned(schema: Schema, tmp_path: Path, **cells: str) -> list[str]:
    """Return the errors in a file of one row, valid except for `cells`."""
    path = tmp_path / f"{schema.name}.csv"
    row = {column.name: good(column) for column in schema.columns} | cells
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(row))
        writer.writeheader()
        writer.writerow(row)
    _, problems = scan_table(path, schema)
    return [str(problem) for problem in problems]


@pytest.mark.parametrize(("schema", "column"), CASES, ids=lambda value: value.name)
def test_a_cell_that_cannot_be_is_named(schema: Schema, column: Column, tmp_path: Path) -> None:
    assert scanned(schema, tmp_path) == []
    for cell in bad(column):
        (problem,) = scanned(schema, tmp_path, **{column.name: cell})
        shown = repr(cell) if cell else "blank"
        start = f"{tmp_path / schema.name}.csv:2, column {column.name}: {shown}: expected {column.expected}"
        assert problem.startswith(start), problem
