"""A reading of a cloud: rows of instances.csv and prices.csv, what was left out of them, and where they are from."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Set
from dataclasses import dataclass, field
from typing import Any

from planner.catalog import Source
from planner.clouds.calls.reading import READING
from planner.clouds.calls.retry import RetryPolicy

Row = dict[str, Any]
Watch = Callable[[str, int], None]
"""Told what is being read and how many of it there are by now."""


@dataclass(frozen=True, kw_only=True)
class Reading:
    """`shapes` and `prices` have the columns of their files but evidence, source and date.

    A cell that is None was not stated. `left_out` counts what could not be used, by reason; `notes` say what else the
    user should know.
    """

    shapes: list[Row]
    prices: list[Row]
    offered: Mapping[str, Set[str]]
    """The types that can be had in each region."""
    specs_source: Source
    prices_source: Source
    left_out: Mapping[str, int] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


def price_row(instance_type: str, *, region: str, pricing: str, usd_per_hour: float) -> Row:
    """Return a row of prices.csv; beyond seven decimals a sum of parts is noise."""
    return {
        "instance_type": instance_type,
        "region": region,
        "pricing": pricing,
        "price_usd_per_hour": round(usd_per_hour, 7),
    }


@dataclass(frozen=True, kw_only=True)
class Access:
    """Blank fields mean what the cloud's own tools would use: its environment variables, files and public addresses.

    `account` is the project of Compute Engine, the subscription of Azure or the profile of AWS. `specs_url` and
    `prices_url` serve clouds with addresses of their own (sovereign regions, private endpoints).
    """

    account: str = ""
    credentials: Any = field(default=None, repr=False)
    specs_url: str = ""
    prices_url: str = ""
    retry_policy: RetryPolicy = READING
