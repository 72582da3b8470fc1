"""A short trial of this machine's reading and writing, on the sort's own path.

SoCC 2015 measures with the application's own I/O code (DiskBench, section 4.2), since a job gets these rates. Here the
sort core sorts a sample, and each phase gives the rate of the disk group it works on.
"""

from __future__ import annotations

import os
import shutil
import statistics
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

from planner.errors import IoFailureError

REPEATS: Final = 5
_LEAST_SAMPLE_BYTES: Final = 64_000_000
_MOST_SAMPLE_BYTES: Final = 512_000_000


@dataclass(frozen=True, kw_only=True)
class LocalMachine:
    """This machine as a sort sees it: sizes in bytes, rates in bytes/s, medians of `repeats` trials of
    `sample_bytes`.
    """

    vcpu: float
    memory_bytes: int
    disk_free_bytes: int
    read_bytes_per_s: float
    write_bytes_per_s: float
    sample_bytes: int
    repeats: int
    measured_s: float

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as JSON-able values."""
        return asdict(self)


def measure_machine(
    directory: Path, *, sample_bytes: int, copies: int = 1, repeats: int = REPEATS, threads: int | None = None
) -> LocalMachine:
    """Sort a sample in `directory` a few times and return the rates; the files are removed again. As many `copies` (1
    or 2) of the output are written as the job will write: records are gathered once for both.

    Raises IoFailureError when the directory cannot be written or is full.
    """
    began = time.monotonic()
    trials = _trials(directory, sample_bytes=sample_bytes, copies=copies, repeats=repeats, threads=threads)
    return LocalMachine(
        vcpu=len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1,
        memory_bytes=os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        disk_free_bytes=free_bytes(directory),
        read_bytes_per_s=sample_bytes / statistics.median(read_s for read_s, _ in trials),
        write_bytes_per_s=copies * sample_bytes / statistics.median(write_s for _, write_s in trials),
        sample_bytes=sample_bytes,
        repeats=repeats,
        measured_s=time.monotonic() - began,
    )


def sample_size(data_bytes: int) -> int:
    """Return the size of a sample for a job: half of it, but at most a second or two of work."""
    return min(max(data_bytes // 2, _LEAST_SAMPLE_BYTES), _MOST_SAMPLE_BYTES) // 100 * 100


def free_bytes(directory: Path) -> int:
    """Return the free bytes in `directory`. Raises IoFailureError when it cannot be read."""
    try:
        return shutil.disk_usage(directory).free
    except OSError as error:
        raise IoFailureError(
            f"{directory}: {error.strerror}; name a directory that can be written", code="io"
        ) from error


def phase_seconds(report: Any) -> tuple[float, float]:
    """Return the seconds of a SortReport until all intermediate data is written, and from then on until the output is
    safe.
    """
    second = float(report.phases[-1].seconds)
    return float(report.seconds) - second, second


def _trials(
    directory: Path, *, sample_bytes: int, copies: int, repeats: int, threads: int | None
) -> list[tuple[float, float]]:
    """Sort the sample once more than is counted: the first time has cold memory and a cold disk."""
    from planner.sorting.records.generate import generate_file
    from planner.sorting.records.validate import validate_files

    sample = directory / "sample.in"
    try:
        generate_file(sample, records=sample_bytes // 100, threads=threads)
        validate_files([sample], threads=threads)  # as in a run, reading the input once leaves it in the page cache
        return [_trial(sample, copies=copies, threads=threads) for _ in range(repeats + 1)][1:]
    finally:
        sample.unlink(missing_ok=True)


def _trial(sample: Path, *, copies: int, threads: int | None) -> tuple[float, float]:
    from planner.sorting.records.local import sort_file
    from planner.sorting.sort_job import SortJob

    output, replica = sample.with_suffix(".out"), sample.with_suffix(".replica")
    try:
        job = SortJob(threads=threads, force=True)
        return phase_seconds(sort_file(sample, output, job, replica=replica if copies > 1 else None))
    finally:
        output.unlink(missing_ok=True)
        replica.unlink(missing_ok=True)
