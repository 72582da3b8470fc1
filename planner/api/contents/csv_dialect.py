"""CSV dialect from the beginning of a file: separator, quote, and whether the first row is a header."""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from io import StringIO
from typing import Any, Final

from planner.compression.looks import Look
from planner.errors import BadInputError
from planner.sorting.column_keys import columns_of, parse_columns

_SEPARATORS: Final = (",", "\t", ";", "|")
"""Candidate separators; the first wins among those that fit equally well."""
_ROWS: Final = 200
_DOUBLE, _SINGLE, _NO_QUOTE = '"', "'", "none"
_SHOWN: Final = {"\t": "tabs", ";": "semicolons", "|": "bars"}


@dataclass(frozen=True, kw_only=True)
class Dialect:
    """Column separator, quote, and whether the first row is data."""

    separator: str = ","
    no_header: bool = False
    quote: str = _DOUBLE
    has_escapes: bool = False
    """True if quotes within values are escaped with a backslash, which the sort does not accept."""


def detect_dialect(
    looks: Sequence[Look], given: dict[str, Any], keys: Sequence[str], *, say: Callable[[str], None] | None
) -> dict[str, Any]:
    """Return `separator`, `no_header` and `quote` as given, or else from the first file with several rows: a heading
    alone may hold any mark.
    """
    found = {"separator": given["separator"], "no_header": bool(given["no_header"]), "quote": given["quote"]}
    if given["separator"] and given["no_header"] is not None and given["quote"]:
        return found
    shown: tuple[str, str] | None = None
    for look in looks:
        if not (rows := _beginning(look)):
            continue
        has_several = "\n" in rows.strip()
        if has_several or shown is None:
            shown = look.name, rows
        if has_several:
            break
    if shown is None:
        return found
    source, rows = shown
    dialect = dialect_of(rows, keys, separator=_byte(given["separator"]), quote=given["quote"])
    return _reported(source, dialect, given, say)


def _reported(
    source: str, dialect: Dialect, given: dict[str, Any], say: Callable[[str], None] | None
) -> dict[str, Any]:
    notes = []
    if not given["separator"] and dialect.separator in _SHOWN:
        notes.append(f"{_SHOWN[dialect.separator]} separate its columns; --separator says otherwise")
    if given["no_header"] is None and dialect.no_header:
        notes.append("its first row has numbers where others have, so it is data; --header says otherwise")
    if not given["quote"] and dialect.quote != _DOUBLE:
        what = "single quotes enclose its values" if dialect.quote == _SINGLE else "its double quotes enclose no values"
        notes.append(f"{what}; --quote says otherwise")
    if dialect.has_escapes:
        notes.append('its quotes behind backslashes are not taken; double them, as in "", before it is sorted')
    for note in notes if say else ():
        say(f"{source}: {note}")  # type: ignore[misc]
    usual = None if dialect.separator == "," else dialect.separator
    no_header = dialect.no_header if given["no_header"] is None else given["no_header"]
    quote = given["quote"] or (None if dialect.quote == _DOUBLE else dialect.quote)
    return {"separator": given["separator"] or usual, "no_header": no_header, "quote": quote}


def dialect_of(text: str, keys: Sequence[str], *, separator: str | None = None, quote: str | None = None) -> Dialect:
    """Return the dialect of whole rows. The separator is the one that gives all rows the same, largest number of
    columns, if possible with those of all keys, and with all quotes around fields or doubled.

    The first row is a header if it has the names of keys, or text where all other rows have a number. Single quotes
    enclose values where they do so in all rows of a column, or where only that makes rows equally long. Double quotes
    are text where they cannot enclose values.
    """
    hint, text = _without_hint(text)
    separator = separator or hint
    quotes = [quote] if quote else [_DOUBLE, _SINGLE, _NO_QUOTE]
    found = {each: _best_separator(text, separator, each, keys) for each in quotes}
    chosen = next((each for each in (_SINGLE, _NO_QUOTE) if not quote and _is_quote(text, each, found)), quotes[0])
    mark, rows = found[chosen]
    names = [key for key in columns_of(keys, rows[0]) if _is_name(key, rows[0])]
    return Dialect(
        separator=mark,
        no_header=not names and _has_numbers_only_below(rows),
        quote=chosen,
        has_escapes=chosen == _DOUBLE and re.search(rf'\\"[^"{re.escape(mark)}\r\n]', text) is not None,
    )


def heading_of(look: Look) -> list[str]:
    """Return the names in the first row of CSV; none if that is data."""
    text = _beginning(look)
    dialect = dialect_of(text, ())
    return [] if dialect.no_header else _rows(_without_hint(text)[1], dialect.separator, dialect.quote)[0]


def compared_as_text(
    look: Look, keys: Sequence[str], *, separator: str | None, quote: str | None, no_header: bool
) -> Iterator[str]:
    """Yield a note on each key without a kind whose first values are numbers or dates, where text has another order."""
    rows = _rows(_beginning(look), _byte(separator) or ",", quote or _DOUBLE)
    names = [str(place + 1) for place in range(len(rows[0]))] if no_header else rows[0]
    try:
        columns = parse_columns(keys, names, columns=len(names))
    except BadInputError:  # the sort refuses them, and says where its names come from
        return
    for key in columns:
        values = [row[key.column] for row in rows[not no_header :] if len(row) > key.column and row[key.column]]
        kind = next((kind for kind, is_of in _UNLIKE_TEXT.items() if values and all(map(is_of, values))), "")
        is_alike = not kind or (kind == "num" and sorted(values, key=float) == sorted(values))
        if key.kind == "bytes" and ":bytes" not in key.text and not is_alike:
            name, what = names[key.column], "numbers" if kind == "num" else "dates"
            yield f"note: {name} has {what}, and is compared as text; --key {name}:{kind} says otherwise"


def _without_hint(text: str) -> tuple[str | None, str]:
    """Return the separator in a first line `sep=;`, and the text after that line."""
    from planner.sorting.text.csv_keys import hinted_separator

    first = text[: text.find("\n") + 1]
    hint = hinted_separator(first.encode(errors="surrogateescape"))
    return (None, text) if hint is None else (hint.decode("latin-1"), text[len(first) :])


_Found = tuple[str, list[list[str]]]
"""A separator and the rows it gives."""


def _best_separator(text: str, separator: str | None, quote: str, keys: Sequence[str]) -> _Found:
    tables = {mark: _rows(text, mark, quote) for mark in ([separator] if separator else _SEPARATORS)}
    regular = [mark for mark in tables if _is_regular(tables[mark])]
    named = [mark for mark in regular or tables if _has_columns(tables[mark][0], keys)]
    regular = [mark for mark in regular if mark in named] or regular
    if len(regular) > 1:
        regular = [mark for mark in regular if _fields(text, mark, quote) is not None] or regular
    best = max(regular or named or tables, key=lambda mark: len(tables[mark][0]) if regular else 0)
    return best, tables[best]


def _has_columns(names: Sequence[str], keys: Sequence[str]) -> bool:
    """Return whether a row of several values has the columns of all keys."""
    try:
        return len(names) > 1 and bool(parse_columns(keys, names, columns=len(names)))
    except BadInputError:
        return False


def _is_regular(rows: list[list[str]]) -> bool:
    return len({len(row) for row in rows}) == 1 < len(rows[0])


def _is_quote(text: str, quote: str, found: dict[str, _Found]) -> bool:
    """Return whether this quote, or none, fits the values better than double quotes."""
    fields = _fields(text, found[quote][0], quote)
    if not fields or not _is_regular(fields):
        return False
    is_usual = _fields(text, found[_DOUBLE][0], _DOUBLE) is not None and _is_regular(found[_DOUBLE][1])
    if any(field.startswith(_DOUBLE) for row in fields for field in row):
        return False
    if quote == _NO_QUOTE:
        return not is_usual
    columns = zip(*fields[1:], strict=True)
    encloses_column = any(any(column) and all(not field or field[0] == quote for field in column) for column in columns)
    return encloses_column or (not is_usual and any(field.startswith(quote) for row in fields for field in row))


def _fields(text: str, mark: str, quote: str) -> list[list[str]] | None:
    """Return the raw fields of all rows; None where a quote neither encloses a field nor is doubled."""
    enclosing = re.escape("\0" if quote == _NO_QUOTE else quote)
    plain = f"[^{enclosing}{re.escape(mark)}\r\n]*"
    pattern = re.compile(
        f"({enclosing}(?:[^{enclosing}]|{enclosing}{enclosing})*{enclosing}|{plain})({re.escape(mark)}|\r?\n|\\Z)"
    )
    rows: list[list[str]] = [[]]
    at = 0
    while at < len(text):
        match = pattern.match(text, at)
        if match is None:
            return None
        rows[-1].append(match[1])
        at = match.end()
        if match[2] != mark and at < len(text):
            rows.append([])
    return [row for row in rows if row != [""]]


def _is_name(key: str, columns: Sequence[str]) -> bool:
    """Return whether a key is a column name and not a position; 2026 is a name beyond the positions."""
    number = key.partition(":")[0].removeprefix("#")
    return not number.isdigit() or (number in columns and int(number) > len(columns))


def _rows(text: str, separator: str, quote: str) -> list[list[str]]:
    how: dict[str, Any] = {"quoting": csv.QUOTE_NONE} if quote == _NO_QUOTE else {"quotechar": quote}
    try:
        rows = [row for row in csv.reader(StringIO(text, newline=""), delimiter=separator, **how) if row]
    except (csv.Error, TypeError, ValueError):  # also for an invalid quote, which the sort refuses
        rows = []
    return rows[:_ROWS] or [[]]


def _has_numbers_only_below(rows: list[list[str]]) -> bool:
    """Return whether the first row has a number wherever all other rows have one, in at least one column."""
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


_UNLIKE_TEXT: Final[dict[str, Callable[[str], object]]] = {
    "num": _is_number_or_empty,
    "date=%d/%m/%Y": re.compile(r"\d\d/\d\d/\d{4}").fullmatch,
    "date=%d.%m.%Y": re.compile(r"\d\d\.\d\d\.\d{4}").fullmatch,
}
"""Kinds of keys, and what tells a value of them."""


def _byte(separator: str | None) -> str | None:
    return separator.replace("\\t", "\t") if separator and len(separator.replace("\\t", "\t")) == 1 else None


def _beginning(look: Look) -> str:
    """Return whole rows from the beginning of a file, decompressed."""
    text = look.head.decode("utf-8-sig", errors="surrogateescape")
    return text if look.is_whole else _whole_rows(text)


def _whole_rows(text: str) -> str:
    """Return a text up to its last newline that is not within quotes."""
    end = text.rfind("\n")
    while end >= 0 and text.count('"', 0, end) % 2:
        end = text.rfind("\n", 0, end)
    return text[: end + 1]
