"""`planner generate`: test records of the sort benchmark."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from planner.api.files import output_file, require_new
from planner.api.generate import generate as generate_data
from planner.cli.shell.console import show_json, talk
from planner.cli.shell.declared_options import DeclaredOptions
from planner.cli.shell.files import Force
from planner.cli.shell.progress import shown_progress
from planner.errors import BadInputError
from planner.units import count_text, format_bytes, format_rate, parse_size


class GenerateOptions(DeclaredOptions, of=[generate_data]):
    """The arguments of `planner.generate`."""


def generate(
    file: Annotated[str, Argument(help="The file to write; it appears complete or not at all.")],
    *,
    asked: GenerateOptions,
    force: Force = False,
    json: Annotated[bool, Option("--json", help="Print a report as JSON.")] = False,
) -> None:
    """Write test records, byte for byte as sortbenchmark.org's gensort does.

    Example: planner generate --size 300MB input.dat

    Example: planner generate --records 10000000 input.dat

    Example: planner generate --lines --size 1GB app.log
    """
    if "records" not in asked and "size_bytes" not in asked:
        _refuse_size_as_file(Path(file))
    require_new([output_file(file)], force=force)
    with shown_progress() as on_progress:
        report = generate_data(file, replaces=force, on_progress=on_progress, **asked)
    if json:
        show_json(asdict(report))
        return
    rate = format_rate(report.bytes_written / report.time_s) if report.time_s else "-"
    unit = "line" if asked["lines"] else "record"
    count = count_text(getattr(report, f"{unit}s"), unit)
    talk(f"{count}, {format_bytes(report.bytes_written)}, at {rate} to {report.path}")


def _refuse_size_as_file(file: Path) -> None:
    """Raise BadInputError where the file's name is an amount, since then the file is missing, not the amount."""
    try:
        parse_size(file.name)
    except BadInputError:
        return
    raise BadInputError(
        f"{file} is taken for the file's name; write: planner generate --size {file} input.dat", code="size-as-file"
    )
