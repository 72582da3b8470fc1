"""One attempt of one stage: its work, its skew, and whether it ended."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Final, Literal


@dataclass(frozen=True, kw_only=True)
class WarmUp:
    """Extra time of an executor's first tasks, which load classes and run code that is not compiled yet. It grows with
    the number of executors, not with the data.

    `excess_s` is the extra time of a task over later ones, where its slot had run 0, 1-2, 3-6, 7-14, ... tasks of the
    stage before it. `settled_s_at` are the seconds of the tasks without their excess, at QUANTILES.
    """

    excess_s: tuple[float, ...]
    settled_s_at: tuple[float, ...]
    settled_s: float = math.nan

    def seconds(self, tasks: float) -> float:
        """Return the total excess of `tasks` tasks that run one after another on a slot."""
        begins = [(1 << place) - 1 for place in range(len(self.excess_s))]
        ran = [min(max(tasks - begin, 0.0), begin + 1.0) for begin in begins]
        return sum(excess * count for excess, count in zip(self.excess_s, ran, strict=True))


@dataclass(frozen=True, kw_only=True)
class TaskSums:
    """Sums over the tasks that ended, however they ended, as Spark's own totals count them. Seconds and bytes; NaN
    where the log lacks the figure for some of them.

    `elapsed_s` is from launch to finish: `run_s` plus deserialisation, sending the result, and scheduling, which is the
    remainder. `unmeasured_s` is that of tasks that ended without metrics. `cpu_s` is within `run_s`, but for rounding;
    `gc_s` is that of the whole executor from the task's arrival on, so it can exceed `run_s`.
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
        """Bytes of shuffle data read, local and remote."""
        return self.shuffle_read_local_bytes + self.shuffle_read_remote_bytes

    def __add__(self, other: TaskSums) -> TaskSums:
        return TaskSums(**{f.name: getattr(self, f.name) + getattr(other, f.name) for f in fields(TaskSums)})

    def __mul__(self, factor: float) -> TaskSums:
        return TaskSums(**{f.name: getattr(self, f.name) * factor for f in fields(TaskSums)})


QUANTILES: Final = tuple(place / 20 for place in range(21))
"""Shares of the tasks at which their times and bytes are kept: 0, 5%, ... 100%."""

_PYTHON: Final = re.compile(
    r"PythonRDD|Python workers|\w*PythonUDTF\w*|\w+In(Pandas|Arrow|PySpark)\w*"
    r"|\w*(Eval|Aggregate|Window|Map|Group)\w*Python\w*"
)
"""Steps of plans and RDDs, in PySpark 2.4 to 4, that run Python code."""

_ENGINES: Final = {"Gpu": "GPUs", "Photon": "Photon"}

Status = Literal["complete", "failed", "unfinished"]


@dataclass(frozen=True, kw_only=True)
class Stage:
    """One attempt of a stage. Times are seconds since 1970, None where the log lacks them.

    `tasks` ended, of `tasks_planned`, including `failed` and `killed` ones; `speculative` tasks were launched as copies
    of others; `running` tasks had not ended when the log did. `without_metrics` tasks ended without reporting their
    work, as a lost executor's do. `seconds_at` and `bytes_at` are of the tasks that succeeded, at QUANTILES; the bytes
    of a task are all it read and wrote. `peak_execution_memory_bytes` is the largest of one task, NaN if unknown.
    `warm_up` is None if unknown. `operators` are the plan steps that it ran.
    `resubmitted` of the tasks that succeeded ran again, since an executor was lost with their output. Each task takes
    `task_cpus` cores of its executor.
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
    succeeded_s: float = math.nan
    warm_up: WarmUp | None = None
    operators: tuple[str, ...] = ()
    resubmitted: int = 0
    task_cpus: int = 1

    @property
    def python_steps(self) -> tuple[str, ...]:
        """The plan steps that hand rows to a Python worker."""
        return tuple(
            step for step in self.operators if _PYTHON.fullmatch(step) or _PYTHON.fullmatch(step.split(" ")[0])
        )

    @property
    def engine(self) -> str:
        """The engine other than the JVM that its plan steps name, whose work is no CPU time of tasks; '' for none."""
        named = (engine for start, engine in _ENGINES.items() if any(step.startswith(start) for step in self.operators))
        return next(named, "")

    @property
    def unseen(self) -> int:
        """Number of tasks whose end is missing; in a complete stage each planned task has one that succeeded, and
        another for each time its output was lost."""
        if self.status != "complete" or self.attempt:
            return 0
        return max(0, (self.tasks_planned or 0) + self.resubmitted - self.succeeded)

    @property
    def all_tasks(self) -> int:
        """Number of tasks that ended or whose end is missing."""
        return self.tasks + self.unseen

    @property
    def complete_sums(self) -> TaskSums:
        """Sums that include missing tasks, each counted as the mean of those that succeeded."""
        return self.sums * (1 + self.unseen / self.succeeded) if self.unseen and self.succeeded else self.sums

    @property
    def succeeded(self) -> int:
        """Number of tasks that succeeded."""
        return self.tasks - self.failed - self.killed

    @property
    def started_at_s(self) -> float | None:
        """Time of submission, or if the log lacks it, of the first task's launch."""
        return self.submitted_at_s if self.submitted_at_s is not None else self.first_launch_at_s

    @property
    def ended_at_s(self) -> float | None:
        """Time of completion, or if the log lacks it, of the last task's end."""
        return self.completed_at_s if self.completed_at_s is not None else self.last_finish_at_s

    @property
    def duration_s(self) -> float | None:
        """Seconds from its start to its end."""
        if self.started_at_s is None or self.ended_at_s is None:
            return None
        return max(0.0, self.ended_at_s - self.started_at_s)

    @property
    def time_skew(self) -> float | None:
        """Longest task over the median one; None if no task succeeded or the median took no time."""
        return skew(self.seconds_at)

    @property
    def bytes_skew(self) -> float | None:
        """Bytes of the task with most bytes over the median."""
        return skew(self.bytes_at)


def skew(at: Sequence[float]) -> float | None:
    """Return the maximum over the median of values at QUANTILES; None without values or where the median is 0."""
    return at[-1] / at[len(at) // 2] if at and at[len(at) // 2] > 0 else None
