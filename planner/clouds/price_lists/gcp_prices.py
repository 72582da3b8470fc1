"""Prices of Compute Engine's parts: a machine type costs its cores, its memory and its bundled disks.

The catalog names a part in words ("Spot Preemptible N2D AMD Instance Core running in Americas"). Of several items for
a region the one for the fewest regions counts; where those still differ in price, none does.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from planner.clouds.price_lists.reading import Row
from planner.errors import BadInputError

_HOURS_PER_MONTH: Final = 730
_SPOT: Final = "Spot Preemptible "
_PART: Final = re.compile(
    r"(?:(?P<family>[A-Z]\d+[A-Z]?) )?(?P<words>(?:AMD |Arm |Predefined |Memory-optimized |Compute optimized )*)"
    r"(?:Instance )?(?P<part>Core|Ram) running in .+"
)
_UNNAMED: Final = {"Predefined ": "n1", "Compute optimized ": "c2", "Memory-optimized ": "m1"}
"""Families whose items do not name them."""
_PREMIUM: Final = re.compile(r"Memory Optimized Upgrade Premium for Memory-optimized Instance (?P<part>Core|Ram) .+")
"""What a machine of m2 costs above one of m1."""
_DISK: Final = re.compile(
    r"(?:(?P<family>[A-Z]\d+[A-Z]?) Instance Local SSD running in .+"
    r"|SSD backed Local Storage(?P<spot> attached to Spot Preemptible VMs?)?(?: (?:running )?in .+)?)"
)
_ALWAYS_GENERIC_DISK: Final = ("z3",)
"""Families that have disk items of their own, by which their machine types are not billed."""
_UNITS: Final = {"core": "h", "ram": "GiBy.h", "disk": "GiBy.mo"}

Key = tuple[str, str, str, str]
"""Region, pricing, family ('' for any) and part: core, ram, disk, premium core, premium ram."""


@dataclass(frozen=True, kw_only=True)
class UnitPrices:
    """USD per hour of one core, GiB of memory or GB of disk; `left_out` counts items that could not be used."""

    usd_per_hour: Mapping[Key, float]
    left_out: Mapping[str, int]

    def hourly_usd(self, parts: Row, *, region: str, pricing: str) -> float | None:
        """Return the price of a machine type of these parts; None when the price of one is not known."""
        family = parts["family"]
        amounts = {"core": parts["cores"], "ram": parts["memory_gib"], "disk": parts["disk_gb"]}
        if any(amount is None for amount in amounts.values()):
            return None
        prices = {part: self._unit(part, family, region, pricing) for part, amount in amounts.items() if amount}
        parts_usd = [amounts[part] * price for part, price in prices.items() if price is not None]
        return sum(parts_usd) if len(parts_usd) == len(prices) else None

    def _unit(self, part: str, family: str, region: str, pricing: str) -> float | None:
        at = (region, pricing)
        if part == "disk":
            own, usual = self.usd_per_hour.get((*at, family, part)), self.usd_per_hour.get((*at, "", part))
            first, second = (usual, own) if family in _ALWAYS_GENERIC_DISK else (own, usual)
            return second if first is None else first
        if family == "m2":
            base, more = (self.usd_per_hour.get((*at, "m1", name)) for name in (part, f"premium {part}"))
            return None if base is None or more is None else base + more
        return self.usd_per_hour.get((*at, family, part))


def unit_prices(skus: Iterable[Any], *, regions: Sequence[str]) -> UnitPrices:
    """Return the prices of parts in `regions`. Raises BadInputError for prices in another currency."""
    candidates: dict[Key, list[tuple[int, float]]] = defaultdict(list)
    left_out: Counter[str] = Counter()
    for sku in skus:
        named = _named(sku)
        if named is None:
            continue
        pricing, family, part = named
        usd = _usd_per_hour(sku, part.removeprefix("premium "), left_out=left_out)
        for region in set(sku.service_regions).intersection(regions) if usd is not None else ():
            candidates[region, pricing, family, part].append((len(sku.service_regions), usd or 0.0))
    prices = {key: _of_fewest_regions(items) for key, items in candidates.items()}
    left_out["parts with several prices"] += sum(usd is None for usd in prices.values())
    return UnitPrices(usd_per_hour={k: usd for k, usd in prices.items() if usd is not None}, left_out=dict(+left_out))


def _named(sku: Any) -> tuple[str, str, str] | None:
    """Return (pricing, family, part) that an item is the price of, None for all the rest that is on the list."""
    text = sku.description
    spot = text.startswith(_SPOT)
    text = text.removeprefix(_SPOT)
    if disk := _DISK.fullmatch(text):
        return "spot" if spot or disk["spot"] else "on-demand", (disk["family"] or "").lower(), "disk"
    if sku.category.usage_type != ("Preemptible" if spot else "OnDemand"):
        return None
    pricing = "spot" if spot else "on-demand"
    if premium := _PREMIUM.fullmatch(text):
        return pricing, "m1", f"premium {premium['part'].lower()}"
    part = _PART.fullmatch(text)
    family = (part["family"] or "").lower() or _UNNAMED.get(part["words"], "") if part else ""
    return (pricing, family, part["part"].lower()) if part and family else None


def _usd_per_hour(sku: Any, part: str, *, left_out: Counter[str]) -> float | None:
    if not sku.pricing_info or not sku.pricing_info[0].pricing_expression.tiered_rates:
        left_out["items without a price"] += 1
        return None
    terms = sku.pricing_info[0].pricing_expression
    if terms.usage_unit != _UNITS[part]:
        left_out[f"prices per {terms.usage_unit or 'nothing'}"] += 1
        return None
    amounts = [rate.unit_price for rate in terms.tiered_rates]
    amount = next((price for price in amounts if price.units or price.nanos), amounts[0])  # a first tier may be free
    if amount.currency_code not in ("", "USD"):
        raise BadInputError(
            f"Cloud Billing catalog: {sku.description} is priced in {amount.currency_code}; prices are not converted"
        )
    usd = float(amount.units) + float(amount.nanos) / 1e9
    return usd / _HOURS_PER_MONTH if part == "disk" else usd


def _of_fewest_regions(items: Sequence[tuple[int, float]]) -> float | None:
    fewest = min(count for count, _ in items)
    prices = {usd for count, usd in items if count == fewest}
    return prices.pop() if len(prices) == 1 else None
