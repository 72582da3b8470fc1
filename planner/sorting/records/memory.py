"""Sorting of records in memory (numpy arrays, bytearrays, memory maps, any buffer), and the memory left for sorting."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from planner.errors import BadInputError
from planner.native import Progress, core, run_interruptible
from planner.units import count_text, format_exact_size

if TYPE_CHECKING:
    from typing_extensions import Buffer


@dataclass(frozen=True)
class MemorySortReport:
    """Result of `sort_buffer`, which took `time_s` seconds."""

    records: int
    bytes_sorted: int
    in_place: bool
    time_s: float


def sort_buffer(
    source: Buffer,
    out: Buffer | None = None,
    *,
    record_size: int = 100,
    key_offset: int = 0,
    key_size: int = 10,
    threads: int | None = None,
    stable: bool = False,
    memory: int | None = None,
    progress: Progress | None = None,
) -> MemorySortReport:
    """Sort the records of `source` into `out`, of as many bytes, or in place when there is none; no input is copied.

    Keys compare as unsigned bytes. The sort is always stable, at no cost, so `stable` only states what the caller
    relies on. `memory` limits the bytes used in addition to the buffers: about 12 a record are always needed; in place,
    with less than the records' size beyond that, the records move one by one, which is slower.

    Raises BadInputError for buffers that are not contiguous, not writable, overlapping or not whole records, for an
    impossible key, and for too little memory; InterruptedRunError when cancelled: `out` is then incomplete, and
    `source` still has all its records.
    """
    del stable
    size_bytes = memoryview(source).nbytes
    records = size_bytes // record_size if record_size > 0 else 0
    spare_bytes = _spare_memory(records, memory=memory, threads=threads)
    layout = {"record_bytes": record_size, "key_offset": key_offset, "key_bytes": key_size, "threads": threads or 0}
    _check_sizes(layout)

    def work(watched: Progress) -> None:
        if out is None:
            core.sort_records_in_place(source, **layout, spare_memory=spare_bytes, progress=watched)
        else:
            core.sort_records(source, out, **layout, progress=watched)

    began = time.monotonic()
    run_interruptible(work, progress)
    return MemorySortReport(
        records=records, bytes_sorted=size_bytes, in_place=out is None, time_s=time.monotonic() - began
    )


def _spare_memory(records: int, *, memory: int | None, threads: int | None) -> int:
    """Return the bytes left for a copy of the records; raise BadInputError if `memory` is less than the sort needs."""
    unlimited = 2**64 - 1
    if memory is None:
        return unlimited
    needed = core.scratch_bytes(records, threads=threads or 0)
    if memory < needed:
        raise BadInputError(
            f"sorting {records} records needs {needed} bytes beside them, but memory is {memory}", code="memory"
        )
    return memory - needed


def _check_sizes(layout: dict[str, int]) -> None:
    for name, value in layout.items():
        if not 0 <= value < 2**32:
            raise BadInputError(f"must lie between 0 and 2^32 - 1, not {value}", field=name, code="out-of-range")


_LATER_BYTES: Final = 12 << 20
"""Memory that Python takes later: modules, threads and their stacks."""
_STATUS: Final = Path("/proc/self/status")


def sort_memory_bytes(given_bytes: int) -> int:
    """Return the memory that Python leaves of the limit for the whole process; at least half of it.

    Mapped files do not count, as the system can take their memory back. If the system does not report usage, all is
    left.
    """
    held = _anonymous_bytes()
    return given_bytes if held is None else max(given_bytes - held - _LATER_BYTES, (given_bytes + 1) // 2)


@contextmanager
def memory_for_sorting(given_bytes: int | None) -> Iterator[int | None]:
    """Yield the memory that Python leaves of the given limit. Errors name the option and the whole limit, so their
    advice suffices.
    """
    left_bytes = given_bytes and sort_memory_bytes(given_bytes)
    try:
        yield left_bytes
    except BadInputError as error:
        more_bytes = (_anonymous_bytes() or 0) + _LATER_BYTES
        message = re.sub(
            r"(?<=give at least )\d+", lambda least: f"--memory {_in_mb(int(least[0]) + more_bytes)}", error.message
        )
        if message == error.message:
            raise
        if left_bytes and given_bytes:
            given = f"--memory {format_exact_size(given_bytes)}"
            message = message.replace(f"{count_text(left_bytes, 'byte')} of memory", given)
        raise BadInputError(message, error.details, code="memory") from error


def _in_mb(size: int) -> str:
    return f"{-(-size // 1_000_000)}MB"


def _anonymous_bytes() -> int | None:
    try:
        lines = _STATUS.read_text(encoding="ascii", errors="replace").splitlines()
    except OSError:
        return None
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith("RssAnon:")), None)
