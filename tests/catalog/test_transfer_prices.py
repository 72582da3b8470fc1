"""Bands of traffic prices against sums worked out by hand from the clouds' price lists."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.catalog import load_catalog
from planner.catalog.transfer_prices import UNKNOWN, TransferPrice

TIB = 1024.0
BANDS = TransferPrice(from_gib=np.array([0.0, 10.0, 30.0]), usd_per_gib=np.array([0.3, 0.2, 0.1]))


@pytest.mark.parametrize(
    ("cloud", "usd"),
    [
        # 924 x 0.09; 10,240 x 0.09 + 40,860 x 0.085; 10,240 x 0.09 + 40,960 x 0.085 + 102,400 x 0.07 + 358,300 x 0.05
        ("aws", (83.16, 4_394.70, 29_486.20)),
        # 924 x 0.087; 10,240 x 0.087 + 40,860 x 0.083; 890.88 + 40,960 x 0.083 + 102,400 x 0.07 + 358,300 x 0.05
        ("azure", (80.388, 4_282.26, 29_373.56)),
        # 1,023 x 0.12; 122.76 + 9,216 x 0.11 + 40,960 x 0.08; 1,136.52 + 501,760 x 0.08
        ("gcp", (122.76, 4_413.32, 41_277.32)),
    ],
)
def test_one_fifty_and_five_hundred_tebibytes_out_of_a_cloud(cloud: str, usd: tuple[float, ...]) -> None:
    moved = np.array([1 * TIB, 50 * TIB, 500 * TIB])
    assert load_catalog(cloud).transfer_price("internet").usd(moved) == pytest.approx(np.array(usd))


def test_a_band_holds_for_what_is_beyond_its_start() -> None:
    assert BANDS.usd(np.array([0.0, 10.0, 20.0, 30.0, 40.0])) == pytest.approx(np.array([0, 3, 5, 7, 8]))
    assert BANDS.usd(np.array(20.0)) == pytest.approx(5)


@given(st.floats(0, 1e6), st.floats(0, 1e6))
def test_more_traffic_costs_more_and_never_more_than_twice_the_trips(one: float, other: float) -> None:
    first, second, both = BANDS.usd(np.array([one, other, one + other]))
    assert max(first, second) <= both * (1 + 1e-9) + 1e-9
    assert both <= (first + second) * (1 + 1e-9) + 1e-9


def test_a_list_without_a_band_from_zero_is_unknown() -> None:
    assert np.isnan(UNKNOWN.usd(np.array([0.0, 5.0]))).all()
    without = TransferPrice(from_gib=np.array([10.0]), usd_per_gib=np.array([0.2]))
    assert np.isnan(without.usd(np.array(50.0)))


def test_a_list_is_as_well_founded_as_its_weakest_band() -> None:
    assert load_catalog("azure").transfer_price("internet").evidence == "recalled"
    assert load_catalog("gcp").transfer_price("internet").evidence == "spec"
