"""Nothing reads the fields that msgspec skips: a log read without msgspec gives the same result."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from spark_events import START_MS, Event, lines, metrics, small_job, task_end

from planner.spark.log import decoding
from planner.spark.log.reading import EVENTS_READ, read

SQL = "org.apache.spark.sql.execution.ui.SparkListenerSQL"


def job_with_all_that_is_read() -> list[Event]:
    events = small_job(properties={"spark.app.id": "app-1"})
    plan = {"nodeName": "Sort", "metadata": {}, "children": [{"nodeName": "Scan", "children": [], "metrics": []}]}
    rdds = [{"RDD ID": 1, "Name": "mine", "Scope": '{"id":"7","name":"map"}', "Callsite": "RDD at PythonRDD.scala:53"}]
    for event in events:
        if event["Event"] == "SparkListenerStageCompleted" and event["Stage Info"]["Stage ID"] == 0:
            event["Stage Info"] |= {"RDD Info": rdds, "Accumulables": [{"ID": 1, "Name": "Python workers"}]}
        if event["Event"] == "SparkListenerJobStart":
            event["Properties"] = {"spark.sql.execution.id": "5"}
            event["Stage Infos"] = [{"Stage ID": 1, "Number of Tasks": 7, "Stage Name": "x"}]
    failed = task_end(90, stage=1, launch_ms=START_MS, finish_ms=START_MS + 9, did=None, reason="ExceptionFailure")
    kept = task_end(91, stage=1, launch_ms=START_MS, finish_ms=START_MS + 9, did=metrics(run_ms=8), speculative=True)
    status = {"Memory Size": 7, "Disk Size": 9, "Storage Level": {}}
    kept["Task Metrics"]["Updated Blocks"] = [{"Block ID": "rdd_1_2", "Status": status}]
    kept["Task Executor Metrics"] = {"JVMHeapMemory": 5, "OnHeapStorageMemory": 3, "OffHeapStorageMemory": 2}
    return [{"Event": f"{SQL}ExecutionStart", "executionId": 5, "sparkPlanInfo": plan}, *events, failed, kept]


def test_json_alone_says_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "app-1"
    path.write_bytes(lines(job_with_all_that_is_read()))
    by_msgspec = read(path)
    monkeypatch.setattr(decoding, "_decoders", lambda: {b"": json.loads})
    assert repr(read(path)) == repr(by_msgspec)
    assert not by_msgspec.losses
    stage, other = by_msgspec.only().stages
    assert (stage.operators[:2], other.operators) == (("mine", "map"), ("Sort", "Scan"))
    assert "PythonRDD" in stage.operators
    assert [job.last_tasks for job in by_msgspec.only().jobs] == [7]


def test_all_events_with_own_fields_are_read() -> None:
    assert set(decoding._READ) <= EVENTS_READ
