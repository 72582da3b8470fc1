"""One measurement with all its required facts; facts missing from a file are requested by name."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from datetime import date
from typing import Any, Final

from planner.catalog.columns import MODES, SMALL_IO
from planner.catalog.own_storage import SETTING
from planner.errors import BadInputError
from planner.statistics.variance_components import log_sigma

LEAST_S: Final = 1.0
"""A shorter run measures its own start: the first windows of a connection, the first requests of a disk."""
Reading = dict[str, Any]
"""A file's facts on one measurement: fields of Measurement, missing ones left out."""


@dataclass(frozen=True, kw_only=True)
class Measurement:
    """A row of the user's measurements; fields as in planner.catalog.measurements. None means unknown."""

    instance_type: str
    quantity: str
    bytes_per_s: float
    aggregate: str
    zone: str
    as_of: date
    instances: int
    repeats: int
    method: str
    source: str
    placement_group: str | None = None
    disks: int | None = None
    nodes: int | None = None
    connections: int | None = None
    threads: int | None = None
    volume_type: str | None = None
    volumes: int | None = None
    layout: str | None = None
    job: str | None = None
    side: str | None = None
    pattern: str | None = None
    block_bytes: int | None = None
    depth: int | None = None
    flush_every: int | None = None
    read_share: float | None = None
    buffered: str | None = None
    operations_per_s: float | None = None
    latency_mean_s: float | None = None
    latency_p50_s: float | None = None
    latency_p90_s: float | None = None
    latency_p99_s: float | None = None
    latency_p999_s: float | None = None
    retransmits: int | None = None
    seconds: float | None = None
    period_days: float | None = None
    within_run_sigma: float | None = None
    across_time_sigma: float | None = None
    across_instances_sigma: float | None = None
    note: str = ""


OPTIONS: Final = {
    "instance_type": "--type",
    "zone": "--where",
    "as_of": "--as-of",
    "instances": "--instances",
    "repeats": "--repeats",
    "aggregate": "--aggregate",
    "placement_group": "--placement-group or --no-placement-group",
    "disks": "--disks",
    "volume_type": "--volume",
    "volumes": "--count",
    "nodes": "--nodes",
    "method": "--method",
    "quantity": "--quantity",
}
"""Options for facts that are not in a file."""

_CACHED: Final = "went through the page cache, which may be in the figure"
_REQUIRED: Final = ("instance_type", "quantity", "bytes_per_s", "aggregate", "zone", "as_of", "instances", "repeats")
_OF_KIND: Final = {"network": ("nodes", "placement_group")}
_VOLUMES: Final = ("volume_type", "volumes")
STORAGE: Final = (*MODES, *SMALL_IO)
_AVERAGED: Final = (
    "bytes_per_s",
    "operations_per_s",
    "latency_mean_s",
    "latency_p50_s",
    "latency_p90_s",
    "latency_p99_s",
    "latency_p999_s",
)


def complete_reading(reading: Reading, user_values: Mapping[str, Any]) -> Measurement:
    """Return the measurement in `reading`, with `user_values` filling its gaps.

    Raises BadInputError naming every missing field with its option, for a contradiction, or for a rate that is not
    positive and finite.
    """
    whole = {**reading}
    for name, value in user_values.items():
        if name in _VOLUMES and (whole.get("quantity") or user_values.get("quantity")) not in STORAGE:
            continue
        if whole.get(name) not in (None, value):
            raise BadInputError(
                f"{reading['source']} says {name} {whole[name]}, {OPTIONS[name]} says {value}", code="contradiction"
            )
        whole[name] = value
    if whole.get("volume_type"):
        # The disks counted by the instrument are the volumes.
        whole["volumes"], whole["disks"] = whole.get("volumes") or whole.get("disks"), None
    volumes = _VOLUMES if any(whole.get(name) for name in _VOLUMES) else ()
    required = (*_REQUIRED, *volumes, *_OF_KIND.get(whole.get("quantity", ""), ()), "method")
    missing = [name for name in required if whole.get(name) in (None, "")]
    if missing:
        lines = [f"{name}: give {OPTIONS.get(name, 'a column for it')}" for name in missing]
        raise BadInputError(f"{reading['source']} does not say what must be known:", lines, code="missing-field")
    if not 0 < whole["bytes_per_s"] < float("inf"):
        raise BadInputError(f"{reading['source']}: a rate of {whole['bytes_per_s']} bytes/s is none", code="not-a-rate")
    if whole.get("buffered") == "yes" and "page cache" not in whole.get("note", ""):
        whole["note"] = "; ".join(filter(None, (whole.get("note"), _CACHED)))
    field_names = {field.name for field in fields(Measurement)}
    return Measurement(**{name: value for name, value in whole.items() if name in field_names})


def merge_readings(readings: list[Reading], *, files_are: str | None) -> list[Reading]:
    """Return one reading for each set of circumstances: several files of one are its instances or its repeats.

    Raises BadInputError when there are several and `files_are` is not given, and for rows of one table that cannot be
    told apart.
    """
    groups: dict[tuple[Any, ...], list[Reading]] = {}
    names = ("instance_type", "quantity", "disks", "nodes", "placement_group", "aggregate", "zone", "method", *SETTING)
    for reading in readings:
        groups.setdefault(tuple(reading.get(name) for name in names), []).append(reading)
    _refuse_duplicate_rows(groups.values())
    return [_mean(group, files_are) if len(group) > 1 else group[0] for group in groups.values()]


def _refuse_duplicate_rows(groups: Iterable[list[Reading]]) -> None:
    """Raise BadInputError listing all duplicates: rows of one table, or a file given twice, are not instances."""
    duplicates = [group for group in groups if len({_run(reading) for reading in group}) < len(group)]
    if not duplicates:
        return
    raise BadInputError(
        f"{duplicates[0][0]['source']}: the same circumstances twice; merge them, or choose with --only COLUMN=VALUE",
        [_group_label(group) for group in duplicates],
        code="repeated",
    )


def _run(reading: Reading) -> tuple[Any, ...]:
    """Return the key of a run: its file, and its position in the file."""
    return reading["file"], reading.get("document")


def _group_label(group: list[Reading]) -> str:
    rows = ", ".join(str(reading.get("row", reading["source"])) for reading in group)
    return f"{rows}: {group[0].get('instance_type', 'no type')}, {group[0]['quantity']}"


def _mean(group: list[Reading], files_are: str | None) -> Reading:
    if files_are is None:
        sources = ", ".join(dict.fromkeys(reading["source"] for reading in group))
        raise BadInputError(
            f"{sources}: {len(group)} runs of the same; say --files-are instances, or --files-are repeats of one",
            code="several-runs",
        )
    return mean_of(group, over=files_are)


def mean_of(group: list[Reading], *, over: str) -> Reading:
    """Return the mean of several readings of the same circumstances, which are its `instances` or its `repeats`."""
    days = [reading["as_of"] for reading in group if reading.get("as_of")]
    whole = {**group[0], **{name: _mean_value([reading.get(name) for reading in group]) for name in _AVERAGED}}
    sigma = {"instances": "across_instances_sigma", "repeats": "across_time_sigma"}[over]
    whole[sigma] = log_sigma([reading["bytes_per_s"] for reading in group])
    for name in {"within_run_sigma", "across_time_sigma", "across_instances_sigma"} - {sigma}:
        whole[name] = _root_mean_square([reading.get(name) for reading in group])
    whole[over] = sum(reading.get(over) or 1 for reading in group)
    whole["source"] = ", ".join(dict.fromkeys(reading["source"] for reading in group))
    if any(reading.get("retransmits") is not None for reading in group):
        whole["retransmits"] = sum(reading.get("retransmits") or 0 for reading in group)
    if days:
        whole["as_of"] = max(days)
        periods = [float((max(days) - min(days)).days), *(reading.get("period_days") or 0.0 for reading in group)]
        whole["period_days"] = max(periods) or None
    return whole


def _mean_value(values: list[float | None]) -> float | None:
    """Return the mean; None if any value is missing."""
    reported = [value for value in values if value is not None]
    return sum(reported) / len(reported) if len(reported) == len(values) else None


def _root_mean_square(sigmas: list[float | None]) -> float | None:
    squares = [sigma**2 for sigma in sigmas if sigma is not None]
    return math.sqrt(sum(squares) / len(squares)) if squares else None
