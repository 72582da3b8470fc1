"""`planner generate`: test records of the sort benchmark."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from planner.api.files import output_file, require_new
from planner.cli.shell.console import show_json, talk
from planner.cli.shell.files import Force
from planner.cli.shell.option_values import amount
from planner.cli.shell.progress import shown_progress
from planner.cli.sort.key_options import Threads
from planner.errors import BadInputError
from planner.units import count_text, format_bytes, format_exact_size, format_rate, parse_count, parse_size


def generate(
    file: Annotated[str, Argument(help="The file to write; it appears complete or not at all.")],
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
        _refuse_size_as_file(Path(file))
    require_new([output_file(file)], force=force)
    with shown_progress() as on_progress:
        report = generate_data(
            file,
            records=None if records is None else parse_count(records),
            size_bytes=_size_bytes(size, lines=lines or records is not None),
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
    count = count_text(getattr(report, "lines" if lines else "records"), "line" if lines else "record")
    talk(f"{count}, {format_bytes(report.bytes_written)}, at {rate} to {report.path}")


def _refuse_size_as_file(file: Path) -> None:
    """Raise BadInputError where the file's name is an amount, since then the file is missing, not the amount."""
    try:
        parse_size(file.name)
    except BadInputError:
        return
    raise BadInputError(f"{file} is taken for the file's name; write: planner generate --size {file} input.dat")


def _size_bytes(size: str | None, *, lines: bool) -> int | None:
    """Return the bytes to write. Raises BadInputError, as the user wrote it, unless these are whole records."""
    size_bytes = None if size is None else amount("--size", parse_size, size)
    if size_bytes and not lines and size_bytes % 100:
        more = format_exact_size(-(-size_bytes // 100) * 100)
        raise BadInputError(f"--size {size}: not a whole number of 100-byte records; write {more}")
    return size_bytes


def _start_number(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise BadInputError(f"--start {text}: not a whole number") from None
