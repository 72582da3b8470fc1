"""`planner generate`: the sort benchmark's test records."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from planner.cli.shell.console import show_json, talk
from planner.cli.shell.files import Force, require_new
from planner.cli.shell.progress import watched
from planner.cli.sort.data_options import Threads
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
    require_new([file], force=force)
    if lines:
        if ascii or skew or records is not None or size is None:
            raise BadInputError("--lines goes with --size, and not with --records, --ascii or --skew")
        _generate_lines(file, size_bytes=parse_size(size), seed=_number(start), threads=threads, json=json)
        return
    from planner.sorting.records.generate import generate_file

    count = record_count(records, size)
    with watched(["generate"]) as progress:
        report = generate_file(
            file, records=count, start=_number(start), ascii=ascii, skew=skew, threads=threads, progress=progress
        )
    if json:
        show_json(asdict(report))
    else:
        rate = format_rate(report.bytes_written / report.time_s) if report.time_s else "-"
        talk(f"{report.records} records, {format_bytes(report.bytes_written)}, at {rate} to {report.path}")


def _generate_lines(file: Path, *, size_bytes: int, seed: int, threads: int | None, json: bool) -> None:
    from planner.sorting.records.generate import generate_lines_file

    with watched(["generate"]) as progress:
        report = generate_lines_file(file, size_bytes=size_bytes, seed=seed, threads=threads, progress=progress)
    if json:
        show_json(asdict(report))
        return
    rate = format_rate(report.bytes_written / report.time_s) if report.time_s else "-"
    talk(f"{report.lines} lines, {format_bytes(report.bytes_written)}, at {rate} to {report.path}")


def record_count(records: str | None, size: str | None) -> int:
    """Return how many records are asked for. Raises BadInputError unless exactly one of the two is given, whole."""
    if (records is None) == (size is None):
        raise BadInputError("say how many records: --records N or --size SIZE, one of the two")
    if records is not None:
        return parse_count(records)
    size_bytes = parse_size(str(size))
    if size_bytes % 100:
        raise BadInputError(f"--size {size}: not a whole number of 100-byte records")
    return size_bytes // 100


def _number(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise BadInputError(f"--start {text}: not a whole number") from None
