"""Evidence has an order, rates are known or not, and only what there is can be assumed or scaled."""

from __future__ import annotations

import numpy as np
import pytest

from planner.cost_model.rates import Device, check_assumptions, evidence_codes, evidence_name, weakest
from planner.errors import BadInputError


def test_the_weakest_word_decides_and_unknown_is_weaker_than_any() -> None:
    assert weakest("measured", "recalled", "spec") == "recalled"
    assert weakest("assumed", "unknown") == "unknown"


def test_codes_read_back_as_words() -> None:
    codes = evidence_codes(np.array(["spec", "", "derived", "assumed"])).tolist()
    assert [evidence_name(code) for code in codes] == ["spec", "unknown", "derived", "assumed"]


def test_a_device_is_known_by_its_simultaneous_rate_or_by_both_exclusive_ones() -> None:
    nan = np.nan
    device = Device(
        read=np.array([1.0, nan, 1.0]),
        write=np.array([nan, nan, 2.0]),
        simultaneous=np.array([nan, 5.0, nan]),
        evidence=np.zeros(3, np.int8),
    )
    assert device.known.tolist() == [False, True, True]
    assert device.times(3).simultaneous[1] == 15


def test_names_that_are_none_are_refused_with_the_nearest() -> None:
    with pytest.raises(BadInputError, match=r"assume local_raed: .* Did you mean local_read"):
        check_assumptions(assume={"local_raed": 1.0}, scale={})
    with pytest.raises(BadInputError, match=r"what-if cpu=0\.0: a factor must be positive"):
        check_assumptions(assume={}, scale={"cpu": 0.0})
