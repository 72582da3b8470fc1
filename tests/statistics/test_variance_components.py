"""Variation across nodes, separated from variation across runs."""

from __future__ import annotations

import math

import numpy as np
import pytest
from approvals import Approve
from hypothesis import given
from hypothesis import strategies as st

from planner.errors import BadInputError
from planner.statistics.variance_components import log_sigma, variation, within_runs

RUNS = st.dictionaries(st.text("abcdef", min_size=1), st.lists(st.floats(1, 1e6), min_size=1, max_size=4), max_size=8)


def drawn(across_nodes: float, across_runs: float, *, nodes: int, runs: int) -> dict[str, list[float]]:
    rng = np.random.default_rng(4)
    lasting = rng.normal(0, across_nodes, (nodes, 1))
    passing = rng.normal(0, across_runs, (nodes, runs))
    return {f"n{i}": row for i, row in enumerate(np.exp(20 + lasting + passing).tolist())}


@pytest.mark.parametrize(("across_nodes", "across_runs"), [(0.2, 0.02), (0.02, 0.2), (0.1, 0.1)])
def test_both_are_found_again(across_nodes: float, across_runs: float) -> None:
    """400 nodes of 6 runs: standard errors are at most 4% of the larger."""
    parts = variation(drawn(across_nodes, across_runs, nodes=400, runs=6))
    assert parts is not None
    assert parts.across_runs == pytest.approx(across_runs, rel=0.08)
    assert parts.across_nodes == pytest.approx(across_nodes, abs=0.15 * max(across_nodes, across_runs))


def test_by_hand(approve: Approve) -> None:
    """ln rates 0, 0.2 and 1, 1.2: within 0.02 a node; between 2 x 2 x 0.25; (1 - 0.02) / 2 across nodes."""
    parts = variation({"a": [1.0, math.exp(0.2)], "b": [math.e, math.exp(1.2)]})
    assert parts is not None
    assert parts.across_runs == pytest.approx(math.sqrt(0.02))
    assert parts.across_nodes == pytest.approx(math.sqrt(0.49))
    assert parts.lasting_share == pytest.approx(0.49 / 0.51)
    approve(parts.text)


def test_nodes_that_only_flicker_do_not_differ() -> None:
    parts = variation({"a": [1.0, 2.0], "b": [2.0, 1.0], "c": [1.0, 2.0]})
    assert parts is not None
    assert parts.across_nodes == 0 and parts.lasting_share == 0


@pytest.mark.parametrize(
    "runs", [{}, {"a": [1.0, 2.0]}, {"a": [1.0], "b": [2.0]}, {"a": [math.nan, 0.0], "b": [1.0, 2.0]}]
)
def test_without_repeats_or_with_one_node_nothing_can_be_said(runs: dict[str, list[float]]) -> None:
    assert variation(runs) is None


@given(RUNS, st.floats(0.1, 10))
def test_the_unit_does_not_matter(runs: dict[str, list[float]], factor: float) -> None:
    parts = variation(runs)
    scaled = variation({name: [factor * rate for rate in rates] for name, rates in runs.items()})
    assert (parts is None) == (scaled is None)
    if parts and scaled:
        assert scaled.across_runs == pytest.approx(parts.across_runs, abs=1e-6)
        assert list(parts.percentiles) == sorted(parts.percentiles)


def test_impossible_rates_are_refused() -> None:
    with pytest.raises(BadInputError):
        variation({"a": [1.0, -1.0], "b": [1.0]})


def test_what_moves_within_runs_is_told_from_what_moves_between_them() -> None:
    rng = np.random.default_rng(4)
    runs = [level * np.exp(0.05 * rng.standard_normal(500)) for level in (1e9, 2e9, 3e9)]
    assert within_runs(runs) == pytest.approx(0.05, rel=0.1)
    assert log_sigma([1e9, 2e9, 4e9]) == pytest.approx(math.log(2))


def test_a_stall_counts_and_one_interval_says_nothing() -> None:
    stalled = within_runs([[1e9, 0.0, 1e9, 1e9]])
    assert stalled is not None and 1 < stalled < 10
    assert within_runs([[1e9], [0.0, 0.0], []]) is None
    assert log_sigma([1e9]) is None and log_sigma([1e9, 0.0]) is None


def test_nodes_with_unequal_numbers_of_runs_by_hand(approve: Approve) -> None:
    """ln rates 0, 0.6, 0.6 and 1: means 0.4 and 1, overall 0.55; within 0.24 / (4 - 2) = 0.12; between
    3 x 0.15^2 + 0.45^2 = 0.27; usual size 4 - 10/4 = 1.5: (0.27 - 0.12) / 1.5 = 0.1 across nodes.
    """
    parts = variation({"a": [1.0, math.exp(0.6), math.exp(0.6)], "b": [math.e]})
    assert parts is not None
    assert (parts.nodes, parts.runs) == (2, 4)
    assert (parts.across_runs**2, parts.across_nodes**2) == pytest.approx((0.12, 0.1))
    approve(parts.text)


def test_three_nodes_by_hand() -> None:
    """ln rates (0, 0.2), (1, 1.2), (2, 2.2): between 2 x (1 + 0 + 1) / (3 - 1) = 2, within 0.06 / 3 = 0.02, and
    (2 - 0.02) / 2 = 0.99 across nodes with two runs each.
    """
    parts = variation({name: [math.exp(mean), math.exp(mean + 0.2)] for name, mean in (("a", 0), ("b", 1), ("c", 2))})
    assert parts is not None
    assert (parts.across_runs**2, parts.across_nodes**2) == pytest.approx((0.02, 0.99))


def test_the_percentiles_are_those_of_all_runs() -> None:
    """The middle of 1 to 21 is 11; a quarter lies below 6, a twentieth below 2."""
    parts = variation({"a": [float(rate) for rate in range(1, 12)], "b": [float(rate) for rate in range(12, 22)]})
    assert parts is not None
    assert parts.percentiles == (2, 6, 11, 16, 20)


def test_within_runs_by_hand() -> None:
    """ln rates (0, 0.2) and (1, 1.3, 1.6): 0.02 + 0.18 over 1 + 2. A stalled interval counts as 1% of the mean: 1e9,
    1e9 and 0 have a mean of 2/3, so the mean logarithm is a third of ln(1 / 150).
    """
    runs = [[1.0, math.exp(0.2)], [math.e, math.exp(1.3), math.exp(1.6)], [5.0]]
    assert within_runs(runs) == pytest.approx(math.sqrt(0.2 / 3))
    fall = math.log(150)
    assert within_runs([[1e9, 1e9, 0.0]]) == pytest.approx(math.sqrt(fall**2 * (2 / 9 + 4 / 9) / 2))


def test_the_spread_of_two_rates() -> None:
    """ln 1 and ln e are 0.5 off their mean each: (0.25 + 0.25) / (2 - 1)."""
    assert log_sigma([1.0, math.e, 0.0]) == pytest.approx(math.sqrt(0.5))


def test_half_of_equal_variances_stays() -> None:
    parts = variation({"a": [1.0], "b": [1.0, 1.0]})
    assert parts is not None
    assert (parts.across_nodes, parts.across_runs, parts.lasting_share) == (0, 0, 0)
