"""The logged steps of an application, as arrays with one element for each step."""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any, Final

import numpy as np

from planner.arrays import Floats
from planner.spark.application.stage import TaskSums
from planner.spark.model.task_time import TaskTime
from planner.spark.model.timeline import Timeline, lost_share, task_seconds

PARTS: Final = tuple(field.name for field in fields(TaskTime))


@dataclass(frozen=True, kw_only=True, eq=False)
class LoggedSteps:
    """The steps of a timeline."""

    timeline: Timeline

    @cached_property
    def shares(self) -> dict[str, Floats]:
        """Share of the tasks' time that each part has."""
        steps = self.timeline.steps
        return {part: np.array([getattr(step.time, part) for step in steps]) / self.totals for part in PARTS}

    @cached_property
    def totals(self) -> Floats:
        """Seconds of all tasks, never 0."""
        return np.array([step.time.total or 1.0 for step in self.timeline.steps])

    @cached_property
    def tasks(self) -> Floats:
        """Number of tasks, never 0."""
        return np.array([max(1.0, sum(stage.all_tasks for stage in step.stages)) for step in self.timeline.steps])

    @cached_property
    def busy(self) -> Floats:
        """Share of the slots' time that tasks used."""
        return np.array([min(step.busy, 1.0) for step in self.timeline.steps])

    @cached_property
    def slots(self) -> Floats:
        """Number of tasks that ran at once."""
        return np.array([float(step.slots) for step in self.timeline.steps])

    @cached_property
    def seconds(self) -> Floats:
        """Seconds of each step."""
        return np.array([step.duration_s for step in self.timeline.steps])

    @cached_property
    def extra_s(self) -> Floats:
        """Seconds of each step beyond its tasks' waves."""
        return np.array([step.extra_s for step in self.timeline.steps])

    @cached_property
    def longest_s(self) -> Floats:
        """Seconds of the longest task of each step."""
        return np.array([max(step.durations, default=0.0) for step in self.timeline.steps])

    @cached_property
    def together(self) -> dict[str, Any]:
        """Of each stage that ran beside others: the place of its step, its longest task and all its tasks in seconds,
        and the shares of their time, by part.
        """
        pairs = [
            (place, step, stage)
            for place, step in enumerate(self.timeline.steps)
            if len(step.stages) > 1
            for stage in step.stages
        ]
        tasks = [task_seconds(stage) for _, _, stage in pairs]
        times = [step.time_of(stage) for _, step, stage in pairs]
        return {
            "step": np.array([place for place, _, _ in pairs], dtype=int),
            "longest_s": np.array([max(seconds, default=0.0) for seconds in tasks]),
            "all_s": np.array([sum(seconds) for seconds in tasks]),
            **{part: np.array([getattr(time, part) / (time.total or 1.0) for time in times]) for part in PARTS},
        }

    @cached_property
    def needed_bytes(self) -> Floats:
        """Execution memory that one task of each step would need to avoid spilling."""
        return np.array(
            [
                max(
                    stage.peak_execution_memory_bytes + stage.complete_sums.spill_memory_bytes / max(stage.all_tasks, 1)
                    for stage in step.stages
                )
                for step in self.timeline.steps
            ]
        )

    @cached_property
    def largest_shuffle_bytes(self) -> float:
        """Most bytes that one stage read of a shuffle."""
        stages = [stage for step in self.timeline.steps for stage in step.stages]
        return max((stage.complete_sums.shuffle_read_bytes for stage in stages), default=0.0)

    @cached_property
    def unexplained_share(self) -> float:
        """Share of the stages' time that failed, or was spent waiting for something that the log does not name: of
        neither does it show how long it takes elsewhere.
        """
        waits = self.shares["storage"] + self.shares["waiting"] + self.shares["unknown"]
        return self._of_time(self._lost + (1 - self._lost) * waits)

    @cached_property
    def lost_share(self) -> float:
        """Share of the stages' time that failed, or was spent on what had failed."""
        return self._of_time(self._lost)

    def _of_time(self, shares: Floats) -> float:
        return float((self.seconds * shares).sum() / (self.seconds.sum() or 1.0))

    @cached_property
    def _lost(self) -> Floats:
        steps = self.timeline.steps
        lost = [sum(lost_share(stage) * step.time_of(stage).total for stage in step.stages) for step in steps]
        return np.array(lost) / self.totals

    def waves_s(self, slots: int) -> Floats:
        """Return the seconds of the tasks on `slots` slots of the logged machines, without warm-up."""
        return self._on_slots(slots)[0]

    def warm_up_s(self, slots: int) -> Floats:
        """Return the extra seconds of the executors' first tasks, on `slots` slots."""
        return self._on_slots(slots)[1]

    def _on_slots(self, slots: int) -> tuple[Floats, Floats]:
        if slots not in self._cache:
            pairs = [(step.waves_s(slots), step.warm_up_s(slots)) for step in self.timeline.steps]
            waves, warm_up = np.array(pairs).reshape(-1, 2).T
            self._cache[slots] = waves, warm_up
        return self._cache[slots]

    @cached_property
    def _cache(self) -> dict[int, tuple[Floats, Floats]]:
        return {}

    @cached_property
    def overhead_share(self) -> Floats:
        """Computing of executors besides their later tasks, as a share of these tasks' time; 0 without a limit. It is
        mostly the compiler's, so each executor repeats it.
        """
        shares = []
        for step, total in zip(self.timeline.steps, self.totals, strict=True):
            sums, settled_s = sum((stage.complete_sums for stage in step.stages), TaskSums()), sum(step.durations)
            own_s = float(np.nan_to_num(sums.cpu_s + sums.deserialisation_cpu_s)) / (step.cpu_share or 1.0)
            beside_s = max(0.0, step.time.cpu - (total - settled_s) - own_s) if step.cpu_share is not None else 0.0
            shares.append(beside_s / max(settled_s, 1e-9))
        return np.array(shares)

    @cached_property
    def cold_share(self) -> float:
        """Share of the application's time for which the log does not show whether later tasks would be faster."""
        total_s, cold_s = self.timeline.duration_s, 0.0
        for step in self.timeline.steps:
            untold = sum(stage.complete_sums.elapsed_s for stage in step.stages if stage.warm_up is None)
            cold_s += step.duration_s * untold / max(sum(stage.complete_sums.elapsed_s for stage in step.stages), 1e-9)
        return cold_s / total_s if total_s else 0.0

    @cached_property
    def bytes(self) -> dict[str, Floats]:
        """Bytes of each step fetched from other nodes, fetched in total, and written to shuffle disks; and the number
        of blocks fetched.
        """
        sums = [sum((stage.complete_sums for stage in step.stages), TaskSums()) for step in self.timeline.steps]
        return {
            "remote": np.array([float(step.shuffle_read_remote_bytes) for step in sums]),
            "fetched": np.array([float(step.shuffle_read_bytes) for step in sums]),
            "blocks": np.array([float(s.shuffle_read_local_blocks + s.shuffle_read_remote_blocks) for s in sums]),
            "written": np.array([float(step.shuffle_write_bytes + step.spill_disk_bytes) for step in sums]),
        }
