"""The user's measurements on disk: CSV files that grow whole or not at all."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from fnmatch import fnmatchcase
from io import StringIO
from pathlib import Path
from typing import Any

from planner.catalog import load_catalog
from planner.catalog.measurements import MEASUREMENTS, measurements_file, misplaced_reason
from planner.catalog.tables import read_table
from planner.config.atomic_file import change_store, replace_file
from planner.errors import BadInputError
from planner.measurement.ingest.measurement import Measurement


@dataclass(frozen=True, kw_only=True)
class Stored:
    """Where measurements went, and how many rows of an earlier ingest of the same files they replaced."""

    path: Path
    replaced: int


def store(measurements: Sequence[Measurement], *, catalog: str) -> Stored:
    """Add measurements to those on the types of a catalog; rows of the same file, day and circumstances are replaced.

    Raises BadInputError for types and volumes that the catalog lacks, for local disks of types that have none, and for
    measurements given twice; IoFailureError when the disk refuses. In each case the file stays as it was.
    """
    _check_places(measurements, catalog)
    path = measurements_file(catalog)
    with change_store(path, what="measurements in"):
        new = [_cells(measurement) for measurement in measurements]
        _check_twice(new)
        old, keys = _read_rows(path), {_key(row) for row in new}
        remaining = [row for row in old if _key(row) not in keys]
        _replace(path, [*remaining, *new])
    return Stored(path=path, replaced=len(old) - len(remaining))


def _check_places(measurements: Sequence[Measurement], catalog: str) -> None:
    loaded = load_catalog(catalog)
    local_disks = dict(zip(loaded.instances.rows, loaded.instances.local_disks.tolist(), strict=True))
    lines = [
        misplaced_reason(vars(measurement), local_disks=local_disks, volume_types=loaded.volume_types)
        for measurement in measurements
    ]
    if reasons := [line for line in dict.fromkeys(lines) if line]:
        raise BadInputError(f"not of catalog {catalog} (another one: --catalog):", reasons)


def _cells(measurement: Measurement) -> dict[str, str]:
    return {name: _cell(value) for name, value in asdict(measurement).items()}


def _cell(value: Any) -> str:
    return "" if value is None else repr(value) if isinstance(value, float) else str(value)


def _read_rows(path: Path) -> list[dict[str, str]]:
    """Return the rows of the file as text, after checking that they are sound."""
    if not path.exists():
        return []
    read_table(path, MEASUREMENTS)
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def _key(row: dict[str, str]) -> tuple[str, ...]:
    return tuple(row.get(name, "") for name in MEASUREMENTS.key)


def _check_twice(rows: list[dict[str, str]]) -> None:
    keys = [_key(row) for row in rows]
    if twice := [", ".join(cell for cell in key if cell) for key in dict.fromkeys(keys) if keys.count(key) > 1]:
        raise BadInputError("given twice:", twice)


def _replace(path: Path, rows: list[dict[str, str]]) -> None:
    text = StringIO()
    writer = csv.DictWriter(text, MEASUREMENTS.names, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    replace_file(path, text.getvalue())


def user_rows(catalog: str) -> list[dict[str, str]]:
    """Return the user's measurements on the types of a catalog as text. Raises BadInputError for a damaged file."""
    return _read_rows(measurements_file(catalog))


def forget_type(pattern: str, *, catalog: str) -> int:
    """Remove the measurements of the types of which the name fits, and return how many there were.

    Raises BadInputError, naming the types measured, where none fits; IoFailureError when the disk refuses.
    """
    path = measurements_file(catalog)
    rows = _read_rows(path)
    types = list(dict.fromkeys(row["instance_type"] for row in rows))
    if not any(fnmatchcase(name, pattern) for name in types):
        there = f" There are those of {', '.join(types)}." if types else " There are none."
        raise BadInputError(f"no measurements of {pattern!r} in {path}.{there}")
    with change_store(path, what="measurements in"):
        rows = _read_rows(path)
        remaining = [row for row in rows if not fnmatchcase(row["instance_type"], pattern)]
        _replace(path, remaining)
    return len(rows) - len(remaining)
