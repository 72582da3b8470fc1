"""What a sort of text works out of its options: the order of lines, rows or records by keys, and the form of CSV."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from planner.errors import BadInputError
from planner.sorting.records.keyed import TextOrder
from planner.sorting.records.keys import UNLIMITED, BadKeyError, Key, check_compatible, parse_key
from planner.sorting.records.local import DEFAULT_KEY_BYTES
from planner.sorting.records.record_keys import bytes_key, parse_record_key
from planner.sorting.sort_job import Comparison, InputFormat, SortJob
from planner.sorting.text.csv_keys import NO_QUOTE, QUOTE, FirstRow

_WHOLE_LINES: Final = TextOrder()


@dataclass(frozen=True, kw_only=True)
class CsvColumns:
    """Rows of CSV and their sort columns, as `parse_csv_keys` reads them."""

    keys: tuple[str, ...]
    delimiter: bytes = b","
    quote: bytes = QUOTE
    header: bool = True

    def skipped_bytes(self, row: FirstRow) -> int:
        """Return the size of what precedes the data of a file: its header, or only a byte order mark."""
        return len(row.content if self.header else row.mark)


@dataclass(frozen=True, kw_only=True)
class TextJob(SortJob):
    """A sort of text, with the order of its lines, and the columns of CSV."""

    order: TextOrder = _WHOLE_LINES
    csv: CsvColumns | None = None

    @property
    def counted(self) -> str:
        """What the sort counts."""
        return "rows" if self.csv else "records" if self.record_bytes else "lines"


def text_job(job: SortJob) -> TextJob:
    """Return a sort with its order. Raises BadInputError for invalid keys, and for files of unknown contents."""
    csv, given = None, vars(job)
    if job.record_bytes:
        order = TextOrder(record_keys(job), stable=True, unique=job.unique, record_bytes=job.record_bytes)
    elif job.format == "csv":
        order, csv = TextOrder(stable=True, unique=job.unique), csv_columns(job, quote=job.quote)
    else:
        order = _order_of_lines(job)
    return TextJob(**given, order=order, csv=csv)


def _order_of_lines(job: SortJob) -> TextOrder:
    if job.separator and not job.keys:
        raise BadInputError(
            "--separator: whole lines are sorted, which have no fields; say --key, or leave it out",
            code="missing-companion",
        )
    if not (job.format or job.is_text_or_table or job.merge or job.limit):
        raise BadInputError(
            f"{job.inputs[0]}: say what it holds: --format lines, csv or records", code="unknown-format"
        )
    by_place: tuple[Key, ...] = ()
    if job.key_size is not None:
        by_place = (Key(UNLIMITED, job.key_offset, 0, job.key_offset + job.key_size),)
    elif job.key_offset:
        by_place = (Key(first_byte=job.key_offset),)
    return TextOrder(
        keys=line_keys(job) or by_place,
        separator=separator_byte(job),
        line_end=b"\0" if job.zero_terminated else b"\n",
        stable=job.stable or bool(by_place),
        unique=job.unique,
    )


def record_keys(job: Comparison) -> tuple[Key, ...]:
    """Return the keys of records. Raises BadInputError."""
    if job.keys:
        return tuple(parse_record_key(text, record_bytes=job.record_bytes) for text in job.keys)
    size = DEFAULT_KEY_BYTES if job.key_size is None else job.key_size
    return (bytes_key(offset=job.key_offset, size=size, record_bytes=job.record_bytes),)


def line_keys(form: InputFormat) -> tuple[Key, ...]:
    """Return the keys of lines. Raises BadInputError for an invalid key."""
    try:
        keys = tuple(map(parse_key, form.keys))
        for key in keys:
            check_compatible(key)
    except BadKeyError as error:
        hint = "a key is the numbers of its first and last column, as 2,2 or 3,3n: give --key once for each key"
        csv = "with --format csv it is the name of a column"
        raise BadInputError(f"--key: {error}; {csv}; {hint}", code="bad-key") from error
    return keys


def csv_columns(form: InputFormat, *, quote: str | None = None) -> CsvColumns:
    """Return the columns that CSV is sorted by, with values in a `quote`, or none. Raises BadInputError."""
    if not form.keys:
        raise BadInputError("--format csv: say which columns to sort by: --key NAME, or --key 3", code="missing-key")
    delimiter = separator_byte(form) or b","
    if delimiter in b'"\r\n\0':
        raise BadInputError(f"--separator {form.separator!r} cannot separate columns", code="bad-separator")
    enclosing = NO_QUOTE if quote == "none" else _one_byte(quote, "--quote") if quote else QUOTE
    if enclosing == delimiter or enclosing in b"\r\n":
        raise BadInputError(
            f"--quote {quote!r} cannot enclose values of columns that {delimiter!r} separates", code="bad-quote"
        )
    return CsvColumns(keys=form.keys, delimiter=delimiter, quote=enclosing, header=not form.no_header)


def separator_byte(form: InputFormat) -> bytes | None:
    """Return the byte between fields, None for blanks. Raises BadInputError for more than one byte."""
    if form.separator is None:
        return None
    return _one_byte({"\\t": "\t", "\\0": "\0"}.get(form.separator, form.separator), "--separator")


def _one_byte(text: str, option: str) -> bytes:
    if len(text.encode()) != 1:
        raise BadInputError(f"{option} is one byte, not {text!r}", code="not-one-byte")
    return text.encode()
