"""Items of the AWS price list for EC2, as the Price List Query API returns them: each a JSON text."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from planner.errors import BadInputError, IoFailureError

_PLAIN: Final = {
    "operatingSystem": "Linux",
    "tenancy": "Shared",
    "preInstalledSw": "NA",
    "capacitystatus": "Used",
    "marketoption": "OnDemand",
}
"""What tells an instance's plain price from those with licences, of dedicated hosts and of unused reservations."""


def matching(**attributes: str) -> list[dict[str, str]]:
    """Return the filters of GetProducts for plain on-demand Linux prices with these attributes besides."""
    wanted = {**_PLAIN, **attributes}
    return [{"Type": "TERM_MATCH", "Field": field, "Value": value} for field, value in wanted.items()]


def hourly_usd(items: Sequence[Any], *, region: str, what: str, left_out: Counter[str]) -> Iterator[tuple[str, float]]:
    """Yield (instance type, USD per hour); what is of another unit or region is counted in `left_out`.

    Raises BadInputError for prices in another currency, IoFailureError for an item that is not as it should be.
    """
    for text in items:
        try:
            item = json.loads(text) if isinstance(text, str) else text
            attributes = item["product"]["attributes"]
            dimensions = [d for term in _on_demand_terms(item) for d in term["priceDimensions"].values()]
            of_here = attributes.get("regionCode", region) == region and "instanceType" in attributes
        except (json.JSONDecodeError, KeyError, TypeError, AttributeError) as error:
            raise IoFailureError(f"{what}: an item is cut off or not as it should be ({error!r})") from error
        for dimension in dimensions if of_here else ():
            if dimension.get("unit") != "Hrs":
                left_out[f"prices per {dimension.get('unit')}"] += 1
            elif (usd := _usd(dimension, what=what)) > 0:
                yield attributes["instanceType"], usd


def _on_demand_terms(item: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return list(item.get("terms", {}).get("OnDemand", {}).values())


def _usd(dimension: Mapping[str, Any], *, what: str) -> float:
    amounts = dimension.get("pricePerUnit", {})
    if "USD" not in amounts:
        raise BadInputError(
            f"{what}: prices are in {', '.join(amounts) or 'no currency'}, and are not converted to USD"
        )
    try:
        return float(amounts["USD"])
    except ValueError as error:
        raise IoFailureError(f"{what}: {amounts['USD']!r} is no price") from error
