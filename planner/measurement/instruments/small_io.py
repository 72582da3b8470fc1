"""Scalyr's five storage operations over the thread counts of their study ("A Systematic Look at EC2 I/O", 2012).

Each thread reads or writes repeatedly at random places of one file; the runs come in random order. Reads, and writes
that are flushed one by one, bypass the page cache; `write4K/64` goes through it and flushes with probability 1/64, as
the study did.
"""

from __future__ import annotations

import random
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

from planner.errors import BadInputError
from planner.measurement.instruments.disk import FileSystem, file_system_of
from planner.measurement.instruments.instrument import Origin, series_per_s, smallest_good_enough
from planner.native import Progress, core, run_interruptible

USUAL_FILE_BYTES: Final = 2_000_000_000
KIB4: Final = 4096
MIB4: Final = 4 << 20


@dataclass(frozen=True, kw_only=True)
class Operation:
    """A thread's operation: bytes moved at once, and for writes the chance that each is flushed."""

    name: str
    io_bytes: int
    writes: bool
    flush_probability: float
    threads: tuple[int, ...]


_FEW: Final = (1, 2, 3, 4, 6, 8, 12, 16)
OPERATIONS: Final = (
    Operation(
        name="read4K", io_bytes=KIB4, writes=False, flush_probability=0, threads=(1, 2, 4, 8, 12, 16, 24, 32, 48, 64)
    ),
    Operation(name="read4M", io_bytes=MIB4, writes=False, flush_probability=0, threads=_FEW),
    Operation(name="write4K", io_bytes=KIB4, writes=True, flush_probability=1, threads=_FEW),
    Operation(name="write4M", io_bytes=MIB4, writes=True, flush_probability=1, threads=_FEW),
    Operation(name="write4K/64", io_bytes=KIB4, writes=True, flush_probability=1 / 64, threads=_FEW),
)
"""The study's operations, with its thread counts: 42 runs."""


@dataclass(frozen=True, kw_only=True)
class SmallIoRun:
    """One operation on a number of threads. Latencies are upper ends of histogram buckets 3% wide; None without
    operations.

    `latency_histogram` holds (longest latency in s, operations) for each bucket that is not empty.
    """

    operation: str
    threads: int
    seconds: float
    interval_s: float
    operations_per_s: float
    bytes_per_s: float
    mean_latency_s: float | None
    latency_p50_s: float | None
    latency_p90_s: float | None
    latency_p99_s: float | None
    latency_p999_s: float | None
    latency_histogram: tuple[tuple[float, int], ...]
    series_bytes_per_s: tuple[float, ...]
    is_direct: bool


@dataclass(frozen=True, kw_only=True)
class SmallIo:
    """The whole suite on one directory, its runs in the order of execution."""

    origin: Origin
    file_bytes: int
    file_system: FileSystem
    runs: tuple[SmallIoRun, ...]

    @property
    def recommended_threads(self) -> dict[str, int]:
        """For each operation the smallest thread count within 5% of the best throughput."""
        rates: dict[str, dict[int, list[float]]] = {}
        for run in self.runs:
            rates.setdefault(run.operation, {}).setdefault(run.threads, []).append(run.bytes_per_s)
        return {
            name: smallest_good_enough([(threads, statistics.median(runs)) for threads, runs in by_threads.items()])
            for name, by_threads in rates.items()
        }

    def to_dict(self) -> dict[str, Any]:
        """Return the result as JSON-able values."""
        return {
            **asdict(self.origin),
            "file_bytes": self.file_bytes,
            "file_systems": [asdict(self.file_system)],
            "recommended_threads": self.recommended_threads,
            "runs": [asdict(run) for run in self.runs],
        }


def plan_runs(operations: Iterable[Operation], *, seed: int, repeats: int = 1) -> list[tuple[Operation, int]]:
    """Return each operation with each of its thread counts, `repeats` times, shuffled by `seed`."""
    runs = [(operation, threads) for operation in operations for threads in operation.threads] * repeats
    random.Random(seed).shuffle(runs)
    return runs


def bench_small_io(
    directory: Path,
    *,
    seconds: float,
    file_bytes: int,
    operations: Sequence[Operation] = OPERATIONS,
    repeats: int = 1,
    seed: int = 1,
    machine_type: str | None = None,
    progress: Progress | None = None,
) -> SmallIo:
    """Run the suite in `directory`, each of its runs `seconds` long and made `repeats` times, on one file of
    `file_bytes`; nothing is left behind.

    Raises BadInputError for impossible arguments, IoFailureError naming the directory when it cannot be written or is
    full, InterruptedRunError when interrupted.
    """
    if repeats < 1:
        raise BadInputError("repeat each run once or more", code="out-of-range")
    if not seconds > 0 or file_bytes < 2 * max(operation.io_bytes for operation in operations):
        raise BadInputError(
            "measure for more than 0 seconds, on a file that holds several of the largest operations",
            code="out-of-range",
        )
    system = file_system_of(directory)
    runs = run_interruptible(
        lambda watched: _run_all(
            directory,
            plan_runs(operations, seed=seed, repeats=repeats),
            seconds=seconds,
            file_bytes=file_bytes,
            progress=watched,
        ),
        progress,
    )
    origin = Origin(
        instrument="smallio",
        method="Scalyr's five operations at random places of one file, thread counts in random order",
        machine_type=machine_type,
        nodes=1,
        repeats=repeats,
    )
    return SmallIo(origin=origin, file_bytes=file_bytes, file_system=system, runs=tuple(runs))


def _run_all(
    directory: Path, planned: Sequence[tuple[Operation, int]], *, seconds: float, file_bytes: int, progress: Progress
) -> list[SmallIoRun]:
    file = core.SmallIoFile(str(directory), bytes=file_bytes, progress=progress)
    interval_s = min(1.0, seconds / 5)
    runs = []
    for operation, threads in planned:
        counts = file.run(
            io_bytes=operation.io_bytes,
            writes=operation.writes,
            flush_probability=operation.flush_probability,
            threads=threads,
            seconds=seconds,
            interval_s=interval_s,
            progress=progress,
        )
        runs.append(_run(operation, counts, threads=threads, seconds=seconds, interval_s=interval_s))
    return runs


def _run(
    operation: Operation, counts: dict[str, Any], *, threads: int, seconds: float, interval_s: float
) -> SmallIoRun:
    count = counts["operations"]
    quantile_s = {share: value if count else None for share, value in counts["quantiles_s"]}
    return SmallIoRun(
        operation=operation.name,
        threads=threads,
        seconds=seconds,
        interval_s=interval_s,
        operations_per_s=count / seconds,
        bytes_per_s=counts["bytes"] / seconds,
        mean_latency_s=counts["total_latency_s"] / count if count else None,
        latency_p50_s=quantile_s[0.5],
        latency_p90_s=quantile_s[0.9],
        latency_p99_s=quantile_s[0.99],
        latency_p999_s=quantile_s[0.999],
        latency_histogram=tuple(tuple(bucket) for bucket in counts["histogram"]),
        series_bytes_per_s=series_per_s(counts["bytes_by_interval"], interval_s=interval_s),
        is_direct=counts["is_direct"],
    )
