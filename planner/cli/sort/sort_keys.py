"""`planner sort` of text, by keys of lines or by columns of CSV: the options, the sort and the check."""

from __future__ import annotations

import stat
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from typer import Exit, Option

from planner.cli.shell.console import show_json, show_text, talk
from planner.cli.shell.files import mode_of
from planner.cli.shell.progress import watched
from planner.cli.shell.text_files import notes_on_columns
from planner.cli.sort import key_options
from planner.errors import BadInputError
from planner.units import format_bytes, format_duration

if TYPE_CHECKING:
    from planner.sorting.records.keyed import TextReport
    from planner.sorting.records.keys import Key
    from planner.sorting.records.local import Spill
    from planner.sorting.text.text_files import CsvColumns, TextJob

_DISORDER = 1
Span = tuple[int, int | None]
"""Where the key of a line begins, and its bytes; None: to its end. Of a record: 10 bytes."""


@dataclass(frozen=True, kw_only=True)
class KeyOptions:
    """How text is sorted by keys. Without any of these it is sorted as before."""

    key: key_options.Keys = None
    separator: key_options.Separator = None
    format: key_options.Format = None
    no_header: key_options.NoHeader = False
    unique: key_options.Unique = False
    merge: Annotated[bool, Option("--merge", help="The inputs are sorted already: merge them.")] = False
    check: Annotated[
        bool, Option("--check", is_eager=True, help="Say whether INPUT is sorted; 1 and the first line that is not.")
    ] = False
    limit: Annotated[int | None, Option(min=1, help="Write so many lines, the first in order.")] = None
    zero_terminated: key_options.ZeroTerminated = False
    compress: Annotated[
        Literal["gz", "zst", "none"] | None, Option(help="How text is written; as OUTPUT's name ends otherwise.")
    ] = None

    @property
    def are_given(self) -> bool:
        """Whether any of them is that only text has."""
        lines = bool(self.separator or self.unique or self.merge or self.limit or self.zero_terminated or self.compress)
        return bool(self.key or lines or self.no_header or self.format in ("csv", "parquet"))

    @property
    def are_of_records(self) -> bool:
        """Whether keys are those of records, or nothing but of what records are is said."""
        from planner.sorting.records.record_keys import is_record_key

        if self.format is None and self.key:
            return all(map(is_record_key, self.key))
        text_only = self.separator or self.zero_terminated or self.no_header
        return self.format == "records" or (self.format is None and not text_only)

    def concerns_compression(self, sources: Sequence[Path], output: Path, *, by_name: bool = False) -> bool:
        """Whether an input is compressed or no file, or the output is no file or to be compressed.

        With `by_name` only a file that is called so can be compressed.
        """
        from planner.compression.text_codecs import SUFFIXES, is_compressed

        pipes = any(str(path) == "-" for path in [*sources, output]) or _is_device(output)
        files = [path for path in sources if stat.S_ISREG(mode_of(path))]
        looked_into = [path for path in sources if not by_name or path.suffix in SUFFIXES or path not in files]
        return pipes or output.suffix in SUFFIXES or any(is_compressed(path) for path in looked_into)


def _is_device(output: Path) -> bool:
    """Whether there is a device or a pipe, which is written as it is."""
    mode = mode_of(output)
    return stat.S_ISCHR(mode) or stat.S_ISFIFO(mode)


def sort_by_keys(
    sources: Sequence[Path],
    output: Path,
    options: KeyOptions,
    *,
    lines: bool,
    span: Span | None,
    record_bytes: int,
    stable: bool,
    spill: Spill,
    memory_bytes: int | None,
    threads: int | None,
    temp_dirs: Sequence[Path],
    explain: bool,
    json: bool,
) -> None:
    """Sort text or records and say what was done; `-` is standard input or output.

    `record_bytes` is 0 of text. Raises BadInputError for a wrong key.
    """
    from planner.native import run_interruptible
    from planner.sorting.records.memory import left_for_sorting
    from planner.sorting.text.text_files import sort_text_files

    to_stdout = str(output) == "-"
    limits: dict[str, Any] = {
        "output": "" if to_stdout else str(output),
        "merge": options.merge,
        "most_lines": options.limit,
        "compress": options.compress,
        "memory_bytes": left_for_sorting(memory_bytes) if memory_bytes else 0,
        "temp_dirs": tuple(str(path) for path in temp_dirs) or (str(output.parent),),
        "threads": threads or 0,
        "spill": spill,
    }
    job = _job(sources, options, lines=lines, span=span, record_bytes=record_bytes, stable=stable, **limits)
    began = time.monotonic()
    with watched(["read", "write"]) as progress:
        report = run_interruptible(lambda shown: sort_text_files(job, shown), progress)
    seconds = time.monotonic() - began
    what = "rows" if job.csv else "records" if record_bytes else "lines"
    if not job.csv and job.order.separator and not to_stdout:
        for note in chain.from_iterable(notes_on_columns(source, job.order.separator) for source in sources):
            talk(f"note: {note}")
    if json and not to_stdout:
        show_json({what: report.lines, "seconds": seconds, **_spilled(report)})
    else:
        where = f"{report.runs} runs merged" if report.runs else "in memory"
        talk(f"{report.lines} {what} in {format_duration(seconds)}, {where}")
        if explain and not to_stdout:
            show_text(_explained(report))


def _spilled(report: TextReport) -> dict[str, Any]:
    return {name: value for name, value in asdict(report).items() if name != "lines"}


def _explained(report: TextReport) -> str:
    spilled = format_bytes(report.spilled_bytes)
    if report.packed_bytes:
        spilled += f", of which {format_bytes(report.packed_bytes)} packed to {format_bytes(report.packed_to_bytes)}"
    return f"spilled: {spilled} ({report.spill_reason})"


def check_text(
    sources: Sequence[Path],
    options: KeyOptions,
    *,
    lines: bool,
    span: Span | None,
    record_bytes: int,
    stable: bool,
    json: bool,
) -> None:
    """End with 1 and the first line that is out of order, as `gnusort -c` does. Raises BadInputError."""
    from planner.native import run_interruptible
    from planner.sorting.text.text_files import check_text_file

    job = _job(sources, options, lines=lines, span=span, record_bytes=record_bytes, stable=stable)
    disorder = run_interruptible(lambda progress: check_text_file(job, progress))
    number, text = disorder or (None, b"")
    tell_disorder(sources[0], number, text.hex() if record_bytes else text.decode(errors="backslashreplace"), json=json)


def tell_disorder(source: Path, number: int | None, shown: str, *, json: bool) -> None:
    """Say which line is the first that is out of order, None for none, and end with 1 if there is one."""
    if json:
        show_json({"sorted": number is None, "first_unsorted": number, "text": shown if number is not None else None})
    else:
        talk(f"{source} is in order" if number is None else f"{source}:{number}: disorder: {shown}")
    if number is not None:
        raise Exit(_DISORDER)


def _job(
    sources: Sequence[Path],
    options: KeyOptions,
    *,
    lines: bool,
    span: Span | None,
    record_bytes: int,
    stable: bool,
    **limits: Any,
) -> TextJob:
    from planner.sorting.records.keyed import TextOrder
    from planner.sorting.text.text_files import TextJob

    inputs = tuple(str(source) for source in sources)
    if record_bytes:
        keys = _record_keys(options, span, record_bytes)
        order = TextOrder(keys, stable=True, unique=options.unique, record_bytes=record_bytes)
        return TextJob(inputs=inputs, order=order, **limits)
    if options.format == "csv":
        if lines:
            raise BadInputError("--format csv: rows are no lines; leave out --lines")
        order = TextOrder(stable=True, unique=options.unique)
        return TextJob(inputs=inputs, order=order, csv=csv_columns(options), **limits)
    if options.format == "records" or options.no_header:
        raise BadInputError("--key, --no-header and their kin sort text: give --format csv, or lines")
    order = TextOrder(
        keys=parsed_keys(options) or _spanned(span),
        separator=parsed_separator(options),
        line_end=b"\0" if options.zero_terminated else b"\n",
        stable=stable or bool(_spanned(span)),
        unique=options.unique,
    )
    return TextJob(inputs=inputs, order=order, **limits)


def _record_keys(options: KeyOptions, span: Span | None, record_bytes: int) -> tuple[Key, ...]:
    from planner.sorting.records.local import DEFAULT_KEY_BYTES
    from planner.sorting.records.record_keys import bytes_key, parse_record_key

    if options.separator or options.zero_terminated or options.no_header:
        raise BadInputError("--separator, -z and --no-header are for text, not for records")
    if options.key:
        return tuple(parse_record_key(text, record_bytes=record_bytes) for text in options.key)
    offset, size = span or (0, None)
    size = DEFAULT_KEY_BYTES if size is None else size
    return (bytes_key(offset=offset, size=size, record_bytes=record_bytes),)


def csv_columns(options: KeyOptions) -> CsvColumns:
    """Return the columns that CSV is sorted by. Raises BadInputError."""
    from planner.sorting.text.text_files import CsvColumns

    if options.zero_terminated:
        raise BadInputError("--format csv: rows end with a newline; leave out -z")
    if not options.key:
        raise BadInputError("--format csv: say which columns to sort by: --key NAME, or --key 3")
    delimiter = b"," if options.separator is None else _one_byte(options.separator.replace("\\t", "\t"))
    if delimiter in b'"\r\n\0':
        raise BadInputError(f"--separator {options.separator!r} cannot separate columns")
    return CsvColumns(keys=tuple(options.key), delimiter=delimiter, header=not options.no_header)


def parsed_keys(options: KeyOptions) -> tuple[Key, ...]:
    """Return the keys that are given. Raises BadInputError for one that cannot be."""
    from planner.sorting.records.keys import BadKeyError, check_compatible, parse_key

    try:
        keys = tuple(parse_key(text) for text in options.key or ())
        for key in keys:
            check_compatible(key)
    except BadKeyError as error:
        hint = "a key is the numbers of its first and last column, as 2,2 or 3,3n: give --key once for each key"
        csv = "; with --format csv it is the name of a column" if options.format is None else ""
        raise BadInputError(f"--key: {error}{csv}; {hint}") from error
    return keys


def parsed_separator(options: KeyOptions) -> bytes | None:
    """Return the byte between fields, None for blanks. Raises BadInputError for more than a byte."""
    return None if options.separator is None else _one_byte(options.separator)


def _spanned(span: Span | None) -> tuple[Key, ...]:
    """Return the key that --key-offset and --key-size say; none for whole lines."""
    from planner.sorting.records.keys import UNLIMITED, Key

    if span is None or span == (0, None):
        return ()
    begin, size = span
    return (Key(first_byte=begin) if size is None else Key(UNLIMITED, begin, 0, begin + size),)


def _one_byte(separator: str) -> bytes:
    if len(separator.encode()) != 1:
        raise BadInputError(f"--separator is one byte, not {separator!r}")
    return separator.encode()
