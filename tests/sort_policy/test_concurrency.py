"""Concurrent tasks: never more CPUs than a node offers, never more memory than it has, none idle for long."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.sort_policy.concurrency import Concurrency


@pytest.mark.parametrize(
    ("cpus", "tasks", "threads"), [(1, 3, 1), (2, 3, 1), (3, 3, 1), (4, 4, 1), (8, 8, 1), (32, 8, 4), (96, 8, 12)]
)
def test_tasks_first_then_threads(cpus: float, tasks: int, threads: int) -> None:
    chosen = Concurrency.of([cpus])
    assert (chosen.tasks, chosen.in_progress, chosen.threads(cpus)) == (tasks, tasks + 1, threads)
    assert (chosen.maps, chosen.sorts(copied=True), chosen.sorts(copied=False)) == (tasks - 1, tasks - 1, tasks)


def test_the_smallest_node_sets_the_tasks_and_larger_ones_have_more_threads() -> None:
    chosen = Concurrency.of([8, 2, 32])
    assert chosen.tasks == 3
    assert [chosen.threads(cpus) for cpus in (2, 8, 32)] == [1, 2, 10]


@given(st.lists(st.integers(1, 448), min_size=1, max_size=5))
def test_all_tasks_of_a_node_fit_and_use_it(cpus: list[int]) -> None:
    chosen = Concurrency.of(cpus)
    for offered in cpus:
        assert offered - 0.01 <= chosen.tasks * chosen.cpus(offered) <= offered
        assert chosen.tasks * chosen.threads(offered) >= offered / 2
        assert chosen.threads(offered) == 1 or chosen.tasks * chosen.threads(offered) <= offered
