"""Collects the executors of an application while its log is read."""

from __future__ import annotations

from dataclasses import replace

from planner.spark.application.executors import Executor
from planner.spark.log.fields import Event, RepeatedError, group, number, seconds, text, whole_number


class ExecutorTally:
    """The executors of one application so far. A cluster manager may give the number of a lost one to another."""

    def __init__(self) -> None:
        self._executors: dict[str, Executor] = {}
        self._earlier: list[Executor] = []

    def executors(self) -> tuple[Executor, ...]:
        """Return the executors in the order the log names them. One without a start event has the cores of the others
        where these all agree.
        """
        all_of_them = [*self._earlier, *self._executors.values()]
        known = {executor.cores for executor in all_of_them if executor.added_at_s is not None}
        usual = known.pop() if len(known) == 1 else None
        return tuple(replace(e, cores=e.cores or usual) for e in all_of_them)

    def note_task(self, executor_id: str, host: str, *, launched_ms: float) -> None:
        """Note the time of an executor's first task; the log may name it only there."""
        if not executor_id:
            return
        before = self._executors.get(executor_id) or _unknown_executor(executor_id, host)
        if before.first_task_at_s is None or launched_ms / 1000 < before.first_task_at_s:
            self._executors[executor_id] = replace(before, first_task_at_s=launched_ms / 1000)

    def note_added(self, event: Event) -> None:
        """Note an executor. Raises FieldError, RepeatedError."""
        executor_id, info, at_s = text(event, "Executor ID"), group(event, "Executor Info"), seconds(event, "Timestamp")
        host, cores = text(info, "Host"), whole_number(info, "Total Cores") or None
        profile = number(info, "Resource Profile Id")
        before = self._executors.get(executor_id) or _unknown_executor(executor_id, host)
        if before.added_at_s is not None:
            if before.removed_at_s is None or at_s is None or at_s < before.removed_at_s:
                raise RepeatedError
            self._earlier.append(before)
            before = _unknown_executor(executor_id, host)
        self._executors[executor_id] = replace(
            before, host=host, cores=cores, added_at_s=at_s, resource_profile=None if profile is None else int(profile)
        )

    def note_removed(self, event: Event) -> None:
        """Note the removal of an executor. Raises FieldError, RepeatedError."""
        executor_id, at_s = text(event, "Executor ID"), seconds(event, "Timestamp")
        reason = text(event, "Removed Reason")
        before = self._executors.get(executor_id) or _unknown_executor(executor_id, "")
        ends = ((e.executor_id, e.removed_at_s) for e in self._earlier)
        if before.removed_at_s is not None or (executor_id, at_s) in ends:
            raise RepeatedError
        self._executors[executor_id] = replace(before, removed_at_s=at_s, removal_reason=reason)

    def storage_memory(self, executor_id: str, memory_bytes: float | None) -> None:
        """Note the memory that an executor may use for storage."""
        if executor_id in self._executors:
            self._executors[executor_id] = replace(self._executors[executor_id], storage_memory_bytes=memory_bytes)


def _unknown_executor(executor_id: str, host: str) -> Executor:
    return Executor(
        executor_id=executor_id,
        host=host,
        cores=None,
        added_at_s=None,
        removed_at_s=None,
        removal_reason="",
        storage_memory_bytes=None,
        resource_profile=None,
    )
