"""One attempt of one stage: what it did, how evenly, and whether it came to an end."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Final, Literal


@dataclass(frozen=True, kw_only=True)
class WarmUp:
    """Extra time of an executor's first tasks: it loads classes, and runs code that is not compiled yet. Grows with the
    number of executors, not with the data.

    `excess_s` is what a task takes longer than later ones where its slot ran 0, 1-2, 3-6, 7-14, ... tasks of the
    stage before it. `settled_s_at` are the seconds of the tasks without their excess, at QUANTILES.
    """

    excess_s: tuple[float, ...]
    settled_s_at: tuple[float, ...]

    def seconds(self, tasks: float) -> float:
        """Return what the excess of so many tasks, one after another on a slot, adds up to."""
        begins = [(1 << place) - 1 for place in range(len(self.excess_s))]
        ran = [min(max(tasks - begin, 0.0), begin + 1.0) for begin in begins]
        return sum(excess * count for excess, count in zip(self.excess_s, ran, strict=True))


@dataclass(frozen=True, kw_only=True)
class TaskSums:
    """Sums over the tasks that ended, whatever their end, as Spark's own totals count them. Seconds and bytes; NaN is
    what the log does not tell of all of them.

    `elapsed_s` is from launch to finish: `run_s` and deserialisation, sending the result, and scheduling, which is
    what is left. `unmeasured_s` is that of tasks that ended without metrics. `cpu_s` and `gc_s` are within `run_s`.
    """

    elapsed_s: float = 0.0
    run_s: float = 0.0
    cpu_s: float = 0.0
    gc_s: float = 0.0
    deserialisation_s: float = 0.0
    deserialisation_cpu_s: float = 0.0
    result_serialisation_s: float = 0.0
    getting_result_s: float = 0.0
    scheduling_s: float = 0.0
    unmeasured_s: float = 0.0
    input_bytes: float = 0
    input_records: float = 0
    output_bytes: float = 0
    output_records: float = 0
    shuffle_read_local_bytes: float = 0
    shuffle_read_remote_bytes: float = 0
    shuffle_read_to_disk_bytes: float = 0
    shuffle_read_records: float = 0
    shuffle_read_local_blocks: float = 0
    shuffle_read_remote_blocks: float = 0
    fetch_wait_s: float = 0.0
    shuffle_write_bytes: float = 0
    shuffle_write_records: float = 0
    shuffle_write_s: float = 0.0
    spill_memory_bytes: float = 0
    spill_disk_bytes: float = 0
    result_bytes: float = 0

    @property
    def shuffle_read_bytes(self) -> float:
        """Local and remote."""
        return self.shuffle_read_local_bytes + self.shuffle_read_remote_bytes

    def __add__(self, other: TaskSums) -> TaskSums:
        return TaskSums(**{f.name: getattr(self, f.name) + getattr(other, f.name) for f in fields(TaskSums)})

    def __mul__(self, factor: float) -> TaskSums:
        return TaskSums(**{f.name: getattr(self, f.name) * factor for f in fields(TaskSums)})


QUANTILES: Final = tuple(place / 20 for place in range(21))
"""At which shares of the tasks their times and bytes are kept: 0, 5%, ... 100%."""

_PYTHON: Final = re.compile(
    r"PythonRDD|Python workers|\w*PythonUDTF\w*|\w+In(Pandas|Arrow|PySpark)\w*"
    r"|\w*(Eval|Aggregate|Window|Map|Group)\w*Python\w*"
)
"""Steps of plans and RDDs of PySpark 2.4 to 4 that run Python code."""

Status = Literal["complete", "failed", "unfinished"]


@dataclass(frozen=True, kw_only=True)
class Stage:
    """One attempt of a stage. Times are seconds since 1970, None where the log does not tell.

    `tasks` ended, of `tasks_planned`; `failed` and `killed` are among them, and `speculative` are those that were
    launched beside another; `running` had not ended when the log did. `without_metrics` ended without saying what they
    did, as a lost executor's do. `seconds_at` and `bytes_at` are of the tasks that succeeded, at QUANTILES; the bytes
    of a task are all it read and wrote. `peak_execution_memory_bytes` is the largest of one task, NaN where it is
    unknown. `warm_up` is None where the log does not tell it. `operators` are the steps of the plan that it ran.
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
    operators: tuple[str, ...] = ()

    @property
    def python_steps(self) -> tuple[str, ...]:
        """The steps of its plan that hand rows to a Python worker."""
        return tuple(
            step for step in self.operators if _PYTHON.fullmatch(step) or _PYTHON.fullmatch(step.split(" ")[0])
        )

    @property
    def unseen(self) -> int:
        """Tasks whose end is missing: a complete stage has one that succeeded for each that was planned."""
        if self.status != "complete" or self.attempt:
            return 0
        return max(0, (self.tasks_planned or 0) - self.succeeded)

    @property
    def all_tasks(self) -> int:
        """Tasks that ended, and those whose end is missing."""
        return self.tasks + self.unseen

    @property
    def whole(self) -> TaskSums:
        """The sums with those tasks that are missing, each as the mean of the others that succeeded."""
        return self.sums * (1 + self.unseen / self.succeeded) if self.unseen and self.succeeded else self.sums

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
