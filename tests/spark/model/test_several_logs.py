"""Several runs of a job combined, by hand: the small job is 20 s on two nodes of four cores."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from approvals import Approve
from spark_events import small_job

from planner.spark.application.application import Application
from planner.spark.model.choices import work_of
from planner.spark.model.machines import Nodes, NodeType
from planner.spark.model.prediction import Work
from planner.spark.model.several_logs import Runs, latest_first, mismatch

Reader = Callable[[Sequence[dict[str, Any]]], Application]
Maker = Callable[..., NodeType]


@pytest.fixture
def work(read: Reader, machine: Maker) -> Work:
    return work_of(read(small_job()), Nodes(machine=machine(), count=2))


def again(read: Reader, machine: Maker, *, tasks: int = 8) -> Work:
    return work_of(read(small_job("app-2", tasks=tasks)), Nodes(machine=machine(), count=2))


def test_one_run_foretells_as_it_does_alone(work: Work, machine: Maker) -> None:
    other = Nodes(machine=machine("other"), count=3)
    assert Runs(works=(work,)).predict(other) == work.predict(other)


def test_two_runs_that_agree_narrow_the_range(work: Work, read: Reader, machine: Maker) -> None:
    other = Nodes(machine=machine("other"), count=3)
    alone, both = work.predict(other), Runs(works=(work, again(read, machine))).predict(other)
    assert both.duration_s == pytest.approx(alone.duration_s)
    # half of the error is shared: variance (1 + 0.5) / 2; 2 of 4 + 2 runs were seen without error: 4 / 6 of it
    assert both.sigma == pytest.approx(alone.sigma * math.sqrt(0.75 * 4 / 6))


def test_two_runs_that_disagree_widen_it(work: Work, read: Reader, machine: Maker) -> None:
    # 20 s, and on the same nodes 2 + 10 x 10 + 10 x 5 + 3 = 155 s, where a log of the same cluster errs by 0.06
    runs = Runs(works=(work, again(read, machine, tasks=80)))
    error = math.log(155 / 20) / 0.06
    assert runs.spread == pytest.approx(math.sqrt((4 + 2 * error**2) / (4 + 2)))
    assert runs.predict(work.logged).duration_s == pytest.approx(math.sqrt(20 * 155))


def test_the_nearer_log_counts_for_more(work: Work, read: Reader, machine: Maker) -> None:
    far = work_of(read(small_job("app-2", tasks=80)), Nodes(machine=machine("arm", arch="arm64"), count=2))
    seconds = Runs(works=(work, far)).predict(work.logged).duration_s
    assert 20 < seconds < math.sqrt(20 * 155)


def test_what_is_no_run_of_the_same_job(read: Reader, approve: Approve) -> None:
    job = read(small_job())
    assert mismatch(job, read(small_job("app-2"))) == ""
    approve(mismatch(job, read(small_job(tasks=80))))
    approve(mismatch(job, read(small_job()[:-1])))
    named = [{**event, "App Name": "nightly"} if "App Name" in event else event for event in small_job()]
    approve(mismatch(job, read(named)))


def test_a_run_whose_log_lacks_tasks_did_no_other_work(read: Reader, approve: Approve) -> None:
    """If a quarter of the tasks is lost, so are their bytes."""
    tasks = [event for event in small_job("app-2") if event["Event"] == "SparkListenerTaskEnd"]
    lost = read([event for event in small_job("app-2") if event not in tasks[:4]])
    job = read(small_job())
    assert mismatch(job, lost) == mismatch(lost, job)
    approve(mismatch(lost, job))


def test_the_latest_run_comes_first(read: Reader) -> None:
    later = [{**event, "Timestamp": event["Timestamp"] + 1000} if "App ID" in event else event for event in small_job()]
    first, second = read(small_job()), read(later)
    assert latest_first([first, second]) == [second, first]
