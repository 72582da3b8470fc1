"""`planner ingest`: everyone else's measurements become facts of a catalog."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from typer import Argument, Option

from planner.cli.console import show, show_json, table, talk
from planner.errors import BadInputError

if TYPE_CHECKING:
    from planner.ingest.measurement import Measurement

_Quantity = Annotated[
    Literal["simultaneous", "read_only", "write_only", "network", "sort"] | None, Option(help="What was measured.")
]
_Aggregate = Annotated[
    Literal["mean", "median", "slowest_of_n"] | None, Option(help="What the figure is over the nodes.")
]
_FilesAre = Annotated[
    Literal["instances", "repeats"] | None, Option(help="What several files of the same circumstances are.")
]


def ingest(
    files: Annotated[list[Path], Argument(help="Files of fio, iperf3, planner bench (JSON) or CSV.")],
    *,
    catalog: Annotated[str, Option(help="Catalog that the types belong to.")] = "aws",
    type_: Annotated[str | None, Option("--type", help="Instance type measured.")] = None,
    where: Annotated[str | None, Option(help="Region or zone.")] = None,
    as_of: Annotated[str | None, Option(help="Day of the measurement, YYYY-MM-DD.")] = None,
    instances: Annotated[int | None, Option(min=1, help="Instances measured.")] = None,
    repeats: Annotated[int | None, Option(min=1, help="Runs on each.")] = None,
    disks: Annotated[int | None, Option(min=1, help="Disks that the rate is of.")] = None,
    nodes: Annotated[int | None, Option(min=2, help="Size of the cluster whose network it was.")] = None,
    placement_group: Annotated[
        bool | None, Option("--placement-group/--no-placement-group", help="Were the nodes placed close together?")
    ] = None,
    quantity: _Quantity = None,
    aggregate: _Aggregate = None,
    method: Annotated[str | None, Option(help="How it was measured, so that others can repeat it.")] = None,
    column: Annotated[list[str] | None, Option(help="For CSV: FIELD=COLUMN or bytes_per_s=COLUMN:UNIT.")] = None,
    only: Annotated[list[str] | None, Option(help="For CSV: rows in which COLUMN=VALUE, such as cloud=aws.")] = None,
    job: Annotated[str | None, Option(help="For fio files of several jobs: the one that is meant.")] = None,
    files_are: _FilesAre = None,
    replace: Annotated[bool, Option("--replace", help="Exchange what was ingested before.")] = False,
    json: Annotated[bool, Option("--json", help="Print as JSON.")] = False,
) -> None:
    """Add measurements to your own, which override the shipped ones; what a file does not say is asked for by name.

    Example: planner ingest fio.json --type i4i.4xlarge --where us-east-1a
    """
    from planner.ingest.csv_columns import parse_choices, parse_mapping
    from planner.ingest.ingest import read_measurements
    from planner.stores.measurements import store

    values = {
        "instance_type": type_,
        "zone": where,
        "as_of": None if as_of is None else _day(as_of),
        "instances": instances,
        "repeats": repeats,
        "disks": disks,
        "nodes": nodes,
        "placement_group": None if placement_group is None else ("yes" if placement_group else "no"),
        "quantity": quantity,
        "aggregate": aggregate,
        "method": method,
    }
    measurements = read_measurements(
        files,
        user_values={name: value for name, value in values.items() if value is not None},
        mapping=parse_mapping(column or []),
        only=parse_choices(only or []),
        job=job,
        files_are=files_are,
    )
    path = store(measurements, catalog=catalog, replace=replace)
    _show(measurements, json=json)
    talk(f"stored in {path}; they override the shipped figures of catalog {catalog}")


def _day(text: str) -> date:
    try:
        return date.fromisoformat(text)
    except ValueError as error:
        raise BadInputError(f"--as-of {text!r}: write a day as YYYY-MM-DD") from error


def _show(measurements: list[Measurement], *, json: bool) -> None:
    from dataclasses import asdict

    from planner.units import format_rate

    if json:
        show_json([{**asdict(measurement), "as_of": measurement.as_of.isoformat()} for measurement in measurements])
        return
    columns = ("type", "quantity", "rate", "nodes", "instances", "repeats", "where", "as of", "note")
    rows = [_row(measurement, format_rate(measurement.bytes_per_s)) for measurement in measurements]
    show(table(columns, ([_text(cell) for cell in row] for row in rows)))


def _row(measurement: Measurement, rate: str) -> tuple[Any, ...]:
    extent = (
        measurement.nodes,
        measurement.instances,
        measurement.repeats,
        measurement.zone,
        measurement.as_of,
        measurement.note,
    )
    return (measurement.instance_type, measurement.quantity, rate, *extent)


def _text(value: Any) -> str:
    return "" if value is None else str(value)
