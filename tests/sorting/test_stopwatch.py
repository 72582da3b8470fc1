"""Seconds of the steps of a run."""

from __future__ import annotations

import pytest

from planner.sorting.stopwatch import Stopwatch


def test_steps_are_noted_in_order_unless_they_raise() -> None:
    stopwatch = Stopwatch()
    assert stopwatch.timed("sort", lambda: "sorted") == "sorted"
    with pytest.raises(ZeroDivisionError):
        stopwatch.timed("validate", lambda: 1 // 0)
    assert stopwatch.timed("take down", lambda: 3) == 3
    assert list(stopwatch.seconds) == ["sort", "take down"]
    assert all(0 <= seconds < 60 for seconds in stopwatch.seconds.values())
