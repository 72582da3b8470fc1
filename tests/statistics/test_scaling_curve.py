"""Network scaling curves: through the points, extrapolated by a fitted law, with their uncertainty."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from planner.errors import BadInputError
from planner.statistics.scaling_curve import ScalingCurve, mean_slowdowns, prior_curve, stated_slowdowns

I2_8XLARGE = ScalingCurve.through([2, 178], [1089e6, 879e6])
POINTS = st.lists(st.tuples(st.integers(1, 1000), st.floats(1e6, 1e10)), min_size=1, max_size=8)


def drawn(points: list[tuple[int, float]]) -> ScalingCurve:
    return ScalingCurve.through([n for n, _ in points], [rate for _, rate in points])


def doubling(fraction: float, points: int) -> ScalingCurve:
    """Return the curve of exact points at 2, 4, 8, ... that keeps `fraction` at each doubling."""
    return ScalingCurve.through(2.0 ** np.arange(1, points + 1), 1e9 * fraction ** np.arange(points))


def test_the_curve_goes_through_its_points() -> None:
    assert I2_8XLARGE.at([2, 178]) == pytest.approx([1089e6, 879e6])
    assert float(I2_8XLARGE.at(178)) == pytest.approx(879e6)


def test_between_points_it_is_a_power_law() -> None:
    slope = np.log(879 / 1089) / np.log(178 / 2)
    assert I2_8XLARGE.at([20, 100]) == pytest.approx(1089e6 * (np.array([20, 100]) / 2) ** slope)


def test_beyond_the_last_point_the_fitted_law_goes_on() -> None:
    curve = doubling(0.95, 8)
    assert curve.measured_to_nodes == 256
    assert curve.at(1024) == pytest.approx(curve.at(256) * 0.95**2, rel=0.03)
    assert I2_8XLARGE.at(1000) < 879e6


def test_below_the_first_point_the_first_rate_holds() -> None:
    assert I2_8XLARGE.at(1) == pytest.approx(1089e6)


def test_one_point_is_flat_and_its_band_is_the_prior() -> None:
    curve = ScalingCurve.through([10], [5e8])
    assert curve.at([1, 10, 1000]) == pytest.approx([5e8] * 3)
    assert curve.band(1000).low_bytes_per_s < 0.4 * 5e8
    assert "family prior: only 1 cluster size" in curve.basis


def test_repeats_count_as_their_mean_and_chance_rises_are_levelled() -> None:
    curve = ScalingCurve.through([4, 2, 2, 8], [120, 90, 110, 80])
    assert curve.nodes.tolist() == [2, 4, 8]
    assert curve.bytes_per_s == pytest.approx([320 / 3, 320 / 3, 80])


@given(POINTS)
def test_levelling_is_the_nearest_falling_curve(points: list[tuple[int, float]]) -> None:
    """The optimum's conditions: each block equals its own mean, and no head of a block is above its tail."""
    curve = drawn(points)
    means = np.array([np.mean([r for n, r in points if n == size]) for size in curve.nodes])
    weight = np.array([sum(n == size for n, _ in points) for size in curve.nodes])
    for rate in np.unique(curve.bytes_per_s):
        block = curve.bytes_per_s == rate
        excess = np.cumsum((means[block] - rate) * weight[block])
        assert excess[-1] == pytest.approx(0, abs=1e-6 * rate)
        assert (excess <= 1e-6 * rate).all()


@settings(max_examples=50)
@given(POINTS)
def test_a_larger_cluster_is_never_faster(points: list[tuple[int, float]]) -> None:
    rates = drawn(points).at(np.arange(1, 3000))
    assert (rates > 0).all()
    assert (np.diff(rates) <= rates[:-1] * 1e-9).all()


@settings(max_examples=30)
@given(POINTS)
def test_the_band_is_ordered_and_widens_beyond_the_points(points: list[tuple[int, float]]) -> None:
    curve = drawn(points)
    band = curve.band([curve.measured_to_nodes, 8 * curve.measured_to_nodes, 64 * curve.measured_to_nodes])
    assert (band.low_bytes_per_s <= band.middle_bytes_per_s).all()
    assert (band.middle_bytes_per_s <= band.high_bytes_per_s).all()
    assert (np.diff(band.high_bytes_per_s / band.low_bytes_per_s) > 0).all()
    assert band.extrapolated.tolist() == [False, True, True]


def test_more_points_narrow_the_band() -> None:
    bands = [doubling(0.9, points).band(512) for points in (1, 3, 6, 9)]
    widths = [float(band.high_bytes_per_s[0] / band.low_bytes_per_s[0]) for band in bands]
    assert widths == sorted(widths, reverse=True)
    assert widths[0] > 2
    assert widths[-1] < 1.1


def test_scattered_points_widen_the_band() -> None:
    nodes, noise = 2.0 ** np.arange(1, 8), np.array([1.1, 0.88, 1.09, 0.93, 1.12, 0.9, 1.05])
    calm = ScalingCurve.through(nodes, 1e9 * np.ones(7)).band(20)
    wild = ScalingCurve.through(nodes, 1e9 * noise).band(20)
    widths = [float(np.log(band.high_bytes_per_s / band.low_bytes_per_s)[0]) for band in (calm, wild)]
    assert widths[1] > 2 * widths[0]


def test_the_same_points_give_the_same_band_in_any_unit() -> None:
    band, again = doubling(0.9, 4).band([3, 300]), doubling(0.9, 4).band([3, 300])
    assert band.low_bytes_per_s.tolist() == again.low_bytes_per_s.tolist()
    scaled = ScalingCurve.through([2, 4, 8, 16], np.array([1, 0.9, 0.81, 0.729]) * 1e6).band([3, 300])
    assert scaled.low_bytes_per_s == pytest.approx(band.low_bytes_per_s / 1000)


def test_a_wider_coverage_is_a_wider_band() -> None:
    half, most = doubling(0.9, 4).band(100, coverage=0.5), doubling(0.9, 4).band(100, coverage=0.99)
    assert most.low_bytes_per_s < half.low_bytes_per_s < half.high_bytes_per_s < most.high_bytes_per_s


def test_four_sizes_are_enough_to_fit() -> None:
    assert doubling(0.9, 4).basis == "fitted to 4 cluster sizes"
    assert doubling(0.9, 3).basis == "family prior: only 3 cluster sizes of 4 measured"


@pytest.mark.parametrize(("nodes", "rates"), [([], []), ([2], [0.0]), ([2], [-1e9]), ([2, 4], [1e9, float("nan")])])
def test_points_that_cannot_be_are_refused(nodes: list[float], rates: list[float]) -> None:
    with pytest.raises(BadInputError, match="positive"):
        ScalingCurve.through(nodes, rates)


@pytest.mark.parametrize("coverage", [0.0, 1.0, 90.0])
def test_a_coverage_is_a_probability(coverage: float) -> None:
    with pytest.raises(BadInputError, match="between 0 and 1"):
        I2_8XLARGE.band(2, coverage=coverage)


def test_slowdowns_are_the_band_seen_from_the_curve() -> None:
    curve = ScalingCurve.through([2, 4, 8], [1e9, 0.98e9, 0.95e9])
    slowdowns = curve.slowdowns(100, count=100)
    band = curve.band(100)
    assert np.all(np.diff(slowdowns) >= 0)
    rates = curve.at([100])[0] / slowdowns
    inside = (rates >= band.low_bytes_per_s[0]) & (rates <= band.high_bytes_per_s[0])
    assert 0.88 <= inside.mean() <= 0.92


def test_what_a_stated_network_loses_on_average() -> None:
    """The mean of the prior's eight equally likely slowdowns, at each size; on one node none."""
    alone, two, many = mean_slowdowns(np.array([1.0, 2.0, 100.0]).tobytes()).tolist()
    assert alone == 1
    assert two == pytest.approx(1, abs=0.02)
    assert many == pytest.approx(float(prior_curve().slowdowns(100, count=8).clip(1).mean()))
    assert 1.1 < many < 2


def test_no_link_is_faster_than_what_is_stated_of_it() -> None:
    """At 8 nodes some of the prior's eight values exceed the rate at two nodes: they count as that rate."""
    assert prior_curve().slowdowns(8, count=8).min() < 1
    assert stated_slowdowns(np.array([1.0, 8.0])).min(axis=0).tolist() == [1, 1]
    assert stated_slowdowns(np.zeros(0)).shape == (8, 0)


def test_slowdowns_at_several_sizes_are_those_of_each() -> None:
    both = I2_8XLARGE.slowdowns_at(np.array([178.0, 500.0]), count=4)
    assert both.shape == (4, 2)
    assert both[:, 1].tolist() == I2_8XLARGE.slowdowns(500, count=4).tolist()
    assert (np.diff(both, axis=0) > 0).all()
    # quantiles 1/8, 3/8, 5/8 and 7/8 of the true rate, from the fastest
    rates = np.exp(np.quantile(I2_8XLARGE._posterior.log_rates(np.array([500.0])), [7 / 8, 1 / 8], axis=0))[:, 0]
    assert both[[0, 3], 1] == pytest.approx(I2_8XLARGE.at(500) / rates)


def test_a_band_covers_what_it_says_and_marks_what_was_not_measured() -> None:
    """A coverage of 0.5 contains half of the plausible rates, with a quarter on either side."""
    band = I2_8XLARGE.band([100, 178, 179], coverage=0.5)
    assert band.extrapolated.tolist() == [False, False, True]
    rates = np.exp(I2_8XLARGE._posterior.log_rates(np.array([179.0])))[:, 0]
    assert np.mean(rates < band.low_bytes_per_s[2]) == pytest.approx(0.25, abs=0.002)
    assert np.mean(rates < band.middle_bytes_per_s[2]) == pytest.approx(0.5, abs=0.002)
    assert np.mean(rates > band.high_bytes_per_s[2]) == pytest.approx(0.25, abs=0.002)


def test_what_the_shape_rests_on() -> None:
    assert ScalingCurve.through([2], [1e9]).basis == "family prior: only 1 cluster size of 4 measured"
    assert ScalingCurve.through([2, 4, 8], [1e9] * 3).basis == "family prior: only 3 cluster sizes of 4 measured"
    assert ScalingCurve.through([2, 4, 8, 16], [1e9] * 4).basis == "fitted to 4 cluster sizes"


def test_three_that_rise_are_levelled_to_one_mean() -> None:
    """80, 90 and 130 of one, two and one measurements: (80 + 2 x 90 + 130) / 4 = 97.5; falling points stay."""
    curve = ScalingCurve.through([2, 4, 4, 8, 16], [80, 85, 95, 130, 50])
    assert curve.bytes_per_s == pytest.approx([97.5, 97.5, 97.5, 50])


def test_each_size_by_itself_has_the_rate_that_it_has_alone() -> None:
    curve, sizes = ScalingCurve.through([2, 8, 32], [1e9, 9e8, 7e8]), np.array([1.0, 2.0, 5.0, 32.0, 33.0, 400.0])
    assert curve.each(sizes) == pytest.approx([float(curve.at(size)) for size in sizes.tolist()])
    assert ScalingCurve.through([2], [1e9]).each(sizes) == pytest.approx(1e9)


def test_beyond_the_last_point_it_is_a_power_law_in_32_steps() -> None:
    """From 8 to 8 x 2^32 nodes each step doubles: half way from 8 to 16 the rate is the root of the rates' product."""
    curve = ScalingCurve.through([2, 4, 8], [1e9, 9e8, 8e8])
    half_way = float(curve.at([8 * 2**0.5, 8 * 2.0**32])[0])
    assert half_way == pytest.approx((8e8 * float(curve.each(np.array([16.0]))[0])) ** 0.5, rel=1e-12)


def test_a_network_that_nobody_measured_is_known_between_two_nodes_alone() -> None:
    assert prior_curve().measured_to_nodes == 2
    assert prior_curve().at([1, 2, 1000]).tolist() == [1, 1, 1]


def test_each_of_several_sizes_has_the_rate_that_it_has_alone() -> None:
    """This also holds beyond the last of two points, where the law falls."""
    curve = ScalingCurve.through([2, 16], [1e9, 8e8])
    sizes = np.array([1.0, 2.0, 4.0, 16.0, 32.0, 500.0])
    assert curve.each(sizes) == pytest.approx([float(curve.at(size)) for size in sizes], rel=1e-9)
    assert curve.at(4) == pytest.approx(1e9 * 0.8 ** (1 / 3)), "a third of the way from 2 to 16, in logarithms"
    assert curve.at(500) < curve.at(32) < 8e8
