"""fio's JSON and JSON+ output (fio 3): sequential rates of one machine's disks.

Jobs that ran together with the same pattern add up. fio 3 gives `bw_bytes` in bytes/s; the `bw` of older versions is
in units that changed from version to version, and is not used.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any, Final

from planner.errors import BadInputError
from planner.ingest.json_documents import day_of, number
from planner.ingest.measurement import Reading

LEAST_BLOCK_BYTES: Final = 64 * 1024
"""Smaller blocks measure operations per second, which do not say how fast large transfers are."""

_QUANTITY: Final = {
    "read": "read_only", "randread": "read_only", "write": "write_only", "randwrite": "write_only",
    "rw": "simultaneous", "readwrite": "simultaneous", "randrw": "simultaneous",
}  # fmt: skip
_SIDES: Final = {"read_only": ("read",), "write_only": ("write",), "simultaneous": ("read", "write")}
_UNITS: Final = {"": 1, "b": 1, "k": 2**10, "kb": 2**10, "kib": 2**10, "m": 2**20, "mb": 2**20, "mib": 2**20}


def is_fio(document: dict[str, Any]) -> bool:
    """Whether a parsed file is fio's."""
    return "fio version" in document


def read_fio(path: Path, document: dict[str, Any], *, job: str | None = None) -> Reading:
    """Return what a fio file says; `job` picks the jobs of one name out of a mixed file.

    Raises BadInputError for fio 2, failed jobs, jobs of several patterns, small blocks, or a run of no length.
    """
    jobs = _chosen(path, document, job)
    options = [{**_table(document, "global options"), **_table(job_result, "job options")} for job_result in jobs]
    pattern, block = _same(path, jobs, options, "rw", "read"), _same(path, jobs, options, "bs", "4k")
    quantity = _QUANTITY.get(pattern.partition(":")[0])
    if quantity is None:
        raise BadInputError(f"{path}: rw={pattern} is no pattern that a sort has; use read, write or rw")
    if _block_bytes(path, block) < LEAST_BLOCK_BYTES:
        raise BadInputError(f"{path}: blocks of {block} measure operations, not rates; run fio with bs=1M or so")
    rates = [_rate(path, jobs, side) for side in _SIDES[quantity]]
    return {
        "quantity": quantity,
        "bytes_per_s": min(rates),
        "seconds": min(number(path, job_result[side], "runtime") for job_result in jobs for side in _SIDES[quantity])
        / 1000,
        "as_of": day_of(document.get("timestamp")),
        "instances": 1,
        "repeats": 1,
        "aggregate": "mean",
        "within_run_sigma": _within_run(path, jobs, _SIDES[quantity][rates.index(min(rates))]),
        "method": _method(document, jobs, options[0], pattern=pattern, block=block),
        "note": _note(options, rates),
        "source": path.name,
    }


def _chosen(path: Path, document: dict[str, Any], job: str | None) -> list[dict[str, Any]]:
    version = str(document["fio version"])
    if version.startswith(("fio-1", "fio-2")):
        raise BadInputError(f"{path}: {version} gives rates in units that depend on its version; run fio 3")
    jobs = document.get("jobs")
    if not isinstance(jobs, list) or not jobs or not all(isinstance(job_result, dict) for job_result in jobs):
        raise BadInputError(f"{path}: no jobs in it; was fio interrupted?")
    names = [str(job_result.get("jobname")) for job_result in jobs]
    if job is not None:
        jobs = [job_result for job_result in jobs if job_result.get("jobname") == job]
        if not jobs:
            raise BadInputError(f"{path}: no job {job!r}; there are {', '.join(dict.fromkeys(names))}")
    failed = [str(job_result.get("jobname")) for job_result in jobs if job_result.get("error")]
    if failed:
        raise BadInputError(f"{path}: fio reports errors of {', '.join(failed)}")
    if len({job_result.get("groupid") for job_result in jobs}) > 1:
        raise BadInputError(
            f"{path}: jobs ran one after the other; pick one with --job: {', '.join(dict.fromkeys(names))}"
        )
    return jobs


def _table(holder: dict[str, Any], name: str) -> dict[str, Any]:
    table = holder.get(name, {})
    return table if isinstance(table, dict) else {}


def _same(path: Path, jobs: list[dict[str, Any]], options: list[dict[str, Any]], name: str, usual: str) -> str:
    """Return the value of an option that all jobs must share; fio leaves out what has its usual value."""
    values = [
        str(job_options.get(name) or job_options.get({"rw": "readwrite", "bs": "blocksize"}[name]) or usual)
        for job_options in options
    ]
    if len(set(values)) > 1:
        shown = ", ".join(
            f"{job_options.get('jobname')}: {name}={v}" for job_options, v in zip(jobs, values, strict=True)
        )
        raise BadInputError(f"{path}: jobs of several kinds ({shown}); pick one with --job")
    return values[0]


def _block_bytes(path: Path, block: str) -> float:
    first = block.partition(",")[0].strip().lower()
    digits = first.rstrip("kmib")
    unit = _UNITS.get(first[len(digits) :])
    if not digits.isdecimal() or unit is None:
        raise BadInputError(f"{path}: block size {block!r} is not understood")
    return int(digits) * unit


def _rate(path: Path, jobs: list[dict[str, Any]], side: str) -> float:
    """Return bytes/s of all jobs together: each job's bytes over its own time."""
    total = 0.0
    for job_result in jobs:
        moved, runtime = (number(path, job_result.get(side), name) for name in ("io_bytes", "runtime"))
        if moved == 0 or runtime == 0:
            raise BadInputError(
                f"{path}: {side}s of job {job_result.get('jobname')} have no length; run it for a minute"
            )
        rate = number(path, job_result[side], "bw_bytes")
        if abs(rate * runtime / 1000 / moved - 1) > 0.05:
            raise BadInputError(f"{path}: {side} bw_bytes {rate:g} is not io_bytes/runtime; two units in one file?")
        total += rate
    return total


def _within_run(path: Path, jobs: list[dict[str, Any]], side: str) -> float | None:
    """Return the spread over time of a single job, of which fio keeps mean and deviation; several jobs' cannot be
    told from theirs.
    """
    if len(jobs) > 1 or "bw_samples" not in jobs[0][side]:
        return None
    samples, mean, deviation = (number(path, jobs[0][side], name) for name in ("bw_samples", "bw_mean", "bw_dev"))
    return math.sqrt(math.log1p((deviation / mean) ** 2)) if samples > 1 and mean > 0 else None


def _method(
    document: dict[str, Any], jobs: list[dict[str, Any]], options: dict[str, Any], *, pattern: str, block: str
) -> str:
    options_shown = ("ioengine", "iodepth", "direct", "size", "runtime", "fsync", "end_fsync")
    given = [f"{name}={options[name]}" for name in options_shown if name in options]
    count = (
        sum(int(job_result.get("job options", {}).get("numjobs", 1) or 1) for job_result in jobs[:1])
        if len(jobs) == 1
        else 0
    )
    workers = f"numjobs={count or len(jobs)}"
    return " ".join([str(document["fio version"]), f"rw={pattern}", f"bs={block}", workers, *given])


def _note(options: list[dict[str, Any]], rates: list[float]) -> str:
    buffered = any(str(job_options.get("direct", "0")) != "1" for job_options in options)
    notes = ["buffered: the page cache may be in the figure"] if buffered else []
    if len(rates) > 1:
        notes.append(f"read {rates[0]:.4g} and written {rates[1]:.4g} bytes/s at once, the less of them counts")
    return "; ".join(notes)
