"""`planner validate`: is the data sorted, and is it the data that went in?"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from planner.cli.console import show_json, show_text
from planner.cli.data_options import KeyOffset, KeySize, RecordSize, Threads
from planner.cli.files import Force, require_new, require_readable
from planner.cli.progress import watched
from planner.errors import BadInputError, ValidationFailedError


def validate(
    files: Annotated[list[Path], Argument(help="The parts of one output, in order.")],
    *,
    summaries: Annotated[bool, Option("--summaries", help="The files are summaries that --summary kept.")] = False,
    summary: Annotated[Path | None, Option(help="Keep what was found, to be combined with other parts later.")] = None,
    checksum: Annotated[str | None, Option(help="The checksum expected, in hex; else exit code 5.")] = None,
    record_size: RecordSize = 100,
    key_offset: KeyOffset = 0,
    key_size: KeySize = None,
    lines: Annotated[bool, Option("--lines", help="The files are newline-terminated text.")] = False,
    threads: Threads = None,
    force: Force = False,
    json: Annotated[bool, Option("--json", help="Print as JSON.")] = False,
) -> None:
    """Report records, order, duplicate keys and the checksum, as sortbenchmark.org's valsort does.

    Ends with exit code 5 when a record is out of order.

    Example: planner validate output.dat

    Example: planner validate --lines --key-offset 5 --key-size 12 sorted.log
    """
    from planner.sorting.validate import validate_files, validate_line_files, validate_summaries

    require_readable(files)
    require_new([summary], force=force)
    if lines and (summaries or summary):
        raise BadInputError("summaries are kept of records; with --lines name the files themselves")
    if lines:
        with watched(["validate"]) as progress:
            report = validate_line_files(
                files, key_offset=key_offset, key_size=key_size, threads=threads, progress=progress
            )
    elif summaries:
        if summary:
            raise BadInputError("--summary keeps what was found in records; it does not go with --summaries")
        report = validate_summaries(files)
    else:
        with watched(["validate"]) as progress:
            report = validate_files(
                files,
                record_size=record_size,
                key_offset=key_offset,
                key_size=10 if key_size is None else key_size,
                threads=threads,
                summary=summary,
                progress=progress,
            )
    if json:
        show_json(report.to_dict())
    else:
        first = "" if report.first_unordered is None else f" (the first is record {report.first_unordered})"
        show_text(f"{'Lines' if lines else 'Records'}: {report.records}\nUnordered: {report.unordered}{first}")
        show_text(f"Duplicate keys: {report.duplicates}\nChecksum: {report.checksum}")
    report.require_sorted()
    if checksum is not None and int(checksum, 16) != int(report.checksum, 16):
        raise ValidationFailedError(f"checksum {report.checksum}, expected {checksum}: not the data that went in")
