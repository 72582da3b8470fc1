"""The resource that bound each stage of an application, and what more of each could change at most."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from planner.spark.application.application import Application
from planner.spark.application.completeness import Completeness, completeness
from planner.spark.application.stage import Stage
from planner.spark.model.task_time import RESOURCES, TaskTime
from planner.spark.model.timeline import Step, Timeline, timeline

IDLE: Final = 0.5
"""A stage that leaves more of its slots idle than this is bound by its tasks, not by what they do."""
_STRAGGLER: Final = 2.0
"""A task that takes so many times the median one is a straggler."""
_REMOVABLE: Final = {
    "network": "no task waits for shuffle blocks from other nodes",
    "disks": "no task waits for the disks of shuffle files",
    "memory": "no spill, no garbage collection",
    "storage": "no task waits for its input or output",
}


@dataclass(frozen=True, kw_only=True)
class StageBound:
    """What bound one stage: a resource of `RESOURCES`, or `straggler`, `too few tasks`, or '' where no task ended.

    `busy` is the share of the slots' time that its tasks used, None where the log does not tell the cores. Whether the
    slots were idle is judged by all stages that ran at the time.
    """

    stage: Stage
    bound: str
    busy: float | None
    time: TaskTime


@dataclass(frozen=True, kw_only=True)
class Change:
    """What an ideal change of one resource would make of the application: a limit, not a forecast."""

    resource: str
    what: str
    duration_s: float
    share: float
    """Of the application's time: -0.31 is 31% less."""


@dataclass(frozen=True, kw_only=True)
class Explanation:
    """Where an application's time went. `stages` are in order of start, `changes` by what they save, most first.

    `seconds_by_bound` counts stages that ran at the same time once, for what bound the one with most task time.
    """

    duration_s: float
    seconds_by_bound: dict[str, float]
    timeline: Timeline
    stages: tuple[StageBound, ...]
    time: TaskTime
    changes: tuple[Change, ...]
    completeness: Completeness


def explain(application: Application) -> Explanation:
    """Return what bound each stage and what more disk, network, memory or cores could change at most."""
    line = timeline(application)
    bounds = [_bound(stage, step) for step in line.steps for stage in step.stages]
    changes = sorted(_changes(line), key=lambda change: change.share)
    return Explanation(
        duration_s=line.duration_s,
        seconds_by_bound=_seconds_by_bound(line),
        timeline=line,
        stages=tuple(bounds),
        time=sum((bound.time for bound in bounds), TaskTime()),
        changes=tuple(changes),
        completeness=completeness(application),
    )


def _seconds_by_bound(line: Timeline) -> dict[str, float]:
    seconds: dict[str, float] = {}
    for step in line.steps:
        first = max(step.stages, key=lambda stage: stage.whole.elapsed_s)
        word = _bound(first, step).bound or "nothing"
        seconds[word] = seconds.get(word, 0.0) + step.duration_s
    return dict(sorted(seconds.items(), key=lambda item: -item[1]))


def _bound(stage: Stage, step: Step) -> StageBound:
    time, duration = step.time_of(stage), stage.duration_s or 0.0
    busy = stage.whole.elapsed_s / (step.slots * duration) if duration > 0 and step.slots_known else None
    return StageBound(stage=stage, bound=_word(stage, step, time, busy), busy=busy, time=time)


def _word(stage: Stage, step: Step, time: TaskTime, busy: float | None) -> str:
    if not stage.tasks or time.total <= 0:
        return ""
    if busy is not None and step.busy < IDLE:
        longest = stage.seconds_at[-1] if stage.seconds_at else 0.0
        if longest > IDLE * (stage.duration_s or 0.0):
            return "straggler" if (stage.time_skew or 0.0) >= _STRAGGLER else "too few tasks"
        return "scheduling"
    return max(RESOURCES, key=time.share)


def _changes(line: Timeline) -> list[Change]:
    ideal = {
        resource: _seconds_without(line.steps, resource)
        for resource in _REMOVABLE
        if any(s.time.share(resource) for s in line.steps)
    }
    changes = [_change(line, resource, _REMOVABLE[resource], seconds) for resource, seconds in ideal.items()]
    twice = sum(step.seconds_on(2 * step.slots) for step in line.steps)
    faster = sum(step.seconds_on(step.slots, factor=1 - step.time.share("processors") / 2) for step in line.steps)
    changes.append(_change(line, "cores", "twice as many cores", twice))
    changes.append(_change(line, "processors", "cores twice as fast", faster))
    return changes


def _seconds_without(steps: Sequence[Step], resource: str) -> float:
    return sum(step.seconds_on(step.slots, factor=1 - step.time.share(resource)) for step in steps)


def _change(line: Timeline, resource: str, what: str, stages_s: float) -> Change:
    duration = line.driver_s + stages_s
    share = duration / line.duration_s - 1 if line.duration_s > 0 else 0.0
    return Change(resource=resource, what=what, duration_s=duration, share=share)
