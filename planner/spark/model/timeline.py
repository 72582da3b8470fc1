"""An application as a sequence of steps: stages at the same time form a step; between steps the driver works."""

from __future__ import annotations

import heapq
import math
import random
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final

import numpy as np

from planner.spark.application.application import Application
from planner.spark.application.executors import CoresStep
from planner.spark.application.stage import QUANTILES, Stage
from planner.spark.model.task_time import TaskTime, overhead, task_time

_LIMIT: Final = re.compile(r"(\d+(?:\.\d+)?)(m?)")
"""CPUs as Kubernetes writes them: `2`, `0.5` or `500m`."""
_TOUCH_S: Final = 0.01
"""Overlaps shorter than this, the log's own precision, do not count: such stages follow each other."""


@dataclass(frozen=True, kw_only=True)
class Step:
    """Stages that ran at the same time, on `slots` tasks at once; `slots_known` is False if the log lacks the cores, so
    that the slots are as many as the tasks' time needs. `cpu_share` is the share of a CPU of each slot, None without a
    limit; `overhead` is the seconds that executors compute besides their tasks, per second of these.
    """

    stages: tuple[Stage, ...]
    start_s: float
    duration_s: float
    slots: int
    slots_known: bool
    cpu_share: float | None = None
    overhead: float = 0.0

    @cached_property
    def durations(self) -> list[float]:
        """Seconds of each task, without the extra time of an executor's first tasks."""
        return [duration for stage in self.stages for duration in task_seconds(stage)]

    @cached_property
    def time(self) -> TaskTime:
        """The tasks' time, split into parts."""
        return sum((self.time_of(stage) for stage in self.stages), TaskTime())

    def time_of(self, stage: Stage) -> TaskTime:
        """Return the time of a stage's tasks, split into parts."""
        return task_time(
            stage.complete_sums,
            tasks=stage.all_tasks,
            python=bool(stage.python_steps),
            native=bool(stage.engine),
            cpu_share=self.cpu_share,
            overhead=self.overhead,
        )

    @cached_property
    def extra_s(self) -> float:
        """Seconds of the step beyond its tasks' waves; below 0 if they fitted better than in any order tried."""
        return self.duration_s - self.waves_s(self.slots) - self.warm_up_s(self.slots)

    @property
    def busy(self) -> float:
        """Share of the slots' time that tasks used."""
        return self.time.total / (self.slots * self.duration_s) if self.duration_s > 0 else 0.0

    def waves_s(self, slots: int) -> float:
        """Return the seconds of the tasks on `slots` slots, without the extra time of an executor's first tasks."""
        return makespan_s(self.durations, slots=slots)

    def warm_up_s(self, slots: int) -> float:
        """Return the extra seconds of the executors' first tasks on `slots` slots."""
        return warm_up_s(self.stages, slots=slots)

    def seconds_on(self, slots: int, *, factor: float = 1.0) -> float:
        """Return the seconds on `slots` slots, each task taking `factor` times as long as it did."""
        tasks_s = (self.waves_s(slots) + self.warm_up_s(slots)) * factor
        longest_s = max(self.durations, default=0.0) * factor
        return tasks_s + self.extra_s if self.extra_s >= 0 else max(tasks_s * self._fit, longest_s)

    @property
    def _fit(self) -> float:
        waves = self.duration_s - self.extra_s
        return self.duration_s / waves if waves > 0 else 1.0


@dataclass(frozen=True, kw_only=True)
class Timeline:
    """`startup_s` is before the first stage, `between_s` between stages, `after_s` after the last one; as far as a log
    shows, none depends on the number of nodes. `executors_s` is the part of the start until the first stage's executors
    were there; `stream_s` is the part of `between_s` before another batch of a stream. If `on_trigger`, these begin at
    equal distances, so that longer batches leave less of it.
    """

    steps: tuple[Step, ...]
    startup_s: float
    executors_s: float
    between_s: float
    after_s: float
    stream_s: float = 0.0
    on_trigger: bool = False

    @cached_property
    def duration_s(self) -> float:
        """Seconds of the whole application."""
        return self.startup_s + self.between_s + self.after_s + sum(step.duration_s for step in self.steps)

    @property
    def driver_s(self) -> float:
        """Seconds in which no stage ran."""
        return self.startup_s + self.between_s + self.after_s


def timeline(application: Application, *, share: float | None = None) -> Timeline:
    """Return the steps of an application, leaving out stages without times. `share` is the part of a CPU that a core
    has, `cpu_share` of the application if None.
    """
    share = cpu_share(application) if share is None else share
    timed = [stage for stage in application.stages if stage.duration_s is not None and stage.started_at_s is not None]
    beside = overhead((stage.complete_sums for stage in timed if not stage.python_steps), cpu_share=share)
    steps = tuple(
        replace(_step(group, application.cores_over_time), cpu_share=share, overhead=beside) for group in _groups(timed)
    )
    begin, end = application.started_at_s, application.ended_at_s
    first = steps[0].start_s if steps else end
    last = steps[-1].start_s + steps[-1].duration_s if steps else end
    between = (last - first if steps and first is not None and last is not None else 0.0) - sum(
        step.duration_s for step in steps
    )
    there = [
        e.added_at_s for e in application.executors if e.added_at_s and first is not None and e.added_at_s <= first
    ]
    stream_s, on_trigger = _stream(steps, {job.job_id: job.batch for job in application.jobs})
    return Timeline(
        steps=steps,
        stream_s=stream_s,
        on_trigger=on_trigger,
        startup_s=max(0.0, first - begin) if first is not None and begin is not None else 0.0,
        executors_s=max(0.0, max(there) - begin) if there and begin is not None else 0.0,
        between_s=max(0.0, between),
        after_s=max(0.0, end - last) if end is not None and last is not None else 0.0,
    )


def _stream(steps: Sequence[Step], batches: Mapping[int, str]) -> tuple[float, bool]:
    """Return the seconds before another batch of a stream began, and whether batches began at equal distances: these
    then vary less than the waits, which give way to the batches.
    """
    own = [next((batches.get(job, "") for job in step.stages[0].jobs), "") for step in steps]
    others = [place for place in range(1, len(steps)) if own[place] not in ("", own[place - 1])]
    waits = [steps[at].start_s - steps[at - 1].start_s - steps[at - 1].duration_s for at in others]
    distances = np.diff([steps[place].start_s for place in others])
    return sum(waits), len(distances) > 1 and bool(np.std(distances) <= np.std(waits[1:]) + _TOUCH_S)


def cpu_share(application: Application) -> float | None:
    """Return how much of a CPU each core of an executor may use under a limit of Kubernetes, None if no limit holds it:
    a limit above its cores leaves its compiler and collector processors of their own.
    """
    limit = _LIMIT.fullmatch(application.properties.get("spark.kubernetes.executor.limit.cores", ""))
    cores = application.cluster.cores_per_executor
    if limit is None or not cores:
        return None
    cpus = float(limit[1]) / (1000 if limit[2] else 1)
    return cpus / cores if 0 < cpus <= cores else None


def _groups(stages: Sequence[Stage]) -> list[list[Stage]]:
    groups: list[list[Stage]] = []
    until = -math.inf
    for stage in sorted(stages, key=lambda stage: stage.started_at_s or 0.0):
        if (stage.started_at_s or 0.0) >= until - _TOUCH_S:
            groups.append([])
        groups[-1].append(stage)
        until = max(until, stage.ended_at_s or 0.0)
    return groups


def _step(stages: Sequence[Stage], cores: Sequence[CoresStep]) -> Step:
    start = min(stage.started_at_s or 0.0 for stage in stages)
    end = max(start, *(stage.ended_at_s or 0.0 for stage in stages))
    there = _mean_cores(cores, start_s=start, end_s=end)
    elapsed = sum(stage.complete_sums.elapsed_s for stage in stages)
    needed = max(1, math.ceil(elapsed / (end - start))) if end > start else 1
    busy_cores = sum(stage.task_cpus * stage.complete_sums.elapsed_s for stage in stages)
    cpus = busy_cores / elapsed if elapsed > 0 else max(stage.task_cpus for stage in stages)
    slots = max(1, round(there / cpus)) if there else needed
    return Step(stages=tuple(stages), start_s=start, duration_s=end - start, slots=slots, slots_known=there > 0)


def _mean_cores(steps: Sequence[CoresStep], *, start_s: float, end_s: float) -> float:
    """Return the mean number of cores from `start_s` to `end_s`; 0 if none are known."""
    total = 0.0
    for place, step in enumerate(steps):
        until = steps[place + 1].at_s if place + 1 < len(steps) else math.inf
        total += step.cores * max(0.0, min(until, end_s) - max(step.at_s, start_s))
    if end_s > start_s:
        return total / (end_s - start_s)
    return float(next((step.cores for step in reversed(steps) if step.at_s <= start_s), 0))


_MOST_SIMULATED: Final = 20_000
"""Most tasks that are simulated; beyond it their order hardly matters, and a formula does."""


def task_seconds(stage: Stage) -> list[float]:
    """Return the seconds of every task of a stage from their quantiles, including those missing in the log; failed
    tasks take the remaining time. The extra time of an executor's first tasks is left out where the log shows it: it is
    in `warm_up_s`.
    """
    count = stage.succeeded + stage.unseen
    grown = count / max(stage.succeeded, 1)
    lost = stage.tasks - stage.succeeded
    left = [lost_seconds(stage) / lost] * lost if lost else []
    if stage.warm_up:
        return _at(stage.warm_up.settled_s_at, count, total_s=stage.warm_up.settled_s * grown) + left
    return _at(stage.seconds_at, count, total_s=stage.succeeded_s * grown) + left


def lost_seconds(stage: Stage) -> float:
    """Return the seconds of the tasks of a stage that failed or were killed."""
    if stage.tasks == stage.succeeded:
        return 0.0
    if math.isnan(stage.succeeded_s):
        return max(0.0, stage.complete_sums.elapsed_s - sum(_at(stage.seconds_at, stage.succeeded + stage.unseen)))
    grown = 1 + stage.unseen / stage.succeeded if stage.succeeded else 1.0  # as the sums are
    return max(0.0, stage.complete_sums.elapsed_s - stage.succeeded_s * grown)


def lost_share(stage: Stage) -> float:
    """Return the share of a stage's task time that failures took: all of it in a failed or repeated stage, else that of
    tasks that failed or were killed, and of those that ran again since their output was lost.
    """
    elapsed_s = stage.complete_sums.elapsed_s
    if stage.status == "failed" or stage.attempt > 0 or elapsed_s <= 0:
        return float(elapsed_s > 0)
    again_s = stage.resubmitted * stage.succeeded_s / stage.succeeded if stage.resubmitted and stage.succeeded else 0.0
    return min(1.0, (lost_seconds(stage) + again_s) / elapsed_s)


def _at(seconds_at: Sequence[float], count: int, *, total_s: float = math.nan) -> list[float]:
    """Return the seconds of `count` tasks. Between the last two quantiles few tasks may be long: those there, but the
    longest, are as much shorter than a straight line has them as it takes for all to last `total_s`.
    """
    if not seconds_at or not count:
        return []
    places = (np.arange(count - 1) + 0.5) / count
    line = np.interp(places, QUANTILES, seconds_at)
    last, low = places > QUANTILES[-2], seconds_at[-2]
    above = float((line[last] - low).sum())
    if above > 0 and not math.isnan(total_s):
        left = total_s - seconds_at[-1] - float(line[~last].sum()) - low * int(last.sum())
        line[last] = low + (line[last] - low) * min(max(left / above, 0.0), 1.0)
    return [*line.tolist(), seconds_at[-1]]


def warm_up_s(stages: Sequence[Stage], *, slots: int) -> float:
    """Return the extra seconds of a slot's first tasks over later ones, for stages that run together."""
    told = [(stage.warm_up, stage.all_tasks / slots) for stage in stages if stage.warm_up is not None]
    together = sum(warm_up.seconds(tasks) for warm_up, tasks in told)
    return max([together, *(warm_up.seconds(max(tasks, 1.0)) for warm_up, tasks in told)])


def makespan_s(durations: Sequence[float], *, slots: int) -> float:
    """Return the seconds until the last of the tasks ends, each slot taking the next task as it becomes free.

    Spark starts tasks in the order of their partitions, which is unrelated to their length, so they are shuffled,
    always in the same way.
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
