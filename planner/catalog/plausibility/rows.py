"""All doubted cells of a catalog, without those that were reviewed and accepted (reviews.csv)."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from planner.catalog import region_prices
from planner.catalog.catalog import Catalog
from planner.catalog.plausibility.prices import implausible_prices
from planner.catalog.plausibility.rates import implausible_rates
from planner.catalog.plausibility.shapes import shapes
from planner.catalog.plausibility.sizes import implausible_sizes
from planner.catalog.plausibility.sources import outvoted_networks, wrong_generations
from planner.catalog.plausibility.suspicion import Suspicion

if TYPE_CHECKING:
    import pandas as pd

_ALIKE: Final = 0.1
"""Largest difference of a factor from the reviewed one: regions and rounding change it less, another error more."""


def implausible_rows(catalog: Catalog) -> list[Suspicion]:
    """Return the doubted cells of a catalog in the order of its files and lines, each once."""
    types = shapes(catalog)
    doubted = [
        *implausible_sizes(types),
        *implausible_prices(_prices(catalog), types),
        *implausible_rates(catalog, types),
        *outvoted_networks(catalog),
        *wrong_generations(catalog, types),
    ]
    open_ones = not_accepted(catalog, _once(doubted))
    return sorted(open_ones, key=lambda found: (found.file, found.line, found.column))


def _prices(catalog: Catalog) -> pd.DataFrame:
    """Return the prices of all regions."""
    import pandas as pd

    names = ("instance_type", "region", "pricing", "price_usd_per_hour")
    places = [(region, pricing) for pricing in region_prices.FILES for region in catalog.regions(pricing)]
    tables = [catalog.price_rows(region, pricing) for region, pricing in places]
    frames = [
        pd.DataFrame({name: table[name] for name in names}).assign(line=list(table.lines), file=table.path.stem)
        for table in tables
    ]
    return pd.concat(frames) if frames else pd.DataFrame(columns=[*names, "line", "file"])


def _once(doubted: list[Suspicion]) -> Iterator[Suspicion]:
    """Yield each cell once, with all reasons for doubt."""
    cells: dict[tuple[Any, ...], list[Suspicion]] = {}
    for found in doubted:
        key = (found.file, found.line, found.instance_type, found.column, found.region, found.pricing)
        cells.setdefault(key, []).append(found)
    for findings in cells.values():
        yield replace(findings[0], reason="; ".join(dict.fromkeys(found.reason for found in findings)))


def not_accepted(catalog: Catalog, doubted: Iterable[Suspicion]) -> list[Suspicion]:
    """Return the doubted cells that the catalog's reviews do not accept."""
    reviews = list(catalog.tables["reviews"].rows())
    return [found for found in doubted if not any(_is_accepted(found, review) for review in reviews)]


def _is_accepted(found: Suspicion, review: dict[str, Any]) -> bool:
    """Return whether a review accepted this cell with its present deviation."""
    same = found.file.endswith(review["file"]) and (found.column, found.instance_type) == (
        review["column"],
        review["instance_type"],
    )
    place = review["region"] in ("", found.region) and review["pricing"] in ("", found.pricing)
    factor = review["factor"]
    as_far = math.isnan(factor) or abs(found.factor / factor - 1) <= _ALIKE
    return review["verdict"] != "withheld" and same and place and as_far
