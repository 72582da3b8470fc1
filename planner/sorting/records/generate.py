"""The sort benchmark's test records, byte for byte as gensort 1.5 writes them."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass

from planner.errors import BadInputError
from planner.native import Progress, core, run_interruptible
from planner.units import count_text

RECORD_BYTES = 100
MOST_RECORDS = (2**63 - 1) // RECORD_BYTES
"""Limit of a file's size."""


@dataclass(frozen=True)
class GenerateReport:
    """Result of `generate_file`: records `start` to `start + records - 1`, in `time_s` seconds."""

    path: str
    records: int
    start: int
    ascii: bool
    skew: bool
    bytes_written: int
    time_s: float


def generate_file(
    path: str | os.PathLike[str],
    *,
    records: int,
    start: int = 0,
    ascii: bool = False,
    skew: bool = False,
    threads: int | None = None,
    replaces: bool = True,
    progress: Progress | None = None,
) -> GenerateReport:
    """Write `records` records from number `start` (up to 2^128) on to `path`, which appears only when complete.

    Unless it `replaces` a file, one that appears during the run stays. Raises BadInputError for impossible numbers,
    IoFailureError when the file cannot be written (nothing is left behind), InterruptedRunError when cancelled.
    """
    if not 0 <= records <= MOST_RECORDS or not 0 <= start < 2**128:
        raise BadInputError(
            f"cannot generate {count_text(records, 'record')} from number {start}",
            [f"0 <= records <= {MOST_RECORDS} and 0 <= start < 2^128 are needed"],
        )
    began = time.monotonic()
    target = os.fspath(path)
    run_interruptible(
        lambda watched: core.generate_file(
            target,
            records=records,
            start=start,
            ascii=ascii,
            skewed=skew,
            threads=threads or 0,
            replaces=replaces,
            progress=watched,
        ),
        progress,
    )
    return GenerateReport(
        path=target,
        records=records,
        start=start,
        ascii=ascii,
        skew=skew,
        bytes_written=records * RECORD_BYTES,
        time_s=time.monotonic() - began,
    )


@dataclass(frozen=True)
class GenerateLinesReport:
    """Result of `generate_lines_file`, which took `time_s` seconds."""

    path: str
    lines: int
    seed: int
    bytes_written: int
    time_s: float


def generate_lines_file(
    path: str | os.PathLike[str],
    *,
    size_bytes: int,
    seed: int = 0,
    threads: int | None = None,
    replaces: bool = True,
    progress: Progress | None = None,
) -> GenerateLinesReport:
    """Write `size_bytes` of lines like a server's log, the same for the same seed; the file appears only when complete.

    Raises BadInputError for impossible numbers, IoFailureError when the file cannot be written (nothing is left
    behind), InterruptedRunError when cancelled.
    """
    if not 0 <= size_bytes < 2**63 or not 0 <= seed < 2**32:
        raise BadInputError(f"cannot generate {size_bytes} bytes of lines with seed {seed}")
    began = time.monotonic()
    target = os.fspath(path)
    lines = run_interruptible(
        lambda watched: core.generate_lines_file(
            target, bytes=size_bytes, seed=seed, threads=threads or 0, replaces=replaces, progress=watched
        ),
        progress,
    )
    return GenerateLinesReport(
        path=target, lines=lines, seed=seed, bytes_written=size_bytes, time_s=time.monotonic() - began
    )
