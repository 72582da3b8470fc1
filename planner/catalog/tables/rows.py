"""Rows of a CSV file whose columns are the user's own: every cell as text, by the column's name."""

from __future__ import annotations

import csv
from collections.abc import Iterable
from io import StringIO
from pathlib import Path

from planner.errors import BadInputError, bad_input

Rows = list[tuple[int, dict[str, str]]]
"""The line that a row ends on, and its cells by column."""


def rows_of(path: Path, text: str) -> tuple[list[str], Rows]:
    """Return the header and the rows of a file's CSV `text`; empty lines are no rows.

    Raises BadInputError for text that is no CSV, and one that lists repeated columns and rows with more or fewer cells
    than the header.
    """
    reader = csv.reader(StringIO(text, newline=""), strict=True)
    try:
        header = next((cells for cells in reader if cells), [])
        rows = [(reader.line_num, cells) for cells in reader if cells]
    except csv.Error as error:
        raise BadInputError(f"{path}: cannot be read as CSV ({error})") from error
    if problems := [*_repeated(header), *_ragged(path, header, rows)]:
        raise bad_input(path, problems)
    return header, [(line, dict(zip(header, cells, strict=True))) for line, cells in rows]


def _repeated(header: list[str]) -> Iterable[str]:
    twice = (name for name in dict.fromkeys(header) if header.count(name) > 1)
    return (f"column {name!r} appears more than once" for name in twice)


def _ragged(path: Path, header: list[str], rows: list[tuple[int, list[str]]]) -> Iterable[str]:
    return (
        f"{path}:{line}: {len(cells)} cells, the header has {len(header)}"
        for line, cells in rows
        if len(cells) != len(header)
    )
