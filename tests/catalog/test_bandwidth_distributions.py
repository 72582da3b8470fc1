"""The eight clouds A-H: their percentiles, and the quantile function as inverse of the distribution function."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from refusals import refused

from planner.catalog.bandwidth_distributions import BandwidthDistribution, distribution, load_distributions
from planner.errors import BadInputError

NAMES = "ABCDEFGH"


def test_the_eight_clouds_are_there() -> None:
    assert "".join(load_distributions()) == NAMES


def test_percentiles_are_those_of_the_source() -> None:
    """Uta & Obaseki, Figure 1: H spans an order of magnitude, three quarters of C lie between 841 and 947 Mbit/s."""
    slow, steady = distribution("H"), distribution("C")
    assert slow.quantile(0.99) / slow.quantile(0.01) > 7
    np.testing.assert_allclose(steady.quantile([0.25, 0.99]) * 8 / 1e6, [841.379, 946.551])


def mean_bytes_per_s(cloud: BandwidthDistribution) -> float:
    """Return the integral of the quantile function."""
    probabilities = np.array([0.0, *cloud.probabilities, 1.0])
    return float(np.trapezoid(cloud.quantile(probabilities), probabilities))


@pytest.mark.parametrize("name", NAMES)
def test_the_mean_is_that_of_many_draws(name: str) -> None:
    cloud = distribution(name)
    drawn = cloud.sample(200_000, np.random.default_rng(1))
    assert drawn.mean() == pytest.approx(mean_bytes_per_s(cloud), rel=0.005)
    assert drawn.min() >= cloud.bytes_per_s[0]
    assert drawn.max() <= cloud.bytes_per_s[-1]


@given(name=st.sampled_from(NAMES), probability=st.floats(0.01, 0.98))
def test_the_distribution_function_undoes_the_quantile(name: str, probability: float) -> None:
    cloud = distribution(name)
    assert cloud.cdf(cloud.quantile(probability)) == pytest.approx(probability)


@given(name=st.sampled_from(NAMES), rates=st.lists(st.floats(0, 1e9), min_size=2))
def test_the_distribution_function_rises_from_nothing_to_one(name: str, rates: list[float]) -> None:
    cloud = distribution(name)
    assert (np.diff(cloud.cdf(sorted(rates))) >= 0).all()
    assert cloud.cdf(cloud.bytes_per_s[0] * 0.999) == 0
    assert cloud.cdf(cloud.bytes_per_s[-1]) == 1


def test_an_unknown_name_lists_the_known() -> None:
    with refused("unknown-distribution", "'K'", "A, B, C"):
        distribution("K")


def test_percentiles_that_decrease_are_bad_input(tmp_path: Path) -> None:
    path = tmp_path / "network_distributions.csv"
    columns = [f"p{p}_bytes_per_s" for p in ("01", "25", "50", "75", "99")]
    path.write_text(f"distribution,{','.join(columns)},evidence,source,as_of\nX,1,2,1.5,3,4,measured,lab,2026-01-01\n")
    with pytest.raises(BadInputError, match="must not decrease"):
        load_distributions(path)


def test_a_single_value_is_a_distribution_too() -> None:
    flat = BandwidthDistribution(name="flat", probabilities=(0.5,), bytes_per_s=(5.0,), evidence="measured", source="x")
    assert mean_bytes_per_s(flat) == 5
    assert flat.quantile([0, 1]).tolist() == [5, 5]
