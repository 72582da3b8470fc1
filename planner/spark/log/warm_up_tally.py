"""Finds the warm-up of a stage in the launches of its tasks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np

from planner.arrays import Floats
from planner.spark.application.stage import QUANTILES
from planner.spark.application.warm_up import WarmUp

_LEAST_SETTLED: Final = 0.25
"""Fewer later tasks than this share of a stage do not tell how long a task takes once everything is compiled."""


def warm_up(
    *, launched: Floats, seconds: Floats, moved_bytes: Floats, executors: Sequence[str], slots: Mapping[str, int]
) -> WarmUp | None:
    """Return the warm-up of a stage from its tasks, None where the cores of an executor are unknown or too few
    tasks were not the first of their slot.

    Later tasks are the later half. What tasks take longer because they move more bytes is no warm-up: their seconds are
    compared with those of later tasks of as many bytes.
    """
    if not all(slots.get(executor) for executor in set(executors)):
        return None
    waves = _waves(launched, executors, slots)
    later = waves >= max(1.0, float(np.median(waves)))
    if later.mean() < _LEAST_SETTLED:
        return None
    usual_s, usual_bytes = float(np.median(seconds[later])), float(np.median(moved_bytes[later]))
    places = np.floor(np.log2(waves + 1)).astype(int)
    excess = np.zeros(int(places[~later].max(initial=0)) + 1)
    for place in range(len(excess)):
        early = ~later & (places == place)
        if early.any():
            larger = float(np.median(moved_bytes[early])) / usual_bytes if usual_bytes > 0 else 1.0
            excess[place] = max(0.0, float(np.median(seconds[early])) - usual_s * max(1.0, larger))
    own = np.where(later, 0.0, excess[np.minimum(places, len(excess) - 1)])
    settled = np.maximum(seconds - own, np.minimum(seconds, usual_s))
    return WarmUp(excess_s=tuple(excess.tolist()), settled_s_at=tuple(np.quantile(settled, QUANTILES).tolist()))


def _waves(launched: Floats, executors: Sequence[str], slots: Mapping[str, int]) -> Floats:
    """Return how many tasks each task's slot ran before it, as far as the order of launches tells."""
    waves = np.zeros(len(launched))
    before: dict[str, int] = {}
    for task in np.argsort(launched, kind="stable"):
        executor = executors[task]
        rank = before[executor] = before.get(executor, -1) + 1
        waves[task] = rank // slots[executor]
    return waves
