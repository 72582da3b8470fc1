"""Keys that are columns of a table, in CSV and Parquet alike: `COLUMN[:KIND][:asc|desc][:first|last]`.

A column goes by its name or its number. Several may share a key, as in `state,amount:desc`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Final, NamedTuple

from planner.errors import BadInputError, nearest

_KINDS: Final = ("bytes", "int", "num", "float", "date", "fold", "natural")
_WORDS: Final = (_KINDS, ("asc", "desc"), ("last", "first"))
_EVERY: Final = tuple(word for words in _WORDS for word in words)
_DATE: Final = "date="
_ALSO: Final = {
    **dict.fromkeys(("decimal", "number", "numeric"), "num"),
    **dict.fromkeys(("bigint", "int64", "integer", "long"), "int"),
    **dict.fromkeys(("double", "float64", "real"), "float"),
    **dict.fromkeys(("str", "string", "text"), "bytes"),
    **dict.fromkeys(("datetime", "time", "timestamp"), "date"),
    "ascending": "asc",
    "descending": "desc",
}
"""What other tools call the kinds and directions."""
_CALENDAR: Final = {
    "yyyy": "%Y", "yy": "%y", "mmm": "%b", "mm": "%m", "dd": "%d", "hh": "%H", "mi": "%M", "ss": "%S",
}  # fmt: skip
_CALENDAR_PART: Final = re.compile("|".join(_CALENDAR), re.IGNORECASE)
"""Parts of a date as spreadsheets and SQL write them, as far as they are clear."""
_IN_DATES: Final = "YymdbBaAHIMSfpz"
"""What formats of dates have behind a percent sign: as strptime takes it, but `%f` is digits of a second."""
_PART_OF_DATE: Final = re.compile("%(.?)")


class NamedColumn(NamedTuple):
    """A column by its index, the order that its key gives it, and that key; `format` is of dates, '' for ISO 8601."""

    column: int
    kind: str
    descending: bool
    empties_first: bool
    text: str
    format: str = ""


def parse_columns(texts: Sequence[str], names: Sequence[str], *, columns: int) -> list[NamedColumn]:
    """Return the columns of keys, the first that decides first; only the first `columns` names have numbers. Raises
    BadInputError.
    """
    return [_parsed(text, names, columns=columns) for text in columns_of(texts, names)]


def _parsed(text: str, names: Sequence[str], *, columns: int) -> NamedColumn:
    column, given = _split(text, names, columns=columns)
    format = next((word.removeprefix(_DATE) for word in given if word.startswith(_DATE)), None)
    if format is not None:
        _require_format(text, format)
    given = ["date" if word.startswith(_DATE) else _ALSO.get(word.casefold(), word) for word in given]
    if wrong := [word for word in given if word not in _EVERY]:
        near = _date_meant(wrong[0]) or nearest(wrong[0], _EVERY)
        raise BadInputError(f"--key {text}: {wrong[0]!r} is none of {', '.join(_EVERY)}.{near}", code="unknown-word")
    said = [[word for word in given if word in words] for words in _WORDS]
    if several := next((words for words in said if len(words) > 1), None):
        raise BadInputError(f"--key {text}: {several[0]} and {several[1]} exclude each other", code="contradiction")
    kind = said[0][0] if said[0] else "bytes"
    return NamedColumn(column, kind, said[1] == ["desc"], said[2] == ["first"], text, format or "")


def _date_meant(word: str) -> str:
    """Return the format that a word such as `%d/%m/%Y`, `date(%d/%m/%Y)` or `dd/mm/yyyy` means; '' for none."""
    bare = re.sub(r"^(?:date|datetime|format|timestamp)[^\w%]*(?=[%dmy])|[)\]\"']+$", "", word, flags=re.IGNORECASE)
    format = bare if "%" in bare else _CALENDAR_PART.sub(lambda part: _CALENDAR[part[0].lower()], bare)
    return f" Did you mean {_DATE}{format}?" if "%" in format else ""


def _require_format(text: str, format: str) -> None:
    """Raise BadInputError for a format with parts that dates do not have, without any, or with two of %f."""
    parts = [part for part in _PART_OF_DATE.findall(format) if part != "%"]
    wrong = [part for part in parts if part not in tuple(_IN_DATES)]
    if not parts or wrong or parts.count("f") > 1:
        what = f"%{wrong[0]} is no part of a date" if wrong else "it has no part of a date"
        what = "it has %f twice" if parts and not wrong else what
        if not parts and (meant := _date_meant(format)):
            what += f".{meant}"
        hint = f"the parts are %{', %'.join(_IN_DATES)}, as in {_DATE}%d/%m/%Y"
        raise BadInputError(f"--key {text}: {what}", [hint], code="bad-format")


def _words(text: str) -> list[str]:
    """Return the words of a key between colons; those of a date's format are one."""
    words: list[str] = []
    for word in text.split(":"):
        if words and words[-1].startswith(_DATE) and _PART_OF_DATE.search(word):
            words[-1] += f":{word}"
        else:
            words.append(word)
    return words


def columns_of(texts: Sequence[str], names: Sequence[str]) -> list[str]:
    """Return the keys of single columns: `a:desc,b` is two, unless a column is called so."""
    return list(chain.from_iterable(_columns_in(text.split(","), names) for text in texts))


def _columns_in(parts: Sequence[str], names: Sequence[str]) -> Iterator[str]:
    """Yield keys of columns from parts between commas, of which a column's name may have several: the most that fit."""
    first = 0
    while first < len(parts):
        sizes = range(len(parts) - first, 1, -1)
        size = next((size for size in sizes if _begins_with_name(",".join(parts[first : first + size]), names)), 1)
        while any(f":{_DATE}" in part for part in parts[first : first + size]) and _PART_OF_DATE.search(
            "".join(parts[first + size : first + size + 1]).partition(f":{_DATE}")[0]
        ):
            size += 1  # of a format such as %b %d, %Y
        yield ",".join(parts[first : first + size])
        first += size


def _begins_with_name(key: str, names: Sequence[str]) -> bool:
    """Return whether a key is the name of a column, perhaps with words behind it; names may have colons and commas."""
    words = _words(key)
    return any(
        ":".join(words[:size]) in names and "," not in ":".join(words[size:]) for size in range(1, len(words) + 1)
    )


def _split(text: str, names: Sequence[str], *, columns: int) -> tuple[int, list[str]]:
    """Return the column at the start of a key, counted from 0, and its other words; `1` and `#1` are the first column.

    Names may have colons: the longest that fits is the column. Raises BadInputError if none or two fit.
    """
    words = _words(text)
    for size in range(len(words), 0, -1):
        name = ":".join(words[:size])
        if names.count(name) > 1:
            raise BadInputError(
                f"--key {text}: {names.count(name)} columns are called {name!r}; give a number instead",
                code="ambiguous-column",
            )
        if name in names:
            return names.index(name), words[size:]
    if number := re.fullmatch(r"#?([0-9]+)", words[0]):
        if not 1 <= int(number[1]) <= columns:
            raise BadInputError(
                f"--key {text}: there is no column {number[1]}; they are numbered from 1 to {columns}",
                code="unknown-column",
            )
        return int(number[1]) - 1, words[1:]
    advice = ["columns are 2, 2:num, 2:num:desc; lines have other keys, with --format lines"]
    raise BadInputError(_no_such_column(text, names), advice if words[0][:1].isdigit() else [], code="unknown-column")


def _no_such_column(text: str, names: Sequence[str]) -> str:
    words = _words(text)
    while len(words) > 1 and (words[-1] in (*_EVERY, *_ALSO) or words[-1].startswith(_DATE)):
        words.pop()
    name = ":".join(words)
    if not names:
        return f"--key {text}: without a header a column is given by its number, not as {name!r}"
    plain, descending = re.subn(r"^-|\s+desc(?:ending)?$", "", name, flags=re.IGNORECASE)
    near = f" Did you mean {plain}:desc?" if descending and plain in names else nearest(name, names)
    return f"--key {text}: there is no column {name!r}.{near} The columns are {', '.join(names[:20])}"
