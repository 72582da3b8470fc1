"""One application, or one attempt of it, as its log records it, and its tables as pandas DataFrames."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, fields
from functools import cached_property
from typing import TYPE_CHECKING, Any

from planner.spark.application.executors import CoresStep, Executor, SparkJob, cores_over_time
from planner.spark.application.stage import Stage, TaskSums

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, kw_only=True)
class Cluster:
    """The cluster as the log describes it; None and '' are unknown. `origins` states where each figure comes from.

    `executors` and `cores` are the most at one time; `hosts_at_once` is the same for the `hosts` that ran executors,
    which may have replaced each other. `cores_per_executor` and `memory_per_executor_bytes` (heap and overhead, as far
    as stated) are unknown where executors differ.
    """

    platform: str = ""
    cloud: str = ""
    region: str = ""
    instance_type: str = ""
    driver_type: str = ""
    hosts: tuple[str, ...] = ()
    hosts_at_once: int | None = None
    executors: int | None = None
    cores: int | None = None
    cores_per_executor: int | None = None
    memory_per_executor_bytes: float | None = None
    dynamic: bool = False
    origins: Mapping[str, str] = field(default_factory=dict)

    @property
    def unknown(self) -> tuple[str, ...]:
        """Names of the fields that the log does not give."""
        names = (f.name for f in fields(self) if f.name not in ("origins", "dynamic"))
        return tuple(name for name in names if getattr(self, name) in (None, "", ()))


@dataclass(frozen=True, kw_only=True)
class Loss:
    """Something that could not be read: `count` times, first at `first` (file and line), which has `example`."""

    what: str
    count: int
    first: str
    example: str = ""

    def __str__(self) -> str:
        example = f": {self.example}" if self.example else ""
        return f"{self.count} x {self.what}, first at {self.first}{example}"


@dataclass(frozen=True, kw_only=True)
class Application:
    """One application. Times are seconds since 1970, None where the log lacks them.

    `files` are the files it was read from, in order. `ended` is whether the log has its end; if not, the log was cut or
    the application was still running, and `ended_at_s` is the last time in the log. `properties` are Spark's.
    `task_ids` counts the tasks launched, by their numbers; `clock_jump_s` is how far the driver's clock jumped.
    `cached_bytes` is the most data kept at one time, in memory and on disks, NaN where the log does not show it.
    """

    app_id: str
    attempt: str
    name: str
    spark_version: str
    files: tuple[str, ...]
    started_at_s: float | None
    ended_at_s: float | None
    ended: bool
    stages: tuple[Stage, ...]
    jobs: tuple[SparkJob, ...]
    executors: tuple[Executor, ...]
    cluster: Cluster
    properties: Mapping[str, str] = field(repr=False)
    losses: tuple[Loss, ...]
    events: int
    task_ids: int = 0
    clock_jump_s: float = 0.0
    cached_bytes: float = math.nan

    @property
    def duration_s(self) -> float | None:
        """Seconds from its start to its end, or to the last time in the log."""
        if self.started_at_s is None or self.ended_at_s is None:
            return None
        return max(0.0, self.ended_at_s - self.started_at_s)

    @cached_property
    def sums(self) -> TaskSums:
        """Sums over all tasks."""
        return sum((stage.sums for stage in self.stages), TaskSums())

    @property
    def tasks(self) -> int:
        """Tasks that ended."""
        return sum(stage.tasks for stage in self.stages)

    @cached_property
    def cores_over_time(self) -> tuple[CoresStep, ...]:
        """Number of executors and cores over time."""
        return cores_over_time(self.executors)

    @property
    def attempt_id(self) -> str:
        """The id, with the attempt as Spark's history server writes it: app-1/2."""
        return f"{self.app_id}/{self.attempt}" if self.app_id and self.attempt else self.app_id

    def stage_frame(self) -> pd.DataFrame:
        """Return one row for each stage attempt, in order of start. Seconds and bytes; NaN is unknown."""
        return _frame(stage_row(stage, origin_s=self.started_at_s) for stage in self.stages)

    def executor_frame(self) -> pd.DataFrame:
        """Return one row for each executor."""
        return _frame(asdict(executor) for executor in self.executors)

    def job_frame(self) -> pd.DataFrame:
        """Return one row for each job."""
        return _frame(asdict(job) for job in self.jobs)

    def cores_frame(self) -> pd.DataFrame:
        """Return one row for each time at which executors came or went."""
        return _frame(asdict(step) for step in self.cores_over_time)


def stage_row(stage: Stage, *, origin_s: float | None) -> dict[str, Any]:
    """Return a stage as one flat row; `start_s` counts from `origin_s`."""
    start = stage.started_at_s
    median_s = stage.seconds_at[len(stage.seconds_at) // 2] if stage.seconds_at else None
    return {
        "stage": stage.stage_id,
        "attempt": stage.attempt,
        "name": stage.name,
        "status": stage.status,
        "start_s": None if start is None or origin_s is None else start - origin_s,
        "duration_s": stage.duration_s,
        "tasks_planned": stage.tasks_planned,
        "tasks": stage.tasks,
        "failed": stage.failed,
        "killed": stage.killed,
        "speculative": stage.speculative,
        "resubmitted": stage.resubmitted,
        "running": stage.running,
        "without_metrics": stage.without_metrics,
        **known_sums(stage.sums),
        "shuffle_read_bytes": _known(stage.sums.shuffle_read_bytes),
        "peak_execution_memory_bytes": _known(stage.peak_execution_memory_bytes),
        "task_median_s": median_s,
        "task_longest_s": stage.seconds_at[-1] if stage.seconds_at else None,
        "first_task_excess_s": stage.warm_up.seconds(1) if stage.warm_up else None,
        "time_skew": stage.time_skew,
        "bytes_skew": stage.bytes_skew,
    }


def known_sums(sums: TaskSums) -> dict[str, float | None]:
    """Return sums by their names, None for one that is unknown."""
    return {name: _known(amount) for name, amount in asdict(sums).items()}


def _known(amount: float) -> float | None:
    return None if math.isnan(amount) else amount


def _frame(rows: Iterable[Mapping[str, Any]]) -> pd.DataFrame:
    import pandas as pd

    return pd.DataFrame(list(rows))
