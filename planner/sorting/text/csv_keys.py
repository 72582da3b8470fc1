"""CSV according to RFC 4180: its first row, and keys that are columns by name or number."""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

from planner.errors import BadInputError
from planner.sorting.column_keys import NamedColumn, parse_columns
from planner.sorting.records.keys import Key

_MARK: Final = re.compile(rb"(?:\xef\xbb\xbf)?(?:(\"?)(?i:sep)=([^\r\n\"])\1\r?\n)?")
"""An optional byte order mark, and the optional line that gives Excel the column separator."""
_UTF_16_BOMS: Final = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_MOST_FIRST_ROW_BYTES: Final = 64 << 20
QUOTE: Final = b'"'
NO_QUOTE: Final = b"\0"
"""Stands for no quote: text containing it is refused."""
_KINDS: Final = {"bytes": "", "int": "I", "num": "N", "float": "F", "date": "", "fold": "f", "natural": "A"}


@dataclass(frozen=True)
class FirstRow:
    """The first row of a file: its bytes with the row end and any preceding mark and blank lines, and its values, which
    an empty file lacks.
    """

    content: bytes
    values: tuple[str, ...]

    @property
    def ends_with_crlf(self) -> bool:
        """True if rows end with carriage return and newline."""
        return self.content.endswith(b"\r\n")

    @property
    def mark(self) -> bytes:
        """The byte order mark and the line `sep=;`, if present."""
        return self.content[: _mark_bytes(self.content)]

    @property
    def without_blank_lines(self) -> bytes:
        """The row as written at the start of a sorted file."""
        return self.mark + _unmarked(self.content).lstrip(b"\r\n") if len(self.values) > 1 else self.content


def _mark_bytes(head: bytes) -> int:
    match = _MARK.match(head)
    return match.end() if match else 0


def _unmarked(head: bytes) -> bytes:
    return head[_mark_bytes(head) :]


def hinted_separator(head: bytes) -> bytes | None:
    """Return the column separator that a file specifies."""
    match = _MARK.match(head)
    return match[2] if match else None


def read_first_row(heads: Iterable[bytes], *, name: str, delimiter: bytes, quote: bytes = QUOTE) -> FirstRow:
    """Return the first row of a file, and anything before it, from ever longer beginnings of the file.

    Blank lines are not rows if rows have several values. Raises BadInputError for misplaced quotes.
    """
    head, first_row = b"", partial(_first_row, name=name, delimiter=delimiter, quote=quote)
    for head in heads:
        if row := _whole_row(head[_first_byte(head) :], quote):
            return first_row(head, row)
        if len(head) > _MOST_FIRST_ROW_BYTES:
            raise BadInputError(
                f"{name}: the first row does not end within {_MOST_FIRST_ROW_BYTES >> 20} MiB",
                code="first-row-too-long",
            )
    return first_row(head, head[_first_byte(head) :]) if _unmarked(head) else FirstRow(head, ())


def _first_byte(head: bytes) -> int:
    """Return the position after a mark and blank lines."""
    text = _unmarked(head)
    return len(head) - len(text.lstrip(b"\r\n"))


def _first_row(head: bytes, row: bytes, *, name: str, delimiter: bytes, quote: bytes) -> FirstRow:
    """Return the first row of a file that begins with `head`; of one column, where a blank line is an empty value, the
    first line.
    """
    values = _values(row, name=name, delimiter=delimiter, quote=quote)
    if len(values) > 1:
        return FirstRow(head[: _first_byte(head)] + row, values)
    begin = _mark_bytes(head)
    line = _whole_row(head[begin:], quote) or head[begin:]
    return FirstRow(head[:begin] + line, values if line.strip(b"\r\n") else ("",))


def _whole_row(head: bytes, quote: bytes) -> bytes | None:
    """Return the bytes up to and including the first newline outside quotes."""
    quotes, begin = 0, 0
    while (end := head.find(b"\n", begin)) >= 0:
        quotes += head.count(quote, begin, end)
        if quotes % 2 == 0:
            return head[: end + 1]
        begin = end + 1
    return None


def _values(row: bytes, *, name: str, delimiter: bytes, quote: bytes) -> tuple[str, ...]:
    if row.startswith(_UTF_16_BOMS):
        raise BadInputError(f"{name} is UTF-16: make it UTF-8 first, as iconv does", code="not-utf-8")
    text = row.removesuffix(b"\n").removesuffix(b"\r")
    plain = re.compile(rb"[^\r\n" + re.escape(quote + delimiter) + rb"]*")
    values: list[str] = []
    at = 0
    while True:
        value, end = _quoted_field(text, at, quote) if text.startswith(quote, at) else _match(plain, text, at)
        if text.startswith(b"\r", end) and not row.endswith(b"\n"):
            raise BadInputError(
                f"{name}: carriage returns alone end its rows, as in files of old Macs",
                ["give it newlines first: tr '\\r' '\\n'"],
                code="old-mac-rows",
            )
        if end < len(text) and not text.startswith(delimiter, end):
            raise BadInputError(
                f"{name}: row 1: field {len(values) + 1} has a quote or a carriage return in the wrong place",
                ["a quote must enclose the field or be doubled within it; a carriage return must end a row"],
                code="stray-quote",
            )
        values.append(value.decode(errors="surrogateescape"))
        if end == len(text):
            return tuple(values)
        at = end + len(delimiter)


def _match(pattern: re.Pattern[bytes], text: bytes, at: int) -> tuple[bytes, int]:
    match = pattern.match(text, at)
    return (match[0], match.end()) if match else (b"", at)


def _quoted_field(text: bytes, at: int, quote: bytes) -> tuple[bytes, int]:
    """Return a quoted field and its end, which is its beginning if the field is not closed.

    The first odd number of quotes closes it. One pattern for the whole field would take 130 bytes per byte of the
    field.
    """
    for quotes in re.compile(re.escape(quote) + b"+").finditer(text, at + 1):
        if len(quotes[0]) % 2 == 1:
            return text[at + 1 : quotes.end() - 1].replace(quote * 2, quote), quotes.end()
    return b"", at


def parse_csv_keys(texts: Sequence[str], names: Sequence[str], *, columns: int) -> tuple[Key, ...]:
    """Return the keys of rows with these columns. Raises BadInputError."""
    found = parse_columns(texts, names, columns=columns)
    return tuple(Key(first_field=key.column, options=_letters(key)) for key in found)


def _letters(key: NamedColumn) -> str:
    """Return the core's options of a key; the format of a date ends them."""
    date = f"T{key.format}" if key.kind == "date" else ""
    return _KINDS[key.kind] + "r" * key.descending + "E" * key.empties_first + date
