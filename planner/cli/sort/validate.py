"""`planner validate`: is the data sorted, and is it the data that went in?"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

from typer import Argument, Option

from planner.cli.shell.console import show_json, show_text, talk
from planner.cli.shell.files import Force, require_new, require_readable
from planner.cli.shell.progress import watched
from planner.cli.shell.text_files import records_expected
from planner.cli.sort.data_options import KeyOffset, KeySize, RecordSize, Threads
from planner.errors import BadInputError, ValidationFailedError

if TYPE_CHECKING:
    from planner.sorting.records.validate import ValidationReport


_NOTHING_ELSE: Final = (False, False, None, None, 100, 0, None, None)
"""What the options are that say what the files hold, where a manifest does."""


def validate(
    files: Annotated[list[Path], Argument(help="The parts of one output, in order.")],
    *,
    summaries: Annotated[bool, Option("--summaries", help="The files are summaries that --summary kept.")] = False,
    summary: Annotated[Path | None, Option(help="Keep what was found, to be combined with other parts later.")] = None,
    checksum: Annotated[str | None, Option(help="The checksum expected, in hex; else exit code 5.")] = None,
    input: Annotated[
        list[Path] | None, Option(help="The data that went in: read for its checksum, instead of --checksum.")
    ] = None,
    record_size: RecordSize = 100,
    key_offset: KeyOffset = 0,
    key_size: KeySize = None,
    lines: Annotated[bool, Option("--lines", help="The files are newline-terminated text.")] = False,
    ray: Annotated[str | None, Option(help="Read the copies of a manifest on the Ray cluster at this address.")] = None,
    threads: Threads = None,
    force: Force = False,
    json: Annotated[bool, Option("--json", help="Print as JSON.")] = False,
) -> None:
    """Report records, order, duplicate keys and the checksum, as sortbenchmark.org's valsort does.

    Ends with exit code 5 when a record is out of order, or the data is not what went in.

    Example: planner validate output.dat

    Example: planner validate output.dat --input input.dat

    Example: planner validate --lines --key-offset 5 --key-size 12 sorted.log

    Example: planner validate sorted.json --ray 10.0.0.1:6379
    """
    from planner.cli.sort.validate_on_ray import validate_on_ray
    from planner.sorting.records.validate import validate_summaries

    require_readable([*files, *(input or ())])
    require_new([summary], force=force)
    if lines and (summaries or summary):
        raise BadInputError("summaries are kept of records; with --lines name the files themselves")
    if summaries and summary:
        raise BadInputError("--summary keeps what was found in records; it does not go with --summaries")
    if checksum is not None and input:
        raise BadInputError("--checksum and --input both say what went in: give one")
    expected = None if checksum is None else _hex(checksum)
    if ray is not None:
        _require_nothing_else((lines, summaries, summary, input, record_size, key_offset, key_size, threads))
        validate_on_ray(files, address=ray, checksum=expected, json=json)
        return
    layout = {"key_offset": key_offset, "key_size": key_size, "threads": threads, "record_size": record_size}
    report = validate_summaries(files) if summaries else _read(files, lines=lines, layout=layout, summary=summary)
    if input:
        expected = int(_read(input, lines=lines, layout=layout).checksum, 16)
    if json:
        show_json(report.to_dict())
    else:
        _show(report, unit="Lines" if lines else "Records")
    report.require_sorted()
    if expected is not None:
        _require_checksum(report, expected)
    elif summary is None:
        talk("checksum not compared: give --checksum HEX of the input, or --input FILE")


def _require_nothing_else(options: tuple[object, ...]) -> None:
    if options != _NOTHING_ELSE:
        raise BadInputError("with --ray the manifest says what the data is: only --checksum and --json go with it")


def _require_checksum(report: ValidationReport, expected: int) -> None:
    if expected != int(report.checksum, 16):
        raise ValidationFailedError(f"checksum {report.checksum}, expected {expected:x}: not the data that went in")


def _show(report: ValidationReport, *, unit: str) -> None:
    first = "" if report.first_unordered is None else f" (the first is record {report.first_unordered})"
    show_text(f"{unit}: {report.records}\nUnordered: {report.unordered}{first}")
    show_text(f"Duplicate keys: {report.duplicates}\nChecksum: {report.checksum}")


def _read(files: list[Path], *, lines: bool, layout: dict[str, Any], summary: Path | None = None) -> ValidationReport:
    """Read records or lines as `layout` says, keeping a summary where one is wanted."""
    from planner.sorting.records.validate import validate_files, validate_line_files

    of_records = layout | {"key_size": 10 if layout["key_size"] is None else layout["key_size"]}
    of_lines = {name: value for name, value in layout.items() if name != "record_size"}
    with records_expected(files, advice="add --lines"), watched(["validate"]) as progress:
        if lines:
            _require_plain(files)
            return validate_line_files(files, **of_lines, progress=progress)
        return validate_files(files, **of_records, summary=summary, progress=progress)


def _require_plain(files: list[Path]) -> None:
    """Raise BadInputError for compressed text, whose bytes are in no order."""
    from planner.compression.text_codecs import MAGIC_BYTES, compression_of

    for path in filter(Path.is_file, files):
        with path.open("rb") as file:
            form = compression_of(file.read(MAGIC_BYTES))
        if form:
            raise BadInputError(f"{path} is compressed ({form}): decompress it, and name the text")


def _hex(checksum: str) -> int:
    try:
        return int(checksum, 16)
    except ValueError:
        raise BadInputError(f"--checksum {checksum}: write it in hex, as `planner validate` prints it") from None
