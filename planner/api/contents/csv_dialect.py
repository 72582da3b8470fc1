"""Dialect of CSV from its beginning: the separator, and whether the first row is a header."""

from __future__ import annotations

import csv
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import Any, Final

from planner.native import Progress

_SEPARATORS: Final = (",", "\t", ";", "|")
"""The first of those that fit equally well is taken."""
_ROWS: Final = 200
_BEGINNING_BYTES: Final = 1 << 16
_SHOWN: Final = {"\t": "tabs", ";": "semicolons", "|": "bars"}


@dataclass(frozen=True, kw_only=True)
class Dialect:
    """What separates columns, and whether the first row is data."""

    separator: str = ","
    no_header: bool = False


def found_dialect(
    sources: Sequence[Path], given: dict[str, Any], keys: Sequence[str], *, say: Callable[[str], None] | None
) -> dict[str, Any]:
    """Return `separator` and `no_header` as they are given, or else as the first file has them that says so."""
    found = {"separator": given["separator"], "no_header": bool(given["no_header"])}
    if given["separator"] and given["no_header"] is not None:
        return found
    for source in sources:
        rows = _beginning(source)
        if rows:
            return _said(source, dialect_of(rows, keys, separator=_byte(given["separator"])), given, say)
    return found


def _said(source: Path, dialect: Dialect, given: dict[str, Any], say: Callable[[str], None] | None) -> dict[str, Any]:
    notes = []
    if not given["separator"] and dialect.separator in _SHOWN:
        notes.append(f"{_SHOWN[dialect.separator]} separate its columns; --separator says otherwise")
    if given["no_header"] is None and dialect.no_header:
        notes.append("its first row has numbers where others have, so it is data; --header says otherwise")
    for note in notes if say else ():
        say(f"{source}: {note}")  # type: ignore[misc]
    usual = None if dialect.separator == "," else dialect.separator
    no_header = dialect.no_header if given["no_header"] is None else given["no_header"]
    return {"separator": given["separator"] or usual, "no_header": no_header}


def dialect_of(text: str, keys: Sequence[str], *, separator: str | None = None) -> Dialect:
    """Return the dialect of whole rows: what makes as many columns of each, the more the better, is the separator.

    A first row that has the names of keys is a header. So is one that has a text where all others have a number.
    """
    tables = {mark: _rows(text, mark) for mark in ([separator] if separator else _SEPARATORS)}
    names = [key for key in keys if not key.split(":")[0].isdigit()]

    def fitness(mark: str) -> tuple[int, int]:
        rows = tables[mark]
        is_regular = len({len(row) for row in rows}) == 1 < len(rows[0])
        return sum(_begins_with_one(key, rows[0]) for key in names), len(rows[0]) if is_regular else 0

    best = max(tables, key=fitness)
    return Dialect(separator=best, no_header=not names and _has_numbers_only_below(tables[best]))


def _begins_with_one(key: str, columns: Sequence[str]) -> bool:
    """Whether a key names one of the columns, which may have colons in their names."""
    words = key.split(":")
    return any(":".join(words[:size]) in columns for size in range(1, len(words) + 1))


def _rows(text: str, separator: str) -> list[list[str]]:
    try:
        rows = [row for row in csv.reader(StringIO(text, newline=""), delimiter=separator) if row]
    except csv.Error:
        rows = []
    return rows[:_ROWS] or [[]]


def _has_numbers_only_below(rows: list[list[str]]) -> bool:
    """Whether the first row has a number wherever all others have one, and that is somewhere."""
    first, *others = rows
    if not others or any(len(row) != len(first) for row in others):
        return False
    columns = list(zip(*others, strict=True))
    numeric = [i for i, values in enumerate(columns) if any(values) and all(map(_is_number_or_empty, values))]
    return bool(numeric) and all(_is_number_or_empty(first[i]) and first[i] for i in numeric)


def _is_number_or_empty(text: str) -> bool:
    try:
        float(text or 0)
    except ValueError:
        return False
    return True


def _byte(separator: str | None) -> str | None:
    return separator.replace("\\t", "\t") if separator and len(separator.replace("\\t", "\t")) == 1 else None


def _beginning(path: Path) -> str:
    """Return whole rows from the beginning of a file, decompressed; none of what can be read only once."""
    from planner.compression.text_codecs import open_source
    from planner.errors import PlannerError

    if not path.is_file():
        return ""
    head = b""
    try:
        for head in open_source(str(path), Progress()).head():
            if len(head) >= _BEGINNING_BYTES:
                break
    except (PlannerError, OSError):  # which the sort says better
        return ""
    text = head[: _BEGINNING_BYTES * 4].decode("utf-8-sig", errors="surrogateescape")
    return text if len(head) < _BEGINNING_BYTES else _whole_rows(text)


def _whole_rows(text: str) -> str:
    """Return a text up to its last newline that is not within quotes."""
    end = text.rfind("\n")
    while end >= 0 and text.count('"', 0, end) % 2:
        end = text.rfind("\n", 0, end)
    return text[: end + 1]
