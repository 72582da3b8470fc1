"""Memory used by an application: blocks it kept, and what executors stored."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Final

from planner.spark.log.fields import Event, group, items, number, text, whole_number

_KEPT: Final = "rdd_"
"""Prefix of Spark's names for data blocks that a program keeps; others are of broadcasts and streams."""


class MemoryTally:
    """Kept blocks, with their most bytes at one time, and the most that each executor ever stored.

    Logs of Spark 3 have the latter at each task's end. They have blocks if `spark.eventLog.logBlockUpdates.enabled` or
    `spark.taskMetrics.trackUpdatedBlockStatuses` is set; the second always is before Spark 2.3.
    """

    def __init__(self) -> None:
        self._blocks: dict[tuple[str, str], float] = {}
        self._now_bytes = self._most_bytes = 0.0
        self._stored: dict[str, float] = {}
        self._knows_blocks = False

    def cached_bytes(self) -> float:
        """Return the most bytes of data kept at one time, in memory and on disks; NaN if the log does not show it.

        If it lists no blocks, this is what executors stored in memory, including broadcasts.
        """
        if self._knows_blocks:
            return self._most_bytes
        return sum(self._stored.values()) if self._stored else math.nan

    def note_task(self, metrics: Event, executor_metrics: Event, *, executor_id: str) -> None:
        """Note the blocks that a task changed, and the memory its executor stored. Raises FieldError."""
        blocks = items(metrics, "Updated Blocks")
        sizes = [(text(b, "Block ID"), _size(group(b, "Status"))) for b in blocks if isinstance(b, dict)]
        self._note_stored(executor_metrics, executor_id=executor_id)
        for block_id, size in sizes:
            self._note_block(block_id, size, executor_id=executor_id)

    def note_stage(self, event: Event) -> None:
        """Note the most that an executor stored in a stage. Raises FieldError."""
        self._note_stored(group(event, "Executor Metrics"), executor_id=text(event, "Executor ID"))

    def note_update(self, event: Event) -> None:
        """Note a block that was kept, moved or dropped. Raises FieldError."""
        info = group(event, "Block Updated Info")
        executor_id = text(group(info, "Block Manager ID"), "Executor ID")
        self._note_block(text(info, "Block ID"), _size(info), executor_id=executor_id)

    def note_unpersist(self, event: Event) -> None:
        """Note that a program gave up data. Raises FieldError."""
        begin = f"{_KEPT}{whole_number(event, 'RDD ID')}_"
        self._drop(lambda executor_id, block_id: block_id.startswith(begin))

    def drop_executor(self, gone: str) -> None:
        """Note that an executor was lost with its blocks."""
        self._drop(lambda executor_id, block_id: executor_id == gone)

    def _drop(self, is_gone: Callable[[str, str], bool]) -> None:
        for place in [place for place in self._blocks if is_gone(*place)]:
            self._now_bytes -= self._blocks.pop(place)

    def _note_block(self, block_id: str, size: float, *, executor_id: str) -> None:
        self._knows_blocks = True
        if block_id.startswith(_KEPT):
            place = executor_id, block_id
            self._now_bytes += size - self._blocks.get(place, 0.0)
            self._blocks[place] = size
            self._most_bytes = max(self._most_bytes, self._now_bytes)

    def _note_stored(self, executor_metrics: Event, *, executor_id: str) -> None:
        """Note an executor's stored memory. All figures, even the heap's, are 0 if not polled during its tasks."""
        if number(executor_metrics, "JVMHeapMemory"):
            stored = _sum(executor_metrics, "OnHeapStorageMemory", "OffHeapStorageMemory")
            self._stored[executor_id] = max(self._stored.get(executor_id, 0.0), stored)


def _size(state: dict[str, Any]) -> float:
    return _sum(state, "Memory Size", "Disk Size")


def _sum(fields: dict[str, Any], *names: str) -> float:
    return sum(number(fields, name) or 0.0 for name in names)
