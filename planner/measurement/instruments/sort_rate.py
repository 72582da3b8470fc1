"""In-memory sort rate of this machine's processors, in bytes/s per vCPU."""

from __future__ import annotations

import statistics
import time
from dataclasses import asdict, dataclass
from mmap import MAP_ANONYMOUS, MAP_PRIVATE, mmap
from typing import Any, Final

from planner.errors import BadInputError
from planner.measurement.instruments.instrument import Origin
from planner.native import Progress, core, run_interruptible

RECORD_BYTES: Final = 100


@dataclass(frozen=True, kw_only=True)
class SortRate:
    """Bytes/s of sorting `data_bytes` in memory on `threads` threads, for each repeat; `rates` leave out a warm-up."""

    origin: Origin
    threads: int
    data_bytes: int
    rates_bytes_per_s: tuple[float, ...]

    @property
    def bytes_per_s(self) -> float:
        """The median of the repeats."""
        return statistics.median(self.rates_bytes_per_s)

    @property
    def bytes_per_s_per_vcpu(self) -> float:
        """The median divided by the number of threads that sorted."""
        return self.bytes_per_s / self.threads

    def to_dict(self) -> dict[str, Any]:
        """Return the result as JSON-able values."""
        return {
            **asdict(self.origin),
            "threads": self.threads,
            "data_bytes": self.data_bytes,
            "bytes_per_s": self.bytes_per_s,
            "bytes_per_s_per_vcpu": self.bytes_per_s_per_vcpu,
            "rates_bytes_per_s": list(self.rates_bytes_per_s),
        }


def bench_sort(
    *,
    data_bytes: int,
    threads: int,
    repeats: int = 5,
    machine_type: str | None = None,
    progress: Progress | None = None,
) -> SortRate:
    """Sort generated records from one buffer into another `repeats` times, after one uncounted warm-up.

    Takes a little over twice `data_bytes` of memory. Raises BadInputError for less than one record, no thread or too
    little memory, InterruptedRunError when interrupted.
    """
    if data_bytes < RECORD_BYTES or threads < 1 or repeats < 1:
        raise BadInputError(
            "sort at least one record of 100 bytes, on at least one thread, at least once", code="out-of-range"
        )
    size = data_bytes // RECORD_BYTES * RECORD_BYTES
    try:
        source, out = (mmap(-1, size, MAP_PRIVATE | MAP_ANONYMOUS) for _ in range(2))
    except OSError as error:
        raise BadInputError(f"no {2 * size} bytes of memory to sort in; use a smaller --size", code="memory") from error
    rates = run_interruptible(
        lambda watched: _rates(source, out, threads=threads, repeats=repeats, progress=watched), progress
    )
    origin = Origin(
        instrument="sortbench",
        method=f"stable sort of {RECORD_BYTES}-byte records with random 10-byte keys from memory to memory",
        machine_type=machine_type,
        nodes=1,
        repeats=repeats,
    )
    return SortRate(origin=origin, threads=threads, data_bytes=size, rates_bytes_per_s=tuple(rates))


def _rates(source: mmap, out: mmap, *, threads: int, repeats: int, progress: Progress) -> list[float]:
    core.generate_records(source, threads=threads)
    return [_rate(source, out, threads=threads, progress=progress) for _ in range(repeats + 1)][1:]


def _rate(source: mmap, out: mmap, *, threads: int, progress: Progress) -> float:
    began = time.perf_counter()
    core.sort_records(source, out, threads=threads, progress=progress)
    return len(source) / (time.perf_counter() - began)
