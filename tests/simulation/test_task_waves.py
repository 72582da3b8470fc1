"""A node's tasks: as many at a time as the scheduler starts."""

from __future__ import annotations

import numpy as np
import pytest

from planner.simulation.events import Capacities, Clock
from planner.simulation.phase_tasks import Tasks
from planner.simulation.resources import STAGES
from planner.simulation.sends import ToAll
from planner.simulation.task_waves import Places, TaskWaves
from planner.simulation.work_queue import own_work
from planner.sort_policy.concurrency import Concurrency


def took_s(*, tasks: Tasks, seconds: tuple[float, ...]) -> float:
    """Return the time of one node's tasks, with a separate resource for each stage."""
    count = len(STAGES)
    capacities = Capacities.of(np.ones(count), burst=np.ones(count), size=np.zeros(count))
    usage = np.diag((*seconds, *(0.0,) * (count - len(seconds))))
    clock = Clock(usage=usage, most=np.full(count, np.inf), capacities=capacities)
    TaskWaves(clock=clock, group=0, tasks=tasks, send=ToAll(clock=clock), queue=own_work(tasks.shares)).begin()
    list(clock.run())
    return clock.now_s


def of(count: int, *, maps: int = 3) -> Tasks:
    """Return slices, `maps` of them grouped at a time: one place is left for arriving data."""
    concurrency = Concurrency(tasks=maps + 1)
    return Tasks(lengths=(1 / count,) * count, longest=1 / count, concurrency=concurrency, threads=1, slices=8)


def test_one_task_goes_through_its_stages_in_turn() -> None:
    assert took_s(tasks=of(1), seconds=(1.0, 2.0, 3.0, 4.0, 5.0)) == 15.0


def test_one_at_a_time_takes_the_sum_of_all() -> None:
    """Ten tasks that keep their only place while they write: nothing overlaps."""
    assert took_s(tasks=of(10, maps=1), seconds=(0.0, 2.0, 3.0, 4.0, 0.0)) == pytest.approx(9.0)


def test_several_at_a_time_keep_the_busiest_stage_busy_once_they_are_under_way() -> None:
    """Ten tasks send 4 s in all. The first is ready to send at 0.5 s and is alone until then. The second starts then
    and is ready at 1.0 s: 0.1 s is lost. From then on two more read in parallel, 0.2 s each at half the rate: the third
    is ready at 1.5 s or soon after, and nothing more is lost.
    """
    took = took_s(tasks=of(10), seconds=(0.0, 2.0, 3.0, 0.0, 4.0))
    assert 0.5 + 4.0 <= took <= 0.5 + 4.0 + 0.5


def test_partitions_begin_together_up_to_the_places() -> None:
    """Six partitions, three at a time, that sort 1 s each: two waves."""
    sorting = Tasks(lengths=(1 / 6,) * 6, longest=1 / 6, concurrency=Concurrency(tasks=3), threads=1)
    clock_s = took_s(tasks=sorting, seconds=(0.0, 0.0, 6.0, 0.0, 0.0))
    assert clock_s == pytest.approx(6.0)  # one processor, always busy


def test_who_waits_longest_for_a_place_gets_it() -> None:
    places, began = Places(free=1), list[str]()
    for name in "abc":
        places.take(lambda name=name: began.append(name))  # type: ignore[misc]
    assert began == ["a"]
    places.leave()
    assert began == ["a", "b"]
    places.leave()
    places.leave()
    assert (began, places.free) == (["a", "b", "c"], 1)
