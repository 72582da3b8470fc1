"""All that a catalog knows about one type, fact by fact, for people to read."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from planner.catalog import schema
from planner.catalog.catalog import Catalog
from planner.catalog.facts import Fact
from planner.catalog.tables import Table

_ABOUT_THE_FACT = ("evidence", "source", "as_of", "note", "method", "instances", "repeats", "period_days")


def facts_on(catalog: Catalog, instance_type: str) -> list[Fact]:
    """Return every known value about a type, in file order; unknown ones (blank cells) are left out.

    The columns that tell rows of one file apart (region, mode, nodes, ...) are part of `field`:
    `price_usd_per_hour [us-east-1, spot]`; how it was measured is part of `note`.
    Raises BadInputError with the nearest names for an unknown type.
    """
    catalog.instances.index(instance_type)
    tables = (catalog.tables[schema_.name] for schema_ in schema.ALL)
    return [fact for table in tables if "instance_type" in table.columns for fact in _facts(table, instance_type)]


def _facts(table: Table, instance_type: str) -> Iterator[Fact]:
    about = [name for name in table.schema.key[1:] if name not in _ABOUT_THE_FACT]
    for row in table.rows(np.flatnonzero(table["instance_type"] == instance_type)):
        circumstances = ", ".join(_shown(name, row[name]) for name in about if _known(row[name]))
        for column in table.schema.columns:
            if column.name in ("instance_type", *about, *_ABOUT_THE_FACT) or not _known(row[column.name]):
                continue
            yield Fact(
                kind=table.schema.name,
                field=f"{column.name} [{circumstances}]" if circumstances else column.name,
                value=row[column.name],
                unit=column.unit,
                evidence=row["evidence"],
                source=row["source"],
                as_of=row["as_of"],
                note="; ".join(filter(None, (row.get("method"), row.get("note")))),
                row=row,
            )


def _known(value: Any) -> bool:
    return value != "" and not (isinstance(value, float) and math.isnan(value))


def _shown(name: str, value: Any) -> str:
    """Return a circumstance in words; a bare number or flag says what it counts."""
    if isinstance(value, bool):
        return name.replace("_", " ") if value else f"no {name.replace('_', ' ')}"
    return f"{value:g} {name}" if isinstance(value, float) else str(value)
