"""From explanations to ranges: the mixture, and its widening after few runs."""

from __future__ import annotations

import numpy as np
import pytest

from planner.calibration.prediction import MOST_CHARGED, PRIOR_WORTH_RUNS, Mixture, few_runs_factor

T_95 = {3: 2.353, 5: 2.015, 10: 1.812, 30: 1.697}
"""95% points of Student's t by degrees of freedom, from a printed table; the normal's is 1.645."""


@pytest.mark.parametrize(("degrees", "point"), T_95.items())
def test_few_runs_widen_a_range_as_student_says(degrees: int, point: float) -> None:
    assert few_runs_factor(degrees - int(PRIOR_WORTH_RUNS)) == pytest.approx(point / 1.645, rel=0.003)


def test_no_run_widens_most_and_many_do_not() -> None:
    """The 95% point for two degrees of freedom is 2.920; the expansion gives 2.885."""
    assert few_runs_factor(0) == pytest.approx(2.920 / 1.645, rel=0.015)
    assert few_runs_factor(10_000) == pytest.approx(1, abs=1e-3)


def test_widening_keeps_the_median_and_stretches_the_range_about_it() -> None:
    mixture = Mixture(
        mean=np.array([[1.0, 2.0], [1.5, 4.0]]), sd=np.array([[0.1, 0.2], [0.3, 0.1]]), weight=np.array([0.6, 0.4])
    )
    levels = (0.5, 0.05, 0.95)
    before, after = np.log(mixture.quantiles_s(*levels)), np.log(mixture.widened(2.0).quantiles_s(*levels))
    np.testing.assert_allclose(after[0], before[0], atol=1e-6)
    np.testing.assert_allclose(after[1:] - after[0], 2 * (before[1:] - before[0]), atol=1e-5)
    np.testing.assert_allclose(mixture.widened(2.0).expected_s(), mixture.expected_s(), rtol=1e-6)


def test_what_is_expected_is_the_mean_over_explanations_and_stays_within_the_range() -> None:
    """150 s or 450 s at odds of four to one average 210 s; replacing 450 s by ten hours charges at most MOST_CHARGED
    times the median.
    """

    def rarely(longer_s: float) -> Mixture:
        return Mixture(mean=np.log([[150.0], [longer_s]]), sd=np.full((2, 1), 0.05), weight=np.array([0.8, 0.2]))

    mean, most = rarely(450).range_s()[0], rarely(36000)
    assert mean == pytest.approx(210)
    assert most.expected_s() == pytest.approx(MOST_CHARGED * most.quantiles_s(0.5)[0])
    rare = Mixture(mean=np.log([[150.0], [1e6]]), sd=np.full((2, 1), 0.05), weight=np.array([0.98, 0.02]))
    middle, low, high = rare.range_s()[:, 0]
    assert low <= middle <= high
