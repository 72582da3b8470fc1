"""docs/catalogs.md lists every shipped catalog."""

from __future__ import annotations

from pathlib import Path

import pytest

from planner.catalog import catalog_names, load_catalog

DOCUMENT = (Path(__file__).resolve().parents[2] / "docs" / "catalogs.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", catalog_names())
def test_every_shipped_catalog_is_listed_with_its_price_date(name: str) -> None:
    catalog = load_catalog(name)
    assert f"| `{name}` | {catalog.title} | {len(catalog.instances):,} | {catalog.prices_as_of} |" in DOCUMENT
