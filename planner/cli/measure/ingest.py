"""`planner ingest`: import of other tools' measurements as facts of a catalog."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from typer import Argument, Option

from planner.cli.shell.console import show, show_json, table, talk
from planner.errors import BadInputError
from planner.units import count_text

if TYPE_CHECKING:
    from planner.measurement.ingest.measurement import Measurement

_Quantity = Annotated[
    Literal["simultaneous", "read_only", "write_only", "network", "sort", "read4K", "read4M", "write4K", "write4M"]
    | None,
    Option(help="What was measured."),
]
_Aggregate = Annotated[
    Literal["mean", "median", "slowest_of_n"] | None, Option(help="What the figure is over the nodes.")
]
_FilesAre = Annotated[
    Literal["instances", "repeats"] | None, Option(help="What several files of the same circumstances are.")
]


def ingest(
    files: Annotated[list[Path] | None, Argument(help="Files of fio, iperf3, planner bench (JSON) or CSV.")] = None,
    *,
    catalog: Annotated[str, Option(help="Catalog that the types belong to.")] = "aws",
    type_: Annotated[str | None, Option("--type", help="Instance type measured.")] = None,
    where: Annotated[str | None, Option(help="Region or zone.")] = None,
    as_of: Annotated[str | None, Option(help="Day of the measurement, YYYY-MM-DD.")] = None,
    instances: Annotated[int | None, Option(min=1, help="Instances measured.")] = None,
    repeats: Annotated[int | None, Option(min=1, help="Runs on each.")] = None,
    disks: Annotated[int | None, Option(min=1, help="Disks that the rate is of.")] = None,
    volume: Annotated[str | None, Option(help="Type of the block volumes measured, such as gp3.")] = None,
    count: Annotated[int | None, Option(min=1, help="Volumes that the rate is of, all together.")] = None,
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
    remove: Annotated[
        str | None, Option(help="Remove what was ingested of this type, or from this file; patterns work.")
    ] = None,
    json: Annotated[bool, Option("--json", help="Print as JSON.")] = False,
) -> None:
    """Add measurements to your own, which override the shipped ones; facts that a file lacks are asked for by name.

    Example: planner ingest fio.json --type i4i.4xlarge --where us-east-1a

    Example: planner ingest iperf3.json --type i4i.4xlarge --where us-east-1a --nodes 2 --placement-group
    """
    from planner.measurement.ingest.csv_columns import parse_choices, parse_mapping
    from planner.measurement.ingest.ingest import read_measurements
    from planner.stores.measurements import forget, store

    if remove is not None:
        if files:
            raise BadInputError("--remove takes a type or a file's name, and no files to ingest", code="contradiction")
        removed = forget(remove, catalog=catalog)
        talk(
            f"{count_text(removed, 'measurement')} of {remove} removed; "
            f"shipped figures of catalog {catalog} count in their place"
        )
        return
    if not files:
        raise BadInputError("ingest needs files; --remove takes back what was ingested", code="missing-argument")
    values = {
        "instance_type": type_,
        "zone": where,
        "as_of": None if as_of is None else _day(as_of),
        "instances": instances,
        "repeats": repeats,
        "disks": disks,
        "volume_type": volume,
        "volumes": count,
        "nodes": nodes,
        "placement_group": None if placement_group is None else ("yes" if placement_group else "no"),
        "quantity": quantity,
        "aggregate": aggregate,
        "method": method,
    }
    user_values = {name: value for name, value in values.items() if value is not None}
    with _list_all_missing(user_values, of_table=bool(column)):
        of_tables: dict[str, Any] = {"mapping": parse_mapping(column or []), "only": parse_choices(only or [])}
        measurements = read_measurements(files, user_values=user_values, job=job, files_are=files_are, **of_tables)
    with _hint_own_machine(measurements, catalog):
        stored = store(measurements, catalog=catalog, sure=any((disks, method)))
    _show(measurements, json=json)
    again = (
        f"{count_text(stored.replaced, 'row')} of the same file, day and circumstances replaced; "
        if stored.replaced
        else ""
    )
    talk(f"{again}stored in {stored.path}; they override the shipped figures of catalog {catalog}")


@contextmanager
def _list_all_missing(user_values: Mapping[str, Any], *, of_table: bool) -> Iterator[None]:
    """Add all other missing values to the error of a missing value, so that they are not asked for one by one."""
    try:
        yield
    except BadInputError as error:
        told = str(error)
        needed = {"instance_type": "--type", "zone": "--where"}
        more = [f"{name}: give {option}" for name, option in needed.items() if name not in user_values]
        also = [line for line in more if line not in told] if not of_table else []
        raise error.reworded(error.message, *also) from error


@contextmanager
def _hint_own_machine(measurements: list[Measurement], catalog: str) -> Iterator[None]:
    """Explain how to add a machine that is in no catalog, where a type is missing."""
    from planner.catalog import load_catalog

    try:
        yield
    except BadInputError as error:
        rows = load_catalog(catalog).instances.rows
        own = any(measurement.instance_type not in rows for measurement in measurements)
        advice = ["a machine of your own: planner catalog new DIRECTORY, then --catalog ./DIRECTORY"] if own else []
        raise error.reworded(error.message, *advice) from error


def _day(text: str) -> date:
    try:
        return date.fromisoformat(text)
    except ValueError as error:
        raise BadInputError(f"--as-of {text!r}: write a day as YYYY-MM-DD", code="not-a-date") from error


def _show(measurements: list[Measurement], *, json: bool) -> None:
    from dataclasses import asdict

    from planner.units import format_rate

    if json:
        rows = [{**asdict(measurement), "as_of": measurement.as_of.isoformat()} for measurement in measurements]
        show_json({"measurements": rows})
        return
    columns = ("type", "quantity", "of", "rate", "operations/s", "p50", "p99", "extent", "where", "as of", "note")
    show(table(columns, (_row(measurement, format_rate(measurement.bytes_per_s)) for measurement in measurements)))


def _row(measurement: Measurement, rate: str) -> tuple[str, ...]:
    operations = measurement.operations_per_s
    return (
        measurement.instance_type,
        " ".join(filter(None, (measurement.quantity, measurement.side))),
        _setting(measurement),
        rate,
        "" if operations is None else f"{operations:,.0f}",
        _milliseconds(measurement.latency_p50_s),
        _milliseconds(measurement.latency_p99_s),
        _extent(measurement),
        measurement.zone,
        str(measurement.as_of),
        measurement.note,
    )


def _setting(measurement: Measurement) -> str:
    """Return a description of the measurement's target and method."""
    volumes = f"{measurement.volumes} x {measurement.volume_type}" if measurement.volume_type else ""
    block = f"{measurement.block_bytes / 1024:g} KiB" if measurement.block_bytes else ""
    workers = f"{measurement.threads} x {measurement.depth}" if measurement.depth else ""
    nodes = count_text(measurement.nodes, "node") if measurement.nodes else ""
    words = (volumes, block, measurement.pattern, workers, nodes, measurement.layout)
    return ", ".join(word for word in words if word)


def _milliseconds(seconds: float | None) -> str:
    return "" if seconds is None else f"{seconds * 1000:.3g} ms"


def _extent(measurement: Measurement) -> str:
    return f"{measurement.instances} x {measurement.repeats}"
