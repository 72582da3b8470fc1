"""Laws of network scaling: the prior before measuring, and the posterior's coverage after."""

from __future__ import annotations

import numpy as np
import pytest

from planner.arrays import Floats
from planner.statistics.scaling_prior import Draws, Posterior, _resample, condition, prior


def prior_fraction(nodes: Floats, probability: float) -> Floats:
    """Return the fraction of the two-node rate that the prior expects not to be exceeded with `probability`."""
    return np.quantile(np.exp(-prior().loss(nodes)), probability, axis=0)


def test_the_prior_admits_what_the_papers_saw() -> None:
    """SoCC 2015: 81% left at 178 nodes in a placement group; most types without one fall below 80% at some size."""
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
    """200 curves of four noisy points each, from a shape outside all families; 0.9 +- 3 standard errors."""
    rng = np.random.default_rng(7)
    nodes, held = np.array([2.0, 4.0, 8.0, 16.0]), []
    for _ in range(200):
        slope = rng.uniform(0, 0.06)
        rates = np.log(1 - slope * np.log2(nodes / 2)) + rng.normal(0, rng.uniform(0.01, 0.08), 4)
        low, high = np.quantile(condition(nodes, rates).log_rates(np.array([10.0])), [0.05, 0.95])
        held.append(low <= np.log(1 - slope * np.log2(5)) <= high)
    assert np.mean(held) == pytest.approx(0.9, abs=3 * np.sqrt(0.09 / 200))


def loss(family: str, first: float, second: float, nodes: float) -> float:
    law = Draws(parameters={family: np.array([[first, second]])})
    return float(law.loss(np.array([nodes]))[0, 0])


def test_the_families_by_hand() -> None:
    """The loss from the two-node rate, as -ln of the remaining fraction."""
    # USL: ln((1 + 0.01 x 9 + 0.001 x 10 x 9) / (1 + 0.01 + 0.001 x 2)) = ln(1.18 / 1.012)
    assert loss("usl", 0.01, 0.001, 10) == pytest.approx(np.log(1.18 / 1.012))
    assert loss("power", 0.1, 0, 20) == pytest.approx(0.1 * np.log(10))
    # a plateau at 0.3; 1 - e^-1 of it is lost where ln(n / 2) is the reach of 1.5
    assert loss("plateau", 0.3, 1.5, 2 * np.exp(1.5)) == pytest.approx(0.3 * (1 - np.exp(-1)))
    assert loss("knee", 0.2, 3.0, 2 * np.exp(3.0)) == pytest.approx(0, abs=1e-12)
    assert loss("knee", 0.2, 3.0, 2 * np.exp(4.0)) == pytest.approx(0.2)
    for family in ("usl", "power", "plateau", "knee"):
        assert loss(family, 0.2, 0.5, 1) == loss(family, 0.2, 0.5, 2) == 0


def test_the_prior_lies_where_it_is_said_to() -> None:
    """Medians of 2,000 draws: exponents 0.06 and 0.12, a plateau of 0.3 with a reach of 1.5, a knee uniform within 5;
    contention is uniform in its logarithm, so its middle is sqrt(3e-5 x 1e-2).
    """
    draws = prior().parameters
    assert np.median(draws["power"][:, 0]) == pytest.approx(0.06, rel=0.1)
    assert np.median(draws["plateau"], axis=0) == pytest.approx([0.3, 1.5], rel=0.1)
    assert np.median(draws["knee"][:, 0]) == pytest.approx(0.12, rel=0.1)
    assert draws["knee"][:, 1].mean() == pytest.approx(2.5, rel=0.05)
    assert np.median(draws["usl"][:, 0]) == pytest.approx((3e-5 * 1e-2) ** 0.5, rel=0.2)
    assert np.median(draws["usl"][:, 1]) == pytest.approx((1e-8 * 5e-6) ** 0.5, rel=0.2)
    assert (draws["usl"].min(axis=0), draws["usl"].max(axis=0)) == (
        pytest.approx([3e-5, 1e-8], rel=0.05),
        pytest.approx([1e-2, 5e-6], rel=0.05),
    )
    assert [np.log(draws[name][:, 0]).std() for name in ("power", "plateau", "knee")] == pytest.approx(
        [0.9, 0.8, 0.8], rel=0.06
    )
    assert np.log(draws["plateau"][:, 1]).std() == pytest.approx(0.6, rel=0.06)
    assert {len(pairs) for pairs in draws.values()} == {2000}


def test_chosen_laws_keep_their_families() -> None:
    draws = Draws(parameters={"power": np.array([[0.1, 0], [0.2, 0]]), "knee": np.array([[0.3, 1], [0.4, 2]])})
    chosen = draws.select(np.array([1, 1, 2]))
    assert chosen.parameters["power"].tolist() == [[0.2, 0], [0.2, 0]]
    assert chosen.parameters["knee"].tolist() == [[0.3, 1]]


def test_one_point_leaves_the_prior_and_its_noise() -> None:
    """At the point itself rates scatter by law, discrepancy and noise of 4%: Student's t with 4 degrees of freedom
    about the point, with quartiles at 0.741 standard units; the discrepancy adds no variance at a measured point.
    """
    posterior = condition(np.array([2.0]), np.array([0.0]))
    assert np.unique(posterior.level).tolist() == [0]
    assert posterior.noise == pytest.approx(0.04)
    low, middle, high = np.quantile(posterior.log_rates(np.array([2.0]))[:, 0], [0.25, 0.5, 0.75])
    # variance in units of the noise: 1 - 1/2 + (1 - 1/2)^2 / (1/2) = 1
    assert (low, middle, high) == pytest.approx((-0.0296, 0, 0.0296), abs=0.004)


def test_the_fall_beyond_the_last_point_is_the_laws_alone() -> None:
    """Exact points of a power law: 128 nodes are four times 32, so another 0.05 x ln 4 is lost."""
    nodes = 2.0 ** np.arange(1, 6)
    posterior = condition(nodes, -0.05 * np.log(nodes / 2))
    fall = posterior.log_fall(start=32, nodes=np.array([32.0, 128.0]))
    assert fall[0] == 0
    assert fall[1] == pytest.approx(-0.05 * np.log(4), rel=0.25)


def test_repeats_that_scatter_widen_the_noise() -> None:
    """Six rates at two nodes, +-10% about their mean: squares 0.06, plus 4 x 0.04^2 for the prior, over 4 + 5."""
    posterior = condition(np.full(6, 2.0), np.array([0.1, -0.1] * 3))
    assert posterior.noise == pytest.approx(np.sqrt((0.06 + 4 * 0.04**2) / 9))
    assert posterior.level == pytest.approx(0)


def test_rates_near_and_far_from_one_point_by_hand() -> None:
    """One point at 8 nodes, its residual 0.1 above the level; no law loses anything; the deviate is 1, the noise 4%.

    At 1.5 in ln n from it (the reach) the correlation is a = exp(-1/2) = 0.6065: the pull towards the residual is half
    of that. Variance: 1 - a^2 / 2 + (1 - a / 2)^2 / (1 / 2). Far away a = 0: 1 + 2 = 3.
    """
    posterior = Posterior(
        laws=Draws(parameters={"power": np.zeros((1, 2))}),
        log_nodes=np.log([8.0]),
        residuals=np.array([[2.1]]),
        level=np.array([2.0]),
        noise=np.array([0.04]),
        factor=np.array([[np.sqrt(2)]]),
        deviate=np.array([1.0]),
    )
    near, far = posterior.log_rates(np.array([8 * np.exp(1.5), 1e9]))[0]
    alike = np.exp(-0.5)
    variance = 1 - alike**2 / 2 + 2 * (1 - alike / 2) ** 2
    assert near == pytest.approx(2.0 + 0.1 * alike / 2 + 0.04 * np.sqrt(variance))
    assert far == pytest.approx(2.0 + 0.04 * np.sqrt(3))


@pytest.mark.parametrize("heaviest", [0, 1, 2])
def test_a_law_that_alone_is_likely_is_drawn_alone(heaviest: int) -> None:
    log_weight = np.full(3, -1000.0)
    log_weight[heaviest] = 0.0
    assert np.unique(_resample(log_weight, np.random.default_rng(1))).tolist() == [heaviest]


def test_rates_between_two_points_that_say_nothing_of_each_other_by_hand() -> None:
    """Two points far apart, with residuals 2.1 and 1.8 at level 2; the correlation at the first is 1.

    The pull is half of that, and none comes from the second. Variance: 1 - 1/2 + (1 - 1/2)^2 / (1/2 + 1/2) = 0.75.
    """
    posterior = Posterior(
        laws=Draws(parameters={"power": np.zeros((1, 2))}),
        log_nodes=np.array([0.0, 100.0]),
        residuals=np.array([[2.1, 1.8]]),
        level=np.array([2.0]),
        noise=np.array([0.04]),
        factor=np.eye(2) * np.sqrt(2),
        deviate=np.array([1.0]),
    )
    assert posterior.log_rates(np.array([1.0]))[0, 0] == pytest.approx(2 + 0.1 / 2 + 0.04 * np.sqrt(0.75))
