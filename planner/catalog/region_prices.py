"""Prices of a cloud's further regions: one wide file for each pricing, from which a plan reads its region.

Row: a type and the evidence of its prices. Column: a region; a blank cell means that the price list has no price there.
`prices.csv` has the regions that are planned for by default; it takes precedence if both have a region.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Final

import numpy as np

from planner.catalog.columns import PROVENANCE, TYPE, number
from planner.catalog.schema import PRICES
from planner.catalog.tables import Column, Problem, Schema, Table, read_table, scan_table

FILES: Final[Mapping[str, str]] = {"on-demand": "region_prices.csv", "spot": "region_spot_prices.csv"}
"""The file of each pricing."""

_ABOUT: Final = (TYPE, *PROVENANCE)


def listed_regions(directory: Path, pricing: str) -> tuple[str, ...]:
    """Return the regions in a catalog's wide file, in its order; none without such a file."""
    path = directory / FILES.get(pricing, "")
    return _header(path, path.stat().st_ctime_ns) if path.is_file() else ()


def price_rows(directory: Path, region: str, pricing: str) -> Table | None:
    """Return the known prices of a region as rows of `prices.csv`; None if the wide file lacks the region.

    Raises one BadInputError that lists every problem of the file.
    """
    if region not in listed_regions(directory, pricing):
        return None
    path = directory / FILES[pricing]
    wide = _read(path, path.stat().st_ctime_ns)
    known = np.flatnonzero(~np.isnan(wide[region]))
    columns = {column.name: wide[column.name][known] for column in _ABOUT}
    columns |= {name: np.full(len(known), text) for name, text in (("region", region), ("pricing", pricing))}
    columns["price_usd_per_hour"] = wide[region][known]
    ordered = {column.name: columns[column.name] for column in PRICES.columns}
    return Table(schema=PRICES, path=path, columns=ordered, lines=[wide.lines[row] for row in known.tolist()])


def problems(directory: Path) -> list[Problem]:
    """Return all problems of a catalog's wide files."""
    paths = [directory / name for name in FILES.values()]
    return [problem for path in paths if path.is_file() for problem in scan_table(path, _schema(path))[1]]


@lru_cache(maxsize=8)
def _header(path: Path, stamp: int) -> tuple[str, ...]:
    with path.open(encoding="utf-8-sig", newline="") as file:
        names = next(csv.reader(file), [])
    about = {column.name for column in _ABOUT}
    return tuple(name for name in names if name not in about)


@lru_cache(maxsize=4)
def _read(path: Path, stamp: int) -> Table:
    return read_table(path, _schema(path))


def _schema(path: Path) -> Schema:
    regions = (number(name, "USD/h", "Linux, no commitment") for name in _header(path, path.stat().st_ctime_ns))
    columns: tuple[Column, ...] = (*_ABOUT, *regions)
    return Schema(
        name=path.stem, meaning="prices of further regions", key=("instance_type", "evidence"), columns=columns
    )
