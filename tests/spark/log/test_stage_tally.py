"""Warm-up in the launches of tasks, by hand: an executor of two slots; its first tasks take 10 s, later ones 6 s."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.arrays import Floats
from planner.spark.application.stage import QUANTILES, WarmUp
from planner.spark.log.stage_tally import median, quantiles, warm_up

LAUNCHED = np.array([0.0, 0, 10, 10, 16, 16, 22, 22])
SECONDS = np.array([10.0, 10, 6, 6, 6, 6, 6, 6])
SAME = np.full(8, 1e6)


def told(
    *, launched: Floats = LAUNCHED, seconds: Floats = SECONDS, moved_bytes: Floats = SAME, slots: int = 2
) -> WarmUp | None:
    executors = ["1"] * len(launched)
    return warm_up(launched=launched, seconds=seconds, moved_bytes=moved_bytes, executors=executors, slots={"1": slots})


def test_the_first_task_of_each_slot() -> None:
    result = told()
    assert result is not None
    assert result.excess_s == (4, 0)
    assert set(result.settled_s_at) == {6}


def test_two_executors_warm_up_at_once() -> None:
    # equally many tasks, and each executor has one slot: the same waves
    result = warm_up(
        launched=LAUNCHED, seconds=SECONDS, moved_bytes=SAME, executors=["1", "2"] * 4, slots={"1": 1, "2": 1}
    )
    assert result is not None
    assert result.excess_s == (4, 0)


def test_more_bytes_are_no_warm_up() -> None:
    # 10 s for 1.5 times the bytes: the bytes take 6 x 1.5 = 9 s, warm-up 1 s
    result = told(moved_bytes=np.array([1.5e6, 1.5e6, *[1e6] * 6]))
    assert result is not None
    assert result.excess_s == (1, 0)
    assert result.settled_s_at[-1] == 9


def test_fewer_bytes_explain_nothing() -> None:
    result = told(moved_bytes=np.array([1e5, 1e5, *[1e6] * 6]))
    assert result is not None
    assert result.excess_s == (4, 0)


@pytest.mark.parametrize("slots", [0, 8])
def test_it_cannot_be_told_from_first_tasks_alone_or_without_cores(slots: int) -> None:
    assert told(slots=slots) is None


@given(st.lists(st.floats(0.1, 100), min_size=1, max_size=40), st.integers(1, 8))
def test_no_task_is_longer_without_it(seconds: list[float], slots: int) -> None:
    result = told(
        launched=np.arange(len(seconds), dtype=float),
        seconds=np.array(seconds),
        moved_bytes=np.ones(len(seconds)),
        slots=slots,
    )
    if result is not None:
        assert min(result.excess_s) >= 0
        assert min(seconds) - 1e-9 <= result.settled_s_at[0] <= result.settled_s_at[-1] <= max(seconds) + 1e-9


@given(st.lists(st.floats(-1e15, 1e15), min_size=1, max_size=60))
def test_quantiles_and_median_are_those_of_numpy(values: list[float]) -> None:
    assert quantiles(np.array(values)) == tuple(np.quantile(values, QUANTILES))
    assert median(np.array(values)) == np.median(values)
