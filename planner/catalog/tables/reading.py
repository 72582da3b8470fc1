"""Reader of CSV files into arrays by their declaration, which collects all errors of a file.

Whole columns are converted at once, cell by cell only if a column fails. A blank optional cell is unknown: NaN for a
number, NaT for a date, '' for text. There are no default values. `rows_of` reads columns of any names as text.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import date
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np

from planner.arrays import Array
from planner.catalog.tables.declaration import CellType, Column, Problem, Schema, Table
from planner.errors import BadInputError, bad_input, nearest


def read_table(path: Path, schema: Schema) -> Table:
    """Read a CSV file. Raises one BadInputError that lists every problem of the file."""
    table, problems = scan_table(path, schema)
    if problems:
        raise bad_input(path, [str(problem) for problem in problems])
    return table


def scan_table(path: Path, schema: Schema) -> tuple[Table, list[Problem]]:
    """Read a CSV file; return its readable content and all errors; a table with problems may lack bad rows."""
    try:
        header, rows, lines = _read_rows(path)
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        return empty_table(path, schema), [Problem(path=path, expected=f"cannot be read as UTF-8 CSV ({error})")]
    problems = _header_problems(path, header, schema)
    rows, lines, ragged = _only_full_rows(path, header, rows, lines)
    problems += ragged
    cells = dict(zip(header, zip(*rows, strict=True), strict=False)) if rows else {}
    columns: dict[str, Array] = {}
    for column in schema.columns:
        values = cells.get(column.name, ("",) * len(rows))
        columns[column.name], bad = convert(column, values)
        if column.name in header:
            problems += (_bad_cell(path, lines[index], column, values[index]) for index in bad)
    problems += _repeated_keys(path, schema, columns, lines)
    problems.sort(key=lambda problem: problem.line or 0)
    return Table(schema=schema, path=path, columns=columns, lines=lines), problems


def empty_table(path: Path, schema: Schema) -> Table:
    """Return a table without rows, for an optional file that a catalog does not have."""
    return Table(schema=schema, path=path, columns={c.name: convert(c, ())[0] for c in schema.columns}, lines=())


def _read_rows(path: Path) -> tuple[list[str], list[list[str]], list[int]]:
    """Return header, rows and each row's first line number; empty lines are not rows."""
    with path.open(encoding="utf-8-sig", newline="") as file:
        text = file.read()
    if "\0" in text:
        raise csv.Error("it contains NUL characters")
    reader = csv.reader(StringIO(text, newline=""), strict=True)
    header = next(reader, [])
    rows, lines, line = [], [], reader.line_num + 1
    for row in reader:
        if row:
            rows.append(row)
            lines.append(line)
        line = reader.line_num + 1
    return header, rows, lines


def _header_problems(path: Path, header: Sequence[str], schema: Schema) -> list[Problem]:
    unknown = [name for name in dict.fromkeys(header) if name not in schema.names]
    missing = [column.name for column in schema.columns if column.required and column.name not in header]
    twice = sorted({name for name in header if header.count(name) > 1})
    texts = [(name, f"unknown column.{nearest(name, schema.names)}") for name in unknown]
    texts += [(name, "this column is required and missing") for name in missing]
    texts += [(name, "this column appears more than once") for name in twice]
    return [Problem(path=path, line=1, column=name, expected=text) for name, text in texts]


def _only_full_rows(
    path: Path, header: Sequence[str], rows: list[list[str]], lines: list[int]
) -> tuple[list[list[str]], list[int], list[Problem]]:
    width = len(header)
    if all(len(row) == width for row in rows):
        return rows, lines, []
    problems = [
        Problem(path=path, line=line, expected=f"expected {width} cells as in the header, found {len(row)}")
        for row, line in zip(rows, lines, strict=True)
        if len(row) != width
    ]
    full = [(row, line) for row, line in zip(rows, lines, strict=True) if len(row) == width]
    return [row for row, _ in full], [line for _, line in full], problems


def _bad_cell(path: Path, line: int, column: Column, value: str) -> Problem:
    hint = nearest(value, column.choices) if column.kind == "choice" else ""
    return Problem(
        path=path, line=line, column=column.name, value=value, expected=f"expected {column.expected}.{hint}".rstrip(".")
    )


def _repeated_keys(path: Path, schema: Schema, columns: Mapping[str, Array], lines: Sequence[int]) -> list[Problem]:
    keys = list(zip(*(_comparable(columns[name]) for name in schema.key), strict=True))
    if len(set(keys)) == len(keys):
        return []
    first: dict[tuple[Any, ...], int] = {}
    problems = []
    for key, line in zip(keys, lines, strict=True):
        if first.setdefault(key, line) != line:
            shown = ", ".join(str(part) for part in key if part is not None)
            again = f"repeats {', '.join(schema.key)} of line {first[key]}"
            problems.append(Problem(path=path, line=line, column=schema.key[0], value=shown, expected=again))
    return problems


def _comparable(values: Array) -> list[Any]:
    """Return Python values with None for NaN, which differs from itself, so that equal blanks count as repeated."""
    return [None if isinstance(value, float) and math.isnan(value) else value for value in values.tolist()]


Rows = list[tuple[int, dict[str, str]]]
"""The last line number of a row, and its cells by column."""


def rows_of(path: Path, text: str) -> tuple[list[str], Rows]:
    """Return the header and the rows of a file's CSV `text`; empty lines are not rows.

    Raises BadInputError for text that is no CSV, and one that lists repeated columns and rows with more or fewer cells
    than the header.
    """
    reader = csv.reader(StringIO(text, newline=""), strict=True)
    try:
        header = next((cells for cells in reader if cells), [])
        rows = [(reader.line_num, cells) for cells in reader if cells]
    except csv.Error as error:
        raise BadInputError(f"{path}: cannot be read as CSV ({error})", code="not-csv") from error
    if problems := [*_repeated_columns(header), *_ragged_rows(path, header, rows)]:
        raise bad_input(path, problems)
    return header, [(line, dict(zip(header, cells, strict=True))) for line, cells in rows]


def _repeated_columns(header: list[str]) -> Iterable[str]:
    twice = (name for name in dict.fromkeys(header) if header.count(name) > 1)
    return (f"column {name!r} appears more than once" for name in twice)


def _ragged_rows(path: Path, header: list[str], rows: list[tuple[int, list[str]]]) -> Iterable[str]:
    return (
        f"{path}:{line}: {len(cells)} cells, the header has {len(header)}"
        for line, cells in rows
        if len(cells) != len(header)
    )


def convert(column: Column, cells: Sequence[str]) -> tuple[Array, list[int]]:
    """Return a column's values and the indexes of its bad cells (whose value is then 'unknown')."""
    values, bad = _CONVERTERS[column.kind](column, cells)
    if column.required and "" in cells:
        bad = sorted({*bad, *(index for index, cell in enumerate(cells) if not cell)})
    return values, bad


def _texts(column: Column, cells: Sequence[str]) -> tuple[Array, list[int]]:
    stripped = [cell.strip() for cell in cells]
    bad = [index for index, cell in enumerate(stripped) if not cell] if column.required and "" in stripped else []
    return np.array(stripped, dtype=np.str_), bad


def _choices(column: Column, cells: Sequence[str]) -> tuple[Array, list[int]]:
    allowed = {*column.choices, ""}
    wrong = set(cells) - allowed
    bad = [index for index, cell in enumerate(cells) if cell in wrong] if wrong else []
    return np.array([cell if cell in allowed else "" for cell in cells], dtype=np.str_), bad


def _numbers(column: Column, cells: Sequence[str]) -> tuple[Array, list[int]]:
    try:
        values = np.array([float(cell) if cell else math.nan for cell in cells], dtype=np.float64)
    except ValueError:
        values = np.array([_float_or_nan(cell) for cell in cells], dtype=np.float64)
    good = np.isfinite(values)
    for holds in _bounds(column):
        good &= holds(values)
    bad = [index for index in np.flatnonzero(~good).tolist() if cells[index]]
    values[bad] = math.nan
    return values, bad


def _bounds(column: Column) -> Iterator[Callable[[Array], Array]]:
    """Yield the conditions on a numeric column; a NaN fails each, and the caller lets blanks pass."""
    above, least, most = column.above, column.least, column.most
    if above is not None:
        yield lambda values: values > above
    if least is not None:
        yield lambda values: values >= least
    if most is not None:
        yield lambda values: values <= most
    if column.kind == "whole":
        yield lambda values: np.equal(np.floor(values), values)


def _float_or_nan(cell: str) -> float:
    try:
        return float(cell)
    except ValueError:
        return math.nan


def _yes_no(column: Column, cells: Sequence[str]) -> tuple[Array, list[int]]:
    wrong = set(cells) - {"yes", "no", ""}
    bad = [index for index, cell in enumerate(cells) if cell in wrong] if wrong else []
    return np.array([cell == "yes" for cell in cells], dtype=np.bool_), bad


def _days(column: Column, cells: Sequence[str]) -> tuple[Array, list[int]]:
    parsed = {cell: _day(cell) for cell in set(cells)}
    bad = [index for index, cell in enumerate(cells) if cell and parsed[cell] is None]
    return np.array([parsed[cell] for cell in cells], dtype="datetime64[D]"), bad


def _day(cell: str) -> date | None:
    try:
        return date.fromisoformat(cell) if len(cell) == len("YYYY-MM-DD") else None
    except ValueError:
        return None


_CONVERTERS: dict[CellType, Callable[[Column, Sequence[str]], tuple[Array, list[int]]]] = {
    "text": _texts,
    "choice": _choices,
    "number": _numbers,
    "whole": _numbers,
    "yes_no": _yes_no,
    "day": _days,
}
