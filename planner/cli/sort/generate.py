"""`planner generate`: the sort benchmark's test records."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from planner.api.files import require_new
from planner.cli.shell.console import show_json, talk
from planner.cli.shell.files import Force
from planner.cli.shell.progress import shown_progress
from planner.cli.sort.key_options import Threads
from planner.errors import BadInputError
from planner.units import format_bytes, format_rate, parse_count, parse_size


def generate(
    file: Annotated[Path, Argument(help="The file to write; it appears complete or not at all.")],
    *,
    records: Annotated[str | None, Option(help="How many records of 100 bytes: 10,000,000 or 1e7.")] = None,
    size: Annotated[str | None, Option(help="How much instead: 1GB.")] = None,
    start: Annotated[str, Option(help="Number of the first record, up to 2^128; of lines, the seed.")] = "0",
    ascii: Annotated[bool, Option("--ascii", help="Printable records.")] = False,
    skew: Annotated[bool, Option("--skew", help="Skewed keys.")] = False,
    lines: Annotated[bool, Option("--lines", help="Log lines of mixed length instead; needs --size.")] = False,
    threads: Threads = None,
    force: Force = False,
    json: Annotated[bool, Option("--json", help="Print a report as JSON.")] = False,
) -> None:
    """Write test records, byte for byte as sortbenchmark.org's gensort does.

    Example: planner generate --size 300MB input.dat

    Example: planner generate --records 10000000 input.dat

    Example: planner generate --lines --size 1GB app.log
    """
    from planner.api.generate import generate as generate_data

    if records is None and size is None:
        _refuse_size_as_file(file)
    require_new([file], force=force)
    _require_whole(size, lines=lines or records is not None)
    with shown_progress() as on_progress:
        report = generate_data(
            file,
            records=None if records is None else parse_count(records),
            size_bytes=None if size is None else parse_size(size),
            start=_start_number(start),
            ascii=ascii,
            skew=skew,
            lines=lines,
            threads=threads,
            replaces=force,
            on_progress=on_progress,
        )
    if json:
        show_json(asdict(report))
        return
    rate = format_rate(report.bytes_written / report.time_s) if report.time_s else "-"
    count = f"{getattr(report, 'lines' if lines else 'records')} {'lines' if lines else 'records'}"
    talk(f"{count}, {format_bytes(report.bytes_written)}, at {rate} to {report.path}")


def _refuse_size_as_file(file: Path) -> None:
    """Raise BadInputError where the file's name is an amount, so that the file is missing and not the amount."""
    try:
        parse_size(file.name)
    except BadInputError:
        return
    raise BadInputError(f"{file} is taken for the file's name; write: planner generate --size {file} input.dat")


def _require_whole(size: str | None, *, lines: bool) -> None:
    """Raise BadInputError, in the words of the user, for a size that is no whole number of records."""
    if size is not None and not lines and parse_size(size) % 100:
        raise BadInputError(f"--size {size}: not a whole number of 100-byte records")


def _start_number(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise BadInputError(f"--start {text}: not a whole number") from None
