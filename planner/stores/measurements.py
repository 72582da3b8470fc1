"""The user's measurements on disk: CSV files that grow whole or not at all."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import asdict
from io import StringIO
from pathlib import Path
from typing import Any

from planner.catalog import load_catalog
from planner.catalog.measurements import MEASUREMENTS, measurements_file
from planner.errors import BadInputError, nearest
from planner.ingest.measurement import Measurement
from planner.stores.atomic_file import changing, replace_file
from planner.tables import read_table


def store(measurements: Sequence[Measurement], *, catalog: str, replace: bool = False) -> Path:
    """Add measurements to those on the types of a catalog and return the file.

    Raises BadInputError for types that the catalog lacks, and for measurements that are already there unless
    `replace` exchanges them; IoFailureError when the disk refuses. In each case the file stays as it was.
    """
    _check_types(measurements, catalog)
    path = measurements_file(catalog)
    with changing(path, what="measurements in"):
        new = [_cells(measurement) for measurement in measurements]
        old = _stored(path)
        _check_repeats(new, old=[] if replace else old, path=path)
        keys = {_key(row) for row in new}
        _replace(path, [*(row for row in old if _key(row) not in keys), *new])
    return path


def _check_types(measurements: Sequence[Measurement], catalog: str) -> None:
    rows = load_catalog(catalog).instances.rows
    types = (measurement.instance_type for measurement in measurements)
    unknown = dict.fromkeys(name for name in types if name not in rows)
    if unknown:
        lines = [f"{name}.{nearest(name, list(rows))}" for name in unknown]
        raise BadInputError(
            f"{len(unknown)} unknown instance types in catalog {catalog} (another one: --catalog):", lines
        )


def _cells(measurement: Measurement) -> dict[str, str]:
    return {name: _cell(value) for name, value in asdict(measurement).items()}


def _cell(value: Any) -> str:
    return "" if value is None else repr(value) if isinstance(value, float) else str(value)


def _stored(path: Path) -> list[dict[str, str]]:
    """Return the rows of the file as text, after checking that they are sound."""
    if not path.exists():
        return []
    read_table(path, MEASUREMENTS)
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def _key(row: dict[str, str]) -> tuple[str, ...]:
    return tuple(row.get(name, "") for name in MEASUREMENTS.key)


def _check_repeats(new: list[dict[str, str]], *, old: list[dict[str, str]], path: Path) -> None:
    seen = {_key(row) for row in old}
    again = []
    for row in new:
        if _key(row) in seen:
            again.append(", ".join(cell for cell in _key(row) if cell))
        seen.add(_key(row))
    if again:
        raise BadInputError(f"already in {path} or given twice; --replace exchanges what is there:", again)


def _replace(path: Path, rows: list[dict[str, str]]) -> None:
    text = StringIO()
    writer = csv.DictWriter(text, MEASUREMENTS.names, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    replace_file(path, text.getvalue())
