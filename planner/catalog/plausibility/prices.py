"""Prices that contradict their family, their other regions, their own on-demand price, or the type without disks."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from planner.arrays import Floats
from planner.catalog.plausibility.shapes import groups_of, most_common
from planner.catalog.plausibility.suspicion import Suspicion

if TYPE_CHECKING:
    import pandas as pd

PRICE_RATIO: Final = 1.2
"""Largest ratio of a price per virtual CPU to its shape's, where the sizes differ: less than 5% in all four clouds, and
disks that come whole add up to 15%.
"""
NEAR_RATIO: Final = 1.02
"""The same where the other sizes agree, and to what the ratio is in other regions: dedicated tenancy costs 1.06 times.
"""
FAR_RATIO: Final = 1.65
"""Largest ratio of the rise from other regions of a shape's only size to that of its family."""
LEAST_SPOT: Final = 0.05
"""Least ratio of a spot price to on-demand: no cloud states a saving above 91%."""
WINDOWS_USD_PER_VCPU_HOUR: Final = (0.046, 0.0046)
"""Azure's Windows licence; its price lists have a Windows row next to each Linux row. The B series has the lower."""
_LICENCE_TOLERANCE: Final = 0.03
_DEDICATED: Final = (1.05, 1.11)
"""Ratios of EC2's dedicated tenancy to shared tenancy, 1.06 or 1.10, with the rounding of prices."""
_ALIKE: Final = 1.01
"""Largest ratio of prices that agree; the clouds round them."""
_MOST: Final = 0.6
"""Share of the other sizes of a shape that must agree for the strict limit."""
_MANY_REGIONS: Final = 3
"""Regions that show a size's usual ratio to its shape."""

_WITH_DISKS: Final = re.compile(r"^([a-z]+\d+[a-z]*?)d([a-z]*\.)|^(Standard_[A-Z]+\d+(?:-\d+)?[a-z]*?)d([a-z]*_)|-lssd")
"""The part of a name that means local disks, on EC2 and Azure with what stays around it."""


def implausible_prices(prices: pd.DataFrame, types: pd.DataFrame) -> Iterator[Suspicion]:
    """Yield the doubted prices of a table, of any number of regions.

    `prices` has the columns instance_type, region, pricing ('on-demand' or 'spot') and price_usd_per_hour, NaN where a
    type is not sold, and may have `line` and `file`; `types` is that of `shapes`. Types that `types` lacks are not
    judged.
    """
    listed = prices.assign(**{name: value for name, value in (("line", 0), ("file", "prices")) if name not in prices})
    known = listed.merge(types.drop(columns="line"), on="instance_type")
    if not len(known):
        return
    for row in known[known.price_usd_per_hour <= 0].itertuples():
        yield _suspicion(row, reason="no type is free: a price that is not known is left out", factor=0)
    known = known[known.price_usd_per_hour > 0]
    on_demand = known[known.pricing == "on-demand"]
    for pricing in ("on-demand", "spot"):
        yield from _off_family(known[known.pricing == pricing].reset_index(drop=True))
    yield from _odd_spot(known, on_demand)
    yield from _below_diskless(on_demand)


def _off_family(sold: pd.DataFrame) -> Iterator[Suspicion]:
    """Yield the prices of one kind that are off those of their shape per virtual CPU, or off their ratio elsewhere."""
    sold = sold.assign(per_vcpu=sold.price_usd_per_hour / sold.machine_vcpu, place=sold.region + "/" + sold["shape"])
    sold["sizes"] = sold.groupby("place").per_vcpu.transform("size")
    many = sold.groupby("instance_type").region.transform("nunique") >= _MANY_REGIONS
    sold["steady"] = many & (sold.pricing == "on-demand")
    middle = sold.groupby("place").per_vcpu.transform("median")
    usual = (sold.per_vcpu / middle).groupby(sold.instance_type).transform("median").where(many, 1)
    sold["level"] = _levels(sold.assign(per_vcpu=sold.per_vcpu / usual))
    sold["common"] = (sold.level * usual).where(~sold.steady | (sold.sizes > 1), _risen_alike(sold))
    off = _apart(sold.per_vcpu / sold.common, _limits(sold))
    uneven = ~off & _is_sized(sold) & _apart(sold.per_vcpu / sold.level, PRICE_RATIO)
    uneven &= ~sold.steady | (sold.file == "prices")  # it is so in every region: name it once
    sold["common"] = sold.common.mask(uneven, sold.level)
    for row in sold[(off | uneven) & ~_confirmed(sold)].itertuples():
        yield _suspicion(row, reason=_family_text(row), factor=row.per_vcpu / row.common)


def _levels(sold: pd.DataFrame) -> pd.Series:
    """Return the common price per virtual CPU of each row's shape in its region."""
    levels, per_vcpu, names = np.empty(len(sold)), sold.per_vcpu.to_numpy(), sold.instance_type.to_numpy()
    for rows in groups_of(sold.place):
        levels[rows] = _family_price(per_vcpu[rows], licence=_licence(names[rows[0]]))
    return sold.per_vcpu.copy().mask(sold.per_vcpu.notna(), levels)


def _family_price(per_vcpu: Floats, *, licence: float) -> float:
    """Return the price per virtual CPU of most sizes, without the Windows licence if some sizes are without it.

    In some of Azure's families most prices are those of Windows. Of two sizes neither is the common one.
    """
    common = most_common(per_vcpu, within=_ALIKE) if len(per_vcpu) != 2 else float(np.median(per_vcpu))
    linux = per_vcpu[_is_licence(common - per_vcpu, licence)]
    return most_common(linux, within=_ALIKE) if len(linux) else common


def _risen_alike(sold: pd.DataFrame) -> pd.Series:
    """Return each row's usual price per virtual CPU times the rise of its family, or of all types, in the region."""
    usual = sold.per_vcpu.groupby(sold.instance_type).transform("median")
    rises = sold.per_vcpu / usual
    family = rises.groupby([sold.region, sold["shape"].str.split("/").str[0]])
    return usual * family.transform("median").where(
        family.transform("size") > 2, rises.groupby(sold.region).transform("median")
    )


def _is_sized(sold: pd.DataFrame) -> pd.Series:
    """Return which rows have sizes of their shape to differ from; each spot price has a saving of its own."""
    return sold.by_vcpu & (sold.sizes > 2) & (sold.pricing == "on-demand")


def _limits(sold: pd.DataFrame) -> pd.Series:
    """Return the largest ratio to the common price that each row may have."""
    alike = ~_apart(sold.per_vcpu / sold.level, _ALIKE)
    others = (alike.groupby(sold.place).transform("sum") - alike) / (sold.sizes - 1)
    near = sold.pricing.map({"on-demand": NEAR_RATIO, "spot": PRICE_RATIO})
    limits = (sold.per_vcpu * np.inf).mask(_is_sized(sold), PRICE_RATIO)
    limits = limits.mask(sold.by_vcpu & (sold.sizes > 2) & (others >= _MOST), near)
    return limits.mask(sold.steady, near.mask(sold.sizes == 1, FAR_RATIO))


def _confirmed(sold: pd.DataFrame) -> pd.Series:
    """Return which prices of several regions a machine of the same size has as well: lists are odd in both then."""
    return sold.steady & sold.duplicated(["region", "machine_vcpu", "price_usd_per_hour"], keep=False)


def _apart(ratio: pd.Series, limit: Any) -> Any:
    return np.maximum(ratio, 1 / ratio) > limit


def _family_text(row: Any) -> str:
    text = f"${row.per_vcpu:.4f} per virtual CPU, other sizes of its shape cost ${row.common:.4f}"
    licence = _licence(row.instance_type)
    if _is_licence(row.per_vcpu - row.common, licence):
        return f"{text}: the price of Windows, ${licence} per virtual CPU above Linux"
    if ".metal" in row.instance_type and _DEDICATED[0] < row.per_vcpu / row.common < _DEDICATED[1]:
        return f"{text}: the price of dedicated tenancy"
    return text


def _licence(instance_type: str) -> float:
    """Return Azure's Windows surcharge for a size, NaN for types of other clouds."""
    usual, burstable = WINDOWS_USD_PER_VCPU_HOUR
    if instance_type.startswith("Standard_"):
        return burstable if instance_type.startswith("Standard_B") else usual
    return np.nan


def _is_licence(usd_per_vcpu_hour: Any, licence: float) -> Any:
    return np.isclose(usd_per_vcpu_hour, licence, rtol=_LICENCE_TOLERANCE, atol=0)


def _below_diskless(on_demand: pd.DataFrame) -> Iterator[Suspicion]:
    """Yield the prices of types with local disks that are not above those of the same type without."""
    bare = on_demand.set_index(["instance_type", "region"]).price_usd_per_hour.to_dict()
    for row in on_demand.itertuples():
        twin = _WITH_DISKS.sub(lambda found: "".join(filter(None, found.groups())), row.instance_type)
        without = bare.get((twin, row.region), 0)
        if twin != row.instance_type and row.price_usd_per_hour <= without:
            text = f"not above {twin} without local disks, ${without:g}: it leaves out the disks, or one is wrong"
            yield _suspicion(row, reason=text, factor=row.price_usd_per_hour / without)


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
        file=row.file,
        line=row.line,
        instance_type=row.instance_type,
        column="price_usd_per_hour",
        value=f"{row.price_usd_per_hour:g}",
        reason=reason,
        factor=float(factor),
        region=row.region,
        pricing=row.pricing,
    )
