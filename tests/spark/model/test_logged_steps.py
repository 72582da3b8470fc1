"""The steps of the small job, by hand: 8 tasks of 10 s and then 8 of 5 s, on two executors of four cores."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest
from spark_events import small_job

from planner.spark.application.application import Application
from planner.spark.model.logged_steps import PARTS, LoggedSteps
from planner.spark.model.timeline import timeline

Reader = Callable[[Sequence[dict[str, Any]]], Application]


@pytest.fixture
def application(read: Reader) -> Application:
    return read(small_job())


def test_what_the_log_says_of_each_step(application: Application) -> None:
    steps = LoggedSteps(timeline=timeline(application))
    assert steps.totals.tolist() == [80, 40]
    assert steps.tasks.tolist() == [8, 8]
    assert steps.slots.tolist() == [8, 8]
    assert steps.bytes["remote"].tolist() == [0, 8 * 40e6]
    assert sum(steps.shares[part] for part in PARTS).tolist() == pytest.approx([1, 1])
    assert steps.shares["cpu"].tolist() == pytest.approx([(8 + 0.1) / 10, 2 / 5])


def test_tasks_that_are_all_the_first_of_their_slot(application: Application) -> None:
    steps = LoggedSteps(timeline=timeline(application))
    assert steps.waves_s(4).tolist() == [20, 10]
    assert steps.warm_up_s(4).tolist() == [0, 0]
    assert steps.cold_share == pytest.approx(15 / 20)  # the stages are 15 of 20 s


def test_what_executors_compute_beside_their_tasks_is_told_under_a_limit_alone(application: Application) -> None:
    assert LoggedSteps(timeline=timeline(application)).overhead_share.tolist() == [0, 0]
    # the first stage reads and the second writes: 10 - 9.8 and 5 - 4.9 s are outside their run, and none of their waits
    # is computing. The first takes 8.1 s of CPU time, 0.1 of it before the run; the second takes 2 s
    limited = LoggedSteps(timeline=timeline(application, share=1.0))
    assert limited.overhead_share.tolist() == pytest.approx([(8 + 0.2 - 8.1) / 10, (2 + 0.1 - 2) / 5])
