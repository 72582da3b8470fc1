"""The slowest of N nodes, against theory and simulation."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.variability import (
    Load,
    Moments,
    barrier,
    lognormal,
    quantile,
    shared_factor,
    slowest_mean,
    slowest_quantile,
)

DRAWS = 20_000


def simulated(sigma: float, count: int, seed: int = 7) -> np.ndarray:
    normal = np.random.default_rng(seed).standard_normal((DRAWS, count))
    return np.exp(sigma * normal.max(axis=1))


@pytest.mark.parametrize("count", [1, 2, 20, 178])
def test_slowest_mean_is_what_simulation_gives(count: int) -> None:
    draws = simulated(0.2, count)
    error = 4 * draws.std() / np.sqrt(DRAWS)
    assert slowest_mean(lognormal(0.2), count) == pytest.approx(draws.mean(), abs=error)


def test_slowest_quantile_is_what_simulation_gives() -> None:
    assert slowest_quantile(lognormal(0.1), count=50, probability=0.95) == pytest.approx(
        np.quantile(simulated(0.1, 50), 0.95), rel=0.01
    )


def test_the_papers_slowest_disk_of_178_fixes_the_shipped_sigma() -> None:
    """SoCC 2015, section 5.1: the slowest VM's DiskBench was 87% of the mean."""
    assert 1 / slowest_mean(lognormal(0.055), 178) == pytest.approx(0.87, abs=0.01)


def test_without_variation_the_slowest_is_the_median() -> None:
    assert slowest_mean(lognormal(0.0), [1, 1000]) == pytest.approx([1, 1])


def test_a_barrier_over_two_resources_is_what_simulation_gives() -> None:
    rng = np.random.default_rng(3)
    loads = [
        Load(median_s=600, spread=lognormal(0.03), count=100),
        Load(median_s=590, spread=lognormal(0.05), count=100),
    ]
    draws = np.maximum(
        600 * np.exp(0.03 * rng.standard_normal((DRAWS, 100))).max(1),
        590 * np.exp(0.05 * rng.standard_normal((DRAWS, 100))).max(1),
    )
    moments = barrier(loads)
    assert moments.mean == pytest.approx(draws.mean(), abs=4 * draws.std() / np.sqrt(DRAWS))
    assert moments.variance == pytest.approx(draws.var(), rel=0.1)


def test_a_certain_resource_floors_the_barrier() -> None:
    moments = barrier(
        [Load(median_s=600, spread=lognormal(0.0), count=9), Load(median_s=1, spread=lognormal(0.1), count=9)]
    )
    assert moments.mean == pytest.approx(600)
    assert moments.variance == pytest.approx(0, abs=1e-6)


def test_a_shared_factor_blurs_the_whole_run() -> None:
    rng = np.random.default_rng(5)
    total = shared_factor([Moments(mean=100, variance=4), Moments(mean=50, variance=1)], sigma=0.1)
    draws = (100 + 2 * rng.standard_normal(DRAWS) + 50 + rng.standard_normal(DRAWS)) * np.exp(
        0.1 * rng.standard_normal(DRAWS)
    )
    assert total.mean == pytest.approx(draws.mean(), rel=0.005)
    assert quantile(total, 0.95) == pytest.approx(np.quantile(draws, 0.95), rel=0.01)


@given(st.floats(0, 0.5), st.integers(1, 5000), st.integers(1, 5000))
def test_more_nodes_are_never_faster(sigma: float, one: int, other: int) -> None:
    few, many = sorted((one, other))
    spread = lognormal(round(sigma, 3))
    assert slowest_mean(spread, few) <= slowest_mean(spread, many) + 1e-12


@given(st.floats(0.01, 1e6), st.floats(0, 0.4), st.integers(1, 1000))
def test_quantiles_are_ordered_and_positive(median_s: float, sigma: float, count: int) -> None:
    moments = shared_factor(
        [barrier([Load(median_s=median_s, spread=lognormal(round(sigma, 3)), count=count)])], sigma=0.1
    )
    p5, p50, p95 = (quantile(moments, p) for p in (0.05, 0.5, 0.95))
    assert 0 < p5 < p50 < p95
