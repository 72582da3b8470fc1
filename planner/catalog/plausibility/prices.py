"""Prices that contradict their family, or their own on-demand price."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from planner.arrays import Floats
from planner.catalog.plausibility.shapes import groups_of, most_common, rows_at
from planner.catalog.plausibility.suspicion import Suspicion

if TYPE_CHECKING:
    import pandas as pd

PRICE_RATIO: Final = 1.2
"""Largest ratio of a price per virtual CPU to its family's: sizes of one shape differ by less than 5% in all four
clouds, and disks that come whole add up to 15%.
"""
LEAST_SPOT: Final = 0.05
"""Least ratio of a spot price to on-demand: no cloud states a saving above 91%."""
WINDOWS_USD_PER_VCPU_HOUR: Final = 0.046
"""Azure's Windows licence; its price lists have a Windows row next to each Linux row."""
_LICENCE_TOLERANCE: Final = 0.03


def implausible_prices(prices: pd.DataFrame, types: pd.DataFrame) -> Iterator[Suspicion]:
    """Yield the doubted prices of a table, of any number of regions.

    `prices` has the columns instance_type, region, pricing ('on-demand' or 'spot') and price_usd_per_hour, NaN where a
    type is not sold, and may have `line`; `types` is that of `shapes`. Types that `types` lacks are not judged.
    """
    listed = prices if "line" in prices else prices.assign(line=0)
    known = listed.merge(types.drop(columns="line"), on="instance_type")
    for row in known[known.price_usd_per_hour <= 0].itertuples():
        yield _suspicion(row, reason="no type is free: a price that is not known is left out", factor=0)
    known = known[known.price_usd_per_hour > 0]
    on_demand = known[known.pricing == "on-demand"]
    yield from _off_family(on_demand[on_demand.by_vcpu])
    yield from _odd_spot(known, on_demand)


def _off_family(sold: pd.DataFrame) -> Iterator[Suspicion]:
    per_vcpu = (sold.price_usd_per_hour / sold.machine_vcpu).to_numpy()
    is_azure = sold.instance_type.str.startswith("Standard_").to_numpy(bool)
    for rows in groups_of(sold.region + "/" + sold["shape"]):
        if len(rows) > 2:
            common = _family_price(per_vcpu[rows], may_be_windows=bool(is_azure[rows].all()))
            apart = rows[(per_vcpu[rows] < common / PRICE_RATIO) | (per_vcpu[rows] > common * PRICE_RATIO)]
            for row, price in zip(rows_at(sold, apart), per_vcpu[apart], strict=True):
                yield _suspicion(row, reason=_family_text(row, price, common=common), factor=price / common)


def _family_price(per_vcpu: Floats, *, may_be_windows: bool) -> float:
    """Return the price per virtual CPU of most sizes, without the Windows licence if some sizes are without it.

    In some of Azure's families most prices are those of Windows.
    """
    common = most_common(per_vcpu)
    linux = per_vcpu[_is_licence(common - per_vcpu)]
    return most_common(linux) if may_be_windows and len(linux) else common


def _family_text(row: Any, price: float, *, common: float) -> str:
    text = f"${price:.4f} per virtual CPU, other sizes of its shape cost ${common:.4f}"
    if _is_licence(price - common) and row.instance_type.startswith("Standard_"):
        return f"{text}: the price of Windows, ${WINDOWS_USD_PER_VCPU_HOUR} per virtual CPU above Linux"
    return text


def _is_licence(usd_per_vcpu_hour: Any) -> Any:
    return np.isclose(usd_per_vcpu_hour, WINDOWS_USD_PER_VCPU_HOUR, rtol=_LICENCE_TOLERANCE, atol=0)


def _odd_spot(known: pd.DataFrame, on_demand: pd.DataFrame) -> Iterator[Suspicion]:
    full = on_demand[["instance_type", "region", "price_usd_per_hour"]].rename(columns={"price_usd_per_hour": "full"})
    spot = known[known.pricing == "spot"].merge(full, on=["instance_type", "region"])
    for row in spot[spot.price_usd_per_hour >= spot.full].itertuples():
        text = f"a spot price that is not below the on-demand price of ${row.full:g}"
        yield _suspicion(row, reason=text, factor=row.price_usd_per_hour / row.full)
    for row in spot[spot.price_usd_per_hour < LEAST_SPOT * spot.full].itertuples():
        text = f"less than {LEAST_SPOT:.0%} of the on-demand price of ${row.full:g}: one of the two is wrong"
        yield _suspicion(row, reason=text, factor=row.price_usd_per_hour / row.full)


def _suspicion(row: Any, *, reason: str, factor: float) -> Suspicion:
    return Suspicion(
        file="prices",
        line=row.line,
        instance_type=row.instance_type,
        column="price_usd_per_hour",
        value=f"{row.price_usd_per_hour:g}",
        reason=reason,
        factor=float(factor),
        region=row.region,
        pricing=row.pricing,
    )
