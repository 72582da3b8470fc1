"""The user's measurements on disk: CSV files that are updated whole or not at all."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from fnmatch import fnmatchcase
from io import StringIO
from pathlib import Path
from typing import Any, Final

from planner.catalog import Catalog, load_catalog
from planner.catalog.columns import MODES
from planner.catalog.measurements import MEASUREMENTS, measurements_file, misplaced_reason
from planner.catalog.schema import DISKS
from planner.catalog.tables import read_table
from planner.catalog.tables.reading import convert
from planner.config.atomic_file import change_store, replace_file
from planner.errors import BadInputError
from planner.measurement.ingest.measurement import Measurement
from planner.units import format_rate


@dataclass(frozen=True, kw_only=True)
class Stored:
    """Location of stored measurements, and how many rows of an earlier ingest of the same files they replaced."""

    path: Path
    replaced: int


def store(measurements: Sequence[Measurement], *, catalog: str, sure: bool = True) -> Stored:
    """Add measurements to those on the types of a catalog; rows of the same file, day and circumstances are replaced.
    Unless the caller is `sure` what was measured, rates far from the type's known ones are refused, too.

    Raises BadInputError for types and volumes that the catalog lacks, local disks of types that have none, impossible
    rates, cells that no plan could read, and measurements given twice; IoFailureError when the disk refuses. In each
    case the file stays unchanged.
    """
    loaded = load_catalog(catalog)
    _check_places(measurements, loaded)
    new = [_cells(measurement) for measurement in measurements]
    _check_cells(new)
    _check_rates(measurements, loaded)
    if not sure:
        _check_likely(measurements, loaded)
    path = measurements_file(catalog)
    with change_store(path, what="measurements in"):
        _check_twice(new)
        old, keys = _read_rows(path), {_key(row) for row in new}
        remaining = [row for row in old if _key(row) not in keys]
        _replace(path, [*remaining, *new])
    return Stored(path=path, replaced=len(old) - len(remaining))


def _check_places(measurements: Sequence[Measurement], loaded: Catalog) -> None:
    local_disks = dict(zip(loaded.instances.rows, loaded.instances.local_disks.tolist(), strict=True))
    lines = [
        misplaced_reason(vars(measurement), local_disks=local_disks, volume_types=loaded.volume_types)
        for measurement in measurements
    ]
    if reasons := [line for line in dict.fromkeys(lines) if line]:
        raise BadInputError(f"not of catalog {loaded.name} (another one: --catalog):", reasons, code="other-catalog")


def _check_cells(rows: Sequence[dict[str, str]]) -> None:
    """Raise BadInputError for cells that the reader would refuse: they would break every plan of the catalog."""
    bad = {column: convert(column, [row[column.name] for row in rows])[1] for column in MEASUREMENTS.columns}
    lines = [
        f"{rows[index]['source']}: {column.name} {rows[index][column.name]!r}: expected {column.expected}"
        for column, indexes in bad.items()
        for index in indexes
    ]
    if lines:
        raise BadInputError("not stored:", list(dict.fromkeys(lines)), code="bad-cell")


_BUS_BYTES_PER_S: Final = {"nvme": 15.75e9, "ssd": 1.2e9, "hdd": 0.6e9}
"""Most bytes per second that one disk's link carries: PCIe 5.0 with four lanes, SAS-3 and SATA 3."""
_APART: Final = 0.1
_ABOVE: Final = 1.1
"""Factor by which a rate may exceed the cloud's figure before it counts as a mistake."""


def _check_rates(measurements: Sequence[Measurement], loaded: Catalog) -> None:
    """Raise BadInputError for rates above the cloud's figure for the type or above the link of its disks, and for
    contradictory figures.
    """
    lines = []
    for measurement in measurements:
        what, most = _most_bytes_per_s(measurement, loaded)
        if measurement.bytes_per_s > most * _ABOVE:
            rates = f"{format_rate(measurement.bytes_per_s)}, more than {what} carries ({format_rate(most)})"
            lines.append(f"{measurement.source}: {measurement.instance_type}, {measurement.quantity}: {rates}")
        lines += [f"{measurement.source}: {measurement.quantity}: {text}" for text in _contradictions(measurement)]
    if lines:
        raise BadInputError(
            "not stored; is the unit right, and was it the device that was measured?", lines, code="not-a-rate"
        )


_FAR: Final = 4.0
"""Factor from the known rate of a type's disks that makes a figure another's: observed and stated
rates differ by at most half of it (catalogs/evidence_spreads.csv).
"""
_LARGE_BLOCK_BYTES: Final = 1 << 17
"""Smaller blocks need not reach the rate of a disk."""


def _check_likely(measurements: Sequence[Measurement], loaded: Catalog) -> None:
    """Raise BadInputError for rates that are far from what the types' own disks do, as those of volumes mostly are."""
    lines, listed = [], loaded.path / f"{DISKS.name}.csv"
    shipped = read_table(listed, DISKS) if listed.exists() else loaded.tables[DISKS.name]  # without the user's figures
    loaded = replace(loaded, tables={**loaded.tables, DISKS.name: shipped})
    for measurement in measurements:
        row, block = loaded.instances.rows[measurement.instance_type], measurement.block_bytes or math.inf
        if measurement.quantity not in MODES or measurement.volume_type or block < _LARGE_BLOCK_BYTES:
            continue
        known = float(loaded.disk_rates(measurement.quantity).bytes_per_s[row])
        if not known / _FAR <= measurement.bytes_per_s <= known * _FAR and not math.isnan(known):
            far = f"{format_rate(measurement.bytes_per_s)}, and its local disks do {format_rate(known)}"
            lines.append(f"{measurement.source}: {measurement.instance_type}, {measurement.quantity}: {far}")
    if lines:
        raise BadInputError(
            "not stored; was it another disk that was measured?",
            [*lines, "volumes: --volume TYPE --count N; if it is the type's own, say so with --disks or --method"],
            code="unlikely-rate",
        )


_LEAST_BYTES_PER_S: Final = 1e4
"""A spinning disk that flushes each block writes this much; a lower figure is in another unit."""
_LONGEST_S: Final = 60.0


def _contradictions(measurement: Measurement) -> Iterator[str]:
    """Yield figures that no machine can have measured."""
    rate, operations = measurement.bytes_per_s, measurement.operations_per_s
    if rate < _LEAST_BYTES_PER_S:
        yield f"{rate:g} bytes/s are less than any disk or network does: another unit?"
    if operations and measurement.block_bytes and abs(operations * measurement.block_bytes / rate - 1) > _APART:
        moved = format_rate(operations * measurement.block_bytes)
        yield f"{operations:g} operations/s of {measurement.block_bytes:g} bytes are {moved}, not {format_rate(rate)}"
    latencies = [getattr(measurement, f"latency_{name}_s") for name in ("p50", "p90", "p99", "p999")]
    known = [latency for latency in latencies if latency is not None]
    if known != sorted(known):
        yield "a higher percentile of latency lies below a lower one"
    if any(latency > _LONGEST_S for latency in (*known, measurement.latency_mean_s or 0.0)):
        yield "a latency of more than a minute: latencies are in seconds"
    if measurement.read_share is not None and not 0 <= measurement.read_share <= 1:
        yield f"read_share {measurement.read_share:g} is no share from 0 to 1"


def _most_bytes_per_s(measurement: Measurement, loaded: Catalog) -> tuple[str, float]:
    """Return a description of the limit on a measured rate, and the limit; infinite where none is known."""
    types, row = loaded.instances, loaded.instances.rows[measurement.instance_type]
    if measurement.quantity == "network":
        return "its network", _known(types.network_peak_bytes_per_s[row])
    if measurement.quantity == "sort":
        return "a virtual CPU with its memory", _VCPU_BYTES_PER_S
    if measurement.volume_type:
        return "its link to volumes", _known(types.volume_peak_bytes_per_s[row])
    disks = measurement.disks or _known(types.local_disks[row])
    return f"{disks:.0f} disks' link", disks * _BUS_BYTES_PER_S.get(types.local_disk_kind[row], math.inf)


_VCPU_BYTES_PER_S: Final = 2e9
"""No virtual CPU sorts so fast: it copies some 10 GB/s within memory, and a sort moves each byte several times."""


def _known(value: float) -> float:
    return math.inf if math.isnan(value) else float(value)


def _cells(measurement: Measurement) -> dict[str, str]:
    return {name: _cell(value) for name, value in asdict(measurement).items()}


def _cell(value: Any) -> str:
    return "" if value is None else repr(value) if isinstance(value, float) else str(value)


def _read_rows(path: Path, *, checked: bool = True) -> list[dict[str, str]]:
    """Return the rows of the file as text, validated if `checked`."""
    if not path.exists():
        return []
    if checked:
        read_table(path, MEASUREMENTS)
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def _key(row: dict[str, str]) -> tuple[str, ...]:
    return tuple(row.get(name, "") for name in MEASUREMENTS.key)


def _check_twice(rows: list[dict[str, str]]) -> None:
    keys = [_key(row) for row in rows]
    if twice := [", ".join(cell for cell in key if cell) for key in dict.fromkeys(keys) if keys.count(key) > 1]:
        raise BadInputError("given twice:", twice, code="repeated")


def _replace(path: Path, rows: list[dict[str, str]]) -> None:
    text = StringIO()
    writer = csv.DictWriter(text, MEASUREMENTS.names, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    replace_file(path, text.getvalue())


def user_rows(catalog: str) -> list[dict[str, str]]:
    """Return the user's measurements on the types of a catalog as text. Raises BadInputError for a damaged file."""
    return _read_rows(measurements_file(catalog))


def forget(pattern: str, *, catalog: str) -> int:
    """Remove the measurements whose type or source file (with or without its folder) matches, and return their number.
    Rows that no plan could read can be removed, too.

    Raises BadInputError, listing the existing ones, where none matches; IoFailureError when the disk refuses.
    """
    path = measurements_file(catalog)
    with change_store(path, what="measurements in"):
        rows = _read_rows(path, checked=False)
        remaining = [row for row in rows if not _fits(row, pattern)]
        if len(remaining) == len(rows):
            there = dict.fromkeys(f"{row.get('instance_type')} from {row.get('source')}" for row in rows)
            raise BadInputError(
                f"no measurements of {pattern!r} in {path}",
                list(there) or ["There are none."],
                code="no-such-measurement",
            )
        _replace(path, remaining)
    return len(rows) - len(remaining)


def _fits(row: dict[str, str], pattern: str) -> bool:
    names = (row.get("instance_type") or "", *(row.get("source") or "").split(", "))
    return any(fnmatchcase(name, text) for name in names for text in (pattern, Path(pattern).name))
