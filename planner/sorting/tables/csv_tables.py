"""CSV as Arrow tables: rows of text, and the types that keep every value of a column.

A column becomes a number, a truth value, a date or a time only if each of its values does and none loses a digit: the
code 007, a number of 20 digits and the day 2020-02-30 stay text. An empty value is null, a quoted empty one is text.
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

from planner.errors import BadInputError
from planner.native import core
from planner.sorting.tables.arrow_library import arrow, arrow_errors
from planner.sorting.text.csv_keys import NO_QUOTE

if TYPE_CHECKING:
    from planner.sorting.text.text_job import CsvColumns

_BLOCK_BYTES: Final = 8 << 20
"""What is parsed at a time; a row may be as long."""


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


_TYPES: Final = (
    "int64", "double", "bool", "date32", "timestamp[us]", "timestamp[us, UTC]", "timestamp[ns]", "timestamp[ns, UTC]"
)  # fmt: skip
"""Types that a column of text may have, by the core's bits: it has the first that keeps all its values."""


class FoundTypes:
    """The types of columns of text, found from all their values."""

    def __init__(self, names: Sequence[str]) -> None:
        self._names = list(names)
        self._able = [(1 << len(_TYPES)) - 1 for _ in names]
        self._seen = [False] * len(names)

    def add(self, batch: Any) -> None:
        """Take rows in. Raises BadInputError for damaged ones."""
        for place, column in enumerate(batch.columns):
            self._seen[place] |= column.null_count < len(column)
            if self._able[place] and len(column):
                validity, offsets, texts = column.buffers()
                self._able[place] = core.types_of_texts(
                    len(column),
                    validity=(validity if column.null_count else None, column.offset),
                    offsets=offsets.slice(4 * column.offset),
                    texts=texts,
                    able=self._able[place],
                )

    def schema(self) -> Any:
        """Return the columns with their types; what has no value is text."""
        fields = [
            arrow().field(name, _arrow_type(_first(able)) if seen and able else arrow().string())
            for name, able, seen in zip(self._names, self._able, self._seen, strict=True)
        ]
        return arrow().schema(fields)


def _first(able: int) -> str:
    return next(name for bit, name in enumerate(_TYPES) if able >> bit & 1)


def _arrow_type(name: str) -> Any:
    if not name.startswith("timestamp"):
        return getattr(arrow(), {"double": "float64", "bool": "bool_"}.get(name, name))()
    return arrow().timestamp(name[10:12], tz="UTC" if "UTC" in name else None)
