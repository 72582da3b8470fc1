"""`planner validate`: check that data is sorted and is the data that went in."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Argument, Option

from planner.api.contents.listed_files import all_files
from planner.api.files import output_file, require_new, require_readable
from planner.api.validate import inspect_both, validate_on_ray, validate_rows
from planner.api.validate import validate as validate_data
from planner.cli.shell.console import show_json, show_text, talk
from planner.cli.shell.declared_options import DeclaredOptions
from planner.cli.shell.files import Force
from planner.cli.shell.progress import shown_progress
from planner.errors import BadInputError
from planner.sorting.sort_job import TABLES, USUAL_RECORD_BYTES
from planner.units import count_of, count_text

if TYPE_CHECKING:
    from planner.api.validate import RowsValidation, Validation
    from planner.sorting.records.validate import ValidationReport


class ValidateOptions(
    DeclaredOptions, of=[validate_data, validate_rows, validate_on_ray], without=["stable", "unique"]
):
    """The arguments of the three functions that validate."""


def validate(
    files: Annotated[list[Path], Argument(help="The parts of one output, in order.")],
    *,
    asked: ValidateOptions,
    force: Force = False,
    json: Annotated[bool, Option("--json", help="Print as JSON.")] = False,
) -> None:
    """Report records, order, duplicate keys and the checksum, as sortbenchmark.org's valsort does; with --key, whatever
    `planner sort` reads: order and checksum.

    Ends with exit code 5 when a record is out of order, or the data is not what went in.

    Example: planner validate output.dat

    Example: planner validate output.dat --input input.dat

    Example: planner validate sorted.csv --no-header --key 3:desc --key 1:num

    Example: planner validate --key time:desc --key amount:num sorted.csv.zst --input sales.csv

    Example: planner validate --lines --key-offset 5 --key-size 12 sorted.log

    Example: planner validate sorted.json --ray 10.0.0.1:6379
    """
    if "address" in asked:
        asked.require_taken_by(validate_on_ray, "with --ray the manifest says what the data is")
    all_read = all_files([*files, *(asked["input"] or ())])
    require_readable(all_read)
    require_new([output_file(asked["summary"])] if asked["summary"] else [], force=force)
    if "address" in asked:
        _validate_on_ray(files, asked, json=json)
        return
    went_in = all_files(asked["input"] or ())
    found = None if asked["summaries"] else inspect_both(all_files(files), went_in, asked, say=talk)
    asked |= {"looked": found, "format": found and found[0].format}
    if asked["format"] in ("csv", *TABLES) or asked["key"] or asked["separator"] or asked["zero_terminated"]:
        asked.require_taken_by(validate_rows, "order by --key is checked without it")
        _validate_rows(files, asked, json=json)
        return
    asked["lines"] = asked["lines"] or asked["format"] == "lines"
    if asked.pop("format", None) == "records":
        asked.setdefault("record_size", USUAL_RECORD_BYTES)
    if asked["no_header"] is not None:
        option = "--no-header" if asked["no_header"] else "--header"
        raise BadInputError(f"{option} is of CSV, and {files[0]} is not", code="not-applicable")
    with shown_progress() as on_progress:
        validation = validate_data(files, on_progress=on_progress, **asked.of(validate_data))
    if json:
        show_json(validation.report.to_dict())
    else:
        unit = "Line" if asked["lines"] else "Record"
        _show(validation.report, unit=unit, compared=_compared(validation, asked))
    validation.require()
    if validation.expected is None and asked["summary"] is None:
        talk("checksum not compared: give --checksum HEX of the input, or --input FILE")


def _validate_rows(files: list[Path], asked: ValidateOptions, *, json: bool) -> None:
    if asked["format"] in ("csv", *TABLES) and not asked["key"]:
        raise BadInputError(
            f"{files[0]} has rows: say by which columns they are to be in order, --key NAME", code="missing-key"
        )
    with shown_progress() as on_progress:
        validation = validate_rows(files, on_progress=on_progress, say=talk, **asked.of(validate_rows))
    if json:
        show_json(validation.to_dict())
    else:
        unit = {"lines": "Lines", "records": "Records"}.get(asked["format"], "Rows")
        _show_rows(validation, unit=unit, compared=_compared(validation, asked))
    validation.require()
    if validation.expected is None:
        talk("in order; checksum not compared: give --checksum HEX of the input, or --input FILE")


def _validate_on_ray(manifests: list[Path], asked: ValidateOptions, *, json: bool) -> None:
    if len(manifests) > 1:
        raise BadInputError(
            "with --ray there is one file: the manifest, which names all partitions", code="needs-manifests"
        )
    validation = validate_on_ray(manifests[0], **asked.of(validate_on_ray))
    if json:
        show_json({"copies": validation.copies})
    else:
        for number, copy in enumerate(validation.copies, start=1):
            order = "in order" if copy["sorted"] else "not in order"
            count = count_of(copy["records"], validation.counted)
            held = f"{count}, {order}, {count_text(copy['duplicates'], 'duplicate key')}"
            show_text(f"Copy {number}: {held}, checksum {copy['checksum']}")
    validation.require()


def _compared(validation: Validation | RowsValidation, asked: ValidateOptions) -> str:
    """Return the text after a checksum that is the one expected."""
    if validation.expected is None or not validation.same_checksum:
        return ""
    return " (that of the input)" if asked["input"] else " (that of --checksum)"


def _show(report: ValidationReport, *, unit: str, compared: str) -> None:
    number = report.first_number
    first = "" if number is None else f" (the first is {unit.lower()} {number}, counted from 1)"
    show_text(f"{unit}s: {report.records}\nUnordered: {report.unordered}{first}")
    show_text(f"Duplicate keys: {report.duplicates}\nChecksum: {report.checksum}{compared}")


def _show_rows(validation: RowsValidation, *, unit: str, compared: str) -> None:
    """Print the report of rows; for text, out-of-order rows and equal keys are not counted."""
    first = (
        ""
        if validation.disorder is None
        else f"the first is {unit.lower()[:-1]} {validation.disorder.number}, counted from 1"
    )
    unordered = "" if validation.unordered is None else f"{validation.unordered}"
    found = f"{unordered} ({first})" if unordered and first else unordered or first
    show_text(f"{unit}: {validation.rows}\nUnordered: {found}")
    if validation.duplicates is not None:
        show_text(f"Duplicate keys: {validation.duplicates}")
    show_text(f"Checksum: {validation.checksum}{compared}")
