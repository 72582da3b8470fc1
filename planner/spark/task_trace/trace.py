"""Tasks of one name as a stage, in the columns of Spark's stages; fields missing from the trace are unknown."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from planner.spark.application.application import stage_row
from planner.spark.application.stage import QUANTILES, Stage, TaskSums

if TYPE_CHECKING:
    import pandas as pd

_TOLD: Final = {
    "stage", "name", "start_s", "duration_s", "tasks", "task_median_s", "task_longest_s", "time_skew", "elapsed_s",
}  # fmt: skip
"""Columns that every trace has."""


@dataclass(frozen=True, kw_only=True, slots=True)
class TracedTask:
    """One task: its start in seconds since 1970, its length and its place; `parts_s` by the names of TaskSums."""

    name: str
    began_at_s: float
    elapsed_s: float
    worker: str
    node: str
    parts_s: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class TaskTrace:
    """Contents of a file of Ray or Dask (`system`): its tasks by name, in order of start, workers and nodes.

    `parts` are the sums it has besides the elapsed time; bytes, processors and memory are unknown.
    """

    path: str
    system: str
    began_at_s: float
    duration_s: float
    stages: tuple[Stage, ...]
    workers: int
    nodes: tuple[str, ...]
    parts: frozenset[str]

    def stage_frame(self) -> pd.DataFrame:
        """Return one row for each task name, with the columns of a Spark application's stages; NaN is unknown."""
        import pandas as pd

        rows = self.stage_rows()
        return pd.DataFrame([{k: math.nan if v is None else v for k, v in row.items()} for row in rows])

    def stage_rows(self) -> list[dict[str, Any]]:
        """Return the rows of `stage_frame`; None is unknown."""
        told = _TOLD | self.parts
        rows = [stage_row(stage, origin_s=self.began_at_s) for stage in self.stages]
        return [{name: value if name in told else None for name, value in row.items()} for row in rows]


def trace_of(tasks: Iterable[TracedTask], *, path: str, system: str, parts: frozenset[str]) -> TaskTrace:
    """Return the trace of tasks, at least one."""
    by_name: dict[str, list[TracedTask]] = {}
    for task in tasks:
        by_name.setdefault(task.name, []).append(task)
    of_all = [task for those in by_name.values() for task in those]
    began_at_s = min(task.began_at_s for task in of_all)
    ordered = sorted(by_name.items(), key=lambda entry: min(task.began_at_s for task in entry[1]))
    return TaskTrace(
        path=path,
        system=system,
        began_at_s=began_at_s,
        duration_s=max(task.began_at_s + task.elapsed_s for task in of_all) - began_at_s,
        stages=tuple(_stage(number, name, those) for number, (name, those) in enumerate(ordered)),
        workers=len({task.worker for task in of_all}),
        nodes=tuple(sorted({task.node for task in of_all})),
        parts=parts,
    )


def _stage(number: int, name: str, tasks: list[TracedTask]) -> Stage:
    began_at_s = min(task.began_at_s for task in tasks)
    ended_at_s = max(task.began_at_s + task.elapsed_s for task in tasks)
    parts = {part: sum(task.parts_s.get(part, 0.0) for task in tasks) for part in {p for t in tasks for p in t.parts_s}}
    return Stage(
        stage_id=number,
        attempt=0,
        name=name,
        status="complete",
        failure="",
        parents=(),
        jobs=(),
        tasks_planned=None,
        tasks=len(tasks),
        failed=0,
        killed=0,
        speculative=0,
        running=0,
        without_metrics=len(tasks),
        submitted_at_s=None,
        completed_at_s=None,
        first_launch_at_s=began_at_s,
        last_finish_at_s=ended_at_s,
        sums=TaskSums(elapsed_s=sum(task.elapsed_s for task in tasks), **parts),
        peak_execution_memory_bytes=0,
        seconds_at=tuple(np.quantile([task.elapsed_s for task in tasks], QUANTILES).tolist()),
        bytes_at=(),
    )
