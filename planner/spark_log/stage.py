"""One attempt of one stage: what it did, how evenly, and whether it came to an end."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np

from planner.spark_log.task_sums import SumTally, TaskSums

QUANTILES: Final = tuple(place / 20 for place in range(21))
"""At which shares of the tasks their times and bytes are kept: 0, 5%, ... 100%."""

Status = Literal["complete", "failed", "unfinished"]


@dataclass(frozen=True, kw_only=True)
class Stage:
    """One attempt of a stage. Times are seconds since 1970, None where the log does not tell.

    `tasks` ended, of `tasks_planned`; `failed` and `killed` are among them, and `speculative` are those that were
    launched beside another; `running` had not ended when the log did. `without_metrics` ended without saying what they
    did, as a lost executor's do. `seconds_at` and `bytes_at` are of the tasks that succeeded, at QUANTILES; the bytes
    of a task are all it read and wrote. `peak_execution_memory_bytes` is the largest of one task.
    """

    stage_id: int
    attempt: int
    name: str
    status: Status
    failure: str
    parents: tuple[int, ...]
    jobs: tuple[int, ...]
    tasks_planned: int | None
    tasks: int
    failed: int
    killed: int
    speculative: int
    running: int
    without_metrics: int
    submitted_at_s: float | None
    completed_at_s: float | None
    first_launch_at_s: float | None
    last_finish_at_s: float | None
    sums: TaskSums
    peak_execution_memory_bytes: float
    seconds_at: tuple[float, ...]
    bytes_at: tuple[float, ...]

    @property
    def succeeded(self) -> int:
        """Tasks that ended well."""
        return self.tasks - self.failed - self.killed

    @property
    def started_at_s(self) -> float | None:
        """When it was submitted, or where the log lacks that, when its first task was launched."""
        return self.submitted_at_s if self.submitted_at_s is not None else self.first_launch_at_s

    @property
    def ended_at_s(self) -> float | None:
        """When it was completed, or where the log lacks that, when the last task that ended did."""
        return self.completed_at_s if self.completed_at_s is not None else self.last_finish_at_s

    @property
    def duration_s(self) -> float | None:
        """From its start to its end."""
        if self.started_at_s is None or self.ended_at_s is None:
            return None
        return max(0.0, self.ended_at_s - self.started_at_s)

    @property
    def time_skew(self) -> float | None:
        """The longest task over the median one; None where no task succeeded or the median took no time."""
        return skew(self.seconds_at)

    @property
    def bytes_skew(self) -> float | None:
        """The task with most bytes over the median one."""
        return skew(self.bytes_at)


def skew(at: Sequence[float]) -> float | None:
    """Return the maximum over the median of values at QUANTILES; None without values or where the median is 0."""
    return at[-1] / at[len(at) // 2] if at and at[len(at) // 2] > 0 else None


class StageTally:
    """Gathers one stage attempt while the log is read: two numbers a task, all else of fixed size."""

    def __init__(self, stage_id: int, attempt: int) -> None:
        self.stage_id, self.attempt = stage_id, attempt
        self.name, self.failure = "", ""
        self.parents: tuple[int, ...] = ()
        self.tasks_planned: int | None = None
        self.submitted_at_s: float | None = None
        self.completed_at_s: float | None = None
        self.completed = False
        self.launched = self.tasks = self.failed = self.killed = self.speculative = self.without_metrics = 0
        self.first_launch_ms: float | None = None
        self.last_finish_ms: float | None = None
        self.peak_execution_memory_bytes: float = 0
        self.sums = SumTally()
        self._seconds, self._bytes = array("d"), array("d")

    def launch(self, at_ms: float) -> None:
        """Note the launch of a task; of a task that was seen to end only, its end notes it."""
        self.first_launch_ms = at_ms if self.first_launch_ms is None else min(self.first_launch_ms, at_ms)

    def finish(self, *, launched_ms: float, finished_ms: float, moved_bytes: float | None) -> None:
        """Note the end of a task; `moved_bytes` is None for one that did not succeed."""
        self.tasks += 1
        self.launch(launched_ms)
        self.last_finish_ms = finished_ms if self.last_finish_ms is None else max(self.last_finish_ms, finished_ms)
        if moved_bytes is not None:
            self._seconds.append((finished_ms - launched_ms) / 1000)
            self._bytes.append(moved_bytes)

    def stage(self, jobs: tuple[int, ...]) -> Stage:
        """Return what was gathered."""
        status: Status = "unfinished" if not self.completed else "failed" if self.failure else "complete"
        return Stage(
            stage_id=self.stage_id,
            attempt=self.attempt,
            name=self.name,
            status=status,
            failure=self.failure,
            parents=self.parents,
            jobs=jobs,
            tasks_planned=self.tasks_planned,
            tasks=self.tasks,
            failed=self.failed,
            killed=self.killed,
            speculative=self.speculative,
            running=max(0, self.launched - self.tasks),
            without_metrics=self.without_metrics,
            submitted_at_s=self.submitted_at_s,
            completed_at_s=self.completed_at_s,
            first_launch_at_s=_seconds(self.first_launch_ms),
            last_finish_at_s=_seconds(self.last_finish_ms),
            sums=self.sums.sums(),
            peak_execution_memory_bytes=self.peak_execution_memory_bytes,
            seconds_at=_at_quantiles(self._seconds),
            bytes_at=_at_quantiles(self._bytes),
        )


def _seconds(milliseconds: float | None) -> float | None:
    return None if milliseconds is None else milliseconds / 1000


def _at_quantiles(values: array[float]) -> tuple[float, ...]:
    return tuple(np.quantile(np.frombuffer(values), QUANTILES).tolist()) if values else ()
