"""Variation across nodes and across runs, told apart."""

from __future__ import annotations

import math

import numpy as np
import pytest
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
    """400 nodes of 6 runs: standard errors of 4% and less of the larger."""
    parts = variation(drawn(across_nodes, across_runs, nodes=400, runs=6))
    assert parts is not None
    assert parts.across_runs == pytest.approx(across_runs, rel=0.08)
    assert parts.across_nodes == pytest.approx(across_nodes, abs=0.15 * max(across_nodes, across_runs))


def test_by_hand() -> None:
    """ln rates 0, 0.2 and 1, 1.2: within 0.02 a node; between 2 x 2 x 0.25; (1 - 0.02) / 2 across nodes."""
    parts = variation({"a": [1.0, math.exp(0.2)], "b": [math.e, math.exp(1.2)]})
    assert parts is not None
    assert parts.across_runs == pytest.approx(math.sqrt(0.02))
    assert parts.across_nodes == pytest.approx(math.sqrt(0.49))
    assert parts.lasting_share == pytest.approx(0.49 / 0.51)
    assert "96% of it stays with the node" in parts.text


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
