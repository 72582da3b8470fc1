"""docs/catalogs.md describes every file and column as the loader reads them, and every shipped catalog."""

from __future__ import annotations

from pathlib import Path

import pytest

from planner.catalog import catalog_names, load_catalog
from planner.catalog.schema import ALL
from planner.catalog.tables import Column, Schema

DOCUMENT = (Path(__file__).resolve().parents[2] / "docs" / "catalogs.md").read_text(encoding="utf-8")


def line_of(column: Column) -> str:
    """Return the table line that documents a column; a blank cell is allowed where it says so."""
    blank = "" if column.required else ", or blank"
    unit = f" ({column.unit})" if column.unit else ""
    return f"| `{column.name}` | {column.expected}{blank} | {column.meaning}{unit} |"


def section_of(schema: Schema) -> str:
    """Return the section that documents a file."""
    shared = ("evidence", "source", "as_of", "note")
    lines = [line_of(column) for column in schema.columns if column.name not in shared]
    meaning = schema.meaning[0].upper() + schema.meaning[1:]
    head = f"### {schema.name}.csv\n\n{meaning}. One row per {', '.join(schema.key)}.\n"
    return "\n".join([head, "| column | cell | meaning |", "|---|---|---|", *lines])


@pytest.mark.parametrize("schema", ALL, ids=lambda schema: schema.name)
def test_every_file_is_documented_as_it_is_read(schema: Schema) -> None:
    assert section_of(schema) in DOCUMENT


@pytest.mark.parametrize("name", catalog_names())
def test_every_shipped_catalog_is_listed_with_its_price_date(name: str) -> None:
    catalog = load_catalog(name)
    assert f"| `{name}` | {catalog.title} | {len(catalog.instances):,} | {catalog.prices_as_of} |" in DOCUMENT
