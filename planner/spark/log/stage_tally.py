"""Collects one stage attempt while a log is read."""

from __future__ import annotations

import math
import re
import sys
from array import array
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from operator import add, itemgetter
from typing import Any, Final

import numpy as np

from planner.arrays import Floats
from planner.spark.application.stage import QUANTILES, Stage, Status, TaskSums, WarmUp
from planner.spark.log.fields import Event, FieldError, group

_QUANTILES: Final = np.array(QUANTILES)
_LEAST_SETTLED: Final = 0.25
"""Least share of a stage's tasks that must be later ones, to show how long a task takes once everything is compiled."""


def warm_up(
    *, launched: Floats, seconds: Floats, moved_bytes: Floats, executors: Sequence[str], slots: Mapping[str, int]
) -> WarmUp | None:
    """Return the warm-up of a stage from its tasks, None if an executor's cores are unknown or there are too few later
    tasks.

    Later tasks are the later half. Extra time from moving more bytes is not warm-up: earlier tasks are compared with
    later tasks of as many bytes.
    """
    if not all(slots.get(executor) for executor in set(executors)):
        return None
    waves = _waves(launched, executors, slots)
    later = waves >= max(1.0, median(waves))
    if later.mean() < _LEAST_SETTLED:
        return None
    usual_s, usual_bytes = median(seconds[later]), median(moved_bytes[later])
    places = np.floor(np.log2(waves + 1)).astype(int)
    excess = np.zeros(int(places[~later].max(initial=0)) + 1)
    for place in range(len(excess)):
        early = ~later & (places == place)
        if early.any():
            larger = median(moved_bytes[early]) / usual_bytes if usual_bytes > 0 else 1.0
            excess[place] = max(0.0, median(seconds[early]) - usual_s * max(1.0, larger))
    own = np.where(later, 0.0, excess[np.minimum(places, len(excess) - 1)])
    settled = np.maximum(seconds - own, np.minimum(seconds, usual_s))
    return WarmUp(excess_s=tuple(excess.tolist()), settled_s_at=quantiles(settled), settled_s=float(settled.sum()))


def _waves(launched: Floats, executors: Sequence[str], slots: Mapping[str, int]) -> Floats:
    """Return how many tasks each task's slot ran before it, inferred from the order of launches."""
    waves = np.zeros(len(launched))
    before: dict[str, int] = {}
    for task in np.argsort(launched, kind="stable"):
        executor = executors[task]
        rank = before[executor] = before.get(executor, -1) + 1
        waves[task] = rank // slots[executor]
    return waves


_MS, _NS = 1000, 10**9
_PLACES: Final[dict[str, tuple[str, str, int]]] = {
    "deserialisation_s": ("", "Executor Deserialize Time", _MS),
    "deserialisation_cpu_s": ("", "Executor Deserialize CPU Time", _NS),
    "run_s": ("", "Executor Run Time", _MS),
    "cpu_s": ("", "Executor CPU Time", _NS),
    "result_bytes": ("", "Result Size", 1),
    "gc_s": ("", "JVM GC Time", _MS),
    "result_serialisation_s": ("", "Result Serialization Time", _MS),
    "spill_memory_bytes": ("", "Memory Bytes Spilled", 1),
    "spill_disk_bytes": ("", "Disk Bytes Spilled", 1),
    "shuffle_read_remote_blocks": ("Shuffle Read Metrics", "Remote Blocks Fetched", 1),
    "shuffle_read_local_blocks": ("Shuffle Read Metrics", "Local Blocks Fetched", 1),
    "fetch_wait_s": ("Shuffle Read Metrics", "Fetch Wait Time", _MS),
    "shuffle_read_remote_bytes": ("Shuffle Read Metrics", "Remote Bytes Read", 1),
    "shuffle_read_to_disk_bytes": ("Shuffle Read Metrics", "Remote Bytes Read To Disk", 1),
    "shuffle_read_local_bytes": ("Shuffle Read Metrics", "Local Bytes Read", 1),
    "shuffle_read_records": ("Shuffle Read Metrics", "Total Records Read", 1),
    "shuffle_write_bytes": ("Shuffle Write Metrics", "Shuffle Bytes Written", 1),
    "shuffle_write_s": ("Shuffle Write Metrics", "Shuffle Write Time", _NS),
    "shuffle_write_records": ("Shuffle Write Metrics", "Shuffle Records Written", 1),
    "input_bytes": ("Input Metrics", "Bytes Read", 1),
    "input_records": ("Input Metrics", "Records Read", 1),
    "output_bytes": ("Output Metrics", "Bytes Written", 1),
    "output_records": ("Output Metrics", "Records Written", 1),
}
"""Group of the metrics that each sum is in ('' is the top), its key, and its units per unit of ours. In Spark's order,
in which msgspec finds keys fastest.
"""
METRICS: Final = {
    group: tuple(key for place, key, _ in _PLACES.values() if place == group)
    for group in dict.fromkeys(place for place, _, _ in _PLACES.values())
}
"""Keys that are summed, by their group in a task's metrics."""
_TIMES: Final = {"elapsed_s": _MS, "getting_result_s": _MS, "scheduling_s": _MS, "unmeasured_s": _MS}
_UNITS: Final = {**{name: unit for name, (_, _, unit) in _PLACES.items()}, **_TIMES}
_GETTERS: Final = [(place, itemgetter(*keys)) for place, keys in METRICS.items()]
_WHOLE: Final = {int}


def amounts_of(*names: str) -> Callable[[Sequence[float]], tuple[float, ...]]:
    """Return a function that picks the sums of these names from the amounts of a task."""
    return itemgetter(*map(list(_UNITS).index, names))


def task_amounts(metrics: Event) -> list[Any]:
    """Return the metrics of one task in the order of `TaskSums`, in the log's units, without its times.

    Missing ones are NaN. Spark before 2 leaves out the groups a task did not use; these are 0. Raises FieldError.
    """
    values: list[Any] = []
    try:
        for place, fields_of in _GETTERS:
            values += fields_of(metrics[place] if place else metrics)
    except (KeyError, TypeError):
        return _checked_amounts(metrics)
    return values if set(map(type, values)) == _WHOLE and min(values) >= 0 else _checked_amounts(metrics)


def _checked_amounts(metrics: Event) -> list[Any]:
    """Return the same, checking each field, if one is absent, negative or wrong."""
    amounts = []
    for place, keys in METRICS.items():
        fields_there = group(metrics, place) if place else metrics
        for key in keys:
            value = fields_there.get(key)
            if type(value) is not int:
                if value is not None:
                    raise FieldError(f"{key} is {value!r:.40}, not a whole number")
                value = math.nan if fields_there else 0
            elif value < 0:
                raise FieldError(f"{key} is {value!r:.40}, a negative figure")
            amounts.append(value)
    return amounts


_MOST_OVER_MS: Final = 60_000


def drop_false_run_time(amounts: list[Any], *, elapsed_ms: float) -> list[Any]:
    """Return the amounts of a task that did not succeed, with no run time where it exceeds the elapsed by a minute.

    Spark 3.0 gives the time since its machine's start for a task that was killed before it began (SPARK-32898).
    """
    place = list(_UNITS).index("run_s")
    return [*amounts[:place], 0, *amounts[place + 1 :]] if amounts[place] > elapsed_ms + _MOST_OVER_MS else amounts


class SumTally:
    """Adds up whole numbers in the log's units, to avoid rounding errors."""

    def __init__(self) -> None:
        self._amounts: list[Any] = [0] * len(_UNITS)

    def add(self, amounts: Sequence[float]) -> None:
        """Add a task's amounts, ending with its times: elapsed, getting the result, scheduling."""
        self._amounts = list(map(add, self._amounts, amounts))

    def sums(self) -> TaskSums:
        """Return the sums in seconds and bytes."""
        return TaskSums(
            **{
                name: amount if unit == 1 else amount / unit
                for (name, unit), amount in zip(_UNITS.items(), self._amounts, strict=True)
            }
        )


class StageTally:
    """Collects one stage attempt while the log is read: three numbers and a name per task, all else of fixed size."""

    def __init__(self, stage_id: int, attempt: int) -> None:
        self.stage_id, self.attempt = stage_id, attempt
        self.name, self.failure = "", ""
        self.parents: tuple[int, ...] = ()
        self.operators: tuple[str, ...] = ()
        self.tasks_planned: int | None = None
        self.submitted_at_s: float | None = None
        self.completed_at_s: float | None = None
        self.completed = False
        self.launched = self.tasks = self.failed = self.killed = self.speculative = self.without_metrics = 0
        self.resubmitted = self.resource_profile = 0
        self.first_launch_ms: float | None = None
        self.last_finish_ms: float | None = None
        self.peak_execution_memory_bytes: float = 0
        self.sums = SumTally()
        self._launched_ms, self._seconds, self._bytes = array("d"), array("d"), array("d")
        self._executors: list[str] = []

    def launch(self, at_ms: float) -> None:
        """Note the launch of a task; `finish` does so for a task whose launch is not in the log."""
        self.first_launch_ms = at_ms if self.first_launch_ms is None else min(self.first_launch_ms, at_ms)

    def finish(self, *, executor_id: str, launched_ms: float, finished_ms: float, moved_bytes: float | None) -> None:
        """Note the end of a task; `moved_bytes` is None for one that did not succeed."""
        self.tasks += 1
        self.launch(launched_ms)
        self.last_finish_ms = finished_ms if self.last_finish_ms is None else max(self.last_finish_ms, finished_ms)
        if moved_bytes is not None:
            self._seconds.append((finished_ms - launched_ms) / 1000)
            self._bytes.append(moved_bytes)
            self._launched_ms.append(launched_ms)
            self._executors.append(sys.intern(executor_id))

    def stage(self, jobs: tuple[int, ...], *, cores: Mapping[str, int], task_cpus: int, jobs_succeeded: bool) -> Stage:
        """Return the stage; `cores` are those of each executor, of which each task takes `task_cpus`. A stage whose
        jobs all succeeded is complete even if the log lacks its end.
        """
        completed = self.completed or jobs_succeeded
        status: Status = "failed" if self.failure else "complete" if completed else "unfinished"
        return Stage(
            stage_id=self.stage_id,
            attempt=self.attempt,
            name=self.name,
            status=status,
            failure=self.failure,
            parents=self.parents,
            jobs=jobs,
            tasks_planned=self.tasks_planned,
            tasks=self.tasks,
            failed=self.failed,
            killed=self.killed,
            speculative=self.speculative,
            resubmitted=self.resubmitted,
            running=max(0, self.launched - self.tasks),
            without_metrics=self.without_metrics,
            submitted_at_s=self.submitted_at_s,
            completed_at_s=self.completed_at_s,
            first_launch_at_s=_seconds(self.first_launch_ms),
            last_finish_at_s=_seconds(self.last_finish_ms),
            sums=_without_native_input(_without_zero_times(self.sums.sums()), self.operators),
            peak_execution_memory_bytes=self.peak_execution_memory_bytes,
            seconds_at=_at_quantiles(self._seconds),
            bytes_at=_at_quantiles(self._bytes),
            succeeded_s=sum(self._seconds),
            warm_up=warm_up(
                launched=np.frombuffer(self._launched_ms),
                seconds=np.frombuffer(self._seconds),
                moved_bytes=np.frombuffer(self._bytes),
                executors=self._executors,
                slots={name: cores.get(name, 0) // task_cpus for name in set(self._executors)},
            )
            if self._seconds
            else None,
            operators=self.operators,
            task_cpus=task_cpus,
        )


def _without_zero_times(sums: TaskSums) -> TaskSums:
    """Return the sums with unknown CPU times if all are 0 though tasks were deserialised: Spark writes 0 on Java
    machines that do not measure them.
    """
    if sums.cpu_s or sums.deserialisation_cpu_s or not sums.deserialisation_s > 0 or not sums.run_s > 0:
        return sums
    return replace(sums, cpu_s=math.nan, deserialisation_cpu_s=math.nan)


_NATIVE_SCAN: Final = re.compile(r"Comet\w*NativeScan\b")


def _without_native_input(sums: TaskSums, operators: Sequence[str]) -> TaskSums:
    """Return the sums with unknown input if there is none and a native scan ran, whose reading Comet need not count.

    A stage that read shuffle data need not have scanned: its steps may be those of its whole query.
    """
    if sums.input_bytes or sums.shuffle_read_bytes or not any(map(_NATIVE_SCAN.match, operators)):
        return sums
    return replace(sums, input_bytes=math.nan, input_records=math.nan)


def _seconds(milliseconds: float | None) -> float | None:
    return None if milliseconds is None else milliseconds / 1000


def _at_quantiles(values: array[float]) -> tuple[float, ...]:
    return quantiles(np.frombuffer(values)) if values else ()


def quantiles(values: Floats) -> tuple[float, ...]:
    """Return the same as `np.quantile` at QUANTILES, to the bit; for few values in a fifth of its time."""
    ordered, places = np.sort(values), _QUANTILES * (len(values) - 1)
    low = places.astype(int)
    before, after, part = ordered[low], ordered[np.minimum(low + 1, len(values) - 1)], places - low
    step = after - before
    return tuple(np.where(part < 0.5, before + step * part, after - step * (1 - part)).tolist())


def median(values: Floats) -> float:
    """Return the same as `np.median`."""
    ordered = np.sort(values)
    return float(ordered[(len(values) - 1) // 2] + ordered[len(values) // 2]) / 2
