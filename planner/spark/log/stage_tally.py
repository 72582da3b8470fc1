"""Gathers one stage attempt while a log is read."""

from __future__ import annotations

import sys
from array import array
from collections.abc import Mapping

import numpy as np

from planner.spark.application.stage import QUANTILES, Stage, Status
from planner.spark.log.sum_tally import SumTally
from planner.spark.log.warm_up_tally import warm_up


class StageTally:
    """Gathers one stage attempt while the log is read: three numbers and a name a task, all else of fixed size."""

    def __init__(self, stage_id: int, attempt: int) -> None:
        self.stage_id, self.attempt = stage_id, attempt
        self.name, self.failure = "", ""
        self.parents: tuple[int, ...] = ()
        self.tasks_planned: int | None = None
        self.submitted_at_s: float | None = None
        self.completed_at_s: float | None = None
        self.completed = False
        self.launched = self.tasks = self.failed = self.killed = self.speculative = self.without_metrics = 0
        self.first_launch_ms: float | None = None
        self.last_finish_ms: float | None = None
        self.peak_execution_memory_bytes: float = 0
        self.sums = SumTally()
        self._launched_ms, self._seconds, self._bytes = array("d"), array("d"), array("d")
        self._executors: list[str] = []

    def launch(self, at_ms: float) -> None:
        """Note the launch of a task; of a task that was seen to end only, its end notes it."""
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

    def stage(self, jobs: tuple[int, ...], *, slots: Mapping[str, int]) -> Stage:
        """Return what was gathered; `slots` is how many tasks each executor runs at once."""
        status: Status = "unfinished" if not self.completed else "failed" if self.failure else "complete"
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
            running=max(0, self.launched - self.tasks),
            without_metrics=self.without_metrics,
            submitted_at_s=self.submitted_at_s,
            completed_at_s=self.completed_at_s,
            first_launch_at_s=_seconds(self.first_launch_ms),
            last_finish_at_s=_seconds(self.last_finish_ms),
            sums=self.sums.sums(),
            peak_execution_memory_bytes=self.peak_execution_memory_bytes,
            seconds_at=_at_quantiles(self._seconds),
            bytes_at=_at_quantiles(self._bytes),
            warm_up=warm_up(
                launched=np.frombuffer(self._launched_ms),
                seconds=np.frombuffer(self._seconds),
                moved_bytes=np.frombuffer(self._bytes),
                executors=self._executors,
                slots=slots,
            )
            if self._seconds
            else None,
        )


def _seconds(milliseconds: float | None) -> float | None:
    return None if milliseconds is None else milliseconds / 1000


def _at_quantiles(values: array[float]) -> tuple[float, ...]:
    return tuple(np.quantile(np.frombuffer(values), QUANTILES).tolist()) if values else ()
