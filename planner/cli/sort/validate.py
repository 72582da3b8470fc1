"""`planner validate`: check that data is sorted and is the data that went in."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

from typer import Argument, Option

from planner.api.contents.file_kinds import recognised
from planner.api.contents.listed_files import all_files
from planner.api.contents.text_advice import records_expected
from planner.api.files import require_new, require_readable
from planner.api.sort_job import USUAL_RECORD
from planner.cli.shell.console import show_json, show_text, talk
from planner.cli.shell.files import Force
from planner.cli.shell.progress import shown_progress
from planner.cli.sort.key_options import (
    FoundFormat,
    FoundHeader,
    FoundSeparator,
    KeyOffset,
    KeySize,
    RecordSize,
    Threads,
)
from planner.errors import BadInputError
from planner.units import count_of, count_text

if TYPE_CHECKING:
    from planner.api.validate import RowsValidation
    from planner.sorting.records.validate import ValidationReport


_NOTHING_ELSE: Final[tuple[object, ...]] = (False, False, None, [], None, 0, None, None, None, None, None, None)
"""Unset values of the options that describe the files' contents, where a manifest describes them."""
_COMPARED: Final = {True: " (that of the input)", False: " (that of --checksum)"}
"""Text after a matching checksum, by whether --input was given."""


_Columns = Annotated[
    list[str] | None, Option(help="Of CSV and Parquet, a column: NAME[:int|num|float|fold|natural][:desc][:first].")
]


def validate(
    files: Annotated[list[Path], Argument(help="The parts of one output, in order.")],
    *,
    summaries: Annotated[bool, Option("--summaries", help="The files are summaries that --summary kept.")] = False,
    summary: Annotated[
        Path | None, Option(dir_okay=False, help="Keep what was found, to be combined with other parts later.")
    ] = None,
    checksum: Annotated[str | None, Option(help="The checksum expected, in hex; else exit code 5.")] = None,
    input: Annotated[
        list[Path] | None, Option(help="The data that went in: read for its checksum, instead of --checksum.")
    ] = None,
    record_size: RecordSize = None,
    key_offset: KeyOffset = 0,
    key_size: KeySize = None,
    lines: Annotated[bool, Option("--lines", help="The files are newline-terminated text.")] = False,
    format: FoundFormat = None,
    key: _Columns = None,
    separator: FoundSeparator = None,
    no_header: FoundHeader = None,
    ray: Annotated[str | None, Option(help="Read the copies of a manifest on the Ray cluster at this address.")] = None,
    threads: Threads = None,
    force: Force = False,
    json: Annotated[bool, Option("--json", help="Print as JSON.")] = False,
) -> None:
    """Report records, order, duplicate keys and the checksum, as sortbenchmark.org's valsort does; of CSV and Parquet
    rows, order by --key and checksum.

    Ends with exit code 5 when a record is out of order, or the data is not what went in.

    Example: planner validate output.dat

    Example: planner validate output.dat --input input.dat

    Example: planner validate sorted.csv --no-header --key 3:desc --key 1:num

    Example: planner validate --lines --key-offset 5 --key-size 12 sorted.log

    Example: planner validate sorted.json --ray 10.0.0.1:6379
    """
    from planner.api.validate import validate as validate_data

    all_read, input = all_files([*files, *(input or ())]), input or []
    require_readable(all_read)
    require_new([summary], force=force)
    layout: dict[str, Any] = {"record_size": record_size, "key_offset": key_offset, "key_size": key_size}
    if ray is not None:
        _require_nothing_else(
            (lines, summaries, summary, input, *layout.values(), threads, format, key, separator, no_header)
        )
        _validate_on_ray(files, address=ray, checksum=checksum, json=json)
        return
    of_rows: dict[str, Any] = {"format": format, "key": key, "separator": separator, "no_header": no_header}
    if not summaries and record_size is None:
        of_rows |= recognised(all_read, of_rows | layout | {"lines": lines}, say=talk)
    lines = lines or of_rows.pop("lines", False) or format == "lines"
    if of_rows["format"] in ("csv", "parquet"):
        if lines or (summary, threads, *layout.values()) != (None, None, None, 0, None):
            raise BadInputError("of CSV and Parquet say --key; --lines, --summary and the place of a key are of others")
        _validate_rows(files, of_rows, checksum=checksum, input=input, json=json)
        return
    if key or separator or no_header is not None:
        raise BadInputError(_no_keys_of_lines(files[0], key))
    if of_rows["format"] == "records":
        layout["record_size"] = record_size or USUAL_RECORD[0]
    shared: dict[str, Any] = {"checksum": checksum, "input": input, "threads": threads, **layout}
    with records_expected(all_read, advice="add --lines"), shown_progress() as on_progress:
        validation = validate_data(
            files, lines=lines, summaries=summaries, summary=summary, on_progress=on_progress, **shared
        )
    if json:
        show_json(validation.report.to_dict())
    else:
        compared = "" if validation.expected is None or not validation.same_checksum else _COMPARED[bool(input)]
        _show(validation.report, unit="Line" if lines else "Record", compared=compared)
    validation.require()
    if validation.expected is None and summary is None:
        talk("checksum not compared: give --checksum HEX of the input, or --input FILE")


def _validate_rows(
    files: list[Path], of_rows: dict[str, Any], *, checksum: str | None, input: list[Path], json: bool
) -> None:
    from planner.api.validate import validate_rows

    if not of_rows["key"]:
        raise BadInputError(f"{files[0]} has rows: say by which columns they are to be in order, --key NAME")
    with shown_progress() as on_progress:
        validation = validate_rows(files, checksum=checksum, input=input, on_progress=on_progress, say=talk, **of_rows)
    if json:
        show_json(validation.to_dict())
    else:
        compared = "" if validation.expected is None or not validation.same_checksum else _COMPARED[bool(input)]
        _show_rows(validation, compared=compared)
    validation.require()
    if validation.expected is None:
        talk("in order; checksum not compared: give --checksum HEX of the input, or --input FILE")


def _validate_on_ray(manifests: list[Path], *, address: str, checksum: str | None, json: bool) -> None:
    from planner.api.validate import validate_on_ray

    if len(manifests) > 1:
        raise BadInputError("with --ray there is one file: the manifest, which names all partitions")
    validation = validate_on_ray(manifests[0], address=address, checksum=checksum)
    if json:
        show_json({"copies": validation.copies})
    else:
        for number, copy in enumerate(validation.copies, start=1):
            order = "in order" if copy["sorted"] else "not in order"
            count = count_of(copy["records"], validation.counted)
            held = f"{count}, {order}, {count_text(copy['duplicates'], 'duplicate key')}"
            show_text(f"Copy {number}: {held}, checksum {copy['checksum']}")
    validation.require()


def _require_nothing_else(options: tuple[object, ...]) -> None:
    if options != _NOTHING_ELSE:
        raise BadInputError("with --ray the manifest says what the data is: only --checksum and --json go with it")


def _no_keys_of_lines(file: Path, key: list[str] | None) -> str:
    keys = f" --key {' --key '.join(key)}" if key else ""
    return (
        "--key, --separator and --no-header are of CSV and Parquet; of lines: --key-offset, --key-size."
        f" For order alone: planner sort --check{keys} {file}"
    )


def _show(report: ValidationReport, *, unit: str, compared: str) -> None:
    number = report.first_number
    first = "" if number is None else f" (the first is {unit.lower()} {number}, counted from 1)"
    show_text(f"{unit}s: {report.records}\nUnordered: {report.unordered}{first}")
    show_text(f"Duplicate keys: {report.duplicates}\nChecksum: {report.checksum}{compared}")


def _show_rows(validation: RowsValidation, *, compared: str) -> None:
    """Print the report of rows; for CSV, out-of-order rows and equal keys are not counted."""
    first = "" if validation.disorder is None else f"the first is row {validation.disorder.number}, counted from 1"
    unordered = "" if validation.unordered is None else f"{validation.unordered}"
    found = f"{unordered} ({first})" if unordered and first else unordered or first
    show_text(f"Rows: {validation.rows}\nUnordered: {found}")
    if validation.duplicates is not None:
        show_text(f"Duplicate keys: {validation.duplicates}")
    show_text(f"Checksum: {validation.checksum}{compared}")
