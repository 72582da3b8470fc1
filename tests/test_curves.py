"""Network scaling curves."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.curves import ScalingCurve

I2_8XLARGE = ScalingCurve.through([2, 178], [1089e6, 879e6])


def test_the_curve_goes_through_its_points() -> None:
    assert I2_8XLARGE.at([2, 178]) == pytest.approx([1089e6, 879e6])


def test_beyond_the_last_point_the_power_law_goes_on() -> None:
    slope = np.log(879 / 1089) / np.log(178 / 2)
    assert I2_8XLARGE.at(1000) == pytest.approx(879e6 * (1000 / 178) ** slope)
    assert I2_8XLARGE.measured_to_nodes == 178


def test_below_the_first_point_the_first_rate_holds() -> None:
    assert I2_8XLARGE.at(1) == pytest.approx(1089e6)


def test_one_point_is_flat() -> None:
    assert ScalingCurve.through([10], [5e8]).at([1, 10, 1000]) == pytest.approx([5e8] * 3)


def test_repeats_count_as_their_mean_and_chance_rises_are_taken_down() -> None:
    curve = ScalingCurve.through([4, 2, 2, 8], [120, 90, 110, 80])
    assert curve.nodes.tolist() == [2, 4, 8]
    assert curve.bytes_per_s.tolist() == [100, 100, 80]


@given(st.lists(st.tuples(st.integers(1, 1000), st.floats(1e6, 1e10)), min_size=1, max_size=8))
def test_a_larger_cluster_is_never_faster(points: list[tuple[int, float]]) -> None:
    curve = ScalingCurve.through([n for n, _ in points], [rate for _, rate in points])
    rates = curve.at(np.arange(1, 3000))
    assert (rates > 0).all()
    assert (np.diff(rates) <= rates[:-1] * 1e-9).all()
