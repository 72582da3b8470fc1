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
from planner.spark.model.task_time import RESOURCES, TaskTime, slowest_move_s
from planner.spark.model.timeline import Step, Timeline, lost_share, makespan_s, timeline
from planner.units import count_text, format_bytes, format_duration

_FAR_STRAGGLER: Final = 4.0
"""A task that takes this many times the median is a straggler even if few slots are idle because there are few: it
decides when its stage ends. The first tasks of a slot do not count, as they are slow for another reason.
"""
_MUCH_GARBAGE: Final = 0.2
"""Share of task time from which garbage collection counts as heavy: Spark's own pages mark it from 10%, and it costs as
much again in processor time.
"""
_MUCH_SPILL: Final = 0.5
"""Spilled share of the bytes a stage reads, which it sorts and writes again, from which spill counts as heavy."""
_HIDES_MEMORY: Final = ("processors", "waiting", "scheduling", "small tasks")
_CAUSES: Final = {
    "python": "no time in Python workers",
    "memory": "no spill, no garbage collection",
    "network": "no task waits for shuffle blocks from other nodes",
    "disks": "no task waits for the disks of shuffle files",
    "storage": "no task waits for its input or output",
    "waiting": "no task waits for what the log does not name",
    "failures": "no task or stage fails",
    "cold executors": "executors have loaded the tasks' code",
    "results": "no results are sent to the driver",
    "straggler": "tasks of equal length",
    "too few tasks": "equal shares of the work for all slots",
    "small tasks": "no time before and after tasks run",
    "scheduling": "no time before and after tasks run",
    "start": "no time before the first stage",
    "driver": "no time between stages",
    "ending": "no time after the last stage",
}
"""Causes that can be removed, and the application without each."""


@dataclass(frozen=True, kw_only=True)
class StageBound:
    """Bound of one stage: a resource of `RESOURCES`, `straggler`, `too few tasks`, `small tasks`, `failures`,
    `cold executors`, `results`, or '' if no task ended: the one whose removal would save most.

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

    `seconds_by_bound` counts stages that ran at the same time once, under the cause whose removal saves most; `driver`
    is the time between stages in which none ran, `stream` that before another batch of a stream, `ending` that after
    the last stage. `evidence` gives the evidence in the
    log for each bound.
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
        evidence={
            word: text for word, text in (_evidence(bounds) | _idle_evidence(line)).items() if word in seconds_by_bound
        },
        timeline=line,
        stages=tuple(bounds),
        time=sum((bound.time for bound in bounds), TaskTime()),
        changes=tuple(changes),
        completeness=completeness(application),
    )


def _seconds_by_bound(line: Timeline) -> dict[str, float]:
    seconds: dict[str, float] = {}
    for step in line.steps:
        word = _step_word(step)
        seconds[word] = seconds.get(word, 0.0) + step.duration_s
    idle = {"driver": line.between_s - line.stream_s, "stream": line.stream_s, "ending": line.after_s}
    seconds |= {word: idle_s for word, idle_s in idle.items() if line.steps and idle_s > 0}
    return dict(sorted(seconds.items(), key=lambda item: -item[1]))


def _step_word(step: Step) -> str:
    """Return the bound of the stage of a step, or of several the cause whose removal saves most."""
    bounds = [bound for stage in step.stages if (bound := _bound(stage, step)).bound]
    saves = _step_savings(step)
    return max(saves, key=saves.__getitem__) if len(bounds) > 1 else bounds[0].bound if bounds else "nothing"


def _step_savings(step: Step) -> dict[str, float]:
    """Return for each cause the share of a step's duration that would go with it, the mean of its stages' by time."""
    saves: dict[str, float] = {}
    for stage, time in [(stage, time) for stage in step.stages if (time := step.time_of(stage)).total > 0]:
        for name, share in _savings(stage, step, time).items():
            saves[name] = saves.get(name, 0.0) + share * time.total / step.time.total
    return saves


def _idle_evidence(line: Timeline) -> dict[str, str]:
    between, stream = format_duration(line.between_s - line.stream_s), format_duration(line.stream_s)
    return {
        "driver": f"no stage ran for {between} between stages",
        "stream": f"no stage ran for {stream} before batches of a stream began",
        "ending": f"the application ended {format_duration(line.after_s)} after its last stage",
    }


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
    saves = _savings(stage, step, time)
    word = max(saves, key=saves.__getitem__)
    alone = bool(stage.seconds_at) and stage.seconds_at[-1] > (stage.duration_s or 0.0) / 2
    settled = stage.warm_up.settled_s_at if stage.warm_up and busy is not None and alone else ()
    if word not in _BEFORE_WORK and (skew(settled) or 0.0) >= _FAR_STRAGGLER:
        return "straggler"
    return "memory" if word in _HIDES_MEMORY and _memory_is_short(stage, time) else word


def _savings(stage: Stage, step: Step, time: TaskTime) -> dict[str, float]:
    """Return for each cause the share of the step's duration that would go with it, as far as each can be told alone:
    of busy slots the shares of the task time, of idle ones those of uneven and of few tasks and of slow starts.
    """
    before = _shares(stage, time)
    lost, cold, results = before.values()
    before_cpu = min(stage.complete_sums.deserialisation_cpu_s or 0.0, time.cpu) / time.total
    busy = min(step.busy, 1.0) if step.slots_known else 1.0
    saves = {name: busy * (1 - lost) * time.share(name) for name in RESOURCES}
    for name, share in (("processors", before_cpu), ("scheduling", cold - before_cpu + results)):
        if not math.isnan(share):
            saves[name] = max(0.0, saves[name] - busy * share)
    if step.slots_known and step.duration_s > 0:
        tasks, even_s = step.durations, sum(step.durations) / step.slots
        same_s = makespan_s([even_s * step.slots / max(1, len(tasks))] * len(tasks), slots=step.slots)
        idle = {"straggler": step.waves_s(step.slots) - same_s, "too few tasks": same_s - even_s}
        left, kept = 1 - busy, max(0.0, 1 - sum(before.values()))
        for name, seconds in idle.items():
            saves[name] = min(left, max(0.0, seconds / step.duration_s)) * kept
            left -= saves[name]
        saves["scheduling"] += max(0.0, left) * kept
    if stage.tasks > step.slots:
        opening = busy * (1 - lost) * _opening_share(stage.complete_sums, time)
        saves["storage"] -= opening
        saves["small tasks"] = saves.pop("scheduling") + opening
    return saves | before


_BEFORE_WORK: Final = ("failures", "cold executors", "results")


def _shares(stage: Stage, time: TaskTime) -> dict[str, float]:
    """Return the shares of a stage's task time that failures took, that executors took to load a task's code, and that
    results took on their way to the driver.
    """
    sums, lost = stage.complete_sums, lost_share(stage)
    seconds = {"cold executors": sums.deserialisation_s, "results": sums.result_serialisation_s + sums.getting_result_s}
    return {"failures": lost} | {
        name: min(1.0, amount / time.total) if lost < 1 and amount > 0 and time.total > 0 else 0.0
        for name, amount in seconds.items()
    }


def _opening_share(sums: TaskSums, time: TaskTime) -> float:
    """Return the share of the task time that waits for storage longer than its bytes explain."""
    return max(0.0, time.storage - slowest_move_s(sums)) / time.total


def _memory_is_short(stage: Stage, time: TaskTime) -> bool:
    """Return whether a stage's computing is mostly due to lack of memory: it spills or collects much garbage."""
    read = stage.sums.input_bytes + stage.sums.shuffle_read_bytes
    return time.gc >= _MUCH_GARBAGE * time.total or stage.sums.spill_disk_bytes > _MUCH_SPILL * read


def _changes(line: Timeline) -> list[Change]:
    saved = {"start": line.startup_s, "driver": line.between_s - line.stream_s, "ending": line.after_s}
    for step in line.steps:
        for name, share in _step_savings(step).items():
            saved[name] = saved.get(name, 0.0) + share * step.duration_s
    stages_s = line.duration_s - line.driver_s
    changes = [_change(line, name, what, stages_s - saved[name]) for name, what in _CAUSES.items() if saved.get(name)]
    twice = sum(step.seconds_on(2 * step.slots) for step in line.steps)
    faster = sum(step.seconds_on(step.slots, factor=1 - step.time.share("processors") / 2) for step in line.steps)
    changes.append(_change(line, "cores", "twice as many cores", twice))
    return [*changes, _change(line, "processors", "cores twice as fast", faster)]


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
    engines = sorted({stage.engine for stage in stages if stage.engine})
    computed = f"{' and '.join(engines)} computed, of which the log has no times" if engines else ""
    return computed if not lacking else f"the log has no {' and no '.join(lacking)}"


def _failures(stages: Sequence[Stage], _sums: TaskSums, time: TaskTime) -> str:
    lost = sum(lost_share(stage) * stage.complete_sums.elapsed_s for stage in stages)
    counts = {
        "failed task": sum(stage.failed for stage in stages),
        "killed task": sum(stage.killed for stage in stages),
        "resubmitted task": sum(stage.resubmitted for stage in stages),
        "failed or repeated stage": sum(stage.status == "failed" or stage.attempt > 0 for stage in stages),
    }
    told = " and ".join(count_text(count, what, grouped=True) for what, count in counts.items() if count)
    return f"{told} took {min(1.0, lost / time.total):.0%} of the task time"


def _cold(_stages: Sequence[Stage], sums: TaskSums, time: TaskTime) -> str:
    return f"{min(1.0, sums.deserialisation_s / time.total):.0%} of the task time loads the tasks' code and arguments"


def _results(_stages: Sequence[Stage], sums: TaskSums, time: TaskTime) -> str:
    share = (sums.result_serialisation_s + sums.getting_result_s) / time.total
    return f"{min(1.0, share):.0%} of the task time sends {_size(sums.result_bytes)} to the driver"


def _straggler(stages: Sequence[Stage], _sums: TaskSums, _time: TaskTime) -> str:
    worst = max(stages, key=lambda stage: stage.seconds_at[-1])
    longest, median = worst.seconds_at[-1], worst.seconds_at[len(worst.seconds_at) // 2]
    told = f"a task of stage {worst.stage_id} took {format_duration(longest)}, the median one {format_duration(median)}"
    moved, usual = (worst.bytes_at[place] if worst.bytes_at else 0.0 for place in (-1, len(worst.bytes_at) // 2))
    return f"{told}; they moved {_size(moved)} and {_size(usual)}" if moved > usual else told


def _few(stages: Sequence[Stage], _sums: TaskSums, _time: TaskTime) -> str:
    most = max(stage.tasks for stage in stages)
    return f"at most {count_text(most, 'task', grouped=True)} in a stage"


def _small(stages: Sequence[Stage], sums: TaskSums, time: TaskTime) -> str:
    tasks = sum(stage.tasks for stage in stages)
    moved = sums.input_bytes + sums.output_bytes + sums.shuffle_read_bytes + sums.shuffle_write_bytes
    each = f"{tasks:,} tasks of {format_duration(time.total / tasks)} and {_size(moved / tasks)} each"
    opening = _opening_share(sums, time)
    opens = f", {opening:.0%} until files open" if round(opening, 2) else ""
    return f"{each}, {time.scheduling / time.total:.0%} of it before and after they run{opens}"


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
    "failures": _failures,
    "cold executors": _cold,
    "results": _results,
    "straggler": _straggler,
    "too few tasks": _few,
    "small tasks": _small,
}
