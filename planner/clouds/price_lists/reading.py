"""Reading of a cloud: rows of instances.csv and prices.csv, the items left out of them, and their sources."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Set
from dataclasses import dataclass, field
from typing import Any

from planner.catalog import Source
from planner.clouds.calls.reading import READING
from planner.clouds.calls.retry import RetryPolicy

Row = dict[str, Any]
Watch = Callable[[str, int], None]
"""Callback with what is being read, and how many items so far."""


@dataclass(frozen=True, kw_only=True)
class Reading:
    """Result of reading a cloud. `shapes` and `prices` have the columns of their files without evidence, source and
    date.

    A cell that is None was not stated. `left_out` counts unusable items by reason; `notes` hold other remarks for the
    user.
    """

    shapes: list[Row]
    prices: list[Row]
    offered: Mapping[str, Set[str]]
    """Types available in each region."""
    specs_source: Source
    prices_source: Source
    left_out: Mapping[str, int] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


def price_row(instance_type: str, *, region: str, pricing: str, usd_per_hour: float) -> Row:
    """Return a row of prices.csv; decimals of a sum beyond the seventh are noise."""
    return {
        "instance_type": instance_type,
        "region": region,
        "pricing": pricing,
        "price_usd_per_hour": round(usd_per_hour, 7),
    }


@dataclass(frozen=True, kw_only=True)
class Access:
    """Account and addresses of a cloud. Blank fields mean the defaults of the cloud's own tools: its environment
    variables, files and public addresses.

    `account` is the project of Compute Engine, the subscription of Azure or the profile of AWS. `specs_url` and
    `prices_url` are for clouds with other addresses (sovereign regions, private endpoints).
    """

    account: str = ""
    credentials: Any = field(default=None, repr=False)
    specs_url: str = ""
    prices_url: str = ""
    retry_policy: RetryPolicy = READING
