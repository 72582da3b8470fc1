"""What types cost the user, and how many there are, in the words of the command line and of Python."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from planner.errors import BadInputError
from planner.schemas.plan import NodeLimit, OwnPrice
from planner.units import parse_count, parse_share

CLOUDS: Final[tuple[str, ...]] = ("aws", "gcp", "azure", "oci")
"""The clouds of which catalogs ship."""


def names(values: list[str] | None) -> list[str]:
    """Return the values of an option that may be repeated, comma-separated, or both."""
    return [name.strip() for value in values or [] for name in value.split(",") if name.strip()]


def clouds(values: Sequence[str]) -> tuple[str, ...]:
    """Return catalogs asked for, `all` standing for those of today's clouds; a shipped name may be in capitals."""
    words = [word if "/" in word else word.casefold() for word in values]
    return tuple(dict.fromkeys(name for word in words for name in (CLOUDS if word == "all" else (word,))))


def discounts(values: list[str] | None) -> list[OwnPrice]:
    """Read `15%` (of everything), `aws=15%` (of a cloud) and `i4i.*=15%` (of types), the narrower before the wider.

    Raises BadInputError for what is no share of a price.
    """
    prices = [_discount(item) for item in names(values)]
    return sorted(prices, key=lambda own: (own.instance == "*", own.cloud == "*"))


def own_prices(values: list[str] | None) -> list[OwnPrice]:
    """Read `i4i.4xlarge=0.95`: US dollars per hour of a type. Raises BadInputError for what is none."""
    return [_own_price(item) for item in names(values)]


def capacities(values: list[str] | None) -> list[NodeLimit]:
    """Read `i4i.*=40`: at most so many instances of a type. Raises BadInputError for what is no number of nodes."""
    return [_capacity(item) for item in names(values)]


def _capacity(item: str) -> NodeLimit:
    instance, _, amount = item.rpartition("=")
    try:
        count = parse_count(amount)
    except BadInputError:
        count = 0
    if not instance or count < 1:
        raise BadInputError(f"--capacity {item}: write it as TYPE=NODES, such as 'i4i.*=40'")
    return NodeLimit(instance=instance, nodes=count, note="--capacity")


def _discount(item: str) -> OwnPrice:
    name, _, amount = item.rpartition("=")
    try:
        share = parse_share(amount)
    except BadInputError:
        share = -1.0
    if not 0 <= share < 1:
        raise BadInputError(f"--discount {item}: write it as 15%, aws=15% or 'i4i.*=15%'; at least 0% and below 100%")
    if name in CLOUDS:
        return OwnPrice(cloud=name, discount=share, note="--discount")
    return OwnPrice(instance=name or "*", discount=share, note="--discount")


def _own_price(item: str) -> OwnPrice:
    name, _, amount = item.rpartition("=")
    try:
        price = float(amount.removeprefix("$"))
    except ValueError:
        price = -1.0
    if not name or not 0 <= price < 1e6:
        raise BadInputError(f"--own-price {item}: write it as TYPE=USD, such as i4i.4xlarge=0.95")
    return OwnPrice(instance=name, price_usd_per_hour=price, note="--own-price")
