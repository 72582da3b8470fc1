"""`planner sort` of text, by keys of lines or by columns of CSV: the options, the sort and the check."""

from __future__ import annotations

import stat
import time
from collections.abc import Sequence
from dataclasses import asdict
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from typer import Exit

from planner.api.files import mode_of
from planner.api.text_advice import notes_on_columns
from planner.cli.shell.console import show_json, show_text, talk
from planner.cli.shell.progress import watched
from planner.cli.sort.key_options import KeyOptions
from planner.errors import BadInputError
from planner.units import format_bytes, format_duration

if TYPE_CHECKING:
    from planner.sorting.records.keyed import TextReport
    from planner.sorting.records.keys import Key
    from planner.sorting.records.local import Spill
    from planner.sorting.text.text_files import TextJob

_DISORDER = 1
Span = tuple[int, int | None]
"""Where the key of a line begins, and its bytes; None: to its end. Of a record: 10 bytes."""


def concerns_compression(sources: Sequence[Path], output: Path, *, by_name: bool = False) -> bool:
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
        return TextJob(inputs=inputs, order=order, csv=options.form.csv_columns(), **limits)
    if options.format == "records" or options.no_header:
        raise BadInputError("--key, --no-header and their kin sort text: give --format csv, or lines")
    order = TextOrder(
        keys=options.form.line_keys() or _spanned(span),
        separator=options.form.separator_byte(),
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


def _spanned(span: Span | None) -> tuple[Key, ...]:
    """Return the key that --key-offset and --key-size say; none for whole lines."""
    from planner.sorting.records.keys import UNLIMITED, Key

    if span is None or span == (0, None):
        return ()
    begin, size = span
    return (Key(first_byte=begin) if size is None else Key(UNLIMITED, begin, 0, begin + size),)
