"""By how much a run that is kept with some probability takes longer than the mean, by hand."""

from __future__ import annotations

import math

import pytest

from planner.cost_model.lateness import later


def test_how_much_later_a_quantile_is_than_the_mean() -> None:
    """e^(1.64485 x 0.1 - 0.1^2 / 2); of what does not vary nothing."""
    assert later(0.95, shared_sigma=0.1) == pytest.approx(math.exp(0.164485 - 0.005), rel=1e-5)
    assert later(0.5, shared_sigma=0.2) == pytest.approx((0.5 + 0.45 * 0.5) * math.exp(-0.02))
    assert later(0.8, shared_sigma=0) == 1
    assert later(0.95, shared_sigma=0) == 1
