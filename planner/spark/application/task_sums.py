"""What tasks did, added up."""

from __future__ import annotations

from dataclasses import dataclass, fields


@dataclass(frozen=True, kw_only=True)
class TaskSums:
    """Sums over the tasks that ended, whatever their end, as Spark's own totals count them. Seconds and bytes.

    `elapsed_s` is from launch to finish: `run_s` and deserialisation, sending the result, and scheduling, which is
    what is left. `cpu_s` and `gc_s` are within `run_s`.
    """

    elapsed_s: float = 0.0
    run_s: float = 0.0
    cpu_s: float = 0.0
    gc_s: float = 0.0
    deserialisation_s: float = 0.0
    deserialisation_cpu_s: float = 0.0
    result_serialisation_s: float = 0.0
    getting_result_s: float = 0.0
    scheduling_s: float = 0.0
    input_bytes: float = 0
    input_records: float = 0
    output_bytes: float = 0
    output_records: float = 0
    shuffle_read_local_bytes: float = 0
    shuffle_read_remote_bytes: float = 0
    shuffle_read_to_disk_bytes: float = 0
    shuffle_read_records: float = 0
    fetch_wait_s: float = 0.0
    shuffle_write_bytes: float = 0
    shuffle_write_records: float = 0
    shuffle_write_s: float = 0.0
    spill_memory_bytes: float = 0
    spill_disk_bytes: float = 0
    result_bytes: float = 0

    @property
    def shuffle_read_bytes(self) -> float:
        """Local and remote."""
        return self.shuffle_read_local_bytes + self.shuffle_read_remote_bytes

    def __add__(self, other: TaskSums) -> TaskSums:
        return TaskSums(**{f.name: getattr(self, f.name) + getattr(other, f.name) for f in fields(TaskSums)})
