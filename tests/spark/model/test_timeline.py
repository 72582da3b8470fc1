"""The slots of an application's tasks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from spark_events import small_job

from planner.spark.application.application import Application
from planner.spark.model.timeline import cpu_share, makespan_s, timeline

Reader = Callable[[Sequence[dict[str, Any]]], Application]


@pytest.mark.parametrize(
    ("limit", "share"), [("", None), ("2", 0.5), ("500m", 0.125), ("1.0", 0.25), ("4", 1.0), ("8", None), ("0", None)]
)
def test_a_limit_of_kubernetes_is_shared_by_the_cores_of_an_executor(
    read: Reader, limit: str, share: float | None
) -> None:
    application = read(small_job())
    assert application.cluster.cores_per_executor == 4
    limited = replace(application, properties={"spark.kubernetes.executor.limit.cores": limit})
    assert cpu_share(limited) == share
    assert {step.cpu_share for step in timeline(limited).steps} == {share}


@pytest.mark.parametrize(
    ("durations", "slots", "seconds"),
    [
        ([], 4, 0),
        ([3.0], 4, 3),
        ([5.0] * 8, 8, 5),
        ([5.0] * 8, 4, 10),  # two waves
        ([5.0] * 9, 4, 15),  # plus one task
        ([1.0] * 40_000, 4, 10_000.5),  # many: the work on the slots, and half a task
    ],
)
def test_by_hand(durations: list[float], slots: int, seconds: float) -> None:
    assert makespan_s(durations, slots=slots) == seconds


@given(st.lists(st.floats(0, 1e4), min_size=1, max_size=60), st.integers(1, 70))
def test_between_the_bounds_of_graham(durations: list[float], slots: int) -> None:
    """Graham 1969: no list schedule takes more than work/slots + (1 - 1/slots) of the longest task."""
    seconds = makespan_s(durations, slots=slots)
    work, longest = sum(durations) / slots, max(durations)
    assert seconds >= max(work, longest) * (1 - 1e-9)
    assert seconds <= (work + (1 - 1 / slots) * longest) * (1 + 1e-9)
