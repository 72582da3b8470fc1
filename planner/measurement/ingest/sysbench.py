"""Reader of the output of `sysbench fileio run`, 1.0 and later: bytes and operations a second of each direction."""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path
from typing import Final

from planner.errors import BadInputError
from planner.measurement.ingest.measurement import LEAST_S, Reading
from planner.units import parse_size

_SIDES: Final = {"read": ("reads/s", "read, MiB/s"), "write": ("writes/s", "written, MiB/s")}
_TEST: Final = re.compile(r"^Doing ((random|sequential) (read|write|rewrite)?.*) test", re.MULTILINE)
_DIRECTION: Final = {"read": "read", "write": "write", "rewrite": "write"}
_RATE: Final = re.compile(r"^Target transaction rate: (\S+)", re.MULTILINE)
_FATAL: Final = re.compile(r"^FATAL: (.*)", re.MULTILINE)


_VERSION: Final = re.compile(r"^sysbench (v?\d+\.\d+)", re.MULTILINE)
"""Beginning of each of its runs, after the shell's lines and its own warnings."""


_NEWER: Final = re.compile(r"^ *(read|write): +IOPS=([\d.]+) +([\d.]+) MiB/s.*$", re.MULTILINE)
"""Operations and bytes of a direction as sysbench 1.1 writes them, each on one line."""
_SPELLED: Final = {"read": ("reads/s", "read"), "write": ("writes/s", "written")}


def is_sysbench(text: str) -> bool:
    """Return whether a file contains the report of a sysbench fileio run, among any other terminal output."""
    words = ("File operations:", "Operations performed:")
    return bool(_VERSION.search(text)) and (any(word in text for word in words) or bool(_NEWER.search(text)))


def read_sysbench(path: Path, text: str) -> list[Reading]:
    """Return the readings of all runs in a file; runs that only prepared or removed files have none.

    Raises BadInputError for a report without figures, and for sysbench before 1.0.
    """
    text = _NEWER.sub(lambda line: "{}: {}\n{}, MiB/s: {}".format(*_of_version_1(line)), text)
    text = re.sub(r"^ *fsync: +IOPS=", "fsyncs/s: ", text, flags=re.MULTILINE)
    begins = [*(match.start() for match in _VERSION.finditer(text)), len(text)]
    runs = [text[begin:end] for begin, end in pairwise(begins)]
    if old := next((run for run in runs if "Operations performed:" in run), None):
        raise BadInputError(
            f"{path}: {old.splitlines()[0]:.40}: its figures are rounded; run sysbench 1.0 or newer", code="old-version"
        )
    return [reading for run in runs if "reads/s:" in run for reading in _read_run(path, run)]


def _of_version_1(line: re.Match[str]) -> tuple[str, str, str, str]:
    operations, moved = _SPELLED[line[1]]
    return operations, line[2], moved, line[3]


def _read_run(path: Path, text: str) -> list[Reading]:
    """Return a reading for each direction that moved data. sysbench rounds its byte rates to 0.01 MiB/s, so operations
    are used.

    Its latencies cover reads, writes and flushes together, so they are used only for runs of nothing but reads. It does
    not report when it ran, nor the depth of asynchronous runs. Raises BadInputError for a report without figures, and
    for a run that failed, was rate-limited, or counted the other direction.
    """
    _refuse_failed(path, text)
    block_bytes = _block_bytes(path, text)
    rates = {side: _operations_per_s(path, text, side, block_bytes=block_bytes) for side in _SIDES}
    active = [side for side, operations in rates.items() if operations > 0]
    if not active:
        raise BadInputError(f"{path}: nothing was read or written; run it for a minute", code="nothing-moved")
    test, flushes = _TEST.search(text), re.search(r"calling fsync\(\) each (\d+) requests", text)
    each = "Calling fsync() after each write" in text
    if test and (other := next((side for side in active if side != _DIRECTION.get(test[3], side)), "")):
        raise BadInputError(
            f"{path}: {other}s in a test of {test[1]}; run sysbench without --file-io-mode=async", code="mixed-kinds"
        )
    seconds = _stated_figure(path, text, "total time") if "File operations:" in text else None
    only_reads = active == ["read"] and _stated_figure(path, text, "fsyncs/s") == 0
    return [
        {
            "quantity": "simultaneous" if len(active) > 1 else f"{side}_only",
            "side": side if len(active) > 1 else None,
            "pattern": test[2] if test else None,
            "block_bytes": block_bytes,
            "bytes_per_s": rates[side] * block_bytes,
            "operations_per_s": rates[side],
            "latency_mean_s": _stated_figure(path, text, "avg") / 1000 if only_reads else None,
            "threads": int(_stated_figure(path, text, "Number of threads")),
            "depth": None if "Using asynchronous I/O mode" in text else 1,
            "flush_every": (1 if each else int(flushes[1]) if flushes else None) if side == "write" else None,
            "read_share": rates["read"] / (rates["read"] + rates["write"]) if len(active) > 1 else None,
            "buffered": _buffered(text),
            "seconds": seconds,
            "note": _short_run(seconds),
            "instances": 1,
            "repeats": 1,
            "aggregate": "mean",
            "method": f"{text.partition(' (')[0]} fileio",
            "source": path.name,
        }
        for side in active
    ]


def _refuse_failed(path: Path, text: str) -> None:
    if fatal := _FATAL.search(text):
        raise BadInputError(f"{path}: sysbench failed: {fatal[1]:.40}; run it again", code="tool-failed")
    if rate := _RATE.search(text):
        raise BadInputError(f"{path}: held back by --rate {rate[1]}; run sysbench without it", code="held-back")


def _buffered(text: str) -> str | None:
    """Return "yes" if a run went through the page cache; None where its flags are a number, as early versions wrote."""
    flags = re.search(r"^Extra file open flags: *(.*)", text, re.MULTILINE)
    if re.search(r"^Using .*mmap.* I/O mode", text, re.MULTILINE) or not flags or flags[1] == "0":
        return "yes"
    return None if flags[1].isdecimal() else "no" if "direct" in flags[1] else "yes"


def _short_run(seconds: float | None) -> str:
    is_short = seconds is not None and seconds < LEAST_S
    return f"ran {seconds:g} s, so caches and its start are in the figure" if is_short else ""


def _operations_per_s(path: Path, text: str, side: str, *, block_bytes: int) -> float:
    """Return the operations/s of a direction. Raises BadInputError if its bytes are not as many blocks."""
    operations, mib = (_stated_figure(path, text, name) for name in _SIDES[side])
    if abs(operations * block_bytes / 2**20 - mib) > 0.01 + 0.005 * mib:
        raise BadInputError(
            f"{path}: {operations:g} {side}s a second are not {mib:g} MiB/s of {block_bytes} bytes each",
            code="inconsistent-rate",
        )
    return operations


def _stated_figure(path: Path, text: str, name: str) -> float:
    line = re.search(rf"^\s*{re.escape(name)}:\s+([\d.]+)s?\s*$", text, re.MULTILINE)
    if line is None:
        raise BadInputError(f"{path}: no {name!r} in it; was sysbench interrupted?", code="incomplete-output")
    return float(line[1])


def _block_bytes(path: Path, text: str) -> int:
    line = re.search(r"^Block size (\S+)", text, re.MULTILINE)
    if line is None:
        raise BadInputError(f"{path}: no 'Block size' in it; was sysbench interrupted?", code="incomplete-output")
    return parse_size(line[1])
