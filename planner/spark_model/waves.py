"""How long tasks take on so many slots: waves, and the straggler at their end."""

from __future__ import annotations

import heapq
import random
from collections.abc import Sequence
from typing import Final

import numpy as np

from planner.spark_application.stage import QUANTILES, Stage

_MOST_SIMULATED: Final = 20_000
"""Beyond so many tasks their order hardly matters, and a formula does."""


def task_seconds(stage: Stage) -> list[float]:
    """Return the seconds of every task of a stage, as their quantiles tell; those that failed took what is left."""
    count = stage.succeeded
    durations: list[float] = []
    if stage.seconds_at and count:
        durations = np.interp((np.arange(count) + 0.5) / count, QUANTILES, stage.seconds_at).tolist()
        durations[-1] = stage.seconds_at[-1]
    lost = stage.tasks - count
    if lost:
        left = max(0.0, stage.sums.elapsed_s - sum(durations))
        durations += [left / lost] * lost
    return durations


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
