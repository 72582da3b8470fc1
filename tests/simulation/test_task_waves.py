"""Tasks of a node: a few at a time, short ones first and last."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.simulation.events import Clock
from planner.simulation.links import Capacities
from planner.simulation.phase_work import Tasks
from planner.simulation.task_waves import TaskWaves, shares


@given(per_node=st.floats(1.0, 1e6))
def test_shares_do_all_of_the_work_and_begin_and_end_with_single_tasks(per_node: float) -> None:
    parts = shares(per_node)
    assert sum(parts) == pytest.approx(1.0)
    assert max(parts) <= max(1 / per_node, 1 / 48) * (1 + 1e-9)
    assert parts[0] == pytest.approx(1 / per_node)
    assert parts[-1] <= 1 / per_node * (1 + 1e-9)
    assert len(parts) < 100


def test_a_few_tasks_stay_as_they_are() -> None:
    assert shares(4.0) == [0.25] * 4


def took_s(*, tasks: Tasks, seconds: tuple[float, ...]) -> float:
    """Return how long the tasks of one node take that has a resource of its own for each stage."""
    capacities = Capacities.of(np.ones(5), burst=np.ones(5), size=np.zeros(5))
    clock = Clock(usage=np.diag(seconds), most=np.full(5, np.inf), capacities=capacities)
    TaskWaves(clock=clock, group=0, tasks=tasks).begin()
    list(clock.run())
    return clock.now_s


def of(*, per_node: float, at_once: int = 3, under_way: int = 8) -> Tasks:
    return Tasks(per_node=per_node, at_once=at_once, under_way=under_way, threads=1)


def test_one_task_goes_through_its_stages_in_turn() -> None:
    assert took_s(tasks=of(per_node=1), seconds=(1.0, 2.0, 3.0, 4.0, 5.0)) == 15.0


def test_one_at_a_time_takes_the_sum_of_all() -> None:
    """Ten tasks that keep their only place while they write: nothing overlaps."""
    assert took_s(tasks=of(per_node=10, at_once=1), seconds=(0.0, 2.0, 3.0, 4.0, 0.0)) == pytest.approx(9.0)


def test_several_at_a_time_take_the_longest_stage_and_what_fills_and_drains_it() -> None:
    """Ten tasks send 4 s in all. The first is ready to send at 0.5 s. The second begins then, is ready at 1.0 s, and
    0.1 s were lost. The third begins at 0.9 s, computes from 1.1 s, shares with the fourth from 1.3 s, and is ready at
    1.5 s: another 0.1 s. From then on tasks are ready before they can be sent.
    """
    assert took_s(tasks=of(per_node=10), seconds=(0.0, 2.0, 3.0, 0.0, 4.0)) == pytest.approx(0.5 + 4.0 + 0.1 + 0.1)
