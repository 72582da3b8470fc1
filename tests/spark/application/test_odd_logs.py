"""Shapes of logs that other readers got wrong, by public reports: what they lack is said, and nothing is guessed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from spark_events import START_MS, lines, small_job

from planner.errors import BadInputError
from planner.spark import log as spark_log
from planner.spark.application.application import Application
from planner.spark.application.completeness import completeness
from planner.spark.application.stage import Stage
from planner.spark.model.bounds import explain

Event = dict[str, Any]


@pytest.fixture
def read(tmp_path: Path) -> Callable[[Sequence[Event]], Application]:
    def of(events: Sequence[Event]) -> Application:
        path = tmp_path / "log"
        path.write_bytes(lines(events))
        return spark_log.read(path).only()

    return of


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


def test_processor_times_that_are_all_zero_were_not_counted(read: Reader) -> None:
    """So write Java machines without such a clock; tasks that waited have some."""
    events = small_job()
    for event in ends(events):
        event["Task Metrics"] |= {"Executor CPU Time": 0, "Executor Deserialize CPU Time": 0}
        event["Task Metrics"]["Executor Deserialize Time"] = 50
    explained = explain(read(events))
    assert explained.evidence["unknown"] == "the log has no CPU times"
    assert explained.time.waiting == explained.time.storage == 0


def test_a_time_of_zero_is_none(read: Reader) -> None:
    events = small_job()
    ends(events)[0]["Task Info"]["Finish Time"] = 0
    application = read(events)
    assert application.clock_jump_s == 0
    assert "1 task without an end" in completeness(application).gaps
    assert application.losses[0].what == "TaskEnd with a wrong field"


def test_an_end_before_the_last_event_is_a_jump_of_the_clock(read: Reader) -> None:
    """Between stages no task shows it."""
    events = small_job()
    events[-1]["Timestamp"] = START_MS - 3_600_000
    (said,) = completeness(read(events)).gaps
    assert said.startswith("the driver's clock jumped back by 1 h")


def test_no_stage_takes_less_than_no_time(read: Reader) -> None:
    events = small_job()
    for event in events:
        if name(event) == "StageCompleted" and event["Stage Info"]["Stage ID"] == 0:
            event["Stage Info"]["Completion Time"] -= 3_600_000
    assert min(explain(read(events)).seconds_by_bound.values()) >= 0


def test_a_job_whose_stages_are_all_lost_is_said_and_its_tasks_count(read: Reader) -> None:
    events = [e for e in small_job() if not name(e).startswith(("Stage", "Task"))]
    for event in events:
        if name(event) == "JobStart":
            event["Stage Infos"] = [{"Stage ID": s, "Number of Tasks": n} for s, n in ((0, 8), (1, 5))]
    whole = completeness(read(events))
    assert "1 job without its stages" in whole.gaps and (whole.tasks_seen, whole.tasks_planned) == (0, 5)


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


def test_a_compacted_log_lacks_no_earlier_part(tmp_path: Path) -> None:
    folder = tmp_path / "eventlog_v2_app-1"
    folder.mkdir()
    events = small_job()
    (folder / "events_2_app-1.compact").write_bytes(lines(events[:20]))
    (folder / "events_4_app-1").write_bytes(lines(events[20:]))
    gaps = completeness(spark_log.read(folder).only()).gaps
    assert "compacted: jobs that had ended are left out" in gaps
    assert [gap for gap in gaps if "of the log" in gap] == ["1 x part 3 of the log is missing"]


def test_events_over_several_lines_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "pretty.json"
    path.write_text('{\n  "Event": "SparkListenerLogStart",\n  "Spark Version": "3.5.1"\n}\n')
    with pytest.raises(BadInputError, match="each event is a line"):
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


def test_a_run_counts_once_where_a_part_of_it_lies_beside_it(tmp_path: Path) -> None:
    events = small_job()
    (tmp_path / "app-1.inprogress").write_bytes(lines(events[:20]))
    (tmp_path / "app-1").write_bytes(lines(events))
    logs = spark_log.read(tmp_path)
    assert logs.only().ended and [other.name for other in logs.passed_over] == ["app-1.inprogress"]
    assert "the same run of app-1" in logs.passed_over[0].reason
