"""Simultaneous descent of many ways: each arrives where it would arrive alone."""

from __future__ import annotations

import numpy as np
import pytest
from made_up_clusters import SPECS, grid, runs

from planner.calibration import calibrate, posterior
from planner.calibration.descent import Whitening
from planner.calibration.posterior import total_log_evidence


def test_each_way_is_whitened_by_the_factor_of_its_level() -> None:
    """A deviation of 6 becomes 3 with variance 4 and 2 with variance 9; the log determinants are -ln 4 and -ln 9."""
    covariance = np.array([4 * np.eye(2), 9 * np.eye(2)])
    whitening = Whitening.of_covariance(covariance, np.array([1, 0, 1]))
    white = whitening.apply(np.full((3, 4, 2), 6.0))
    np.testing.assert_allclose(white[:, 0, 0], [2, 3, 2])
    np.testing.assert_allclose(whitening.log_determinant, -np.log([9, 4, 9]))
    np.testing.assert_allclose(whitening.only(np.array([False, True, False])).apply(np.full((1, 1, 2), 6.0)), 3)


def test_a_whitened_covariance_is_the_unit_matrix() -> None:
    covariance = np.array([[4.0, 1.0], [1.0, 2.0]])
    factor = Whitening.of_covariance(covariance[None], np.array([0])).of_hypothesis(0)
    np.testing.assert_allclose(factor @ covariance @ factor.T, np.eye(2), atol=1e-12)


def test_what_a_sample_gives_up_would_have_had_no_weight(monkeypatch: pytest.MonkeyPatch) -> None:
    history = runs(grid(types=("small", "large")))
    evidence, ranges = [], []
    for samples in ((), (10,)):
        monkeypatch.setattr(posterior, "_SAMPLES", samples)
        profile = calibrate(history, instances=SPECS, model="hadoop")
        evidence.append(total_log_evidence(profile.verdict.explanations))
        ranges.append(profile.predict(grid()))
    assert evidence[0] == pytest.approx(evidence[1], abs=0.02)
    np.testing.assert_allclose(*ranges, rtol=1e-3)
