"""What an instance costs now, from AWS's own price list."""

from __future__ import annotations

from collections import Counter
from typing import Final

from planner.errors import PlannerError
from planner.providers.aws.client import Service
from planner.refresh.aws_prices import hourly_usd, matching

REGION: Final = "us-east-1"
"""Where the price list answers, whatever region is asked about."""


def price_now(prices: Service, *, instance_type: str, region: str) -> float | None:
    """Return US dollars per hour, on demand, Linux, shared hardware; None unless AWS states exactly one price."""
    filters = matching(regionCode=region, instanceType=instance_type)
    what = f"AWS price of {instance_type} in {region}"
    try:
        items = list(prices.items("get_products", "PriceList", ServiceCode="AmazonEC2", Filters=filters))
        amounts = {usd for _, usd in hourly_usd(items, region=region, what=what, left_out=Counter())}
    except PlannerError:
        return None
    return amounts.pop() if len(amounts) == 1 else None
