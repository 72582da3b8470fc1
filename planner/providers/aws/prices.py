"""What an instance costs now, from AWS's own price list."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Final

from planner.errors import PlannerError
from planner.providers.aws.client import Service

REGION: Final = "us-east-1"
"""Where the price list answers, whatever region is asked about."""


def price_now(prices: Service, *, instance_type: str, region: str) -> float | None:
    """Return US dollars per hour, on demand, Linux, shared hardware; None when AWS does not say exactly one price."""
    wanted = {
        "instanceType": instance_type,
        "regionCode": region,
        "operatingSystem": "Linux",
        "preInstalledSw": "NA",
        "tenancy": "Shared",
        "capacitystatus": "Used",
    }
    filters = [{"Type": "TERM_MATCH", "Field": field, "Value": value} for field, value in wanted.items()]
    try:
        offers = list(prices.items("get_products", "PriceList", ServiceCode="AmazonEC2", Filters=filters))
    except PlannerError:
        return None
    found = {price for offer in offers for price in _hourly(json.loads(str(offer)))}
    return found.pop() if len(found) == 1 else None


def _hourly(offer: dict[str, Any]) -> Iterator[float]:
    for term in offer.get("terms", {}).get("OnDemand", {}).values():
        for dimension in term["priceDimensions"].values():
            price = float(dimension["pricePerUnit"].get("USD", 0))
            if dimension["unit"] == "Hrs" and price > 0:
                yield price
