"""The parts of task seconds."""

from __future__ import annotations

import math
from dataclasses import fields, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.spark.application.stage import TaskSums
from planner.spark.model.task_time import RESOURCES, TaskTime, overhead, task_time

AMOUNTS = st.floats(0, 1e6, allow_nan=False)


def test_a_stage_by_hand() -> None:
    # 100 s of tasks with a run of 90 s: 50 compute, 5 collect garbage, 10 wait for blocks, 5 for the shuffle's disk
    sums = TaskSums(
        elapsed_s=100, run_s=90, cpu_s=50, gc_s=5, fetch_wait_s=10, shuffle_write_s=5, deserialisation_cpu_s=4,
        input_bytes=1e9,
    )  # fmt: skip
    time = task_time(sums)
    assert time == TaskTime(cpu=54, gc=5, fetch=10, shuffle_write=5, storage=20, scheduling=6)
    assert time.share("processors") == 0.54


def test_a_collection_before_the_run_is_garbage_too() -> None:
    # a real log has tasks that collected 2.35 s before they ran 0 s, all in 2.37 s
    sums = TaskSums(elapsed_s=10, run_s=1, cpu_s=0.5, gc_s=7, deserialisation_cpu_s=1)
    assert task_time(sums) == TaskTime(cpu=1.5, gc=6.5, scheduling=2)
    assert task_time(replace(sums, gc_s=70)) == TaskTime(cpu=1.5, gc=8.5)
    assert task_time(sums, cpu_share=1.0) == TaskTime(cpu=9.5, gc=0.5)


def test_pauses_under_a_limit_of_processors_are_computing() -> None:
    # 30 s of CPU time at half a CPU take 60 of the 90 s run, 10 s collect garbage and 5 s wait for blocks; the
    # remaining 15 s, and the 10 s before and after the run, are the compiler's and the like
    sums = TaskSums(elapsed_s=100, run_s=90, cpu_s=30, gc_s=10, fetch_wait_s=5, deserialisation_cpu_s=2)
    assert task_time(sums, cpu_share=0.5) == TaskTime(cpu=85, gc=10, fetch=5)
    assert task_time(sums) == TaskTime(cpu=32, gc=10, fetch=5, waiting=45, scheduling=8)


def test_a_limit_does_not_explain_the_waits_for_input() -> None:
    # 90 - 30 / 0.5 - 10 = 20 s of a stage that reads are waits for storage, limited or not
    sums = TaskSums(elapsed_s=90, run_s=90, cpu_s=30, gc_s=10, input_bytes=1e9)
    assert task_time(sums, cpu_share=0.5) == TaskTime(cpu=60, gc=10, storage=20)
    # in addition to 60 s, the executor computes for a quarter of that, according to other stages
    assert task_time(sums, cpu_share=0.5, overhead=0.25) == TaskTime(cpu=75, gc=10, storage=5)


def test_what_executors_compute_beside_their_tasks() -> None:
    # 30 s at half a CPU are 60 s of the 90 s run; 10 s collect garbage, and the other 20 s are a third of 60 s
    plain = TaskSums(elapsed_s=100, run_s=90, cpu_s=30, gc_s=10)
    reads = TaskSums(elapsed_s=500, run_s=500, cpu_s=30, input_bytes=1e9)
    assert overhead([plain, reads], cpu_share=0.5) == pytest.approx(1 / 3)
    assert overhead([reads], cpu_share=0.5) == 0
    assert overhead([plain], cpu_share=None) == 0


@pytest.mark.parametrize(
    ("moved", "part"),
    [({}, "waiting"), ({"output_bytes": 1e7}, "storage"), ({"input_bytes": 1.0, "spill_disk_bytes": 2.0}, "spill")],
)
def test_what_a_task_waits_for_is_what_it_moves(moved: dict[str, float], part: str) -> None:
    assert getattr(task_time(TaskSums(elapsed_s=10, run_s=10, **moved)), part) == 10


def test_few_bytes_explain_no_long_wait() -> None:
    # two tasks of 10 s that read 1 MB: a second for the bytes, and 0.2 s for each first request
    time = task_time(TaskSums(elapsed_s=20, run_s=20, input_bytes=1_000_000), tasks=2)
    assert (time.storage, time.waiting) == pytest.approx((1.4, 18.6))


def test_a_python_worker_is_named_by_the_plan_and_what_the_log_lacks_by_no_guess() -> None:
    sums = TaskSums(elapsed_s=10, run_s=10, cpu_s=2, input_bytes=1e9)
    assert task_time(sums, python=True) == TaskTime(cpu=2, python=8)
    old = TaskSums(elapsed_s=10, run_s=9, cpu_s=math.nan, gc_s=1, fetch_wait_s=2, input_bytes=1e9)
    assert task_time(old, python=True) == TaskTime(gc=1, fetch=2, unknown=6, scheduling=1)


def test_a_limit_explains_no_sleep() -> None:
    # 5 s of CPU time in 100 s: compiler and collector take at most 7.5 s
    assert task_time(TaskSums(elapsed_s=100, run_s=100, cpu_s=5), cpu_share=1.0) == TaskTime(cpu=12.5, waiting=87.5)


@given(st.builds(TaskSums, **{f.name: AMOUNTS for f in fields(TaskSums)}))
def test_the_parts_add_up_whatever_the_log_says(sums: TaskSums) -> None:
    time = task_time(sums)
    assert time.total == pytest.approx(sums.elapsed_s, abs=1e-6)
    assert all(getattr(time, f.name) >= 0 for f in fields(TaskTime))
    assert sum(time.share(name) for name in RESOURCES) == pytest.approx(1 if sums.elapsed_s else 0)
