"""`planner catalog measurements`: list and removal of the user's ingested measurements."""

from __future__ import annotations

from typing import Annotated, Any

from typer import Option

from planner.cli.shell.console import show, show_json, show_text, table, talk
from planner.units import count_text


def catalog_measurements(
    *,
    catalog: Annotated[str, Option(help="Catalog that the types belong to.")] = "aws",
    forget: Annotated[
        str | None, Option(help="Remove what was measured of this type, or read from this file; patterns work.")
    ] = None,
    json: Annotated[bool, Option("--json", help="Print as JSON.")] = False,
) -> None:
    """List your own measurements, which `planner ingest` stored and which override the shipped figures.

    Example: planner catalog measurements --catalog aws

    Example: planner catalog measurements --forget i4i.4xlarge
    """
    from planner.catalog.measurements import measurements_file
    from planner.stores.measurements import forget as forget_rows
    from planner.stores.measurements import user_rows

    path = measurements_file(catalog)
    if forget is not None:
        removed = forget_rows(forget, catalog=catalog)
        talk(
            f"{count_text(removed, 'measurement')} of {forget} removed from {path}; "
            "shipped figures count in their place"
        )
    rows = user_rows(catalog)
    if json:
        show_json({"measurements": rows})
    elif rows:
        columns = ("instance_type", "quantity", "bytes_per_s", "nodes", "zone", "as_of", "instances", "source")
        show(table([name.replace("_", " ") for name in columns], [_cells(row, columns) for row in rows]))
        talk(f"in {path}")
    else:
        show_text(f"no measurements of your own on catalog {catalog}; planner ingest FILE adds some")


def _cells(row: dict[str, Any], columns: tuple[str, ...]) -> list[str]:
    from planner.units import format_rate

    return [format_rate(float(row[name])) if name == "bytes_per_s" else str(row[name]) for name in columns]
