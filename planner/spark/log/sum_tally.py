"""What the tasks of a stage did, added up: one table says where each sum stands in a task's metrics."""

from __future__ import annotations

from typing import Any, Final

from planner.spark.application.task_sums import TaskSums
from planner.spark.log.fields import Event, FieldError, group

_MS, _NS = 1000, 10**9
_PLACES: Final[dict[str, tuple[str, str, int]]] = {
    "run_s": ("", "Executor Run Time", _MS),
    "cpu_s": ("", "Executor CPU Time", _NS),
    "gc_s": ("", "JVM GC Time", _MS),
    "deserialisation_s": ("", "Executor Deserialize Time", _MS),
    "deserialisation_cpu_s": ("", "Executor Deserialize CPU Time", _NS),
    "result_serialisation_s": ("", "Result Serialization Time", _MS),
    "result_bytes": ("", "Result Size", 1),
    "spill_memory_bytes": ("", "Memory Bytes Spilled", 1),
    "spill_disk_bytes": ("", "Disk Bytes Spilled", 1),
    "shuffle_read_remote_bytes": ("Shuffle Read Metrics", "Remote Bytes Read", 1),
    "shuffle_read_to_disk_bytes": ("Shuffle Read Metrics", "Remote Bytes Read To Disk", 1),
    "shuffle_read_local_bytes": ("Shuffle Read Metrics", "Local Bytes Read", 1),
    "shuffle_read_records": ("Shuffle Read Metrics", "Total Records Read", 1),
    "fetch_wait_s": ("Shuffle Read Metrics", "Fetch Wait Time", _MS),
    "shuffle_write_bytes": ("Shuffle Write Metrics", "Shuffle Bytes Written", 1),
    "shuffle_write_records": ("Shuffle Write Metrics", "Shuffle Records Written", 1),
    "shuffle_write_s": ("Shuffle Write Metrics", "Shuffle Write Time", _NS),
    "input_bytes": ("Input Metrics", "Bytes Read", 1),
    "input_records": ("Input Metrics", "Records Read", 1),
    "output_bytes": ("Output Metrics", "Bytes Written", 1),
    "output_records": ("Output Metrics", "Records Written", 1),
}
"""Sum: the group of the metrics it is in ('' is the top), its key, and how many of its units make one of ours."""
_BY_GROUP: Final = {
    name: tuple((sum_name, key) for sum_name, (place, key, _) in _PLACES.items() if place == name)
    for name in dict.fromkeys(place for place, _, _ in _PLACES.values())
}
_TIMES: Final = {"elapsed_s": _MS, "getting_result_s": _MS, "scheduling_s": _MS}
_UNITS: Final = {**{name: unit for name, (_, _, unit) in _PLACES.items()}, **_TIMES}


def task_amounts(metrics: Event) -> dict[str, Any]:
    """Return the metrics of one task by the names of `TaskSums`, in the log's units. Raises FieldError."""
    amounts = {}
    for place, columns in _BY_GROUP.items():
        fields_there = group(metrics, place) if place else metrics
        for name, key in columns:
            value = fields_there.get(key, 0)
            if type(value) is not int:
                if value is not None:
                    raise FieldError(f"{key} is {value!r:.40}, not a whole number")
                value = 0
            amounts[name] = value
    return amounts


class SumTally:
    """Adds up whole numbers in the log's units, so that no rounding gathers."""

    def __init__(self) -> None:
        self._amounts = dict.fromkeys(_UNITS, 0)

    def add(self, amounts: dict[str, Any]) -> None:
        """Add what one task did."""
        mine = self._amounts
        for name, amount in amounts.items():
            mine[name] += amount

    def sums(self) -> TaskSums:
        """Return the sums in seconds and bytes."""
        return TaskSums(
            **{name: amount if _UNITS[name] == 1 else amount / _UNITS[name] for name, amount in self._amounts.items()}
        )
