"""Writing of a catalog's CSV files."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np

from planner.catalog.tables.declaration import Schema
from planner.config.atomic_file import replace_file


def write_rows(directory: Path, schema: Schema, rows: Iterable[Mapping[str, Any]]) -> None:
    """Write a file of a catalog; missing and unknown values are blank. Raises OSError."""
    text = StringIO()
    writer = csv.writer(text)
    writer.writerow(schema.names)
    writer.writerows([_cell(row.get(name)) for name in schema.names] for row in rows)
    replace_file(directory / f"{schema.name}.csv", text.getvalue())


def _cell(value: Any) -> str:
    if value is None or (isinstance(value, float) and np.isnan(value)):
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:.15g}" if isinstance(value, float) else str(value)
