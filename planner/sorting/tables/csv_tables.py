"""CSV as Arrow tables: rows of text, and the types that keep every value of a column.

A column becomes a number, a truth value, a date or a time only if each of its values does and none loses a digit: the
code 007, a number of 20 digits and the day 2020-02-30 stay text. An empty value is null, a quoted empty one is text.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

from planner.errors import BadInputError
from planner.sorting.tables.arrow_library import arrow, arrow_errors
from planner.sorting.text.csv_keys import NO_QUOTE

if TYPE_CHECKING:
    from planner.sorting.text.text_job import CsvColumns

_BLOCK_BYTES: Final = 8 << 20
"""What is parsed at a time; a row may be as long."""
_MOST_DIGITS: Final = 17
"""Digits that a double can have and still be written back as it was read."""
_MOST_WHOLE_DIGITS: Final = 15
"""Digits of whole numbers that doubles hold exactly."""
_TIME: Final = r"[0-9]{4}-[0-9]{2}-[0-9]{2}[ T][0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]{1,%d})?)?%s"
_ZONE: Final = r"(Z|[+-][0-9]{2}:?[0-9]{2})"


class ChunkReader(io.RawIOBase):
    """Chunks of bytes as a file that is read from start to end."""

    def __init__(self, chunks: Iterable[bytes]) -> None:
        self._chunks = iter(chunks)
        self._left = memoryview(b"")

    def readable(self) -> bool:
        """Return True."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Fill a buffer with what comes next; return the bytes, 0 at the end."""
        while not self._left and (chunk := next(self._chunks, None)) is not None:
            self._left = memoryview(chunk)
        size = min(len(buffer), len(self._left))
        buffer[:size], self._left = self._left[:size], self._left[size:]
        return size


def csv_batches(
    chunks: Iterable[bytes], *, names: Sequence[str], skipped_bytes: int, csv: CsvColumns, path: str
) -> Iterator[Any]:
    """Yield the rows after a file's first bytes as batches of text columns. Raises BadInputError for rows of another
    length, and for text that is not UTF-8.
    """
    library, reader = arrow("pyarrow.csv"), ChunkReader(chunks)
    source = io.BufferedReader(reader, _BLOCK_BYTES)
    while skipped_bytes > 0 and (skipped := source.read(min(skipped_bytes, _BLOCK_BYTES))):
        skipped_bytes -= len(skipped)
    if not source.peek(1):
        return
    has_quotes = csv.quote != NO_QUOTE
    parse = library.ParseOptions(
        delimiter=csv.delimiter.decode("latin-1"),
        quote_char=csv.quote.decode("latin-1") if has_quotes else False,
        newlines_in_values=has_quotes,
        ignore_empty_lines=len(names) > 1,
    )
    convert = library.ConvertOptions(
        column_types=dict.fromkeys(names, arrow().string()),
        null_values=[""],
        strings_can_be_null=True,
        quoted_strings_can_be_null=False,
    )
    read = library.ReadOptions(column_names=list(names), block_size=_BLOCK_BYTES)
    with arrow_errors(f"{path}: pyarrow says"):
        yield from library.open_csv(source, read_options=read, parse_options=parse, convert_options=convert)


def require_names(names: Sequence[str], *, path: str) -> None:
    """Raise BadInputError for two columns of one name, which no other kind of table has."""
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise BadInputError(
            f"{path}: two columns are called {twice[0]!r}: rename one before it becomes another kind of table",
            code="ambiguous-column",
        )


def _are_whole(values: Any) -> bool:
    """Return whether values are whole numbers of 64 bits, written as they are written back."""
    compute = arrow("pyarrow.compute")
    return bool(compute.all(compute.equal(values.cast("int64").cast("string"), values)).as_py())


def _are_doubles(values: Any) -> bool:
    """Return whether values are decimal numbers that a double holds, whole ones exactly; a code like 007 is none."""
    compute = arrow("pyarrow.compute")
    numbers = values.cast("double")
    if not compute.all(compute.is_finite(numbers)).as_py() or _any_matches(values, "^[-+]?0[0-9]|^[+ ]|[ _]$"):
        return False
    long = values.filter(compute.greater(compute.utf8_length(values), _MOST_WHOLE_DIGITS))
    digits = compute.utf8_length(compute.replace_substring_regex(long, "[eE].*$|[-.]", ""))
    too_long = compute.greater(digits, _MOST_DIGITS)
    return not (compute.any(too_long).as_py() or _any_matches(long, f"^-?[0-9]{{{_MOST_WHOLE_DIGITS + 1},}}$"))


def _any_matches(values: Any, pattern: str) -> bool:
    compute = arrow("pyarrow.compute")
    return bool(compute.any(compute.match_substring_regex(values, pattern)).as_py())


def _all_match(pattern: str) -> Callable[[Any], bool]:
    def keeps(values: Any) -> bool:
        compute = arrow("pyarrow.compute")
        return bool(compute.all(compute.match_substring_regex(values, f"^({pattern})$")).as_py())

    return keeps


_TYPES: Final[dict[str, Callable[[Any], bool]]] = {
    "int64": _are_whole,
    "double": _are_doubles,
    "bool": _all_match("true|false|True|False|TRUE|FALSE"),
    "date32": _all_match("[0-9]{4}-[0-9]{2}-[0-9]{2}"),
    "timestamp[us]": _all_match(_TIME % (6, "")),
    "timestamp[us, UTC]": _all_match(_TIME % (6, _ZONE)),
    "timestamp[ns]": _all_match(_TIME % (9, "")),
    "timestamp[ns, UTC]": _all_match(_TIME % (9, _ZONE)),
}
"""Types that a column of text may have, the first that fits, each with whether it keeps some values."""


class FoundTypes:
    """The types of columns of text, found from all their values."""

    def __init__(self, names: Sequence[str]) -> None:
        self._names = list(names)
        self._able = [list(_TYPES) for _ in names]
        self._seen = [False] * len(names)

    def add(self, batch: Any) -> None:
        """Take rows in."""
        for place, column in enumerate(batch.columns):
            values = column.drop_null()
            if len(values) and self._able[place]:
                self._seen[place] = True
                self._able[place] = _able(self._able[place], values)

    def schema(self) -> Any:
        """Return the columns with their types; what has no value is text."""
        fields = [
            arrow().field(name, _arrow_type(able[0]) if seen and able else arrow().string())
            for name, able, seen in zip(self._names, self._able, self._seen, strict=True)
        ]
        return arrow().schema(fields)


def _able(names: Sequence[str], values: Any) -> list[str]:
    """Return the types that keep some values; short whole numbers are doubles without a look."""
    if names[0] == "int64" and _keeps("int64", values):
        compute = arrow("pyarrow.compute")
        is_short = compute.max(compute.utf8_length(values)).as_py() <= _MOST_WHOLE_DIGITS
        return [name for name in names if name == "int64" or (name == "double" and is_short)]
    return [name for name in names if name != "int64" and _keeps(name, values)]


def _keeps(name: str, values: Any) -> bool:
    try:
        if not _TYPES[name](values):
            return False
        values.cast(_arrow_type(name))
    except arrow().ArrowInvalid:  # a day that no month has, or more than 64 bits
        return False
    return True


def _arrow_type(name: str) -> Any:
    if not name.startswith("timestamp"):
        return getattr(arrow(), {"double": "float64", "bool": "bool_"}.get(name, name))()
    return arrow().timestamp(name[10:12], tz="UTC" if "UTC" in name else None)
