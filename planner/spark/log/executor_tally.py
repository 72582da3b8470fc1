"""Gathers executors while a log is read: added, removed, or only named by their tasks."""

from __future__ import annotations

from dataclasses import replace

from planner.spark.application.executors import Executor
from planner.spark.log.fields import Event, RepeatedError, group, number, seconds, text, whole


class ExecutorTally:
    """The executors of one application so far."""

    def __init__(self) -> None:
        self._executors: dict[str, Executor] = {}

    def executors(self) -> tuple[Executor, ...]:
        """Return them in the order in which the log names them."""
        return tuple(self._executors.values())

    def named_by_task(self, executor_id: str, host: str) -> None:
        """Note an executor that only its tasks name."""
        if executor_id and executor_id not in self._executors:
            self._executors[executor_id] = _unknown(executor_id, host)

    def added(self, event: Event) -> None:
        """Note an executor. Raises FieldError, RepeatedError."""
        executor_id, info, at_s = text(event, "Executor ID"), group(event, "Executor Info"), seconds(event, "Timestamp")
        host, cores = text(info, "Host"), whole(info, "Total Cores") or None
        profile = number(info, "Resource Profile Id")
        before = self._executors.get(executor_id) or _unknown(executor_id, host)
        if before.added_at_s is not None:
            raise RepeatedError
        self._executors[executor_id] = replace(
            before, host=host, cores=cores, added_at_s=at_s, resource_profile=None if profile is None else int(profile)
        )

    def removed(self, event: Event) -> None:
        """Note that an executor went. Raises FieldError, RepeatedError."""
        executor_id, at_s = text(event, "Executor ID"), seconds(event, "Timestamp")
        reason = text(event, "Removed Reason")
        before = self._executors.get(executor_id) or _unknown(executor_id, "")
        if before.removed_at_s is not None:
            raise RepeatedError
        self._executors[executor_id] = replace(before, removed_at_s=at_s, removal_reason=reason)

    def storage_memory(self, executor_id: str, memory_bytes: float | None) -> None:
        """Note the memory that an executor may use for storage."""
        if executor_id in self._executors:
            self._executors[executor_id] = replace(self._executors[executor_id], storage_memory_bytes=memory_bytes)


def _unknown(executor_id: str, host: str) -> Executor:
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
