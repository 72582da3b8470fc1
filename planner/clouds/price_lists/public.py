"""Prices from the lists that clouds publish, without an account. Shapes stay unchanged."""

from __future__ import annotations

import csv
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from io import TextIOWrapper
from typing import Any, Final
from urllib.request import urlopen

from planner.catalog import Source
from planner.clouds.calls.http import TIMEOUT_S, failure_of
from planner.clouds.calls.reading import read_cloud
from planner.clouds.price_lists.azure import PRICES, retail_prices
from planner.clouds.price_lists.reading import Access, Reading, Row, Watch, price_row
from planner.errors import BadInputError, IoFailureError

_AWS_URL: Final = "https://pricing.us-east-1.amazonaws.com/offers/v1.0/aws/AmazonEC2/current"
_SAMPLED: Final = 10_000
"""Lines between two reports of progress."""
_PLAIN: Final = {
    "TermType": "OnDemand",
    "Tenancy": "Shared",
    "Operating System": "Linux",
    "Pre Installed S/W": "NA",
    "CapacityStatus": "Used",
    "Unit": "Hrs",
}
"""Attributes of an instance's plain price, unlike those with licences, of dedicated hosts or of unused reservations."""
_SOMETIMES: Final = {"MarketOption": "OnDemand"}
"""Attributes that only newer lists have, such as that of Capacity Blocks; also `Region Code`, by which a Local Zone's
prices differ from its region's.
"""
_NEEDED: Final = {*_PLAIN, "Instance Type", "PricePerUnit", "Currency"}

_SHAPES: Final = Source(title="shapes as before: price lists do not have them", url="")
SOURCES: Final = {
    "aws": Source(title="AWS bulk price list: Linux, shared tenancy, on demand", url="https://aws.amazon.com/pricing/"),
    "azure": PRICES,
}
"""Clouds with public price lists, and those lists."""


def read_public(
    cloud: str, regions: Sequence[str], *, access: Access, watch: Watch, catalog_rows: Mapping[str, Row]
) -> Reading:
    """Return the public prices of `regions` for the types of the current catalog; a type without a price is not
    offered.

    Raises BadInputError for a cloud without a public list, and as `read_cloud` does.
    """
    if cloud not in SOURCES:
        raise BadInputError(
            f"--public: {cloud} has no public price list; there are those of {', '.join(SOURCES)}",
            code="no-public-prices",
        )
    prices: list[Row] = []
    offered: dict[str, set[str]] = {}
    left_out: Counter[str] = Counter()
    for region in regions:
        read = _bulk_prices if cloud == "aws" else retail_prices
        listed = read(region, access=access, watch=watch, left_out=left_out)
        usable = {key: usd for key, usd in listed.items() if key[0] in catalog_rows}
        left_out[f"prices of types that the catalog does not have in {region}"] += len(listed) - len(usable)
        offered[region] = {name for name, _ in usable}
        prices += (
            price_row(name, region=region, pricing=pricing, usd_per_hour=usd) for (name, pricing), usd in usable.items()
        )
    return Reading(
        shapes=list(catalog_rows.values()),
        prices=prices,
        offered=offered,
        specs_source=_SHAPES,
        prices_source=SOURCES[cloud],
        left_out=dict(+left_out),
    )


def _bulk_prices(region: str, *, access: Access, watch: Watch, left_out: Counter[str]) -> dict[tuple[str, str], float]:
    """Return USD per hour by (type, on-demand). The file has several hundred megabytes and is read line by line."""
    what = f"AWS bulk price list of {region}"
    sometimes = {**_SOMETIMES, "Region Code": region}
    url = f"{access.prices_url or _AWS_URL}/{region}/index.csv"

    def call() -> dict[str, set[float]]:
        amounts: dict[str, set[float]] = defaultdict(set)
        with urlopen(url, timeout=TIMEOUT_S) as answer:
            lines = TextIOWrapper(answer, encoding="utf-8", newline="")
            for number, row in enumerate(_rows(lines, what=what)):
                is_plain = all(row[column] == value for column, value in _PLAIN.items())
                if is_plain and all(row.get(column, value) == value for column, value in sometimes.items()):
                    _take(row, amounts, what=what)
                if number % _SAMPLED == 0:
                    watch(f"prices of {region}", len(amounts))
        return amounts

    amounts = read_cloud(call, what=what, failure_of=failure_of, policy=access.retry_policy)
    left_out["types with several on-demand prices"] += sum(len(prices) > 1 for prices in amounts.values())
    return {(name, "on-demand"): prices.pop() for name, prices in amounts.items() if len(prices) == 1}


def _rows(lines: Iterable[str], *, what: str) -> Iterator[dict[str, Any]]:
    """Yield the rows of the file as dicts; some title lines precede the column names."""
    reader = csv.reader(lines)
    header = next((row for row in reader if row and row[0] == "SKU"), [])
    if missing := _NEEDED - set(header):
        raise IoFailureError(
            f"{what}: no columns {', '.join(sorted(missing))}; nothing was changed", code="missing-column"
        )
    for row in reader:
        if len(row) != len(header):
            raise IoFailureError(f"{what}: a line is cut off; nothing was changed", code="cut-off")
        yield dict(zip(header, row, strict=True))


def _take(row: Mapping[str, str], amounts: dict[str, set[float]], *, what: str) -> None:
    if row["Currency"] != "USD":
        raise BadInputError(
            f"{what}: prices are in {row['Currency']}, and are not converted to USD", code="other-currency"
        )
    try:
        usd = float(row["PricePerUnit"])
    except ValueError as error:
        raise IoFailureError(
            f"{what}: {row['PricePerUnit']!r} is no price; nothing was changed", code="not-a-price"
        ) from error
    if usd > 0:
        amounts[row["Instance Type"]].add(usd)
