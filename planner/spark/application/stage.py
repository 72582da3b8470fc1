"""One attempt of one stage: what it did, how evenly, and whether it came to an end."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

from planner.spark.application.task_sums import TaskSums
from planner.spark.application.warm_up import WarmUp

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
    `warm_up` is None where the log does not tell it.
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
    warm_up: WarmUp | None = None

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
