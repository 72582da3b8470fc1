"""The resource that bound each stage of an application, and the most that more of each resource could save,
with the evidence in words.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from planner.spark.application.application import Application
from planner.spark.application.completeness import Completeness, completeness
from planner.spark.application.stage import Stage, TaskSums, skew
from planner.spark.model.task_time import RESOURCES, TaskTime
from planner.spark.model.timeline import Step, Timeline, timeline
from planner.units import count_text, format_bytes, format_duration

IDLE: Final = 0.5
"""Share of idle slots above which a stage is bound by its tasks, not by their work."""
_STRAGGLER: Final = 2.0
"""A task that takes this many times the median is a straggler."""
_FAR_STRAGGLER: Final = 4.0
"""The same where few slots are idle because there are few: such a task decides when its stage ends. The first tasks of
a slot do not count, as they are slow for another reason.
"""
_MANY: Final = 10
_SMALL_S: Final = 0.5
_SMALL_BYTES: Final = 1e6
"""Tasks are small if they take less than `_SMALL_S`, move less than this, and each slot runs many."""
_MUCH_GARBAGE: Final = 0.2
"""Share of task time from which garbage collection counts as heavy: Spark's own pages mark it from 10%, and it costs as
much again in processor time.
"""
_MUCH_SPILL: Final = 0.5
"""Spilled share of the bytes a stage reads, which it sorts and writes again, from which spill counts as heavy."""
_HIDES_MEMORY: Final = ("processors", "waiting", "scheduling")
_REMOVABLE: Final = {
    "network": "no task waits for shuffle blocks from other nodes",
    "disks": "no task waits for the disks of shuffle files",
    "memory": "no spill, no garbage collection",
    "storage": "no task waits for its input or output",
}


@dataclass(frozen=True, kw_only=True)
class StageBound:
    """Bound of one stage: a resource of `RESOURCES`, `straggler`, `too few tasks`, `small tasks`, or '' if no task
    ended.

    `busy` is the share of the slots' time that its tasks used, None if the cores are unknown. Whether slots were idle
    is judged by all stages that ran at the time.
    """

    stage: Stage
    bound: str
    busy: float | None
    time: TaskTime


@dataclass(frozen=True, kw_only=True)
class Change:
    """Effect on the application of an ideal change of one resource: a limit, not a forecast."""

    resource: str
    what: str
    duration_s: float
    share: float
    """Change of the application's time: -0.31 is 31% less."""


@dataclass(frozen=True, kw_only=True)
class Explanation:
    """Account of an application's time. `stages` are in order of start, `changes` by saving, largest first.

    `seconds_by_bound` counts stages that ran at the same time once, under the bound of the one with most task time;
    `driver` is the time after the first stage in which none ran. `evidence` gives the evidence in the log for each
    bound.
    """

    duration_s: float
    seconds_by_bound: dict[str, float]
    evidence: dict[str, str]
    timeline: Timeline
    stages: tuple[StageBound, ...]
    time: TaskTime
    changes: tuple[Change, ...]
    completeness: Completeness


def explain(application: Application) -> Explanation:
    """Return the bound of each stage, and the most that more disk, network, memory or cores could change."""
    line = timeline(application)
    bounds = [_bound(stage, step) for step in line.steps for stage in step.stages]
    seconds_by_bound = _seconds_by_bound(line)
    changes = sorted(_changes(line), key=lambda change: change.share)
    return Explanation(
        duration_s=line.duration_s,
        seconds_by_bound=seconds_by_bound,
        evidence=_evidence(bounds) | ({"driver": _driver(line)} if "driver" in seconds_by_bound else {}),
        timeline=line,
        stages=tuple(bounds),
        time=sum((bound.time for bound in bounds), TaskTime()),
        changes=tuple(changes),
        completeness=completeness(application),
    )


def _seconds_by_bound(line: Timeline) -> dict[str, float]:
    seconds: dict[str, float] = {}
    for step in line.steps:
        first = max(step.stages, key=lambda stage: stage.complete_sums.elapsed_s)
        word = _bound(first, step).bound or "nothing"
        seconds[word] = seconds.get(word, 0.0) + step.duration_s
    idle_s = line.between_s + line.after_s
    if line.steps and idle_s > 0:
        seconds["driver"] = idle_s
    return dict(sorted(seconds.items(), key=lambda item: -item[1]))


def _driver(line: Timeline) -> str:
    between, after = format_duration(line.between_s), format_duration(line.after_s)
    return f"no stage ran for {between} between stages and {after} after the last"


def _evidence(bounds: Sequence[StageBound]) -> dict[str, str]:
    words = dict.fromkeys(bound.bound for bound in bounds)
    of = {word: [bound for bound in bounds if bound.bound == word] for word in words}
    return {
        word: evidence(word, [b.stage for b in some], sum((b.time for b in some), TaskTime()))
        for word, some in of.items()
    }


def _bound(stage: Stage, step: Step) -> StageBound:
    time, duration = step.time_of(stage), stage.duration_s or 0.0
    busy = stage.complete_sums.elapsed_s / (step.slots * duration) if duration > 0 and step.slots_known else None
    return StageBound(stage=stage, bound=_word(stage, step, time, busy), busy=busy, time=time)


def _word(stage: Stage, step: Step, time: TaskTime, busy: float | None) -> str:
    if not stage.tasks or time.total <= 0:
        return ""
    longest = stage.seconds_at[-1] if stage.seconds_at else 0.0
    alone = longest > IDLE * (stage.duration_s or 0.0)
    if busy is not None and step.busy < IDLE:
        if alone:
            return "straggler" if (stage.time_skew or 0.0) >= _STRAGGLER else "too few tasks"
        return "scheduling"
    if busy is not None and alone and stage.warm_up and (skew(stage.warm_up.settled_s_at) or 0.0) >= _FAR_STRAGGLER:
        return "straggler"
    if _small_tasks(stage, step):
        return "small tasks"
    word = max(RESOURCES, key=time.share)
    return "memory" if word in _HIDES_MEMORY and _memory_is_short(stage, time) else word


def _small_tasks(stage: Stage, step: Step) -> bool:
    sums = stage.sums
    bytes_each = (sums.input_bytes + sums.output_bytes + sums.shuffle_read_bytes) / stage.tasks
    return stage.tasks >= _MANY * step.slots and sums.elapsed_s < _SMALL_S * stage.tasks and bytes_each < _SMALL_BYTES


def _memory_is_short(stage: Stage, time: TaskTime) -> bool:
    """Return whether a stage's computing is mostly due to lack of memory: it spills or collects much garbage."""
    read = stage.sums.input_bytes + stage.sums.shuffle_read_bytes
    return time.gc >= _MUCH_GARBAGE * time.total or stage.sums.spill_disk_bytes > _MUCH_SPILL * read


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


def evidence(word: str, stages: Sequence[Stage], time: TaskTime) -> str:
    """Return the log's evidence for stages that were all bound by `word`, with task time `time`; '' for none."""
    told = _EVIDENCE.get(word)
    sums = sum((stage.sums for stage in stages), TaskSums())
    return told(stages, sums, time) if told and stages and time.total else ""


def _processors(_stages: Sequence[Stage], _sums: TaskSums, time: TaskTime) -> str:
    return f"{time.cpu / time.total:.0%} of the task time is CPU time"


def _python(stages: Sequence[Stage], _sums: TaskSums, time: TaskTime) -> str:
    steps = ", ".join(list(dict.fromkeys(step for stage in stages for step in stage.python_steps))[:3])
    return f"the plan has {steps}, and {time.python / time.total:.0%} of the task time is run time without CPU"


def _memory(_stages: Sequence[Stage], sums: TaskSums, time: TaskTime) -> str:
    collected = f"{time.gc / time.total:.0%} of the task time is garbage collection"
    return f"{collected}, and {_size(sums.spill_disk_bytes)} spilled to disk" if sums.spill_disk_bytes else collected


def _network(stages: Sequence[Stage], sums: TaskSums, time: TaskTime) -> str:
    fetched = _size(sums.shuffle_read_remote_bytes)
    return f"{time.fetch / time.total:.0%} of the task time waits for {fetched} from other executors"


def _disks(stages: Sequence[Stage], sums: TaskSums, time: TaskTime) -> str:
    written = _size(sums.shuffle_write_bytes)
    return f"{time.shuffle_write / time.total:.0%} of the task time writes {written} of shuffle files"


def _storage(stages: Sequence[Stage], sums: TaskSums, time: TaskTime) -> str:
    moved = f"{_size(sums.input_bytes)} read and {_size(sums.output_bytes)} written"
    return f"{time.storage / time.total:.0%} of the task time is run time without CPU, with {moved}"


def _waiting(stages: Sequence[Stage], _sums: TaskSums, time: TaskTime) -> str:
    share = time.waiting / time.total
    return f"{share:.0%} of the task time is run time without CPU that neither bytes nor plan explain"


def _scheduling(stages: Sequence[Stage], _sums: TaskSums, time: TaskTime) -> str:
    return f"{time.scheduling / time.total:.0%} of the task time is before and after the tasks run"


def _unknown(stages: Sequence[Stage], sums: TaskSums, _time: TaskTime) -> str:
    fields = {
        "run_s": "run times", "cpu_s": "CPU times", "gc_s": "collection times", "fetch_wait_s": "fetch waits",
        "input_bytes": "sizes of input",
    }  # fmt: skip
    lacking = [words for name, words in fields.items() if math.isnan(getattr(sums, name))]
    unmeasured = sum(stage.without_metrics for stage in stages)
    lacking += [f"metrics of {count_text(unmeasured, 'task', grouped=True)}"] if unmeasured else []
    return f"the log has no {' and no '.join(lacking)}"


def _straggler(stages: Sequence[Stage], _sums: TaskSums, _time: TaskTime) -> str:
    worst = max(stages, key=lambda stage: stage.seconds_at[-1])
    longest, median = worst.seconds_at[-1], worst.seconds_at[len(worst.seconds_at) // 2]
    return f"a task of stage {worst.stage_id} took {format_duration(longest)}, the median one {format_duration(median)}"


def _few(stages: Sequence[Stage], _sums: TaskSums, _time: TaskTime) -> str:
    most = max(stage.tasks for stage in stages)
    return f"at most {count_text(most, 'task', grouped=True)} in a stage"


def _small(stages: Sequence[Stage], sums: TaskSums, time: TaskTime) -> str:
    tasks = sum(stage.tasks for stage in stages)
    moved = sums.input_bytes + sums.output_bytes + sums.shuffle_read_bytes
    return f"{tasks:,} tasks of {format_duration(time.total / tasks)} and {_size(moved / tasks)} each"


def _size(size: float) -> str:
    return format_bytes(float(f"{size:.2g}")) if math.isfinite(size) else "unknown bytes"


_EVIDENCE: Final[dict[str, Callable[[Sequence[Stage], TaskSums, TaskTime], str]]] = {
    "processors": _processors,
    "python": _python,
    "memory": _memory,
    "network": _network,
    "disks": _disks,
    "storage": _storage,
    "waiting": _waiting,
    "scheduling": _scheduling,
    "unknown": _unknown,
    "straggler": _straggler,
    "too few tasks": _few,
    "small tasks": _small,
}
