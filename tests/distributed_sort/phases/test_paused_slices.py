"""Slices rest longer the oftener they were lost."""

from __future__ import annotations

import pytest

from planner.distributed_sort.phases import shuffle
from planner.distributed_sort.phases.shuffle import PausedSlices


def test_a_slice_that_was_lost_again_rests_longer_each_time(monkeypatch: pytest.MonkeyPatch) -> None:
    now_s = 100.0
    monkeypatch.setattr(shuffle.time, "monotonic", lambda: now_s)
    paused = PausedSlices()
    for number, attempts in enumerate((1, 2, 3, 4, 10)):
        paused.add(number, attempts=attempts)
    assert paused.pop_ready() == [0, 1], "the first two attempts follow each other at once"
    rested = list[tuple[float, list[int]]]()
    for now_s in (100.9, 101.0, 101.9, 102.0, 129.9, 130.0):
        if numbers := paused.pop_ready():
            rested.append((now_s, numbers))
    assert rested == [(101.0, [2]), (102.0, [3]), (130.0, [4])]
    assert len(paused) == 0


def test_what_is_forgotten_never_rests() -> None:
    paused = PausedSlices()
    paused.add(1, attempts=9)
    paused.clear()
    assert (len(paused), paused.pop_ready()) == (0, [])
