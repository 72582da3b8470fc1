"""Prices that contradict their family, in the price tables of any region."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pytest
from approvals import Approve
from hypothesis import assume, given
from hypothesis import strategies as st

from planner.catalog import load_catalog
from planner.catalog.plausibility import Suspicion, implausible_prices, shapes
from planner.catalog.plausibility.prices import PRICE_RATIO

LINUX = 0.05
WINDOWS_USD_PER_VCPU_HOUR = 0.046
VCPUS = (2, 4, 8, 16, 32, 64)


def types(*vcpus: int, by_vcpu: bool = True) -> pd.DataFrame:
    names = [f"Standard_D{vcpu}_v9" for vcpu in vcpus]
    cells = {"machine_vcpu": list(map(float, vcpus)), "shape": "D_v9", "by_vcpu": by_vcpu, "line": 0}
    return pd.DataFrame({"instance_type": names, **cells})


def sold(prices: dict[int, float], *, region: str = "here", pricing: str = "on-demand") -> pd.DataFrame:
    rows: list[dict[str, Any]] = [
        {"instance_type": f"Standard_D{vcpu}_v9", "region": region, "pricing": pricing, "price_usd_per_hour": price}
        for vcpu, price in prices.items()
    ]
    return pd.DataFrame(rows)


def doubted(prices: pd.DataFrame, **cells: Any) -> list[Suspicion]:
    return list(implausible_prices(prices, types(*VCPUS, **cells)))


@given(
    per_vcpu=st.floats(0.001, 1),
    which=st.sampled_from(VCPUS),
    factor=st.one_of(st.floats(0.01, 0.95 / PRICE_RATIO), st.floats(1.05 * PRICE_RATIO, 100)),
)
def test_one_price_off_the_others_is_doubted_and_no_other(per_vcpu: float, which: int, factor: float) -> None:
    assume(abs(per_vcpu * (1 - factor) / WINDOWS_USD_PER_VCPU_HOUR - 1) > 0.05)
    prices = {vcpu: vcpu * per_vcpu for vcpu in VCPUS}
    assert doubted(sold(prices)) == []
    (found,) = doubted(sold({**prices, which: prices[which] * factor}))
    assert found.instance_type == f"Standard_D{which}_v9"
    assert found.factor == pytest.approx(factor)


@given(windows=st.sets(st.sampled_from(VCPUS), min_size=1, max_size=len(VCPUS) - 1))
def test_prices_of_windows_are_doubted_even_where_most_are(windows: set[int]) -> None:
    licence = {vcpu: WINDOWS_USD_PER_VCPU_HOUR if vcpu in windows else 0 for vcpu in VCPUS}
    found = doubted(sold({vcpu: vcpu * (LINUX + licence[vcpu]) for vcpu in VCPUS}))
    assert {suspicion.instance_type for suspicion in found} == {f"Standard_D{vcpu}_v9" for vcpu in windows}
    assert all("the price of Windows" in suspicion.reason for suspicion in found)


def test_regions_are_judged_apart() -> None:
    cheap, dear = ({vcpu: vcpu * price for vcpu in VCPUS} for price in (LINUX, 3 * LINUX))
    assert doubted(pd.concat([sold(cheap), sold(dear, region="far away")])) == []
    (found,) = doubted(pd.concat([sold(cheap), sold({**dear, 8: 8 * LINUX}, region="far away")]))
    assert (found.region, found.instance_type) == ("far away", "Standard_D8_v9")


def test_nothing_is_free(approve: Approve) -> None:
    (found,) = doubted(sold({2: 0.1, 4: 0.2, 8: 0.4, 16: 0}))
    assert found.instance_type == "Standard_D16_v9"
    approve(found.reason)


def test_what_is_not_priced_by_virtual_cpus_or_has_no_like_is_not_judged() -> None:
    odd = {2: 0.1, 4: 5.0, 8: 0.4}
    assert doubted(sold(odd)) != []
    assert doubted(sold(odd), by_vcpu=False) == []
    assert doubted(sold({2: 0.1, 4: 5.0})) == []
    assert doubted(sold({2: 0.1, 4: 0.2, 8: float("nan")})) == []


@pytest.mark.parametrize(("spot", "text"), [(0.1, "not below"), (0.2, "not below"), (0.001, "less than 5%")])
def test_spot_is_below_on_demand_and_not_next_to_nothing(spot: float, text: str) -> None:
    (found,) = doubted(pd.concat([sold({2: 0.1}), sold({2: spot}, pricing="spot")]))
    assert found.pricing == "spot"
    assert text in found.reason
    assert doubted(pd.concat([sold({2: 0.1}), sold({2: 0.05}, pricing="spot")])) == []


@pytest.mark.parametrize("cloud", ["aws", "gcp"])
def test_prices_doubled_everywhere_are_as_plausible_as_before(cloud: str) -> None:
    catalog = load_catalog(cloud)
    table = catalog.tables["prices"]
    names = ("instance_type", "region", "pricing", "price_usd_per_hour")
    prices = pd.DataFrame({name: table[name] for name in names})
    dearer = prices.assign(price_usd_per_hour=2 * prices.price_usd_per_hour, region="elsewhere")
    before, after = (list(implausible_prices(rows, shapes(catalog))) for rows in (prices, dearer))
    assert [found.instance_type for found in after] == [found.instance_type for found in before]
