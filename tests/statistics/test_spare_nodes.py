"""The number of spares: exact against simulation, the papers' bad apples against a thin tail."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from planner.errors import BadInputError
from planner.statistics.order_statistics import lognormal, with_tail
from planner.statistics.spare_nodes import best_spares, expected_slowness, spares_for

RATES = st.lists(st.floats(0.1, 10), min_size=1, max_size=12)
SCALYR = np.array([7.0] * 40 + [7 / 9] * 5)
"""5 of 45 do a ninth of the others' rate."""


def simulated(rates: np.ndarray, nodes: int, spares: int, rng: np.random.Generator) -> np.ndarray:
    """Return the slowness of the slowest kept node in 20,000 launches by brute force: draw, sort, keep the best."""
    drawn = rng.choice(rates, (20_000, nodes + spares))
    slowest = np.sort(drawn, axis=1)[:, spares]
    return np.median(rates) / slowest


@pytest.mark.parametrize("spares", [0, 1, 4, 12])
@pytest.mark.parametrize("nodes", [1, 5, 40])
def test_the_expected_slowness_is_what_simulation_finds(nodes: int, spares: int) -> None:
    rng = np.random.default_rng(3)
    rates = np.sort(np.append(rng.lognormal(0, 0.2, 30), [0.1, 0.1, 0.3]))
    exact = expected_slowness(rates, nodes=nodes, max_spares=spares)[spares]
    draws = simulated(rates, nodes, spares, rng)
    assert exact == pytest.approx(draws.mean(), abs=4 * draws.std() / np.sqrt(len(draws)) + 1e-9)


def test_one_node_without_spares_is_the_plain_mean() -> None:
    rates = np.array([1.0, 2.0, 4.0])
    assert expected_slowness(rates, nodes=1, max_spares=0)[0] == pytest.approx(np.mean(2 / rates))


def test_one_node_with_and_without_a_spare_by_hand() -> None:
    """Rates 1 and 2, median 1.5: alone 1.5 x (1 + 1/2) / 2 = 1.125, the better of two 1.5 x (1/4 + 3/4 x 1/2) = 0.9375.

    100 s of work after 10 s of screening: 122.5 and 103.75 s; (10 + 112.5) and (2 x 10 + 93.75) node-seconds.
    """
    spares = best_spares([2.0, 1.0], nodes=1, work_s=100, screen_s=10)
    assert spares.expected_s.tolist() == pytest.approx([122.5, 103.75])
    assert spares.expected_node_hours.tolist() == pytest.approx([122.5 / 3600, 113.75 / 3600])
    assert spares.count == 1
    assert best_spares([2.0, 1.0], nodes=1, work_s=100, screen_s=20).count == 0  # 132.5 against 133.75


def test_two_of_three_by_hand() -> None:
    """A node is slow with chance 1/3: both of two are fast with 4/9, two of three with 4/9 x (1 + 2/3) = 20/27."""
    slowness = expected_slowness(np.array([1.0, 2.0, 2.0]), nodes=2, max_spares=1)
    assert slowness.tolist() == pytest.approx([4 / 9 + 2 * 5 / 9, 20 / 27 + 2 * 7 / 27])


@pytest.mark.parametrize(("fast", "count"), [(1.015, 0), (1.025, 1)])
def test_for_time_a_spare_must_save_one_percent(fast: float, count: int) -> None:
    """One node and up to five spares, half of all nodes at 1: having no spare is 1.2% slower than five if the others
    are at 1.025, and 0.7% if they are at 1.015.
    """
    spares = best_spares([1.0, fast], nodes=1, work_s=100, screen_s=0, objective="time", max_spares=5)
    median, chances = (1 + fast) / 2, [0.5 ** (k + 1) for k in range(6)]
    assert spares.expected_s.tolist() == pytest.approx([100 * median * (p + (1 - p) / fast) for p in chances])
    assert spares.count == count


def test_as_many_spares_as_nodes_are_tried_and_none_will_do() -> None:
    assert len(best_spares([1.0], nodes=3, work_s=1, screen_s=1).expected_s) == 4
    assert best_spares([1.0], nodes=1, work_s=1, screen_s=0, max_spares=0).count == 0
    with pytest.raises(BadInputError):
        best_spares([1.0], nodes=2, work_s=1, screen_s=1, max_spares=-1)
    with pytest.raises(BadInputError):
        best_spares([1.0], nodes=2, work_s=1, screen_s=float("inf"))


@given(RATES, st.integers(1, 50))
def test_more_spares_never_slow_the_job(rates: list[float], nodes: int) -> None:
    slowness = expected_slowness(np.sort(np.array(rates)), nodes=nodes, max_spares=20)
    assert (np.diff(slowness) <= 1e-9 * slowness[:-1]).all()


@settings(max_examples=50)
@given(RATES, st.integers(1, 30), st.floats(1, 1e5), st.floats(0, 1e4))
def test_the_count_is_the_cheapest_of_all(rates: list[float], nodes: int, work_s: float, screen_s: float) -> None:
    spares = best_spares(rates, nodes=nodes, work_s=work_s, screen_s=screen_s, max_spares=30)
    assert spares.expected_node_hours[spares.count] == spares.expected_node_hours.min()


def test_scalyrs_bad_apples_call_for_spares_and_a_thin_tail_for_none() -> None:
    """One bad node in nine makes the job nine times longer, so it takes about N/8 spares and some for chance."""
    many = best_spares(SCALYR, nodes=100, work_s=900, screen_s=240)
    assert 100 / 8 < many.count < 30
    assert many.expected_s[many.count] < 1.05 * (900 + 240) < many.expected_s[0] / 5
    thin = best_spares(np.linspace(0.99, 1.01, 45), nodes=100, work_s=900, screen_s=240)
    assert thin.count == 0


def test_identical_nodes_need_no_spares() -> None:
    assert best_spares([5.0, 5.0], nodes=50, work_s=900, screen_s=0).count == 0
    assert best_spares([5.0], nodes=50, work_s=900, screen_s=0, objective="time").count == 0


def test_for_time_the_fewest_within_one_percent_of_the_least() -> None:
    spares = best_spares(SCALYR, nodes=50, work_s=900, screen_s=100, objective="time", max_spares=60)
    assert spares.expected_s[spares.count] <= 1.01 * spares.expected_s.min() < spares.expected_s[spares.count - 1]


def test_a_thousand_nodes_stay_finite() -> None:
    spares = best_spares(SCALYR, nodes=1000, work_s=900, screen_s=240)
    assert np.isfinite(spares.expected_s).all()
    assert 125 < spares.count < 200


@pytest.mark.parametrize("rates", [[], [0.0], [-1.0], [float("nan")]])
def test_rates_that_cannot_be_are_refused(rates: list[float]) -> None:
    with pytest.raises(BadInputError, match="positive and finite"):
        best_spares(rates, nodes=2, work_s=1, screen_s=1)


@pytest.mark.parametrize(("nodes", "work_s", "screen_s"), [(0, 1, 1), (2, 0, 1), (2, 1, -1), (2, float("inf"), 1)])
def test_counts_and_times_that_cannot_be_are_refused(nodes: int, work_s: float, screen_s: float) -> None:
    with pytest.raises(BadInputError):
        best_spares([1.0], nodes=nodes, work_s=work_s, screen_s=screen_s)


def test_a_spread_asks_for_as_many_spares_as_rates_drawn_from_it() -> None:
    spread = with_tail(lognormal(0.02), fraction=0.1, factor=5)
    rates = 1 / spread.sample((20_000,), np.random.default_rng(1))
    exact = best_spares(rates, nodes=50, work_s=900, screen_s=240, max_spares=30)
    count = spares_for(spread, nodes=50, work_s=900, screen_s=240)
    assert abs(count - exact.count) <= 1
    assert spares_for(lognormal(0.0), nodes=50, work_s=900, screen_s=240) == 0
