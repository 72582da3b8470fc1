"""Evidence in a log for the time that stages took, in words."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Final

from planner.spark.application.stage import Stage, TaskSums
from planner.spark.model.task_time import TaskTime
from planner.units import count_text, format_bytes, format_duration


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
