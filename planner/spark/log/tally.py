"""Collects one application event by event; each event counts as a whole or not at all."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Final

from planner.spark.application.application import Application
from planner.spark.application.executors import SparkJob, task_cpus
from planner.spark.log.clock import ClockTally
from planner.spark.log.cluster_hints import cluster_of
from planner.spark.log.executor_tally import ExecutorTally
from planner.spark.log.fields import (
    LATEST_MS,
    Event,
    FieldError,
    Losses,
    RepeatedError,
    group,
    items,
    milliseconds,
    number,
    seconds,
    text,
    whole_number,
)
from planner.spark.log.memory_tally import MemoryTally
from planner.spark.log.plans import PlanTally, operators_of
from planner.spark.log.stage_tally import StageTally, amounts_of, drop_false_run_time, task_amounts

_OF_STREAM: Final = ("sql.streaming.queryId", "streaming.sql.batchId", "spark.streaming.internal.batchTime")
"""Properties that name the batch of a stream which a job belongs to, of Structured Streaming and of DStreams."""
_LEAST_JUMP_S: Final = 60.0
_MOST_TASK_ID: Final = 1 << 28
_MOVED: Final = amounts_of(
    "input_bytes", "output_bytes", "shuffle_read_local_bytes", "shuffle_read_remote_bytes", "shuffle_write_bytes"
)
_RAN: Final = amounts_of("run_s", "deserialisation_s", "result_serialisation_s")
_TASK: Final = ("Task ID", "Launch Time", "Finish Time", "Getting Result Time", "Executor ID", "Host")
_TASK_TYPES: Final = (int, int, int, int, str, str)


class Ids:
    """A set of mostly dense whole numbers, one bit each."""

    def __init__(self) -> None:
        self._bits = bytearray()
        self.above = 0
        """The first number above all members."""

    def __contains__(self, member: int) -> bool:
        return 0 <= member < self.above and bool(self._bits[member >> 3] & 1 << (member & 7))

    def add(self, member: int) -> None:
        """Add a number. Raises FieldError for one too large for any log."""
        if member > _MOST_TASK_ID:
            raise FieldError(f"Task ID is {member}, above {_MOST_TASK_ID}")
        place = member >> 3
        if place >= len(self._bits):
            self._bits.extend(bytes(place + 1 - len(self._bits)))
        self._bits[place] |= 1 << (member & 7)
        if member >= self.above:
            self.above = member + 1


class ApplicationTally:
    """Everything known so far from one application's events."""

    def __init__(self) -> None:
        self.losses, self.files, self.events = Losses(), list[str](), 0
        self.app_id = self.attempt = self.name = self.version = self.driver_host = ""
        self.started_at_s: float | None = None
        self.ended_at_s: float | None = None
        self.started = self.ended = False
        self._latest_s: float | None = None
        self._properties: dict[str, str] = {}
        self._other_properties: dict[str, str] = {}
        self._job_properties: dict[str, str] = {}
        self._stages: dict[tuple[int, int], StageTally] = {}
        self._jobs: dict[int, SparkJob] = {}
        self._executors = ExecutorTally()
        self._launched, self._finished, self._resubmitted = Ids(), Ids(), Ids()
        self._running: dict[int, StageTally] = {}
        self._clock = ClockTally()
        self._plans = PlanTally()
        self._memory = MemoryTally()
        self._task_cpus: dict[int, int] = {}

    def add(self, event: Event) -> None:
        """Add an event; unused kinds are only counted. Raises FieldError, RepeatedError."""
        handler = _HANDLERS.get(event["Event"])
        if handler is not None:
            handler(self, event)
        self.events += 1

    def application(self) -> Application:
        """Return the application."""
        environment = self._properties or self._job_properties
        executors = self._executors.executors()
        jobs_of: dict[int, list[int]] = {}
        for job in self._jobs.values():
            for stage_id in job.stages:
                jobs_of.setdefault(stage_id, []).append(job.job_id)
        usual = task_cpus(environment)
        cores = {e.executor_id: e.cores for e in executors if e.cores}
        succeeded = {job.job_id for job in self._jobs.values() if job.result == "JobSucceeded"}
        stages = []
        for tally in self._stages.values():
            jobs = tuple(jobs_of.get(tally.stage_id, ()))
            tally.operators = tally.operators or self._plans.operators(jobs)
            done = bool(jobs) and succeeded.issuperset(jobs)
            cpus = self._task_cpus.get(tally.resource_profile, usual)
            stages.append(tally.stage(jobs, cores=cores, task_cpus=cpus, jobs_succeeded=done))
        return Application(
            app_id=self.app_id,
            attempt=self.attempt,
            name=self.name,
            spark_version=self.version,
            files=tuple(self.files),
            started_at_s=self.started_at_s,
            ended_at_s=self.ended_at_s if self.ended else self._latest_s,
            ended=self.ended,
            stages=tuple(sorted(stages, key=lambda s: (s.started_at_s or 0.0, s.stage_id, s.attempt))),
            jobs=tuple(self._jobs.values()),
            executors=executors,
            cluster=cluster_of(
                executors,
                properties={**self._other_properties, **environment},
                version=self.version,
                driver_host=self.driver_host,
                photon=any(step.startswith("Photon") for stage in stages for step in stage.operators),
                from_s=self.started_at_s,
                until_s=self.ended_at_s if self.ended else self._latest_s,
            ),
            properties=environment,
            losses=tuple(self.losses),
            events=self.events,
            task_ids=max(self._launched.above, self._finished.above),
            clock_jump_s=self._clock.jump_s or self._early_end_s(),
            cached_bytes=self._memory.cached_bytes(),
        )

    def _early_end_s(self) -> float:
        """Return how long before its last event the application ended, as a negative number; 0 where a late thread may
        explain it.
        """
        early_s = (self.ended_at_s or math.inf) - (self._latest_s or 0.0)
        return early_s if early_s < -_LEAST_JUMP_S else 0.0

    def _note_time(self, time_s: float | None) -> None:
        if time_s is not None and (self._latest_s is None or time_s > self._latest_s):
            self._latest_s = time_s

    def _stage(self, event: Event, *, id_key: str = "Stage ID") -> StageTally:
        place = whole_number(event, id_key), whole_number(event, "Stage Attempt ID")
        tally = self._stages.get(place)
        return StageTally(*place) if tally is None else tally

    def _keep(self, stage: StageTally) -> StageTally:
        """Return the stage after storing it; call only once nothing can fail any more."""
        return self._stages.setdefault((stage.stage_id, stage.attempt), stage)

    def log_start(self, event: Event) -> None:
        """Note the version of Spark."""
        self.version = text(event, "Spark Version") or self.version

    def application_start(self, event: Event) -> None:
        """Note the application's name and id; the collector decides whether it is another application."""
        at_s, app_id, name = seconds(event, "Timestamp"), text(event, "App ID"), text(event, "App Name")
        self.attempt = str(event.get("App Attempt ID") or "")
        printable = "".join(letter if letter.isprintable() else "?" for letter in name)  # answers show it
        self.started, self.started_at_s, self.app_id, self.name = True, at_s, app_id, printable
        self._note_time(at_s)

    def application_end(self, event: Event) -> None:
        """Note the end."""
        at_s = seconds(event, "Timestamp")
        if self.ended:
            raise RepeatedError
        self.ended, self.ended_at_s = True, at_s

    def environment(self, event: Event) -> None:
        """Keep Spark's properties, and the few others that describe the cluster."""
        groups = {name: group(event, f"{name} Properties") for name in ("Spark", "Hadoop", "System")}
        others = {**groups["Hadoop"], **groups["System"]}
        self._properties.update(_texts(groups["Spark"]))
        self._other_properties.update(
            (key, value)
            for key, value in _texts(others).items()
            if key.startswith(("EMR_", "DATAPROC_", "yarn.nodemanager.resource."))
        )

    def job_start(self, event: Event) -> None:
        """Note a job."""
        job_id, at_s = whole_number(event, "Job ID"), seconds(event, "Submission Time")
        stages = tuple(stage for stage in items(event, "Stage IDs") if type(stage) is int)
        asked = group(event, "Properties")
        properties = {} if self._properties or self._job_properties else _texts(asked)
        if job_id in self._jobs and self._jobs[job_id].stages:
            raise RepeatedError
        self._jobs[job_id] = SparkJob(
            job_id=job_id,
            stages=stages,
            submitted_at_s=at_s,
            completed_at_s=None,
            result="",
            last_tasks=_last_tasks(event),
            batch=" ".join(str(asked[name]) for name in _OF_STREAM if name in asked),
        )
        self._job_properties.update(properties)
        self._plans.note_job(job_id, asked)
        self._note_time(at_s)

    def job_end(self, event: Event) -> None:
        """Note the end of a job."""
        job_id, at_s = whole_number(event, "Job ID"), seconds(event, "Completion Time")
        result = text(group(event, "Job Result"), "Result")
        before = self._jobs.get(job_id) or SparkJob(
            job_id=job_id, stages=(), submitted_at_s=None, completed_at_s=None, result=""
        )
        if before.result:
            raise RepeatedError
        self._jobs[job_id] = replace(before, completed_at_s=at_s, result=result)
        self._note_time(at_s)

    def stage_submitted(self, event: Event) -> None:
        """Note a stage's description."""
        self._describe(group(event, "Stage Info"))

    def stage_completed(self, event: Event) -> None:
        """Note the end of a stage."""
        info = group(event, "Stage Info")
        stage, at_s, failure = self._stage(info), seconds(info, "Completion Time"), text(info, "Failure Reason")
        if stage.completed:
            raise RepeatedError
        self._describe(info)
        stage = self._keep(stage)
        stage.completed, stage.completed_at_s, stage.failure = True, at_s, failure
        self._note_time(at_s)

    def _describe(self, info: Event) -> None:
        stage, at_s, name = self._stage(info), seconds(info, "Submission Time"), text(info, "Stage Name")
        planned = whole_number(info, "Number of Tasks") if "Number of Tasks" in info else None
        parents = tuple(parent for parent in items(info, "Parent IDs") if type(parent) is int)
        operators, profile = operators_of(info), number(info, "Resource Profile Id")
        stage = self._keep(stage)
        stage.resource_profile = int(profile or 0)
        stage.name, stage.tasks_planned, stage.parents = name, planned, parents
        stage.operators = operators or stage.operators
        stage.submitted_at_s = at_s or stage.submitted_at_s
        self._note_time(at_s)

    def resource_profile(self, event: Event) -> None:
        """Note how many cores each task takes in the stages that ask for a profile."""
        cpus = number(group(group(event, "Task Resource Requests"), "cpus"), "Amount")
        if cpus:
            self._task_cpus[whole_number(event, "Resource Profile Id")] = max(1, int(cpus))

    def task_start(self, event: Event) -> None:
        """Note the launch of a task. Before Spark 3.5 it names the latest attempt of the stage, which need not be the
        task's, or -1 for a cancelled stage.
        """
        cancelled, info = event.get("Stage Attempt ID") == -1, group(event, "Task Info")
        stage = None if cancelled else self._stage(event)
        task_id, at_ms = whole_number(info, "Task ID"), milliseconds(info, "Launch Time")
        if task_id in self._launched:
            raise RepeatedError
        self._launched.add(task_id)
        if stage is None:
            return
        stage = self._keep(stage)
        if at_ms:
            stage.launch(at_ms)
        if task_id not in self._finished:
            stage.launched += 1
            self._running[task_id] = stage

    def task_end(self, event: Event) -> None:
        """Add a task's work."""
        stage, info = self._stage(event), group(event, "Task Info")
        task_id, launched_ms, finished_ms, got_ms, executor_id, host = _task(info)
        metrics = group(event, "Task Metrics")
        amounts = task_amounts(metrics)
        peak = number(metrics, "Peak Execution Memory") if metrics else 0
        reason = text(group(event, "Task End Reason"), "Reason")
        if reason == "Resubmitted":
            self._resubmit(stage, task_id)
            return
        if task_id in self._finished:
            raise RepeatedError
        self._memory.note_task(metrics, group(event, "Task Executor Metrics"), executor_id=executor_id)
        self._finished.add(task_id)
        stage = self._keep(stage)
        killed, failed = reason == "TaskKilled", reason not in ("Success", "TaskKilled", "")
        getting_ms, is_measured = got_ms and max(0, finished_ms - got_ms), bool(metrics)
        elapsed_ms = max(0, finished_ms - launched_ms)
        if killed or failed:
            amounts = drop_false_run_time(amounts, elapsed_ms=elapsed_ms)
        amounts += _times(amounts, elapsed_ms=elapsed_ms, getting_ms=getting_ms, is_measured=is_measured)
        stage.sums.add(amounts)
        if peak is None or peak > stage.peak_execution_memory_bytes:
            stage.peak_execution_memory_bytes = math.nan if peak is None else peak
        if is_measured and not (killed or failed):  # others need not tell how long they ran
            self._clock.note_task(amounts, launched_ms=launched_ms, finished_ms=finished_ms)
        stage.finish(
            executor_id=executor_id,
            launched_ms=launched_ms,
            finished_ms=max(launched_ms, finished_ms),
            moved_bytes=None if killed or failed else _moved_bytes(amounts),
        )
        if (launched_in := self._running.pop(task_id, None)) is not stage:
            stage.launched += 1
            if launched_in is not None:
                launched_in.launched -= 1
        stage.killed, stage.failed = stage.killed + killed, stage.failed + failed
        stage.speculative += info.get("Speculative") is True
        stage.without_metrics += not metrics
        self._note_time(finished_ms / 1000)
        self._executors.note_task(executor_id, host, launched_ms=launched_ms)

    def _resubmit(self, stage: StageTally, task_id: int) -> None:
        """Note that a task that succeeded runs again under another number, since its output was lost."""
        if task_id in self._resubmitted:
            raise RepeatedError
        self._resubmitted.add(task_id)
        self._keep(stage).resubmitted += 1

    def executor_added(self, event: Event) -> None:
        """Note an executor."""
        self._executors.note_added(event)

    def executor_removed(self, event: Event) -> None:
        """Note the removal of an executor, and the reason."""
        self._executors.note_removed(event)
        self._memory.drop_executor(text(event, "Executor ID"))

    def query_plan(self, event: Event) -> None:
        """Note the steps of a query's plan."""
        self._plans.note_query(event)

    def stage_memory(self, event: Event) -> None:
        """Note the most that an executor stored in a stage."""
        self._memory.note_stage(event)

    def unpersist(self, event: Event) -> None:
        """Note that a program gave up data that it kept."""
        self._memory.note_unpersist(event)

    def block_updated(self, event: Event) -> None:
        """Note a block that was kept, moved or dropped."""
        self._memory.note_update(event)

    def block_manager_added(self, event: Event) -> None:
        """Note the memory that an executor may use for storage, and the driver's host."""
        manager, memory = group(event, "Block Manager ID"), number(event, "Maximum Memory")
        executor_id, host = text(manager, "Executor ID"), text(manager, "Host")
        if executor_id in ("driver", "<driver>"):
            self.driver_host = host
        self._executors.storage_memory(executor_id, memory)


def _last_tasks(event: Event) -> int:
    """Return the number of tasks of a job's last stage, which is never skipped if another one ran."""
    infos = [info for info in items(event, "Stage Infos") if isinstance(info, dict)]
    tasks = max(infos, key=lambda info: number(info, "Stage ID") or 0, default={}).get("Number of Tasks")
    return tasks if type(tasks) is int else 0


def _moved_bytes(amounts: Sequence[float]) -> float:
    """Return the bytes that a task read and wrote, as far as they are known."""
    moved = _MOVED(amounts)
    total: float = sum(moved)
    return sum(size for size in moved if not math.isnan(size)) if math.isnan(total) else total


def _times(amounts: Sequence[float], *, elapsed_ms: float, getting_ms: float, is_measured: bool) -> tuple[float, ...]:
    """Return the times that are not metrics; scheduling is the remainder, where there are metrics."""
    left = elapsed_ms - (sum(_RAN(amounts)) + getting_ms)
    scheduling_ms = left if math.isnan(left) else max(0, left) if is_measured else 0
    return elapsed_ms, getting_ms, scheduling_ms, 0 if is_measured else elapsed_ms


def _task(info: Event) -> tuple[int, float, float, float, str, str]:
    """Return id, launch, finish, when the driver began to fetch the result (0 for never), executor and host."""
    values: tuple[Any, ...] = tuple(map(info.get, _TASK))
    if (
        tuple(map(type, values)) == _TASK_TYPES
        and values[0] >= 0
        and 0 < values[1] <= LATEST_MS
        and 0 < values[2] <= LATEST_MS
    ):
        return values
    return (
        whole_number(info, "Task ID"),
        _time(info, "Launch Time"),
        _time(info, "Finish Time"),
        number(info, "Getting Result Time") or 0,
        text(info, "Executor ID"),
        text(info, "Host"),
    )


def _time(info: Event, key: str) -> float:
    value = milliseconds(info, key)
    if value is None:
        raise FieldError(f"{key} is absent")
    if value <= 0:
        raise FieldError(f"{key} is {value!r:.40}, not a time")
    return value


def _texts(properties: Event) -> dict[str, str]:
    return {key: value for key, value in properties.items() if isinstance(value, str)}


_HANDLERS: Final[dict[str, Callable[[ApplicationTally, Event], None]]] = {
    "SparkListenerLogStart": ApplicationTally.log_start,
    "DBCEventLoggingListenerMetadata": ApplicationTally.log_start,
    "SparkListenerApplicationStart": ApplicationTally.application_start,
    "SparkListenerApplicationEnd": ApplicationTally.application_end,
    "SparkListenerEnvironmentUpdate": ApplicationTally.environment,
    "SparkListenerResourceProfileAdded": ApplicationTally.resource_profile,
    "SparkListenerJobStart": ApplicationTally.job_start,
    "SparkListenerJobEnd": ApplicationTally.job_end,
    "SparkListenerStageSubmitted": ApplicationTally.stage_submitted,
    "SparkListenerStageCompleted": ApplicationTally.stage_completed,
    "SparkListenerTaskStart": ApplicationTally.task_start,
    "SparkListenerTaskEnd": ApplicationTally.task_end,
    "SparkListenerExecutorAdded": ApplicationTally.executor_added,
    "SparkListenerExecutorRemoved": ApplicationTally.executor_removed,
    "SparkListenerBlockManagerAdded": ApplicationTally.block_manager_added,
    "SparkListenerUnpersistRDD": ApplicationTally.unpersist,
    "SparkListenerBlockUpdated": ApplicationTally.block_updated,
    "SparkListenerStageExecutorMetrics": ApplicationTally.stage_memory,
    "org.apache.spark.sql.execution.ui.SparkListenerSQLExecutionStart": ApplicationTally.query_plan,
    "org.apache.spark.sql.execution.ui.SparkListenerSQLAdaptiveExecutionUpdate": ApplicationTally.query_plan,
}
EVENTS_COUNTED: Final = frozenset(_HANDLERS)
"""Names of the events that make up an application."""
