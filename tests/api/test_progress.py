"""Measured time adds up over several measurements."""

from __future__ import annotations

from planner.api.progress import MeasuredTime


def test_measured_time_adds_up_over_measurements_that_begin_at_zero() -> None:
    shown = MeasuredTime()
    watched = [(0, 900), (1, 100), (1, 500), (0, 300), (1, 200), (1, 400), (1, 50)]
    assert [shown.seconds(phase=phase, count=count) for phase, count in watched] == [
        0, 0.1, 0.5, 0.5, 0.7, 0.9, 0.95,
    ]  # fmt: skip
