"""Laws of network scaling: what is believed before measuring, and the coverage of what is believed after."""

from __future__ import annotations

import numpy as np
import pytest

from planner.arrays import Floats
from planner.statistics.scaling_prior import condition, prior


def prior_fraction(nodes: Floats, probability: float) -> Floats:
    """Return the fraction of the two-node rate that the prior expects not to be exceeded with `probability`."""
    return np.quantile(np.exp(-prior().loss(nodes)), probability, axis=0)


def test_the_prior_admits_what_the_papers_saw() -> None:
    """SoCC 2015: 81% left at 178 nodes in a placement group; most types without one below 80% at some size."""
    low, high = (float(prior_fraction(np.array([178.0]), p)[0]) for p in (0.05, 0.95))
    assert low < 0.5 and high > 0.81 + 0.1


def test_nothing_is_lost_at_two_nodes_and_more_at_more() -> None:
    middle = prior_fraction(np.array([1.0, 2.0, 16.0, 128.0, 1024.0]), 0.5)
    assert middle[:2] == pytest.approx([1, 1])
    assert (np.diff(middle[1:]) < 0).all()


def test_exact_points_of_a_law_are_met_inside_and_beyond() -> None:
    nodes = 2.0 ** np.arange(1, 9)
    truth = np.log(1e9 / (1 + 2e-3 * (nodes - 1)))
    posterior = condition(nodes, truth)
    assert np.median(posterior.log_rates(nodes), axis=0) == pytest.approx(truth, abs=0.01)
    further = np.array([512.0])
    assert np.exp(np.median(posterior.log_rates(further))) == pytest.approx(1e9 / (1 + 2e-3 * 511), rel=0.1)


def test_the_band_holds_about_nine_truths_in_ten() -> None:
    """200 curves of four noisy points each from a shape that none of the families has; 0.9 +- 3 standard errors."""
    rng = np.random.default_rng(7)
    nodes, held = np.array([2.0, 4.0, 8.0, 16.0]), []
    for _ in range(200):
        slope = rng.uniform(0, 0.06)
        rates = np.log(1 - slope * np.log2(nodes / 2)) + rng.normal(0, rng.uniform(0.01, 0.08), 4)
        low, high = np.quantile(condition(nodes, rates).log_rates(np.array([10.0])), [0.05, 0.95])
        held.append(low <= np.log(1 - slope * np.log2(5)) <= high)
    assert np.mean(held) == pytest.approx(0.9, abs=3 * np.sqrt(0.09 / 200))
