"""Items of the AWS price list."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import pytest

from planner.clouds.price_lists.aws import hourly_usd, matching
from planner.errors import BadInputError, IoFailureError


def item(*dimensions: dict[str, Any], region: str = "us-east-1") -> str:
    priced = {str(number): dimension for number, dimension in enumerate(dimensions)}
    attributes = {"instanceType": "i4i.large", "regionCode": region}
    return json.dumps(
        {"product": {"attributes": attributes}, "terms": {"OnDemand": {"term": {"priceDimensions": priced}}}}
    )


def dimension(amount: str, *, unit: str = "Hrs", currency: str = "USD") -> dict[str, Any]:
    return {"unit": unit, "pricePerUnit": {currency: amount}}


def prices(*items: Any) -> tuple[list[tuple[str, float]], Counter[str]]:
    left_out: Counter[str] = Counter()
    return list(hourly_usd(items, region="us-east-1", what="prices", left_out=left_out)), left_out


def test_only_hourly_prices_of_the_region_above_zero_count() -> None:
    listed = item(dimension("0.172"), dimension("0"), dimension("1.0", unit="Quantity"))
    assert prices(listed, item(dimension("0.2"), region="us-west-2")) == (
        [("i4i.large", 0.172)],
        Counter({"prices per Quantity": 1}),
    )


def test_other_currencies_and_damaged_items_are_errors() -> None:
    with pytest.raises(BadInputError, match="prices are in CNY, and are not converted"):
        prices(item(dimension("1.2", currency="CNY")))
    with pytest.raises(IoFailureError, match="cut off"):
        prices(item(dimension("1.2"))[:-9])


def test_filters_ask_for_plain_linux_besides_what_is_named() -> None:
    filters = {chosen["Field"]: chosen["Value"] for chosen in matching(regionCode="eu-west-1")}
    assert filters.items() >= {"regionCode": "eu-west-1", "operatingSystem": "Linux", "tenancy": "Shared"}.items()
    assert {chosen["Type"] for chosen in matching()} == {"TERM_MATCH"}
