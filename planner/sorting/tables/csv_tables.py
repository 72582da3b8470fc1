"""CSV as Arrow tables: rows of text, and the types that keep every value of a column.

A column becomes a number, a truth value, a date or a time only if each of its values does and none loses a digit: the
code 007, a number of 20 digits and the day 2020-02-30 stay text. An empty value is null, a quoted empty one is text.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from planner.compression.block_formats import ChunkReader
from planner.errors import BadInputError
from planner.native import core
from planner.sorting.tables.arrow_library import arrow, arrow_errors
from planner.sorting.tables.table_runs import made_in_turn
from planner.sorting.text.csv_keys import NO_QUOTE

if TYPE_CHECKING:
    from planner.sorting.text.text_job import CsvColumns

_BLOCK_BYTES: Final = 8 << 20
"""What is parsed at a time; a row may be as long."""
PARSING_BYTES: Final = 16 * _BLOCK_BYTES
"""Memory from which a further thread may parse: it takes a quarter of that."""
_ROW: Final = re.compile(r"Row #(\d+)")


class _WholeCrlf(io.RawIOBase):
    """A source whose reads never end between CR and LF: there pyarrow drops the LF, within quotes, too."""

    def __init__(self, source: io.BufferedReader[Any]) -> None:
        self._source = source
        self._kept = b""

    def readable(self) -> bool:
        """Return True."""
        return True

    def read(self, size: int = -1) -> bytes:
        """Return at most so many bytes, and none at the end."""
        got, self._kept = self._kept + self._source.read(max(size - len(self._kept), 1)), b""
        if got.endswith(b"\r") and (more := self._source.read(1)):
            got, self._kept = (got[:-1], b"\r" + more) if len(got) > 1 else (got + more, b"")
        return got


def csv_batches(
    chunks: Iterable[bytes], *, names: Sequence[str], skipped_bytes: int, csv: CsvColumns, path: str, threads: int
) -> Iterator[Any]:
    """Yield the rows after a file's first bytes as batches of text columns, parsed by threads. Raises BadInputError for
    rows of another length, and for text that is not UTF-8.
    """
    source = io.BufferedReader(ChunkReader(chunks), _BLOCK_BYTES)
    while skipped_bytes > 0 and (skipped := source.read(min(skipped_bytes, _BLOCK_BYTES))):
        skipped_bytes -= len(skipped)
    options = _options(names, csv)
    tasks = (partial(_parsed, piece, **options) for piece in _pieces(source, csv))
    rows = before = 0
    with arrow_errors(f"{path}: pyarrow says"):
        try:
            for batches in made_in_turn(tasks, threads=threads):
                for batch in batches:
                    rows += batch.num_rows
                    yield batch
                before = rows
        except arrow().ArrowInvalid as error:  # it counts the rows of a piece
            text = _ROW.sub(lambda found: f"Row #{int(found[1]) + before}", str(error))
            raise arrow().ArrowInvalid(text) from error


def _options(names: Sequence[str], csv: CsvColumns) -> dict[str, Any]:
    library, has_quotes = arrow("pyarrow.csv"), csv.quote != NO_QUOTE
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
    read = library.ReadOptions(column_names=list(names), block_size=_BLOCK_BYTES, use_threads=False)
    return {"read_options": read, "parse_options": parse, "convert_options": convert}


def _parsed(piece: bytes | io.BufferedReader[Any], **options: Any) -> Iterable[Any]:
    library = arrow("pyarrow.csv")
    if isinstance(piece, bytes):
        batches: list[Any] = library.read_csv(arrow().BufferReader(piece), **options).to_batches()
        return batches
    stream: Iterable[Any] = library.open_csv(_WholeCrlf(piece), **options)
    return stream


def _pieces(source: io.BufferedReader[Any], csv: CsvColumns) -> Iterator[bytes | io.BufferedReader[Any]]:
    """Yield pieces of whole rows; and all the rest to read on, from where no end of a row is certain."""
    rest = b""
    while block := rest + source.read(_BLOCK_BYTES - len(rest)):
        if len(block) < _BLOCK_BYTES:  # the last one
            yield block
            return
        if not (end := rows_end(block, csv)):
            yield io.BufferedReader(ChunkReader(chain([block], iter(partial(source.read, _BLOCK_BYTES), b""))))
            return
        yield block[:end]
        rest = block[end:]


def rows_end(text: bytes, csv: CsvColumns) -> int:
    """Return the end of the last row that ends in a text which begins with a row; 0 if there is none, or if quotes
    stand where they may be text, so that ends of rows are not known without parsing them all.
    """
    if csv.quote == NO_QUOTE or csv.quote not in text:
        return text.rfind(b"\n") + 1
    quotes = np.flatnonzero(np.frombuffer(text, np.uint8) == ord(csv.quote))
    before = {text[place - 1] if place else ord("\n") for place in quotes[:2:2].tolist()}
    before.update(np.unique(np.frombuffer(text, np.uint8)[quotes[2::2] - 1]).tolist())
    if not before.issubset(csv.delimiter + csv.quote + b"\r\n"):
        return 0
    end = len(text)
    while (end := text.rfind(b"\n", 0, end)) >= 0 and (inside := int(np.searchsorted(quotes, end))) % 2:
        end = int(quotes[inside - 1])
    return end + 1


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
