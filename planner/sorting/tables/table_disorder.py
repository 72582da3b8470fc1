"""Where tables that should be in order are not."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from planner.sorting.tables.arrow_library import arrow
from planner.sorting.tables.table_keys import ColumnKey, KeyColumn, key_columns
from planner.sorting.tables.table_runs import Tables


def first_disorder(tables: Tables, keys: Sequence[ColumnKey], *, unique: bool) -> tuple[int, list[Any]] | None:
    """Return the number, from 1, and the key values of the first row that comes before the one in front of it.

    With `unique` a row whose keys equal those of the one in front of it is out of order, too.
    """
    before, last = 0, None
    for table in tables:
        if not table.num_rows:
            continue
        shared = 0 if last is None else 1
        joined = arrow().concat_tables([last, table]) if shared else table
        row = _first_wrong(key_columns(joined, keys, all_parts=True), joined.num_rows, unique=unique)
        if row >= 0:
            values = [_value(joined.column(key.column)[row]) for key in keys]
            return before - shared + row + 1, values
        before += table.num_rows
        last = table.slice(table.num_rows - 1)
    return None


def _value(scalar: Any) -> Any:
    """Return a value as Python has it; times beyond Python as they are stored, text that is none as bytes."""
    try:
        return scalar.as_py()
    except UnicodeDecodeError:
        return scalar.as_buffer().to_pybytes()
    except (OverflowError, ValueError):
        return f"{scalar.value} ({scalar.type})"


def count_disorder(table: Any, keys: Sequence[ColumnKey]) -> tuple[int, int]:
    """Return how many rows come before the one in front of them, and how many have equal keys."""
    if table.num_rows < 2:
        return 0, 0
    wrong, equal = _compared(key_columns(table, keys, all_parts=True), table.num_rows)
    compute = arrow("pyarrow.compute")
    return compute.sum(wrong).as_py(), compute.sum(equal).as_py()


def _first_wrong(parts: Sequence[KeyColumn], rows: int, *, unique: bool) -> int:
    """Return the place of the first row that is out of order, -1 for none."""
    compute = arrow("pyarrow.compute")
    wrong, equal = _compared(parts, rows)
    place: int = compute.index(compute.or_(wrong, equal) if unique else wrong, True).as_py()
    return place + 1 if place >= 0 else -1


def _compared(parts: Sequence[KeyColumn], rows: int) -> tuple[Any, Any]:
    """Return of each row but the first whether it comes before the one in front of it, and whether both are equal."""
    compute, library = arrow("pyarrow.compute"), arrow()
    undecided = library.repeat(True, rows - 1)
    wrong = compute.invert(undecided)
    for values, descending in parts:
        now, then = values.slice(1), values.slice(0, rows - 1)
        falls = (compute.greater if descending else compute.less)(now, then)
        wrong = compute.or_(wrong, compute.and_(undecided, falls.fill_null(False)))
        undecided = compute.and_(undecided, compute.equal(now, then).fill_null(True))
    return wrong, undecided
