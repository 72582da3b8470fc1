"""Refresh of a catalog from a cloud: reading it, putting the new version into use, and reporting the changes."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from functools import partial
from pathlib import Path
from typing import Final

from planner.catalog import Catalog, Changes, changes_between, load_catalog
from planner.catalog.cloud_regions import region_named
from planner.catalog.refreshed import REFRESHABLE
from planner.clouds.price_lists import aws, azure, gcp
from planner.clouds.price_lists.public import read_public
from planner.clouds.price_lists.reading import Access, Reading, Row, Watch
from planner.clouds.price_lists.writing import put_in_place, version_of
from planner.errors import BadInputError, IoFailureError, nearest

_READERS: Final[Mapping[str, Callable[..., Reading]]] = {"aws": aws.read, "azure": azure.read, "gcp": gcp.read}
CLOUDS: Final = REFRESHABLE
"""Clouds whose catalogs can be refreshed; Oracle's cannot yet."""


@dataclass(frozen=True, kw_only=True)
class Refreshed:
    """Items that a refresh read and changed. `path` is the version now in use, None when nothing was written.

    `kept` counts older prices of types that are offered but missing from the price list; `left_out` counts unusable
    items by reason.
    """

    cloud: str
    regions: tuple[str, ...]
    types: int
    prices: int
    kept: int
    changes: Changes
    left_out: Mapping[str, int]
    notes: tuple[str, ...]
    path: Path | None


def refresh(
    cloud: str,
    *,
    regions: Sequence[str] = (),
    access: Access | None = None,
    today: date,
    watch: Watch = lambda what, count: None,
    dry_run: bool = False,
    public: bool = False,
) -> Refreshed:
    """Refresh types and prices of `cloud`, for the regions that its catalog prices unless others are given.

    With `public` only prices are read, from a list that needs no account. Everything is read before anything is
    written, and a new version takes effect whole or not at all; with `dry_run` it never does. Raises BadInputError for
    an unknown cloud or region, ProviderRefusedError when the cloud refuses, IoFailureError when it cannot be reached or
    understood or the catalog cannot be written.
    """
    if cloud not in _READERS:
        raise BadInputError(
            f"cloud {cloud!r} cannot be refreshed.{nearest(cloud, CLOUDS)} Known: {', '.join(CLOUDS)}",
            code="unknown-cloud",
        )
    before = load_catalog(cloud)
    chosen = tuple(region_named(name, before) or name for name in regions) or tuple(before.main_regions())
    read = partial(read_public, cloud) if public else _READERS[cloud]
    reading = read(chosen, access=access or Access(), watch=watch, catalog_rows=_rows_by_type(before))
    _check(reading, cloud=cloud)
    with version_of(before, reading, today=today) as written:
        return Refreshed(
            cloud=cloud,
            regions=chosen,
            types=len(reading.shapes),
            prices=len(reading.prices),
            kept=written.older_prices,
            changes=changes_between(before, written.catalog),
            left_out=reading.left_out,
            notes=reading.notes,
            path=None if dry_run else put_in_place(written, today=today),
        )


def _rows_by_type(catalog: Catalog) -> Mapping[str, Row]:
    """Return the shapes of the current catalog by type, blank cells as None."""
    table = catalog.tables["instances"]
    rows = ({name: _none_if_blank(cell) for name, cell in row.items()} for row in table.rows())
    return {str(row["instance_type"]): row for row in rows}


def _none_if_blank(cell: object) -> object:
    blank = cell == "" or (isinstance(cell, float) and math.isnan(cell))
    return None if blank else cell


def _check(reading: Reading, *, cloud: str) -> None:
    """Reject an answer that would leave nothing to plan with."""
    empty = [region for region, names in reading.offered.items() if not names]
    if empty:
        raise BadInputError(
            f"{cloud} offers no instance type in {', '.join(empty)}; check the name of the region",
            code="unknown-region",
        )
    priced = {row["region"] for row in reading.prices if row["pricing"] == "on-demand"}
    silent = [region for region in reading.offered if region not in priced]
    if silent:
        raise IoFailureError(
            f"{cloud}'s price list has no usable price in {', '.join(silent)}; nothing was changed", code="no-price"
        )
