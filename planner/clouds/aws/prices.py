"""What an instance costs now, from AWS's own price list."""

from __future__ import annotations

from collections import Counter
from datetime import datetime
from statistics import median
from typing import Final

from planner.clouds.aws.client import Service
from planner.clouds.price_lists.aws_prices import hourly_usd, matching
from planner.errors import PlannerError

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


def spot_price_now(ec2: Service, *, instance_type: str, now: datetime) -> float | None:
    """Return US dollars per hour of a spot instance, Linux, the median of a region's zones; None when not told."""
    asked = {"InstanceTypes": [instance_type], "ProductDescriptions": ["Linux/UNIX"], "StartTime": now, "EndTime": now}
    try:
        rows = list(ec2.items("describe_spot_price_history", "SpotPriceHistory", **asked))
    except PlannerError:
        return None
    latest = {row["AvailabilityZone"]: row for row in sorted(rows, key=lambda row: row["Timestamp"])}
    return median(float(row["SpotPrice"]) for row in latest.values()) if latest else None
