"""Executors over time, and jobs: what a log says of both."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Executor:
    """One executor. Times are seconds since 1970; None is what the log does not tell: also `cores` and `added_at_s`
    of one that only its tasks name. `storage_memory_bytes` is what its block manager may use.
    """

    executor_id: str
    host: str
    cores: int | None
    added_at_s: float | None
    removed_at_s: float | None
    removal_reason: str
    storage_memory_bytes: float | None
    resource_profile: int | None


@dataclass(frozen=True, kw_only=True)
class SparkJob:
    """One job: the stages it names, also those that were skipped, and how it ended ('' when the log does not tell)."""

    job_id: int
    stages: tuple[int, ...]
    submitted_at_s: float | None
    completed_at_s: float | None
    result: str


@dataclass(frozen=True, kw_only=True)
class CoresStep:
    """From `at_s` on there were so many executors with so many cores, those of unknown cores not among the cores."""

    at_s: float
    executors: int
    cores: int


def task_cpus(properties: Mapping[str, str]) -> int:
    """Return how many cores one task takes by Spark's properties."""
    text = properties.get("spark.task.cpus", "1")
    return max(1, int(text)) if text.isdecimal() else 1


def cores_over_time(executors: Iterable[Executor]) -> tuple[CoresStep, ...]:
    """Return the steps in which executors came and went, in order of time; those of unknown time are left out."""
    changes = []
    for executor in executors:
        if executor.added_at_s is not None:
            changes.append((executor.added_at_s, 1, executor.cores or 0))
            if executor.removed_at_s is not None:
                changes.append((executor.removed_at_s, -1, -(executor.cores or 0)))
    steps: list[CoresStep] = []
    count = cores = 0
    for at_s, more, more_cores in sorted(changes):
        count, cores = count + more, cores + more_cores
        step = CoresStep(at_s=at_s, executors=count, cores=cores)
        if steps and steps[-1].at_s == at_s:
            steps[-1] = step
        else:
            steps.append(step)
    return tuple(steps)
