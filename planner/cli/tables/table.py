"""`planner table`: how sorted a table is, what a rewrite costs, the rewrite, and a check."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from typer import Argument, Option

from planner.api.tables.table import Table, TableLook
from planner.api.tables.table import table as look_at
from planner.cli.shell.console import show, show_json, show_text, shown_width, talk
from planner.cli.shell.declared_options import DeclaredOptions
from planner.cli.shell.progress import shown_events, shown_progress
from planner.errors import ValidationFailedError
from planner.units import count_text

if TYPE_CHECKING:
    from planner.tables.check import TableCheck

Location = Annotated[
    str,
    Argument(
        metavar="LOCATION",
        help="A Delta table, an Iceberg table or its metadata file, or a folder; or NAMESPACE.TABLE.",
    ),
]
Json = Annotated[bool, Option("--json", help="Print as JSON.")]


class LookOptions(DeclaredOptions, of=[look_at, TableLook]):
    """The arguments of `planner.table`, and the order to look by."""


class PriceOptions(DeclaredOptions, of=[look_at, Table.price]):
    """The arguments of `Table.price`."""


class SortOptions(DeclaredOptions, of=[look_at, Table.sort]):
    """The arguments of `Table.sort`."""


class CheckOptions(DeclaredOptions, of=[look_at, Table.check]):
    """The arguments of `Table.check`."""


def look(location: Location, *, asked: LookOptions, json: Json = False) -> None:
    """Show how sorted a table is, from its metadata alone: sizes, depth of the overlap per partition, key ranges.

    The depth is how many files one key can be in. `planner table LOCATION` is short for it.

    Example: planner table look lake/events

    Example: planner table look lake/events --sort-by event_time --json

    Example: planner table look sales.orders --catalog uri=sqlite:///catalog.db
    """
    from planner.report.tables import table_lines

    opened = _opened(location, asked)
    values = opened.to_dict(asked["sort_by"])
    if json:
        show_json(values)
        return
    overlap = opened.overlap_by(asked["sort_by"]) if asked["sort_by"] else opened.overlap
    show(*table_lines(values, overlap, width=shown_width()), drop_first=("small", "overlapping", "rows"))


def price(location: Location, *, asked: PriceOptions, json: Json = False) -> None:
    """Show what a sorted rewrite of a table reads, writes and costs, and when it has paid.

    Example: planner table price lake/events --sort-by event_time

    Example: planner table price lake/events --sort-by event_time --queries day.csv --budget 5
    """
    from planner.report.tables import price_lines

    found = _opened(location, asked).price(**asked.of(Table.price))
    if json:
        show_json(found.to_dict())
    else:
        show(*price_lines(found))


def sort(location: Location, *, asked: SortOptions, json: Json = False) -> None:
    """Rewrite the files of a table that overlap or are small, sorted, with a commit for each group of them.

    Before a commit the new files are read back: rows and a checksum of every column must be those of the old files.
    These stay for time travel; a folder of Parquet has none.

    Example: planner table sort lake/events --sort-by event_time

    Example: planner table sort lake/events --sort-by region,event_time --where day=2026-01-01 --max-bytes 200GB

    Example: planner table sort s3://lake/events --sort-by event_time --ray auto --dir /mnt/nvme
    """
    shown = shown_events() if asked["ray"] else shown_progress()  # one bar at a time
    with shown as watch:
        opened, watching = _opened(location, asked), {"on_event" if asked["ray"] else "on_progress": watch}
        done = opened.sort(**asked.of(Table.sort) | {"say": talk} | watching)
    if json:
        show_json(done.to_dict())
        return
    rows = sum(group.rows for group in done.groups)
    if done.all_beyond_limit:
        show_text(f"{location}: no files that overlap are within --max-bytes; nothing was written")
        return
    if not done.groups:
        show_text(f"{location} is sorted by {', '.join(done.keys)} as far as files show; nothing was written")
        return
    show_text(f"{rows:,} rows rewritten in {count_text(len(done.groups), 'commit')}; checksums of all columns agree")


def check(location: Location, *, asked: CheckOptions, json: Json = False) -> None:
    """Check whether a table is sorted as it declares, or by --sort-by: ranges of files, and the rows in each.

    Ends with exit code 5 when it is not.

    Example: planner table check lake/events --sort-by event_time
    """
    with shown_progress() as on_progress:
        opened = _opened(location, asked)
        found = opened.check(on_progress=on_progress, **asked.of(Table.check))
    if json:
        show_json({"sort_by": list(found.keys), "sorted": found.is_sorted, **_check_values(found)})
    else:
        show_text(_check_text(found))
    if not found.is_sorted:
        raise ValidationFailedError(f"{location} is not sorted by {', '.join(found.keys)}", code="not-sorted")


def _opened(location: str, asked: DeclaredOptions) -> Table:
    return look_at(location, **asked.of(look_at))


def _check_values(found: TableCheck) -> dict[str, object]:
    return {
        "depth": found.depth,
        "overlapping_files": found.overlapping_files,
        "files_without_bounds": found.unknown_files,
        "unsorted_file": found.unsorted_file or None,
        "unsorted_row": found.unsorted_row,
    }


def _check_text(found: TableCheck) -> str:
    lines = [f"Depth: {found.depth} (files that one key can be in)", f"Overlapping files: {found.overlapping_files}"]
    if found.unknown_files:
        lines.append(f"Files without bounds: {found.unknown_files}")
    if found.unsorted_file:
        lines.append(f"Unsorted: {found.unsorted_file}, row {found.unsorted_row}, counted from 1")
    return "\n".join(lines)
