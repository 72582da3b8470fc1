"""The part of a run that a log holds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest
from approvals import Approve
from refusals import refused
from spark_events import START_MS, executor_added, small_job

from planner.spark.application.application import Application
from planner.spark.application.completeness import completeness
from planner.spark.model.bounds import explain
from planner.spark.model.timeline import timeline

Event = dict[str, Any]
Reader = Callable[[Sequence[Event]], Application]


def _name(event: Event) -> str:
    return str(event["Event"]).removeprefix("SparkListener")


def _without_a_third_of_the_task_ends(events: Sequence[Event]) -> list[Event]:
    return [e for e in events if _name(e) != "TaskEnd" or e["Task Info"]["Task ID"] % 3]


def test_a_whole_log_is_complete(read: Reader, approve: Approve) -> None:
    whole = completeness(read(small_job()))
    assert (whole.share, whole.gaps) == (1.0, ())
    approve(whole.sentence)


def test_lost_tasks_are_counted_and_shrink_no_work(read: Reader, approve: Approve) -> None:
    events = small_job(tasks=90)
    whole, part = read(events), read(_without_a_third_of_the_task_ends(events))
    assert (part.tasks, completeness(part).tasks_planned) == (120, 180)
    approve(completeness(part).sentence)
    work, all_work = explain(part), explain(whole)
    assert work.time.total == pytest.approx(all_work.time.total, rel=0.02)
    assert timeline(part).steps[0].seconds_on(4) == pytest.approx(timeline(whole).steps[0].seconds_on(4), rel=0.05)
    assert part.sums.input_bytes == pytest.approx(whole.sums.input_bytes * 2 / 3)  # seen tasks keep their figures


@pytest.mark.parametrize(
    ("lost", "gap"),
    [
        ("ApplicationStart", "no start, so how long it took is unknown"),
        ("ApplicationEnd", "no end, so what came after is unknown"),
        ("ExecutorAdded", "2 executors without a start"),
        ("JobStart", "1 job without a start"),
        ("StageCompleted", "2 stages without an end"),
    ],
)
def test_lost_events_are_said(read: Reader, lost: str, gap: str) -> None:
    assert gap in completeness(read([e for e in small_job() if _name(e) != lost])).gaps


def test_a_lost_stage_is_counted_by_the_numbers_of_its_tasks(read: Reader) -> None:
    def of_first(event: Event) -> bool:
        return event.get("Stage ID", event.get("Stage Info", {}).get("Stage ID")) == 0

    whole = completeness(read([e for e in small_job() if not of_first(e)]))
    assert (whole.tasks_seen, whole.tasks_planned, whole.share) == (8, 16, 0.5)


def test_an_executor_whose_start_is_lost_is_there_from_its_first_task(read: Reader) -> None:
    events = small_job(tasks=80)
    added = [place for place, event in enumerate(events) if _name(event) == "ExecutorAdded"]
    application = read([e for place, e in enumerate(events) if place != added[0]])
    assert (application.cluster.cores, application.cluster.executors) == (8, 2)
    assert max(step.busy for step in timeline(application).steps) <= 1.01


def test_a_replaced_host_counts_once(read: Reader) -> None:
    gone = {"Event": "SparkListenerExecutorRemoved", "Timestamp": START_MS + 9000, "Executor ID": "2"}
    later = executor_added("3", host="c", at_ms=START_MS + 9100)
    cluster = read([*small_job(tasks=80), gone, later]).cluster
    assert (len(cluster.hosts), cluster.hosts_at_once) == (3, 2)


@pytest.mark.parametrize("jump_ms", [3_600_000, -3_600_000])
def test_a_jump_of_the_drivers_clock_is_said(read: Reader, jump_ms: int) -> None:
    events = small_job()
    for event in events:
        if _name(event) == "TaskEnd" and event["Stage ID"] == 0:
            event["Task Info"]["Finish Time"] += jump_ms
    way = "forward" if jump_ms > 0 else "back"
    (said,) = [gap for gap in completeness(read(events)).gaps if "clock" in gap]
    assert said.startswith(f"the driver's clock jumped {way} by 1 h")


def test_too_little_of_a_log_is_refused(read: Reader) -> None:
    from planner.schemas.plan import Request
    from planner.spark.model.from_log import plan_application

    events = [e for e in small_job(tasks=90) if _name(e) != "TaskEnd" or e["Task Info"]["Task ID"] % 3 == 0]
    with refused("incomplete-log", "60 of 180", "120 tasks"):
        plan_application(read(events), Request(data_bytes=1, catalogs=("aws",)), ran_on="m5.xlarge x 2")


def test_times_after_a_jump_of_the_clock_are_refused(read: Reader) -> None:
    from planner.schemas.plan import Request
    from planner.spark.model.from_log import plan_application

    events = small_job()
    for event in events:
        if _name(event) == "TaskEnd" and event["Stage ID"] == 0:
            event["Task Info"]["Finish Time"] += 3_600_000
    with refused("clock-wrong", "forward", "1 h") as caught:
        plan_application(read(events), Request(data_bytes=1, catalogs=("aws",)), ran_on="m5.xlarge x 2")
    assert "tasks" not in caught.value.message
