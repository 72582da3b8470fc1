"""Energy of servers and of the switches between them."""

from __future__ import annotations

import numpy as np
import pytest

from planner.cost_model.energy import SWITCH_POWER_W, energy_j


def test_one_server_needs_no_switch_and_53_need_two() -> None:
    joules = energy_j(np.full(3, 10.0), nodes=np.array([1.0, 52.0, 53.0]), power_w=np.array([330.0]))
    assert joules == pytest.approx([3300, 52 * 3300 + 10 * SWITCH_POWER_W, 53 * 3300 + 20 * SWITCH_POWER_W])


def test_unknown_power_leaves_the_energy_unknown() -> None:
    assert np.isnan(energy_j(np.array([1.0]), nodes=np.array([2.0]), power_w=np.array([np.nan]))).all()
