"""Sorting of files of any size on this machine: the Python interface of the sort core's two passes."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final

from planner.config.paths import StrPath
from planner.errors import BadInputError
from planner.native import Progress, core, run_interruptible
from planner.sorting.sort_job import USUAL_RECORD_BYTES, SortJob

DEFAULT_KEY_BYTES = 10
"""Key size of the sort benchmark's records."""
_USUAL: Final = SortJob(force=True)


@dataclass(frozen=True)
class StageReport:
    """One stage of a phase: seconds of work and of waiting summed over its threads, and the bytes it handled."""

    name: str
    threads: int
    working_s: float
    waiting_s: float
    bytes: int

    @property
    def bytes_per_s(self) -> float | None:
        """Rate of the stage if it never waited for another; None if it did nothing."""
        return self.bytes * self.threads / self.working_s if self.bytes and self.working_s else None

    def to_dict(self) -> dict[str, Any]:
        """Return the fields and the rate as JSON-able values."""
        return asdict(self) | {"bytes_per_s": self.bytes_per_s}


@dataclass(frozen=True)
class ThreadStats:
    """Counts of synchronisation between the threads of a phase.

    `hand_overs` are the blocks, chunks and tasks passed on. Threads waited for the lock `lock_waits` times, slept until
    another passed something on `sleeps` times, and woke without being able to continue `idle_wakes` times.
    `threads_started` counts those of the whole process in that time.
    """

    hand_overs: int = 0
    lock_waits: int = 0
    sleeps: int = 0
    idle_wakes: int = 0
    threads_started: int = 0


@dataclass(frozen=True)
class PhaseReport:
    """One phase of a sort, in `seconds` of the clock."""

    name: str
    seconds: float
    stages: tuple[StageReport, ...]
    meetings: ThreadStats = ThreadStats()

    @property
    def bottleneck(self) -> str | None:
        """The stage whose threads waited least for their share of the phase; None for a phase without stages."""
        busy = {stage.name: stage.working_s / stage.threads for stage in self.stages if stage.bytes}
        return max(busy, key=busy.__getitem__) if busy else None

    def to_dict(self) -> dict[str, Any]:
        """Return the fields, the stages' rates and the bottleneck as JSON-able values."""
        stages = [stage.to_dict() for stage in self.stages]
        return asdict(self) | {"stages": stages, "bottleneck": self.bottleneck}


@dataclass(frozen=True)
class SortSetting:
    """A parameter the sort core chose, its value in words, and why."""

    name: str
    value: str
    reason: str


@dataclass(frozen=True)
class SortReport:
    """Result of a sort. In two passes each record is read and written twice, less the `kept_bytes` that memory held.

    `spilled_bytes` went to scratch files; `packed_bytes` of them were packed to `packed_to_bytes`. The temporary bytes
    are those that the disks moved.
    """

    mode: str
    records: int
    input_bytes: int
    seconds: float
    input_bytes_read: int
    sample_bytes_read: int
    temporary_bytes_written: int
    temporary_bytes_read: int
    output_bytes_written: int
    kept_bytes: int
    spilled_bytes: int
    packed_bytes: int
    packed_to_bytes: int
    partitions: int
    one_key_partitions: int
    partitions_split_again: int
    phases: tuple[PhaseReport, ...]
    choices: tuple[SortSetting, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return the fields, and figures derived from the phases, as JSON-able values."""
        return asdict(self) | {"phases": [phase.to_dict() for phase in self.phases]}


def sort_file(
    source: StrPath | Sequence[StrPath],
    output: StrPath | Sequence[StrPath],
    job: SortJob = _USUAL,
    *,
    replica: StrPath | None = None,
    progress: Progress | None = None,
) -> SortReport:
    """Sort the records of `source` (a file or several) into `output`, and into `replica` too if one is named, as a
    `job` says.

    The key is `key_size` bytes (10) from `key_offset` on. Keys compare as unsigned bytes. With `stable` equal keys keep
    the order of the input, several files counting as concatenated; otherwise they do so in one pass only.

    `spill` is the format of data that does not fit in memory: packed with "lz4", otherwise as it is.

    A file that has an output's name, even one that appears during the sort, stays unless `force` replaces it. Several
    outputs get about equal, consecutive shares of the sorted records; files on different disks work in parallel.

    Outputs appear complete or not at all, the input is only read, and no temporary file survives. Raises BadInputError
    for half a record, an impossible format, an output that is the input or too little memory; IoFailureError, naming
    file and offset, for a disk that fails or is full; InterruptedRunError when cancelled.
    """
    record_bytes = USUAL_RECORD_BYTES if job.record_size is None else job.record_size
    sizes = {"key_offset": job.key_offset, "key_size": job.key_size or 0, "threads": job.threads or 0}
    _check_sizes(record_size=record_bytes, **sizes)
    result = run_interruptible(
        lambda watched: core.sort_files(
            _paths(source),
            _paths(output),
            replicas=[] if replica is None else _paths(replica),
            temporary_directories=_paths(job.temp_dirs),
            record_bytes=record_bytes,
            key_offset=job.key_offset,
            key_bytes=DEFAULT_KEY_BYTES if job.key_size is None else job.key_size,
            stable=job.stable,
            memory_bytes=job.memory_bytes or 0,
            threads=job.threads or 0,
            spill=job.spill,
            replaces=job.force,
            progress=watched,
        ),
        progress,
    )
    phases = tuple(_phase(phase) for phase in result.pop("phases"))
    choices = tuple(SortSetting(**choice) for choice in result.pop("choices"))
    return SortReport(**result, phases=phases, choices=choices)


def _check_sizes(**sizes: int) -> None:
    for name, value in sizes.items():
        if not 0 <= value < 2**32:
            raise BadInputError(f"must lie between 0 and 2^32 - 1, not {value}", field=name, code="out-of-range")


def _paths(paths: StrPath | Sequence[StrPath]) -> list[bytes]:
    return [os.fsencode(path) for path in ([paths] if isinstance(paths, str | os.PathLike) else paths)]


def _phase(phase: dict[str, Any]) -> PhaseReport:
    stages = tuple(StageReport(**stage) for stage in phase["stages"])
    meetings = ThreadStats(**phase["meetings"])
    return PhaseReport(name=phase["name"], seconds=phase["seconds"], stages=stages, meetings=meetings)
