"""Measured rates of one machine to and from other regions and clouds, by area of the world.

`place_links.csv` condenses Skyplane's grid of January 2022: 64 connections for 5 s between two machines of 16 to 32
cores, of all pairs of regions of two areas the 5%, median and 95%. Newer machines may be faster; nobody has published a
later grid.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Final

from planner.catalog.tables import Column, Schema, read_table
from planner.config.paths import catalogs_directory

_RATES: Final = ("low_bytes_per_s", "bytes_per_s", "high_bytes_per_s")

LINKS: Final = Schema(
    name="place_links",
    meaning="what one machine sent to another area or cloud",
    key=("from_cloud", "from_area", "to_cloud", "to_area"),
    columns=(
        *(Column(name=name, meaning="end of the link") for name in ("from_cloud", "from_area", "to_cloud", "to_area")),
        Column(name="region_pairs", kind="whole", least=1, meaning="pairs of regions that were measured"),
        *(Column(name=name, kind="number", unit="bytes/s", above=0, meaning="5%, median, 95%") for name in _RATES),
    ),
)

_AREAS: Final = {
    "africa": r"af-|africa|southafrica",
    "south-america": r"sa-|southamerica|brazil|chile",
    "middle-east": r"me-|il-|uae|qatar|israel",
    "asia-pacific": r"ap-|asia-|australia|.*asia$|.*india|japan|korea|malaysia|indonesia|newzealand|taiwan",
    "north-america": r"us-|ca-|mx-|northamerica|.*us\d?$|canada|mexico",
    "europe": r"eu-|europe-|uk|.*europe$|france|germany|norway|sweden|switzerland|italy|poland|spain|austria|belgium"
    r"|denmark",
}
"""Names of regions of each area in any of the clouds; the first that fits counts."""


@dataclass(frozen=True, kw_only=True)
class PlaceLink:
    """Bytes/s of one machine between two areas: the median pair of regions, and nine in ten of them."""

    low_bytes_per_s: float
    bytes_per_s: float
    high_bytes_per_s: float


def link_between(source: tuple[str, str], sink: tuple[str, str]) -> PlaceLink | None:
    """Return the link from a cloud's area to another cloud or area, or to another region of the same; None where it was
    not measured.
    """
    return _load(catalogs_directory() / f"{LINKS.name}.csv").get((*source, *sink))


def area_of(region: str) -> str:
    """Return the area of the world of a cloud's region, '' for an unknown name."""
    return next((area for area, names in _AREAS.items() if re.match(names, region)), "")


@lru_cache(maxsize=2)
def _load(path: Path) -> Mapping[tuple[str, str, str, str], PlaceLink]:
    return {
        (row["from_cloud"], row["from_area"], row["to_cloud"], row["to_area"]): PlaceLink(
            **{name: float(row[name]) for name in _RATES}
        )
        for row in read_table(path, LINKS).rows()
    }
