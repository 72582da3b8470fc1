"""A stopwatch records the seconds of each step that ends."""

from __future__ import annotations

import pytest

from planner.distributed_sort.job.stopwatch import Stopwatch


def test_steps_are_noted_in_their_order_and_their_results_returned() -> None:
    stopwatch = Stopwatch()
    assert stopwatch.measure("first", lambda: 7) == 7
    assert stopwatch.measure("second", lambda: "x") == "x"
    assert list(stopwatch.seconds) == ["first", "second"]
    assert all(0 <= seconds < 60 for seconds in stopwatch.seconds.values())


def test_a_step_that_raises_is_not_noted() -> None:
    stopwatch = Stopwatch()
    with pytest.raises(ZeroDivisionError):
        stopwatch.measure("fails", lambda: 1 // 0)
    assert stopwatch.seconds == {}
