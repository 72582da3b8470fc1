"""Shapes of logs that other readers got wrong, by public reports: gaps are reported, and nothing is guessed."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from approvals import Approve
from refusals import refused
from spark_events import (
    MB,
    START_MS,
    application_end,
    executor_added,
    executor_removed,
    lines,
    resource_profile,
    small_job,
    stage_submitted,
    task_end,
    task_start,
)

from planner.schemas.plan import Request
from planner.spark import log as spark_log
from planner.spark.application.application import Application
from planner.spark.application.completeness import completeness
from planner.spark.application.stage import Stage
from planner.spark.model.bounds import explain
from planner.spark.model.from_log import plan_application

Event = dict[str, Any]
Reader = Callable[[Sequence[Event]], Application]


def name(event: Event) -> str:
    return str(event["Event"]).removeprefix("SparkListener")


def ends(events: Sequence[Event]) -> list[Event]:
    return [event for event in events if name(event) == "TaskEnd"]


def test_tasks_without_metrics_are_unknown_time_not_scheduling(read: Reader) -> None:
    events = small_job()
    for event in ends(events)[::2]:
        event["Task Metrics"] = None
    application = read(events)
    assert "8 tasks without metrics" in completeness(application).gaps
    time = explain(application).time
    assert time.unknown == pytest.approx(60) and time.scheduling < 2  # half of the tasks of 10 s and of 5 s
    assert application.sums.unmeasured_s == pytest.approx(60)


def test_lost_executors_are_no_jump_of_the_clock(read: Reader) -> None:
    """Tasks that began together end together, minutes later and without metrics, when their executor is lost."""
    events = small_job()
    lost = [
        task_end(50 + n, stage=0, launch_ms=START_MS + 2000, finish_ms=START_MS + 302_000, did=None) for n in range(4)
    ]
    for event in lost:
        event["Task End Reason"] = {"Reason": "ExecutorLostFailure"}
    application = read([*events[:-1], *lost, application_end(START_MS + 310_000)])
    assert not application.clock_jump_s
    assert [stage.failed for stage in application.stages] == [4, 0]


def test_processor_times_that_are_all_zero_were_not_counted(read: Reader, approve: Approve) -> None:
    """Java machines without such a clock write this; tasks that waited have some CPU time."""
    events = small_job()
    for event in ends(events):
        event["Task Metrics"] |= {"Executor CPU Time": 0, "Executor Deserialize CPU Time": 0}
        event["Task Metrics"]["Executor Deserialize Time"] = 50
    explained = explain(read(events))
    approve(explained.evidence["unknown"])
    assert explained.time.waiting == explained.time.storage == 0


def under_profiles(events: list[Event], task_cpus: dict[int, float]) -> list[Event]:
    """Return the events, whose stages of these numbers ask for a profile with so many cores for each task."""
    for event in events:
        info = event.get("Stage Info", {})
        if info.get("Stage ID") in task_cpus:
            info["Resource Profile Id"] = info["Stage ID"] + 1
    profiles = [resource_profile(stage + 1, task_cpus=cpus) for stage, cpus in task_cpus.items()]
    return [events[0], *profiles, *events[1:]]


def test_tasks_of_several_cores_leave_none_idle(read: Reader) -> None:  # dmlc/xgboost#9519
    """Two tasks of four cores keep two executors of four cores busy, whatever spark.task.cpus says."""
    few = explain(read(small_job(tasks=2)))
    assert [bound.busy for bound in few.stages] == [0.25, 0.25]
    application = read(under_profiles(small_job(tasks=2), {0: 4.0, 1: 4.0}))
    assert [bound.busy for bound in explain(application).stages] == [1, 1]
    assert not application.losses


def test_stages_whose_tasks_take_unlike_cores_are_not_planned_with(read: Reader) -> None:
    application = read(under_profiles(small_job(), {1: 4.0}))
    assert [stage.task_cpus for stage in application.stages] == [1, 4]
    with refused("mixed-cores", "1 and 4"):
        plan_application(application, Request(data_bytes=1), ran_on="m5.xlarge x 2")


def test_the_number_of_a_lost_executor_may_come_back(read: Reader) -> None:  # qubole/sparklens#27
    """As on Mesos, where an executor is called by its agent: the second one's cores count, too."""
    events = small_job()
    lost = executor_removed("1", at_ms=START_MS + 500, reason="lost")
    back = executor_added("1", host="c", at_ms=START_MS + 700)
    again = [*events[:6], lost, back, *events[6:]]
    application = read(again)
    assert [(e.executor_id, e.host, e.removed_at_s is None) for e in application.executors] == [
        ("1", "a", False),
        ("1", "c", True),
        ("2", "b", True),
    ]
    assert [bound.busy for bound in explain(application).stages] == [1, 1]
    assert len(read([*again, *again]).executors) == 3


def test_a_time_of_zero_is_none(read: Reader, approve: Approve) -> None:
    events = small_job()
    ends(events)[0]["Task Info"]["Finish Time"] = 0
    application = read(events)
    assert application.clock_jump_s == 0
    approve(completeness(application).gaps)
    approve(application.losses[0].what)


def test_an_end_before_the_last_event_is_a_jump_of_the_clock(read: Reader, approve: Approve) -> None:
    """No task between stages shows the jump."""
    events = small_job()
    events[-1]["Timestamp"] = START_MS - 3_600_000
    (said,) = completeness(read(events)).gaps
    approve(said)


def test_no_stage_takes_less_than_no_time(read: Reader) -> None:
    events = small_job()
    for event in events:
        if name(event) == "StageCompleted" and event["Stage Info"]["Stage ID"] == 0:
            event["Stage Info"]["Completion Time"] -= 3_600_000
    assert min(explain(read(events)).seconds_by_bound.values()) >= 0


def test_a_job_whose_stages_are_all_lost_is_said_and_its_tasks_count(read: Reader, approve: Approve) -> None:
    events = [e for e in small_job() if not name(e).startswith(("Stage", "Task"))]
    for event in events:
        if name(event) == "JobStart":
            event["Stage Infos"] = [{"Stage ID": s, "Number of Tasks": n} for s, n in ((0, 8), (1, 5))]
    whole = completeness(read(events))
    approve(whole.gaps)
    assert (whole.tasks_seen, whole.tasks_planned) == (0, 5)


@pytest.mark.parametrize(
    ("lost", "gap"),
    [("JobEnd", "1 job without an end"), ("EnvironmentUpdate", "no properties, so memory and platform are unknown")],
)
def test_more_lost_events_are_said(read: Reader, lost: str, gap: str) -> None:
    assert gap in completeness(read([e for e in small_job() if name(e) != lost])).gaps


def test_a_failed_job_is_said(read: Reader) -> None:
    events = small_job()
    for event in events:
        if name(event) == "JobEnd":
            event["Job Result"] = {"Result": "JobFailed", "Exception": {"Message": "x"}}
    assert completeness(read(events)).attempts == ("1 failed job",)


def test_a_compacted_log_lacks_no_earlier_part(tmp_path: Path, approve: Approve) -> None:
    folder = tmp_path / "eventlog_v2_app-1"
    folder.mkdir()
    events = small_job()
    (folder / "events_2_app-1.compact").write_bytes(lines(events[:20]))
    (folder / "events_4_app-1").write_bytes(lines(events[20:]))
    gaps = completeness(spark_log.read(folder).only()).gaps
    approve(gaps)
    approve([gap for gap in gaps if "of the log" in gap])


def test_events_over_several_lines_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "pretty.json"
    path.write_text('{\n  "Event": "SparkListenerLogStart",\n  "Spark Version": "3.5.1"\n}\n')
    with refused("no-log"):
        spark_log.read(path)


@pytest.mark.parametrize(
    ("rdd", "is_python"),
    [
        ({"Name": "x", "Scope": '{"id":"1","name":"TransformWithStateInPySpark"}'}, True),
        ({"Name": "x", "Scope": '{"id":"1","name":"BatchEvalPython [f(a#1)], [pythonUDF0#2]"}'}, True),
        ({"Name": "x", "Scope": '{"id":"1","name":"ArrowAggregatePython"}'}, True),
        ({"Name": "my data", "Callsite": "RDD at PythonRDD.scala:53"}, True),
        ({"Name": "x", "Scope": '{"id":"1","name":"MapPartitionsInRWithArrow"}'}, False),
        ({"Name": "x", "Callsite": "map at Job.scala:53"}, False),
    ],
)
def test_python_workers_by_more_of_their_names(read: Reader, rdd: Event, is_python: bool) -> None:
    events = small_job()
    for event in events:
        if name(event) == "StageCompleted":
            event["Stage Info"]["RDD Info"] = [rdd]
    stages: tuple[Stage, ...] = read(events).stages
    assert [bool(stage.python_steps) for stage in stages] == [is_python] * 2


def test_a_run_counts_once_where_a_part_of_it_lies_beside_it(tmp_path: Path, approve: Approve) -> None:
    events = small_job()
    (tmp_path / "app-1.inprogress").write_bytes(lines(events[:20]))
    (tmp_path / "app-1").write_bytes(lines(events))
    logs = spark_log.read(tmp_path)
    assert logs.only().ended and [other.name for other in logs.passed_over] == ["app-1.inprogress"]
    approve(logs.passed_over[0].reason)


def test_a_task_counts_for_the_attempt_that_its_end_names(read: Reader, approve: Approve) -> None:
    """Before Spark 3.5 a start names the stage's latest attempt, or -1 once the stage was cancelled."""
    did = ends(small_job())[0]["Task Metrics"]
    times = {"launch_ms": START_MS, "finish_ms": START_MS + 10_000}
    starts = [task_start(task, stage=4, launch_ms=START_MS) for task in range(3)]
    starts[0]["Stage Attempt ID"] = 1
    starts[1]["Stage Attempt ID"] = -1
    application = read(
        [
            *small_job()[:4],
            stage_submitted(4, tasks=3, at_ms=START_MS),
            stage_submitted(4, tasks=1, at_ms=START_MS, attempt=1),
            *starts,
            *(task_end(task, stage=4, did=did, **times) for task in range(2)),
        ]
    )
    assert [(stage.tasks, stage.running) for stage in application.stages] == [(2, 1), (0, 0)]
    assert not application.losses
    approve(completeness(application).gaps)


def test_a_task_whose_output_was_lost_is_resubmitted_and_not_repeated(read: Reader, approve: Approve) -> None:
    """Spark ends such a task a second time, without metrics, and runs it again under another number."""
    events = small_job()
    first = ends(events)[0]
    place = events.index(first) + 1
    again = {**first, "Task Info": first["Task Info"] | {"Task ID": 16}}
    lost = {**first, "Task End Reason": {"Reason": "Resubmitted"}, "Task Metrics": None}
    application = read([*events[:place], lost, again, *events[place:]])
    assert (application.losses, application.sums.input_bytes) == ((), 900 * MB)
    assert application.stage_frame()["resubmitted"].tolist() == [1, 0]
    assert not completeness(application).gaps and not application.stages[0].unseen
    assert completeness(application).attempts == ("1 resubmitted task",)
    without = read([*events[:place], lost, *events[place:]])
    assert without.stages[0].unseen == 1
    approve(completeness(without).gaps)
    approve([str(loss)[:36] for loss in read([*events[:place], lost, lost, *events[place:]]).losses])


@pytest.mark.parametrize("group", ["", "Input Metrics"])
def test_a_negative_metric_is_a_loss_and_takes_nothing_from_the_sums(read: Reader, group: str) -> None:
    events = small_job()
    did = dict(ends(events)[0]["Task Metrics"])
    ends(events)[0]["Task Metrics"] = did
    if group:
        did[group] = did[group] | {"Bytes Read": -(10**12)}
    else:
        did["Executor Run Time"] = -(10**12)
    application = read(events)
    assert (application.sums.input_bytes, application.sums.run_s) == (700 * MB, pytest.approx(7 * 9.8 + 8 * 4.9))
    (loss,) = application.losses
    assert loss.example.endswith(" is -1000000000000, a negative figure")


def test_a_task_killed_before_it_began_did_not_run(read: Reader) -> None:
    """Spark 3.0 gives the time since its machine was started as the run time of such a task (SPARK-32898)."""
    events = small_job()
    first = ends(events)[0]
    did = first["Task Metrics"] | {"Executor Run Time": 10**9}
    killed = {
        **first,
        "Task Info": first["Task Info"] | {"Task ID": 16},
        "Task Metrics": did,
        "Task End Reason": {"Reason": "TaskKilled"},
    }
    application = read([*events[:-2], killed, *events[-2:]])
    assert application.sums.run_s == pytest.approx(8 * 9.8 + 8 * 4.9)
    assert (application.sums.elapsed_s, application.clock_jump_s) == (130, 0)
    assert not completeness(application).gaps


def test_a_result_fetched_after_the_end_takes_no_time(read: Reader) -> None:
    """The driver's clock may step back while it fetches a result."""
    events = small_job()
    for event in ends(events):
        event["Task Info"]["Getting Result Time"] = event["Task Info"]["Finish Time"] + 5000
    sums = read(events).sums
    assert (sums.getting_result_s, sums.scheduling_s) == (0, pytest.approx(8 * 0.1 + 8 * 0.1))


@pytest.mark.parametrize(
    ("scan", "read_bytes", "is_known"),
    [
        ("CometNativeScan parquet spark_catalog.default.t", 0, False),
        ("CometIcebergNativeScan", 0, False),
        ("CometNativeScan parquet spark_catalog.default.t", 100, True),
        ("Scan parquet spark_catalog.default.t", 0, True),
    ],
)
def test_the_input_of_a_native_scan_that_counts_none_is_unknown(
    read: Reader, scan: str, read_bytes: int, is_known: bool
) -> None:
    """Comet long read files without counting their bytes (datafusion-comet issues 3735 and 4002)."""
    events = small_job()
    for event in ends(events)[:8]:
        event["Task Metrics"]["Input Metrics"] = {"Bytes Read": read_bytes, "Records Read": read_bytes}
    for event in events:
        if event.get("Stage Info", {}).get("Stage ID") == 0:
            event["Stage Info"]["RDD Info"] = [{"Name": "MapPartitionsRDD", "Scope": json.dumps({"name": scan})}]
    application = read(events)
    first, second = application.stages
    assert (explain(application).time.unknown > 1) is not is_known
    assert math.isnan(first.sums.input_bytes) is math.isnan(first.sums.input_records) is not is_known
    assert second.sums.input_bytes == 0
