"""A law at very many cluster sizes: exact where it is worked out, near it between."""

from __future__ import annotations

import numpy as np
import pytest

from planner.arrays import Floats
from planner.statistics.order_statistics import lognormal, slowest_mean, slowest_mean_cached
from planner.statistics.scaling_curve import mean_slowdowns
from planner.statistics.size_ladder import on_ladder


def fourth_root(sizes: Floats) -> Floats:
    return np.asarray(sizes**0.25)


def test_between_two_rungs_a_law_is_straight_in_the_logarithm_of_the_size() -> None:
    """From 1,000 to 2,000 nodes there are 64 rungs, each 2^(1/64) times the one before: half way between the first two
    the fourth root is the mean of 1000^(1/4) and (1000 x 2^(1/64))^(1/4).
    """
    middle = 1000 * 2 ** (1 / 128)
    sizes = np.append(np.arange(1900.0, 2000.0), middle)
    by_hand = (1000**0.25 + (1000 * 2 ** (1 / 64)) ** 0.25) / 2
    assert on_ladder(fourth_root, sizes)[-1] == pytest.approx(by_hand, rel=1e-12)
    assert on_ladder(fourth_root, sizes)[-1] == pytest.approx(middle**0.25, rel=1e-5)


def test_up_to_a_thousand_nodes_and_of_few_sizes_all_are_worked_out() -> None:
    asked = []

    def law(sizes: Floats) -> Floats:
        asked.append(len(sizes))
        return sizes

    assert on_ladder(law, np.arange(1.0, 1001.0)).tolist() == list(range(1, 1001))
    few = np.linspace(1001, 2000, 65)  # as many as the ladder has rungs to 2,000
    assert np.array_equal(on_ladder(law, few), few)
    on_ladder(law, np.linspace(999, 2000, 67))  # 999 by itself, the 66 beyond by 65 rungs
    assert asked == [1000, 65, 1, 65]


def test_the_laws_in_use_are_within_two_in_ten_thousand() -> None:
    sizes = np.arange(1.0, 100_001.0)
    some = np.array([1.0, 999, 1000, 1001, 1007, 12_345, 99_999, 100_000])
    exact = slowest_mean(lognormal(0.2), some)
    assert slowest_mean_cached(lognormal(0.2), sizes.tobytes())[some.astype(int) - 1] == pytest.approx(exact, rel=1e-5)
    alone = [float(mean_slowdowns(np.array([size]).tobytes())[0]) for size in some.tolist()]
    few = np.sort(np.append(some, np.linspace(1500, 90_000, 900)))
    assert mean_slowdowns(few.tobytes())[np.searchsorted(few, some)] == pytest.approx(alone, rel=2e-4)
