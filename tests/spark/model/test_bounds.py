"""Bounding resources of small applications' stages, and the effect of more of each, by hand."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from approvals import Approve
from spark_events import (
    START_MS,
    application_end,
    application_start,
    executor_added,
    job_end,
    job_start,
    metrics,
    small_job,
    stage_completed,
    task_end,
)

from planner.spark.application.application import Application
from planner.spark.model.bounds import explain
from planner.spark.model.choices import work_of
from planner.spark.model.configuration import first_changes
from planner.spark.model.machines import Nodes, NodeType

Reader = Callable[[Sequence[dict[str, Any]]], Application]
Maker = Callable[..., NodeType]


def one_stage(tasks: Sequence[dict[str, Any]], *, end_ms: int, cores: int = 4) -> list[dict[str, Any]]:
    completed = stage_completed(0, tasks=len(tasks), at_ms=START_MS, end_ms=START_MS + end_ms)
    added = [executor_added("1", host="a", cores=cores)] if cores else []
    return [application_start(), *added, *tasks, completed, application_end(START_MS + end_ms)]


def task(number: int, run_ms: int, **did: int) -> dict[str, Any]:
    return task_end(number, stage=0, launch_ms=START_MS, finish_ms=START_MS + run_ms, did=metrics(run_ms=run_ms, **did))


def test_a_small_job(read: Reader, approve: Approve) -> None:
    explained = explain(read(small_job()))
    first, second = explained.stages
    assert (first.bound, first.busy) == ("processors", 1)
    # of 5 s: 2 compute, 0.1 garbage, 1.5 wait for blocks, 1.3 the rest of a run that reads 0 and writes 30 MB
    assert second.bound == "processors"
    assert (second.time.fetch, second.time.storage) == (pytest.approx(8 * 1.5), pytest.approx(8 * 1.3))
    assert explained.timeline.startup_s == pytest.approx(2)
    assert explained.timeline.after_s == pytest.approx(3)
    changes = {change.resource: change.duration_s for change in explained.changes}
    assert changes["network"] == pytest.approx(20 - 1.5)
    assert changes["cores"] == pytest.approx(20)  # one wave already
    assert changes["processors"] == pytest.approx(20 - 8.1 / 2 - 2 / 2)  # 0.1 s of a first task is deserialisation
    assert explained.seconds_by_bound == {"processors": pytest.approx(15), "ending": pytest.approx(3)}
    approve(explained.evidence["ending"])


def test_more_cores_shorten_two_waves(read: Reader) -> None:
    changes = {change.resource: change.duration_s for change in explain(read(small_job(tasks=16))).changes}
    assert changes["cores"] == pytest.approx(2 + 10 + 5 + 3)  # instead of 2 + 20 + 10 + 3


@pytest.mark.parametrize(
    ("did", "bound"),
    [
        ({"cpu_ms": 9000}, "processors"),
        ({"gc_ms": 9000}, "memory"),
        ({"spilled": 10**9}, "memory"),
        ({"fetch_wait_ms": 9000}, "network"),
        ({"shuffle_write_ms": 9000}, "disks"),
        ({"read": 10**9}, "storage"),
        ({}, "waiting"),
    ],
)
def test_the_resource_with_most_of_the_time_binds(read: Reader, did: dict[str, int], bound: str) -> None:
    tasks = [task(number, 10_000, **did) for number in range(4)]
    (stage,) = explain(read(one_stage(tasks, end_ms=10_000))).stages
    assert stage.bound == bound


def test_idle_slots_bind(read: Reader) -> None:
    few = explain(read(one_stage([task(0, 10_000, cpu_ms=9000)], end_ms=10_000)))
    assert (few.stages[0].bound, few.stages[0].busy) == ("too few tasks", 0.25)
    late = [task(number, 1000, cpu_ms=1000) for number in range(6)] + [task(6, 10_000, cpu_ms=9000)]
    assert explain(read(one_stage(late, end_ms=10_000))).stages[0].bound == "straggler"
    slow = [task(number, 1000, cpu_ms=1000) for number in range(4)]
    assert explain(read(one_stage(slow, end_ms=10_000))).stages[0].bound == "scheduling"


def test_one_long_task_among_many_is_a_straggler_on_few_slots(read: Reader, approve: Approve) -> None:
    tasks = [task_end(0, stage=0, launch_ms=START_MS, finish_ms=START_MS + 1000, did=metrics(run_ms=1000, cpu_ms=1000))]
    tasks += [_at(number, number * 1000, 1000) for number in range(1, 12)]
    tasks.append(_at(12, 12_000, 20_000))
    tasks += [_at(13 + number, 500 * number, 500) for number in range(64)]
    explained = explain(read(one_stage(tasks, end_ms=32_000, cores=2)))
    assert explained.stages[0].bound == "straggler"
    approve(explained.evidence["straggler"])


def _at(number: int, begin_ms: int, run_ms: int) -> dict[str, Any]:
    did = metrics(run_ms=run_ms, cpu_ms=run_ms)
    return task_end(number, stage=0, launch_ms=START_MS + begin_ms, finish_ms=START_MS + begin_ms + run_ms, did=did)


@pytest.mark.parametrize(
    ("did", "bound", "evidence"),
    [
        ({"cpu_ms": 6000, "gc_ms": 2500}, "memory", "25% of the task time is garbage collection"),
        (
            {"cpu_ms": 9000, "remote": 10**8, "spilled": 10**8},
            "memory",
            "0% of the task time is garbage collection, and 400 MB spilled to disk",
        ),
        ({"cpu_ms": 9000}, "processors", "90% of the task time is CPU time"),
        ({}, "waiting", "100% of the task time is run time without CPU that neither bytes nor plan explain"),
    ],
)
def test_what_binds_has_its_evidence(read: Reader, did: dict[str, int], bound: str, evidence: str) -> None:
    explained = explain(read(one_stage([task(number, 10_000, **did) for number in range(4)], end_ms=10_000)))
    assert explained.evidence == {bound: evidence}


def test_many_short_tasks_are_small_tasks(read: Reader) -> None:
    def named(run_ms: int) -> dict[str, str]:
        did = metrics(run_ms=run_ms, cpu_ms=run_ms, shuffled=1000)
        begins = [START_MS + 100 * (number // 4) for number in range(80)]
        tasks = [
            task_end(number, stage=0, launch_ms=begin, finish_ms=begin + 100, did=did)
            for number, begin in enumerate(begins)
        ]
        return explain(read(one_stage(tasks, end_ms=2000))).evidence

    assert named(30) == {"small tasks": "80 tasks of 0.1 s and 1 KB each, 70% of it before and after they run"}
    assert [*named(98)] == ["processors"]  # 2% before and after


def test_many_small_files_are_small_tasks_and_large_ones_wait_for_storage(read: Reader, approve: Approve) -> None:
    """Bytes explain a second of waiting for each MB: of 30 KB most is until the files open."""

    def named(size: int) -> dict[str, str]:
        did = metrics(run_ms=200, cpu_ms=40, read=size)
        begins = [START_MS + 200 * (number // 4) for number in range(80)]
        tasks = [
            task_end(number, stage=0, launch_ms=begin, finish_ms=begin + 200, did=did)
            for number, begin in enumerate(begins)
        ]
        return explain(read(one_stage(tasks, end_ms=4000))).evidence

    approve(named(30_000)["small tasks"])
    assert [*named(10**7)] == ["storage"]


def test_failures_take_what_they_took(read: Reader, approve: Approve) -> None:
    """Half of the task time is of tasks whose executors were lost: no metrics, and no unknown time."""
    lost = [
        task_end(
            number, stage=0, launch_ms=START_MS, finish_ms=START_MS + 10_000, did=None, reason="ExecutorLostFailure"
        )
        for number in range(4)
    ]
    done = [_at(number, 10_000, 9000) for number in range(4, 8)]
    explained = explain(read(one_stage([*lost, *done], end_ms=19_000)))
    assert next(iter(explained.seconds_by_bound)) == "failures"
    (change,) = [change for change in explained.changes if change.resource == "failures"]
    assert change.duration_s == pytest.approx(9, abs=1.5)
    approve([explained.evidence["failures"], *first_changes(explained)])


def test_a_failed_stage_and_its_repetition_are_failures(read: Reader) -> None:
    events = one_stage([task(number, 5000, cpu_ms=5000) for number in range(4)], end_ms=5000)
    events[-2]["Stage Info"]["Failure Reason"] = "FetchFailed"
    assert [*explain(read(events)).seconds_by_bound] == ["failures"]


def test_cold_executors_are_no_stragglers(read: Reader, approve: Approve) -> None:
    cold = task_end(
        0, stage=0, launch_ms=START_MS, finish_ms=START_MS + 15_800,
        did=metrics(run_ms=700, cpu_ms=600, deserialise_ms=15_100),
    )  # fmt: skip
    warm = [_at(number, 0, 700) for number in range(1, 4)]
    explained = explain(read(one_stage([cold, *warm], end_ms=15_800)))
    assert [*explained.seconds_by_bound] == ["cold executors"]
    approve([explained.evidence["cold executors"], *first_changes(explained)])


def test_results_on_their_way_to_the_driver_are_no_small_tasks(read: Reader, approve: Approve) -> None:
    tasks = [task(number, 10_000, cpu_ms=2900) for number in range(8)]
    for event in tasks:
        event["Task Metrics"] |= {"Executor Run Time": 3000, "Result Size": 300 * 10**6}
        event["Task Info"]["Getting Result Time"] = START_MS + 3000
    explained = explain(read(one_stage(tasks, end_ms=20_000)))
    assert [*explained.seconds_by_bound] == ["results"]
    assert explained.changes[0].resource == "results" and explained.changes[0].share == pytest.approx(-0.7)
    approve([explained.evidence["results"], *first_changes(explained)])


def test_tasks_that_run_again_for_lost_output_are_failures(read: Reader) -> None:
    """An executor goes after its tasks ended: three of four run again for what lay on it."""
    done = [task(number, 10_000, cpu_ms=9000) for number in range(4)]
    lost = [{**event, "Task End Reason": {"Reason": "Resubmitted"}, "Task Metrics": None} for event in done[:3]]
    events = one_stage([*done, *lost, *(_at(number, 10_000, 10_000) for number in range(4, 7))], end_ms=20_000)
    events[-2]["Stage Info"]["Number of Tasks"] = 4
    explained = explain(read(events))
    (change,) = [change for change in explained.changes if change.resource == "failures"]
    assert change.share == pytest.approx(-3 / 7)


def batches(*begin_s: float, lasts_s: Sequence[float]) -> list[dict[str, Any]]:
    """Return the log of a stream, of whose batches each has a stage of eight tasks on eight cores."""
    made = [application_start(), executor_added("1", host="a"), executor_added("2", host="b")]
    for place, (begin, lasts) in enumerate(zip(begin_s, lasts_s, strict=True)):
        at_ms, end_ms = (START_MS + round(seconds * 1000) for seconds in (begin, begin + lasts))
        started = job_start(place, [place], at_ms=at_ms)
        started["Properties"] = {"sql.streaming.queryId": "q", "streaming.sql.batchId": str(place)}
        did = metrics(run_ms=end_ms - at_ms, cpu_ms=end_ms - at_ms)
        tasks = [
            task_end(
                8 * place + n,
                stage=place,
                launch_ms=at_ms,
                finish_ms=end_ms,
                did=did,
                executor=str(1 + n % 2),
                host="ab"[n % 2],
            )
            for n in range(8)
        ]
        made += [
            started,
            *tasks,
            stage_completed(place, tasks=8, at_ms=at_ms, end_ms=end_ms),
            job_end(place, at_ms=end_ms),
        ]
    return [*made, application_end(end_ms)]


def test_a_stream_waits_for_its_next_batch_and_not_for_the_driver(read: Reader, approve: Approve) -> None:
    explained = explain(read(batches(0, 60, 120, 180, lasts_s=[5, 6, 4, 5])))
    assert explained.seconds_by_bound == {"stream": pytest.approx(165), "processors": pytest.approx(20)}
    assert not [change for change in explained.changes if change.resource == "driver"]
    approve([explained.evidence["stream"], *first_changes(explained)])


def test_longer_batches_on_a_trigger_leave_less_time_before_the_next(read: Reader, machine: Maker) -> None:
    """Half the nodes take twice as long for each batch: hidden where batches begin each minute, and not where each
    begins three seconds after another ended."""
    logged, half = (Nodes(machine=machine(), count=count) for count in (2, 1))
    on_trigger = work_of(read(batches(0, 60, 120, 180, lasts_s=[5, 6, 4, 5])), logged).predict(half)
    assert on_trigger.duration_s == pytest.approx(185)
    assert on_trigger.high_s < 210  # as sure as another run where it ran
    in_a_row = work_of(read(batches(0, 8, 17, 24, lasts_s=[5, 6, 4, 5])), logged).predict(half)
    assert in_a_row.duration_s == pytest.approx(29 + 20)


def test_time_after_the_last_stage_is_no_drivers(read: Reader, approve: Approve) -> None:
    events = one_stage([task(0, 5000, cpu_ms=5000)], end_ms=5000, cores=1)
    events[-1] = application_end(START_MS + 25_000)
    explained = explain(read(events))
    assert explained.seconds_by_bound == {"ending": pytest.approx(20), "processors": pytest.approx(5)}
    approve([explained.evidence["ending"], *first_changes(explained)])


def test_a_skewed_scan_is_told_with_its_bytes(read: Reader) -> None:
    tasks = [task(number, 1000, cpu_ms=900, read=10**7) for number in range(7)]
    explained = explain(read(one_stage([*tasks, task(7, 20_000, cpu_ms=18_000, read=10**9)], end_ms=20_000)))
    assert [*explained.seconds_by_bound] == ["straggler"]
    saves = {change.resource: 20 - change.duration_s for change in explained.changes}
    assert saves["straggler"] == max(saves.values()) == pytest.approx(20 - 2 * 27 / 8)  # two waves of the mean task
    assert "they moved 1 GB and 10 MB" in explained.evidence["straggler"]


@pytest.mark.parametrize(("step", "engine"), [("GpuFileGpuScan parquet", "GPUs"), ("PhotonScan parquet", "Photon")])
def test_what_an_engine_outside_the_jvm_did_is_unknown(read: Reader, step: str, engine: str) -> None:
    events = one_stage([task(number, 10_000, cpu_ms=500, read=10**9) for number in range(4)], end_ms=10_000)
    scope = json.dumps({"id": "5", "name": step})
    events[-2]["Stage Info"]["RDD Info"] = [{"Name": "MapPartitionsRDD", "Scope": scope}]
    explained = explain(read(events))
    assert explained.time.share("unknown") == pytest.approx(0.95)
    assert explained.evidence == {"unknown": f"{engine} computed, of which the log has no times"}


@pytest.mark.parametrize("told_by", ["rdd", "query"])
def test_a_python_worker_is_named_by_the_plan(read: Reader, told_by: str, approve: Approve) -> None:
    tasks = [task(number, 10_000, cpu_ms=500, read=10**9) for number in range(4)]
    events = one_stage(tasks, end_ms=10_000)
    info = events[-2]["Stage Info"]
    if told_by == "rdd":
        info["RDD Info"] = [{"Name": "MapPartitionsRDD", "Scope": '{"id":"5","name":"ArrowEvalPython"}'}]
    plan = {"nodeName": "Project", "children": [{"nodeName": "ArrowEvalPython", "children": []}]}
    query = {"Event": "org.apache.spark.sql.execution.ui.SparkListenerSQLExecutionStart", "executionId": 3}
    job = {**job_start(0, [0], at_ms=START_MS), "Properties": {"spark.sql.execution.id": "3"}}
    told = [] if told_by == "rdd" else [{**query, "sparkPlanInfo": plan}, job, job_end(0, at_ms=START_MS + 10_000)]
    explained = explain(read([events[0], *told, *events[1:]]))
    assert explained.time.share("python") == 0.95
    approve(explained.evidence["python"])


def test_without_cores_the_busy_share_is_unknown(read: Reader) -> None:
    explained = explain(read(one_stage([task(0, 10_000, cpu_ms=9000)], end_ms=10_000, cores=0)))
    assert (explained.stages[0].busy, explained.stages[0].bound) == (None, "processors")


def test_an_application_without_stages(read: Reader) -> None:
    explained = explain(read([application_start(), application_end(START_MS + 4000)]))
    assert (explained.duration_s, explained.stages, explained.timeline.after_s) == (4, (), 0)
