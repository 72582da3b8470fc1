"""How long tasks take on so many slots: waves, and the straggler at their end."""

from __future__ import annotations

import heapq
import random
from collections.abc import Sequence
from typing import Final

import numpy as np

from planner.spark.application.stage import QUANTILES, Stage

_MOST_SIMULATED: Final = 20_000
"""Beyond so many tasks their order hardly matters, and a formula does."""


def task_seconds(stage: Stage) -> list[float]:
    """Return the seconds of every task of a stage, as their quantiles tell; those that failed took what is left. What
    an executor's first tasks took longer is left out where the log tells it: `warm_up_s` has it.
    """
    durations = _at(stage.seconds_at, stage.succeeded)
    lost = stage.tasks - stage.succeeded
    left = [max(0.0, stage.sums.elapsed_s - sum(durations)) / lost] * lost if lost else []
    return (_at(stage.warm_up.settled_s_at, stage.succeeded) if stage.warm_up else durations) + left


def _at(seconds_at: Sequence[float], count: int) -> list[float]:
    if not seconds_at or not count:
        return []
    return [*np.interp((np.arange(count - 1) + 0.5) / count, QUANTILES, seconds_at).tolist(), seconds_at[-1]]


def warm_up_s(stages: Sequence[Stage], *, slots: int) -> float:
    """Return what a slot's first tasks of stages that run together take longer than later ones."""
    told = [(stage.warm_up, stage.tasks / slots) for stage in stages if stage.warm_up is not None]
    together = sum(warm_up.seconds(tasks) for warm_up, tasks in told)
    return max([together, *(warm_up.seconds(max(tasks, 1.0)) for warm_up, tasks in told)])


def makespan_s(durations: Sequence[float], *, slots: int) -> float:
    """Return the seconds until the last of the tasks ends, each slot taking the next one as it gets free.

    Spark starts tasks in the order of their partitions, which says nothing about their length: they are shuffled,
    always alike.
    """
    if not durations:
        return 0.0
    if len(durations) <= slots:
        return max(durations)
    if len(durations) > _MOST_SIMULATED:
        return max(*durations, sum(durations) / slots + max(durations) / 2)
    order = list(durations)
    random.Random(len(order)).shuffle(order)
    free_at = order[:slots]
    heapq.heapify(free_at)
    for duration in order[slots:]:
        heapq.heapreplace(free_at, free_at[0] + duration)
    return max(free_at)
