"""From the cells of a column to an array: whole columns at once, and one by one only where a column fails.

A blank optional cell stays unknown: NaN for a number, NaT for a date, '' for text. There is no default value.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from datetime import date

import numpy as np

from planner.arrays import Array
from planner.catalog.tables.declaration import CellType, Column


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
        values = np.array([_number(cell) for cell in cells], dtype=np.float64)
    good = np.isfinite(values)
    for holds in _bounds(column):
        good &= holds(values)
    bad = [index for index in np.flatnonzero(~good).tolist() if cells[index]]
    values[bad] = math.nan
    return values, bad


def _bounds(column: Column) -> Iterator[Callable[[Array], Array]]:
    """Yield the conditions on a numeric column; a NaN fails each, and blanks are let through by the caller."""
    above, least, most = column.above, column.least, column.most
    if above is not None:
        yield lambda values: values > above
    if least is not None:
        yield lambda values: values >= least
    if most is not None:
        yield lambda values: values <= most
    if column.kind == "whole":
        yield lambda values: np.equal(np.floor(values), values)


def _number(cell: str) -> float:
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
