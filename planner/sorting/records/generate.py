"""The sort benchmark's test records, byte for byte as gensort 1.5 writes them."""

from __future__ import annotations

import os
import re
import time
from dataclasses import dataclass
from typing import Final

from planner.errors import BadInputError
from planner.native import Progress, core, run_interruptible
from planner.units import count_text

RECORD_BYTES = 100
MOST_RECORDS = (2**63 - 1) // RECORD_BYTES
"""Limit of a file's size."""
_SCALE: Final = 0x2360ED051FC65DA44385DF649FCCF645
_SHIFT: Final = 0x4A696D47726179524950202020202001
"""Random numbers of gensort: r_(i+1) = _SCALE r_i + _SHIFT (mod 2^128)."""
_FACTORS: Final = (3709458184820, -3407026015233, -216482451975)
"""The smallest numbers with f_0 + f_1 _SCALE + f_2 _SCALE^2 = 0 (mod 2^128), by lattice reduction."""
_MASKS: Final = (0xF0E8E4E2E1D8D4D2D1CC, 0xCAC9C6C5C3B8B4B2B1AC, 0xAAA9A6A5A39C9A999695)
"""XORed with the 10-byte pieces 1 to 3 of a record; piece 0 is the key, which may be skewed."""
_PRINTABLE: Final = re.compile(rb"[ -~]{10}  [0-9A-F]{32}  (?:([0-9A-F])\1{3}){13}\r\n")


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
            code="out-of-range",
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


def is_generated(content: bytes) -> bool:
    """Return whether all whole records of a file's beginning are such as `generate_file` writes, in any order."""
    records = [content[end - RECORD_BYTES : end] for end in range(RECORD_BYTES, len(content) + 1, RECORD_BYTES)]
    return bool(records) and all(_PRINTABLE.fullmatch(record) or _is_binary(record) for record in records)


def _is_binary(record: bytes) -> bool:
    """Return whether pieces of a record are the upper 80 bits of consecutive random numbers: `_FACTORS` times these
    numbers is a constant, less what their lower 48 bits can add. One of 2^33 other records passes.
    """
    pieces = (int.from_bytes(record[at : at + 10]) ^ mask for at, mask in zip((10, 20, 30), _MASKS, strict=True))
    known = sum(factor * piece for factor, piece in zip(_FACTORS, pieces, strict=True)) << 48
    least, most = (sum(side(factor, 0) for factor in _FACTORS) << 48 for side in (min, max))
    whole = (_FACTORS[1] + _FACTORS[2] * (_SCALE + 1)) * _SHIFT
    return (whole - known - least) % (1 << 128) <= most - least


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
        raise BadInputError(f"cannot generate {size_bytes} bytes of lines with seed {seed}", code="out-of-range")
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
