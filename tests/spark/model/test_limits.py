"""Executors under a processor limit, by hand.

Two executors of one core have half a processor each. They are up after 4 s, the stage runs from 5 s to 17 s, and the
application ends at 18 s. Each runs four tasks that only compute: the first takes 6 s, the others 2 s.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest
from spark_events import (
    START_MS,
    application_end,
    application_start,
    executor_added,
    log_start,
    metrics,
    stage_completed,
    stage_submitted,
    task_end,
)  # fmt: skip

from planner.spark.application.application import Application, stage_row
from planner.spark.model.choices import work_of
from planner.spark.model.machines import Nodes, NodeType
from planner.spark.model.prediction import Work, shipped_assumptions

Reader = Callable[[Sequence[dict[str, Any]]], Application]
Maker = Callable[..., NodeType]
_SPANS = [(5, 11), (11, 13), (13, 15), (15, 17)]


def _tasks(cpu_ms: int = 400) -> list[dict[str, Any]]:
    return [
        task_end(
            4 * executor + place,
            stage=0,
            launch_ms=START_MS + begin * 1000,
            finish_ms=START_MS + end * 1000,
            did=metrics(run_ms=(end - begin) * 1000, cpu_ms=(end - begin) * cpu_ms),
            executor=str(executor),
            host=f"host-{executor}",
        )
        for executor in range(2)
        for place, (begin, end) in enumerate(_SPANS)
    ]


def _work(read: Reader, machine: Maker, **tasks: int) -> Work:
    events = [
        log_start(),
        application_start(),
        *[executor_added(str(e), host=f"host-{e}", cores=1, at_ms=START_MS + 4000) for e in range(2)],
        stage_submitted(0, tasks=8, at_ms=START_MS + 5000),
        *_tasks(**tasks),
        stage_completed(0, tasks=8, at_ms=START_MS + 5000, end_ms=START_MS + 17_000),
        application_end(START_MS + 18_000),
    ]
    return work_of(read(events), Nodes(machine=machine("half", vcpu=1, cpu_share=0.5, memory_bytes=4e9), count=2))


@pytest.fixture
def work(read: Reader, machine: Maker) -> Work:
    return _work(read, machine)


@pytest.mark.parametrize(
    ("nodes", "share", "seconds"),
    [
        # executors start in 4 x 0.5 / share; eight tasks take 2 x 0.5 / share on the nodes; their first tasks take
        # 4 x 0.5 / share longer once on each node; 1 s before the stage starts and 1 s after it
        (2, 0.5, 4 + 4 * 2 + 4 + 2),
        (1, 1.0, 2 + 8 * 1 + 2 + 2),
        (4, 0.25, 8 + 2 * 4 + 8 + 2),
        (1, 0.5, 4 + 8 * 2 + 4 + 2),
        (2, None, 2 + 4 * 1 + 2 + 2),  # without a limit, compilers find another processor
    ],
)
def test_start_and_first_tasks_are_each_executors_own(
    work: Work, machine: Maker, nodes: int, share: float | None, seconds: float
) -> None:
    other = machine("other", vcpu=1, cpu_share=share, memory_bytes=4e9)
    assert work.predict(Nodes(machine=other, count=nodes)).duration_s == pytest.approx(seconds)


@pytest.mark.parametrize(
    ("nodes", "share", "seconds"),
    [
        # 8 of 24 s of tasks are warm-up, and 4.8 s of CPU time take 9.6: the executors' own share of the other 16 s is
        # 6.4. It was 0.4 x 8 s of the stage, and takes 0.5 / share as long on any number of nodes; the rest is spread
        (2, 0.5, 4 + 4 * 2 * 0.6 + 3.2 + 4 + 2),
        (1, 1.0, 2 + 8 * 1 * 0.6 + 1.6 + 2 + 2),
        (4, 0.25, 8 + 2 * 4 * 0.6 + 6.4 + 8 + 2),
        (2, None, 2 + 4 * 1 + 2 + 2),  # without a limit, other cores take it
    ],
)
def test_what_executors_compute_beside_later_tasks_is_their_own(
    read: Reader, machine: Maker, nodes: int, share: float | None, seconds: float
) -> None:
    other = machine("other", vcpu=1, cpu_share=share, memory_bytes=4e9)
    work = _work(read, machine, cpu_ms=200)
    assert work.predict(Nodes(machine=other, count=nodes)).duration_s == pytest.approx(seconds)


def test_the_table_of_stages_has_the_excess_of_first_tasks(work: Work) -> None:
    (stage,) = work.timeline.steps[0].stages
    assert stage_row(stage, origin_s=None)["first_task_excess_s"] == 4


def test_two_slots_of_an_executor_share_its_warm_up(work: Work, machine: Maker) -> None:
    # one processor for two slots: tasks take as long as logged, but the executor starts and compiles twice as fast
    other = machine("two", vcpu=2, cpu_share=0.5, memory_bytes=8e9)
    assert work.predict(Nodes(machine=other, count=1)).duration_s == pytest.approx(2 + 4 * 2 + 2 + 2)


def test_another_share_is_less_certain(work: Work, machine: Maker) -> None:
    def sigma(share: float | None) -> float:
        return work.predict(Nodes(machine=machine("x", vcpu=1, cpu_share=share, memory_bytes=4e9), count=2)).sigma

    assert sigma(0.25) ** 2 - sigma(0.5) ** 2 == pytest.approx(shipped_assumptions().limit_sigma ** 2)
    assert sigma(None) > sigma(1.0) > sigma(0.5)


def test_a_log_of_first_tasks_alone_is_less_certain_of_other_sizes(read: Reader, machine: Maker, work: Work) -> None:
    assert work.steps.cold_share == 0
    events = [
        executor_added("0", host="a", cores=8),
        stage_submitted(0, tasks=8, at_ms=START_MS),
        *[task for task in _tasks() if task["Task Info"]["Executor ID"] == "0"],
        stage_completed(0, tasks=4, at_ms=START_MS, end_ms=START_MS + 17_000),
    ]
    cold = work_of(read(events), Nodes(machine=machine(vcpu=8), count=1))
    assert cold.steps.cold_share == pytest.approx(1)
    assert cold.timeline.steps[0].warm_up_s(8) == 0
