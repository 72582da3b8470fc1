"""Executors over time, and jobs, as a log records them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Final


@dataclass(frozen=True, kw_only=True)
class Executor:
    """One executor. Times are seconds since 1970; None is unknown. An executor named only by its tasks has no
    `added_at_s`; its `cores` are those of the other executors where these agree. `storage_memory_bytes` is what its
    block manager may use.
    """

    executor_id: str
    host: str
    cores: int | None
    added_at_s: float | None
    removed_at_s: float | None
    removal_reason: str
    storage_memory_bytes: float | None
    resource_profile: int | None
    first_task_at_s: float | None = None

    @property
    def there_from_s(self) -> float | None:
        """Time it was added, or if the log lacks it, of its first task's launch."""
        return self.added_at_s if self.added_at_s is not None else self.first_task_at_s


@dataclass(frozen=True, kw_only=True)
class SparkJob:
    """One job: the stages it names, including skipped ones, and how it ended ('' where the log does not show it).
    `last_tasks` is the number of tasks of its last stage, 0 if unknown; `batch` names its batch of a stream, if any.
    """

    job_id: int
    stages: tuple[int, ...]
    submitted_at_s: float | None
    completed_at_s: float | None
    result: str
    last_tasks: int = 0
    batch: str = ""


@dataclass(frozen=True, kw_only=True)
class CoresStep:
    """Number of executors and cores from `at_s` on; executors of unknown cores add no cores."""

    at_s: float
    executors: int
    cores: int


def task_cpus(properties: Mapping[str, str]) -> int:
    """Return the number of cores one task takes according to Spark's properties."""
    text = properties.get("spark.task.cpus", "1")
    return max(1, int(text)) if text.isdecimal() else 1


def cores_over_time(executors: Iterable[Executor]) -> tuple[CoresStep, ...]:
    """Return the steps in which executors came and went, in order of time; executors of unknown time are left out."""
    changes = []
    for executor in executors:
        if executor.there_from_s is not None:
            changes.append((executor.there_from_s, 1, executor.cores or 0))
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


_BRIEF: Final = 0.05
"""Overlaps shorter than this share of the run do not count: a lost executor is often noticed after its replacement
came.
"""


def hosts_at_once(executors: Iterable[Executor], *, from_s: float | None, until_s: float | None) -> int | None:
    """Return the most hosts with executors at one time of a run, for longer than a twentieth of it; None if unknown. An
    executor without times, or with times outside the run, counts for the whole run.
    """
    there = [executor for executor in executors if executor.host]
    if from_s is None or until_s is None or until_s <= from_s:
        return len({executor.host for executor in there}) or None
    spans = [(executor.host, *_span(executor, from_s=from_s, until_s=until_s)) for executor in there]
    lasted: dict[int, float] = {}
    for begin, end in pairwise(sorted({time for _, start, stop in spans for time in (start, stop)})):
        count = len({host for host, start, stop in spans if start <= begin and stop >= end})
        lasted[count] = lasted.get(count, 0.0) + end - begin
    longest = _BRIEF * (until_s - from_s)
    enough = [count for count in lasted if sum(s for other, s in lasted.items() if other >= count) >= longest]
    return max(enough, default=0) or None


def _span(executor: Executor, *, from_s: float, until_s: float) -> tuple[float, float]:
    start, end = max(executor.there_from_s or from_s, from_s), min(executor.removed_at_s or until_s, until_s)
    return (start, end) if start < end else (from_s, until_s)
