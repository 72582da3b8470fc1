"""Reader of the output of `sysbench fileio run`, 1.0 and later: bytes and operations a second of each direction."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

from planner.errors import BadInputError
from planner.measurement.ingest.measurement import Reading
from planner.units import parse_size

_SIDES: Final = {"read": ("reads/s", "read, MiB/s"), "write": ("writes/s", "written, MiB/s")}
_PATTERN: Final = re.compile(r"^Doing (random|sequential)", re.MULTILINE)


def is_sysbench(text: str) -> bool:
    """Whether a file is the report of sysbench's test of files."""
    return text.lstrip().startswith("sysbench ") and "\nFile operations:" in text


def read_sysbench(path: Path, text: str) -> list[Reading]:
    """Return a reading for each direction that moved anything.

    Its latencies are of reads, writes and flushes together, so they count only where there was nothing but reads. It
    does not say when it ran. Raises BadInputError for a report without figures.
    """
    rates = {side: [_stated_figure(path, text, name) for name in names] for side, names in _SIDES.items()}
    active = [side for side, (operations, _) in rates.items() if operations > 0]
    if not active:
        raise BadInputError(f"{path}: nothing was read or written; run it for a minute")
    pattern, flushes = _PATTERN.search(text), re.search(r"calling fsync\(\) each (\d+) requests", text)
    only_reads = active == ["read"] and _stated_figure(path, text, "fsyncs/s") == 0
    return [
        {
            "quantity": "simultaneous" if len(active) > 1 else f"{side}_only",
            "side": side if len(active) > 1 else None,
            "pattern": pattern[1] if pattern else None,
            "block_bytes": _block_bytes(path, text),
            "bytes_per_s": rates[side][1] * 2**20,
            "operations_per_s": rates[side][0],
            "latency_mean_s": _stated_figure(path, text, "avg") / 1000 if only_reads else None,
            "threads": int(_stated_figure(path, text, "Number of threads")),
            "depth": 1,
            "flush_every": int(flushes[1]) if flushes and side == "write" else None,
            "read_share": rates["read"][0] / (rates["read"][0] + rates["write"][0]) if len(active) > 1 else None,
            "buffered": "no" if re.search(r"^Extra file open flags:.*direct", text, re.MULTILINE) else "yes",
            "seconds": _stated_figure(path, text, "total time"),
            "instances": 1,
            "repeats": 1,
            "aggregate": "mean",
            "method": f"{text.lstrip().split(' (')[0]} fileio",
            "source": path.name,
        }
        for side in active
    ]


def _stated_figure(path: Path, text: str, name: str) -> float:
    line = re.search(rf"^\s*{re.escape(name)}:\s+([\d.]+)s?\s*$", text, re.MULTILINE)
    if line is None:
        raise BadInputError(f"{path}: no {name!r} in it; was sysbench interrupted?")
    return float(line[1])


def _block_bytes(path: Path, text: str) -> int:
    line = re.search(r"^Block size (\S+)", text, re.MULTILINE)
    if line is None:
        raise BadInputError(f"{path}: no 'Block size' in it; was sysbench interrupted?")
    return parse_size(line[1])
