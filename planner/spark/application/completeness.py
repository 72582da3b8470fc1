"""Completeness of an application's log: tasks planned against tasks seen, and the gaps in words."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from planner.spark.application.application import Application
from planner.spark.application.executors import SparkJob
from planner.spark.application.stage import Stage
from planner.units import count_text, format_duration

LEAST_SHARE: Final = 0.95
"""Least share of its tasks that a log must have to determine how much a run read."""
_COMPACT: Final = ".compact"
_AT_ONCE_S: Final = 1.0


@dataclass(frozen=True, kw_only=True)
class Completeness:
    """`tasks_seen` tasks ended in the log, out of at least `tasks_planned`; `gaps` lists what else is missing,
    `attempts` the attempts that failed or were killed.
    """

    tasks_seen: int
    tasks_planned: int
    stages: int
    executors: int
    gaps: tuple[str, ...]
    attempts: tuple[str, ...]

    @property
    def share(self) -> float:
        """Share of the tasks that the log holds."""
        return self.tasks_seen / self.tasks_planned if self.tasks_planned else 1.0

    @property
    def sentence(self) -> str:
        """The completeness in one sentence."""
        share = "" if self.share == 1 else f" ({min(max(self.share, 0.001), 0.999):.1%})"
        seen = f"{self.tasks_seen:,} of {self.tasks_planned:,} tasks{share}"
        rest = f"{count_text(self.stages, 'stage')}, {count_text(self.executors, 'executor')}"
        head = f"The log is {'incomplete' if self.gaps else 'complete'}: {seen}, {rest}"
        return "; ".join([head, *self.gaps, *self.attempts]) + "."


def completeness(application: Application) -> Completeness:
    """Return how much of a run the log holds. Tasks are numbered from 0, so those of lost stages are counted, too."""
    planned = sum(_expected(stage) for stage in application.stages)
    planned += sum(job.last_tasks for job in _without_stages(application))
    return Completeness(
        tasks_seen=application.tasks,
        tasks_planned=max(planned, application.task_ids, application.tasks),
        stages=len(application.stages),
        executors=len(application.executors),
        gaps=tuple(_gaps(application, lost=max(planned, application.task_ids) - application.tasks)),
        attempts=tuple(_attempts(application)),
    )


def _expected(stage: Stage) -> int:
    """Return how many tasks of a stage should have ended by the point it reached."""
    if stage.status == "failed":
        return stage.tasks + stage.running
    started = stage.tasks + stage.running
    planned = (stage.tasks_planned or 0) + stage.failed + stage.killed + stage.resubmitted
    return started if stage.attempt else max(started, planned)


def _gaps(application: Application, *, lost: int) -> Iterator[str]:
    if lost > 0:
        yield f"{count_text(lost, 'task')} without an end"
    if application.started_at_s is None:
        yield "no start, so how long it took is unknown"
    if not application.ended:
        yield "no end, so what came after is unknown"
    yield from _missing_events(application)
    if any(_COMPACT in file for file in application.files):
        yield "compacted: jobs that had ended are left out"
    if application.clock_jump_s:
        way = "back" if application.clock_jump_s < 0 else "forward"
        yield f"the driver's clock jumped {way} by {format_duration(abs(application.clock_jump_s))}"
    yield from (f"{loss.count} x {loss.what}" for loss in application.losses if "repeated" not in loss.what)


def _missing_events(application: Application) -> Iterator[str]:
    jobs, stages = application.jobs, application.stages
    local = application.properties.get("spark.master", "").startswith("local")
    nameless = [e for e in application.executors if e.added_at_s is None and e.executor_id != "driver"]
    missing = {
        "job": max((job.job_id + 1 for job in jobs), default=0) - sum(bool(job.stages) for job in jobs),
        "stage": sum(stage.tasks_planned is None for stage in stages),
        "executor": 0 if local else len(nameless),
    }
    yield from (f"{count_text(count, what)} without a start" for what, count in missing.items() if count > 0)
    unended = {
        "job": sum(not job.result for job in jobs),
        "stage": sum(stage.completed_at_s is None for stage in stages),
    }
    if application.ended:
        yield from (f"{count_text(count, what)} without an end" for what, count in unended.items() if count)
    if bare := len(_without_stages(application)):
        yield f"{count_text(bare, 'job')} without {'its' if bare == 1 else 'their'} stages"
    silent = sum(max(0, stage.without_metrics - stage.failed - stage.killed) for stage in stages)
    if silent:
        yield f"{count_text(silent, 'task')} without metrics"
    if not application.properties:
        yield "no properties, so memory and platform are unknown"


def _without_stages(application: Application) -> list[SparkJob]:
    """Return the jobs that took time but have no stage in the log. Jobs on kept data run no stage, but end at once."""
    seen = {stage.stage_id for stage in application.stages}
    return [
        job
        for job in application.jobs
        if job.stages
        and seen.isdisjoint(job.stages)
        and (job.completed_at_s or 0.0) - (job.submitted_at_s or math.inf) > _AT_ONCE_S
    ]


def _attempts(application: Application) -> Iterator[str]:
    stages = application.stages
    counts = {
        "failed job": sum(job.result not in ("", "JobSucceeded") for job in application.jobs),
        "failed task attempt": sum(stage.failed for stage in stages),
        "killed task attempt": sum(stage.killed for stage in stages),
        "resubmitted task": sum(stage.resubmitted for stage in stages),
        "failed stage attempt": sum(stage.status == "failed" for stage in stages),
    }
    yield from (count_text(count, what) for what, count in counts.items() if count)
