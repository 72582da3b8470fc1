"""fio's JSON and JSON+ output (fio 3): rates, operations and latencies of a machine's disks or volumes.

Jobs of one group ran together and add up; groups are measurements of their own. So are the reads and the writes of a
group that did both. In client/server mode each server is an instance. fio gives `bw_bytes` in bytes/s from 3.2 on,
before that `bw` in KiB/s, and the number of samples `N` from 3.18 on (its HOWTO, "JSON output"); fio 2 is refused,
since its units changed from version to version.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from planner.errors import BadInputError
from planner.measurement.ingest.json_documents import day_of, number
from planner.measurement.ingest.measurement import LEAST_S, Reading, mean_of

_SIDES: Final = {
    "read": ("read",), "randread": ("read",), "write": ("write",), "randwrite": ("write",),
    "rw": ("read", "write"), "readwrite": ("read", "write"), "randrw": ("read", "write"),
}  # fmt: skip
_CAPS: Final = ("rate", "rate_iops", "thinktime", "thinkcycles", "latency_target", "flow")
"""Options that limit fio: the result is then the limit, not the disks' rate."""
_MIXES: Final = ("bssplit", "bsrange", "blocksize_range")
"""Options that mix block sizes, so that a rate belongs to none of them."""
_USUAL_ORDER: Final = {
    "percentage_random": r"100(,100)*,*", "percentage_sequential": r"0(,0)*,*", "random_distribution": r"random",
    "rw_sequencer": r"sequential",
}  # fmt: skip
"""Values of the options that change the order of operations, with which they change nothing."""
_NO_DISK: Final = {
    "null", "cpuio", "exec", "net", "netsplice", "rdma", "filecreate", "filestat", "filedelete", "dircreate", "dirstat",
    "dirdelete", "rbd", "rados", "http", "libhdfs", "gfapi", "gfapi_async", "nfs", "nbd", "libiscsi", "dfs", "falloc",
    "ftruncate", "fileoperate", "e4defrag", "libpmem", "pmemblk", "dev-dax", "librpma_apm_client",
    "librpma_apm_server", "librpma_gpspm_client", "librpma_gpspm_server",
}  # fmt: skip
"""Engines that move no bytes to a disk or volume of the machine: they do nothing, or use another machine's storage."""
_IN_TURN: Final = {"psync", "sync", "vsync", "pvsync", "pvsync2", "mmap", "splice"}
"""Engines that wait for each operation, whatever `iodepth` requests; the first is fio's default."""
_CACHED: Final = {"mmap", "splice"}
"""Engines that go through the page cache, whatever `direct` requests."""
_MEMORY: Final = re.compile(
    r"/dev/(null|zero|full|u?random|z?ram\d+|nullb\d+|shm(/.*)?)/?|/run/(shm|user|lock)(/.*)?|"
    r"(.*/)?(tmpfs|ramfs|ramdisk)(/.*)?"
)
"""Files and folders in memory."""
_DISK: Final = re.compile(r"/dev/(nvme\d+n\d+|(s|v|xv)d[a-z]+)")
_SAME_START_S: Final = 1.5
_WHOLE: Final = ("numjobs", "iodepth", "fsync", "fdatasync", "rwmixread", "rwmixwrite")


@dataclass(frozen=True, kw_only=True)
class _Job:
    """One entry of fio's `jobs` or `client_stats`, with the options that applied to it."""

    result: dict[str, Any]
    options: dict[str, str]

    @property
    def name(self) -> str:
        return str(self.result.get("jobname"))

    @property
    def host(self) -> str:
        return str(self.result.get("hostname", ""))

    @property
    def pattern(self) -> str:
        """The order of operations; '' if the file has no options at all."""
        given = self.options.get("rw") or self.options.get("readwrite") or ("read" if self.options else "")
        return given.partition(":")[0]

    @property
    def sides(self) -> tuple[str, ...]:
        """The directions in which the job moved data, since the report of a group has the options of its first job
        alone. Reads that only verify its writes do not count.
        """
        moved = tuple(side for side in ("read", "write", "trim") if _moved(self.result.get(side)))
        verifies = self.options.get("verify", "0") not in ("0", "null")
        return moved if moved and not verifies else _SIDES.get(self.pattern, ())

    @property
    def depth(self) -> int | None:
        """Number of operations in flight at once."""
        waits = self.options.get("ioengine", "psync") in _IN_TURN
        return (1 if waits else _int_option(self.options, "iodepth", 1)) if self.options else None

    @property
    def buffered(self) -> bool:
        """True if the job went through the page cache."""
        direct = "1" in (self.options.get("direct"), self.options.get("atomic")) or self.options.get("buffered") == "0"
        return not direct or self.options.get("ioengine") in _CACHED


def _moved(result: Any) -> bool:
    return isinstance(result, dict) and bool(result.get("io_bytes"))


def is_fio(document: dict[str, Any]) -> bool:
    """Return whether a parsed file is fio's."""
    return "fio version" in document


def drop_interim(documents: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return documents without interim reports of a run that a later one has in full (fio's `--status-interval`)."""
    later: dict[tuple[str, ...], float] = {}
    kept = []
    for document in reversed(documents):
        jobs = [job for job in document.get("jobs") or () if isinstance(job, dict)] if is_fio(document) else []
        names = tuple(str(job.get("jobname")) for job in jobs)
        began = _began_s(document, jobs)
        again = names in later and abs(later[names] - began) < _SAME_START_S
        if not (again and all(job.get("eta") for job in jobs)):
            kept.append(document)
        if names:
            later[names] = began
    return kept[::-1]


def _began_s(document: dict[str, Any], jobs: Sequence[dict[str, Any]]) -> float:
    """Return the start of a run in Unix seconds, from fio's time of printing and elapsed seconds, rounded up."""
    printed, elapsed = document.get("timestamp_ms"), jobs[0].get("elapsed") if jobs else 0
    reported = isinstance(printed, int) and isinstance(elapsed, int)
    return printed / 1000 - elapsed if reported else 0.0  # type: ignore[operator]


def read_fio(path: Path, document: dict[str, Any], *, job: str | None = None) -> list[Reading]:
    """Return the readings of a fio file: one for each group of jobs, two for one that read and wrote at once.

    `job` picks the jobs of one name. Raises BadInputError for fio 2, failed jobs, patterns other than reading and
    writing, orders other than sequential and random, jobs of several block sizes at once, jobs that were rate-limited
    or used no disk, machines without names, or a run of no length.
    """
    return [
        reading
        for hosts in _groups(_select_jobs(path, document, job))
        for reading in _over_hosts(path, document, list(hosts.values()))
    ]


def readings_by_host(path: Path, document: dict[str, Any]) -> dict[str, list[Reading]]:
    """Return the readings of every machine of a client/server run; those of a plain run have the host ''."""
    by_host: dict[str, list[Reading]] = {}
    for hosts in _groups(_select_jobs(path, document, None)):
        for host, jobs in hosts.items():
            by_host.setdefault(host, []).extend(_of_group(path, document, jobs))
    return by_host


def _groups(jobs: Sequence[_Job]) -> list[dict[str, list[_Job]]]:
    """Return the jobs of each group by host."""
    groups: dict[Any, dict[str, list[_Job]]] = {}
    for fio_job in jobs:
        groups.setdefault(fio_job.result.get("groupid"), {}).setdefault(fio_job.host, []).append(fio_job)
    return list(groups.values())


def _select_jobs(path: Path, document: dict[str, Any], name: str | None) -> list[_Job]:
    version = str(document["fio version"])
    if re.match(r"(fio-)?[12]\.", version):
        raise BadInputError(
            f"{path}: {version} gives rates in units that depend on its version; run fio 3", code="old-version"
        )
    disks = [str(disk.get("name")) for disk in document.get("disk_util") or () if isinstance(disk, dict)]
    if disks and all(_MEMORY.fullmatch(f"/dev/{disk}") for disk in disks):
        raise BadInputError(f"{path}: its disk {disks[0]} lies in memory; run fio on a disk", code="in-memory")
    jobs = _jobs(path, document)
    if name is not None:
        names = dict.fromkeys(fio_job.name for fio_job in jobs)
        jobs = [fio_job for fio_job in jobs if fio_job.name == name]
        if not jobs:
            raise BadInputError(f"{path}: no job {name!r}; there are {', '.join(names)}", code="no-such-job")
    failed = [fio_job.name for fio_job in jobs if fio_job.result.get("error") or fio_job.result.get("total_err")]
    if failed:
        raise BadInputError(
            f"{path}: fio reports errors of {', '.join(failed)}; choose the others with --job", code="tool-failed"
        )
    for fio_job in jobs:
        _check(path, fio_job)
    return jobs


def _jobs(path: Path, document: dict[str, Any]) -> list[_Job]:
    entries = document.get("jobs") or document.get("client_stats")
    if not isinstance(entries, list) or not entries or not all(isinstance(entry, dict) for entry in entries):
        raise BadInputError(f"{path}: no jobs in it; was fio interrupted?", code="incomplete-output")
    if "client_stats" in document:
        # The sum over all clients has no options, and each client has its own entry.
        entries = [entry for entry in entries if entry.get("jobname") != "All clients"]
        if not entries:
            raise BadInputError(
                f"{path}: only the sum over all clients; keep each client's results, too", code="only-sums"
            )
        if len(entries) > 1 and not all(entry.get("hostname") for entry in entries):
            raise BadInputError(
                f"{path}: {len(entries)} results of machines without names (fio before 3.3); measure with a newer fio",
                code="old-version",
            )
    shared = _global_options(document)
    return [_Job(result=entry, options={**shared, **_texts(entry.get("job options"))}) for entry in entries]


def _global_options(document: dict[str, Any]) -> dict[str, str]:
    """Return the options of all jobs; with several clients, newer versions write a list of equal tables."""
    options = document.get("global options")
    tables = options if isinstance(options, list) else [options]
    return {name: value for table in tables for name, value in _texts(table).items()}


def _texts(table: Any) -> dict[str, str]:
    return {str(name): str(value) for name, value in table.items()} if isinstance(table, dict) else {}


def _check(path: Path, job: _Job) -> None:
    choose = "choose the others with --job"
    if (job.pattern and job.pattern not in _SIDES) or "trim" in job.sides:
        what = f"rw={job.pattern}" if job.pattern else "it"
        raise BadInputError(
            f"{path}: job {job.name}: {what} is neither reading nor writing alone; {choose}", code="mixed-kinds"
        )
    if "mixed" in job.result:
        raise BadInputError(
            f"{path}: job {job.name}: run fio without unified_rw_reporting, which adds both sides",
            code="unified-reporting",
        )
    odd = [f"{name}={job.options[name]}" for name in _WHOLE if not job.options.get(name, "1").isdecimal()]
    if odd:
        raise BadInputError(f"{path}: job {job.name}: {', '.join(odd)} is no whole number", code="not-a-number")
    if caps := _given(job, _CAPS):
        raise BadInputError(f"{path}: job {job.name} was held back by {', '.join(caps)}; {choose}", code="held-back")
    if job.options.get("read_iolog"):
        raise BadInputError(
            f"{path}: job {job.name} replays a log of operations, at its pace; {choose}", code="replayed"
        )
    if mixes := _given(job, _MIXES):
        raise BadInputError(
            f"{path}: job {job.name} mixes block sizes ({', '.join(mixes)}); {choose}", code="mixed-blocks"
        )
    if order := _unusual_order(job):
        raise BadInputError(
            f"{path}: job {job.name} is neither sequential nor random ({order}); {choose}", code="mixed-order"
        )
    if (engine := job.options.get("ioengine")) in _NO_DISK:
        raise BadInputError(f"{path}: job {job.name}: ioengine={engine} uses no disk; {choose}", code="no-disk")
    for name in ("filename", "directory"):
        if memory := [place for place in job.options.get(name, "").split(":") if _MEMORY.fullmatch(place)]:
            raise BadInputError(
                f"{path}: job {job.name}: {name}={memory[0]} lies in memory; {choose}", code="in-memory"
            )


def _unusual_order(job: _Job) -> str:
    """Return the options that make a job skip, repeat or favour places, or read on at random ones; '' if none do."""
    name = "rw" if "rw" in job.options else "readwrite"
    unusual = [name] if job.options.get(name, "").partition(":")[2] not in ("", "0", "1") else []
    given = {name: job.options[name] for name in _USUAL_ORDER if name in job.options}
    unusual += [name for name, value in given.items() if not re.fullmatch(_USUAL_ORDER[name], value)]
    return ", ".join(f"{name}={job.options[name]}" for name in unusual)


def _given(job: _Job, names: Sequence[str]) -> list[str]:
    return [f"{name}={job.options[name]}" for name in names if re.search("[1-9]", job.options.get(name, "0"))]


def _over_hosts(path: Path, document: dict[str, Any], hosts: Sequence[Sequence[_Job]]) -> list[Reading]:
    """Return the readings of one group: the mean over the hosts that ran it."""
    by_side: dict[str | None, list[Reading]] = {}
    for jobs in hosts:
        for reading in _of_group(path, document, jobs):
            by_side.setdefault(reading.get("side"), []).append(reading)
    return [rows[0] if len(rows) == 1 else mean_of(rows, over="instances") for rows in by_side.values()]


def _of_group(path: Path, document: dict[str, Any], jobs: Sequence[_Job]) -> Iterator[Reading]:
    sides = [side for side in ("read", "write") if any(side in job.sides for job in jobs)]
    if not sides:
        raise BadInputError(f"{path}: job {jobs[0].name} moved nothing; run it for a minute", code="nothing-moved")
    if len({(job.options.get("startdelay", "0"), job.options.get("wait_for", "")) for job in jobs}) > 1:
        names = ", ".join(job.name for job in jobs)
        raise BadInputError(
            f"{path}: jobs that did not begin together ({names}); pick one with --job", code="not-together"
        )
    for side in sides:
        active = [job for job in jobs if side in job.sides]
        blocks = {_block_bytes(path, job, side) for job in active}
        patterns = {job.pattern.startswith("rand") for job in active}
        if len(blocks) > 1 or len(patterns) > 1:
            reported = ", ".join(f"{job.name}: rw={job.pattern} bs={_block_bytes(path, job, side)}" for job in active)
            raise BadInputError(
                f"{path}: jobs of several kinds at once ({reported}); pick one with --job", code="mixed-kinds"
            )
        yield {
            "quantity": "simultaneous" if len(sides) > 1 else f"{side}_only",
            "side": side if len(sides) > 1 else None,
            "pattern": None if "" in (job.pattern for job in active) else "random" if patterns.pop() else "sequential",
            "block_bytes": blocks.pop(),
            "disks": _disks(jobs),
            **_settings(jobs, active, side),
            **_figures(path, active, side),
            "as_of": day_of(document.get("timestamp")),
            "instances": 1,
            "repeats": 1,
            "aggregate": "mean",
            "method": _method(document, jobs),
            "source": path.name,
        }


def _block_bytes(path: Path, job: _Job, side: str) -> int:
    """Return the bytes per operation, from the counters, so that every spelling of the option works."""
    moved, operations = (number(path, job.result.get(side), name) for name in ("io_bytes", "total_ios"))
    if moved == 0 or operations == 0 or number(path, job.result[side], "runtime") == 0:
        raise BadInputError(
            f"{path}: {side}s of job {job.name} have no length",
            ["run it for a minute, or choose the others with --job"],
            code="no-length",
        )
    block = moved / operations
    nearest = int(2 ** round(math.log2(block)))
    if abs(block / nearest - 1) < 0.02:  # a file's last operation may be short
        return nearest
    stated = _stated_block_bytes(job.options, side)
    if stated and not 0.85 < block / stated < 1.1:
        raise BadInputError(
            f"{path}: {block:,.0f} bytes an operation, of bs={stated}; run fio without group_reporting",
            ["the report adds up jobs of several block sizes"],
            code="inconsistent-block",
        )
    return round(block)


def _disks(jobs: Sequence[_Job]) -> int | None:
    """Return the number of disks that the jobs used; None if they name files, partitions or arrays."""
    names = {name for job in jobs for name in job.options.get("filename", "").split(":")}
    return len(names) if names and all(map(_DISK.fullmatch, names)) else None


def _stated_block_bytes(options: dict[str, str], side: str) -> int | None:
    """Return the block size of a direction in the options; None if missing or not a plain number."""
    texts = (options.get("bs") or options.get("blocksize") or "").split(",")
    match = re.fullmatch(r"(\d+)([kmg]?)i?b?", texts[min(side == "write", len(texts) - 1)].strip().lower())
    return int(match[1]) << {"": 0, "k": 10, "m": 20, "g": 30}[match[2]] if match else None


def _settings(jobs: Sequence[_Job], active: Sequence[_Job], side: str) -> Reading:
    options, mixed = active[0].options, [job for job in jobs if len(_SIDES.get(job.pattern, ())) > 1]
    workers = _int_option(options, "numjobs", 1) if len(active) == 1 else len(active)
    flushes = [count for name in ("fsync", "fdatasync") if (count := _int_option(options, name, 0))]
    if options.get("sync", "0") not in ("0", "none"):
        flushes.append(1)
    return {
        "job": ", ".join(dict.fromkeys(job.name for job in jobs)),
        "threads": workers if options else None,
        "depth": active[0].depth,
        "flush_every": min(flushes) if flushes and side == "write" else None,
        "read_share": _read_share(mixed[0].options) if mixed and len(mixed[0].sides) > 1 else None,
        "buffered": ("yes" if any(job.buffered for job in active) else "no") if options else None,
    }


def _read_share(options: dict[str, str]) -> float:
    if "rwmixwrite" in options and "rwmixread" not in options:
        return 1 - _int_option(options, "rwmixwrite", 50) / 100
    return _int_option(options, "rwmixread", 50) / 100


def _int_option(options: dict[str, str], name: str, usual: int) -> int:
    return int(options.get(name) or usual)


def _figures(path: Path, jobs: Sequence[_Job], side: str) -> Reading:
    results = [job.result[side] for job in jobs]
    figures, note = latencies(path, results)
    lengths = [number(path, result, "runtime") / 1000 for result in results]
    seconds = min(lengths)
    short = f"ran {seconds:g} s, so caches and its start are in the figure" if seconds < LEAST_S else ""
    apart = f"jobs ran {seconds:g} to {max(lengths):g} s, so not all at once" if max(lengths) > 1.5 * seconds else ""
    ends = [end for job in jobs if isinstance(end := job.result.get("steadystate"), dict)]
    unsteady = "fio did not reach its steady state" if any(end.get("attained") == 0 for end in ends) else ""
    asked = _int_option(jobs[0].options, "iodepth", 1)
    depth = (
        f"iodepth={asked} has no effect without an asynchronous ioengine" if (jobs[0].depth or asked) < asked else ""
    )
    return {
        "bytes_per_s": sum(_rate(path, job, side) for job in jobs),
        "operations_per_s": sum(number(path, result, "iops") for result in results),
        **figures,
        "note": "; ".join(filter(None, (note, short, apart, unsteady, depth))),
        "seconds": seconds,
        "within_run_sigma": _within_run(path, results),
    }


def _rate(path: Path, job: _Job, side: str) -> float:
    """Return a job's bytes divided by its own duration."""
    result = job.result[side]
    moved, runtime = (number(path, result, name) for name in ("io_bytes", "runtime"))
    rate = number(path, result, "bw_bytes") if "bw_bytes" in result else number(path, result, "bw") * 1024
    if abs(rate * runtime / 1000 / moved - 1) > 0.05:
        raise BadInputError(
            f"{path}: {side}s at {rate:g} bytes/s are not io_bytes/runtime; two units in one file?",
            code="inconsistent-rate",
        )
    return rate


def _within_run(path: Path, results: Sequence[dict[str, Any]]) -> float | None:
    """Return the spread over time of a single job, from fio's mean and deviation; None for several jobs, whose spread
    these do not give. If fio logs every operation (`write_bw_log`), the samples are of operations, and their mean is
    not the rate.
    """
    names = ("bw_samples", "bw_mean", "bw_dev")
    if len(results) > 1 or any(results[0].get(name) is None for name in names):
        return None
    samples, mean, deviation = (number(path, results[0], name) for name in names)
    of_time = samples > 1 and abs(mean - number(path, results[0], "bw")) < 0.5 * mean
    return math.sqrt(math.log1p((deviation / mean) ** 2)) if of_time else None


def _method(document: dict[str, Any], jobs: Sequence[_Job]) -> str:
    options = jobs[0].options
    patterns = "+".join(dict.fromkeys(job.pattern for job in jobs))
    block = options.get("bs") or options.get("blocksize") or "4k"
    workers = options.get("numjobs", "1") if len(jobs) == 1 else len(jobs)
    shown = ("ioengine", "iodepth", "direct", "size", "runtime", "fsync", "fdatasync", "end_fsync", "rwmixread")
    given = [f"{name}={options[name]}" for name in shown if name in options]
    return " ".join([str(document["fio version"]), f"rw={patterns}", f"bs={block}", f"numjobs={workers}", *given])


PERCENTILES: Final = {"latency_p50_s": 50.0, "latency_p90_s": 90.0, "latency_p99_s": 99.0, "latency_p999_s": 99.9}
_NS: Final = 1e-9


def latencies(path: Path, results: Sequence[dict[str, Any]]) -> tuple[dict[str, float | None], str]:
    """Return mean and percentiles (s; None where fio gave none) of one direction of jobs, and a note on them.

    JSON+ has the whole distribution, so several jobs are pooled. Plain JSON has each job's percentiles; the highest is
    then an upper bound of the percentile over all jobs.
    """
    stated = [(table, result) for result in results if (table := _first_statistics(result, "lat_ns", "clat_ns"))]
    means = [
        (number(path, table, "mean"), number(path, *((table, "N") if "N" in table else (result, "total_ios"))))
        for table, result in stated
    ]
    count = sum(weight for _, weight in means)
    mean_s = sum(mean * weight for mean, weight in means) / count * _NS if count else None
    tables = [_first_statistics(result, "clat_ns", "lat_ns", holding="percentile") for result in results]
    percentiles, note = _percentiles(tables) if all(tables) else (dict.fromkeys(PERCENTILES), "")
    return {"latency_mean_s": mean_s, **percentiles}, note


def _first_statistics(result: dict[str, Any], *names: str, holding: str = "mean") -> dict[str, Any]:
    """Return the first of the named statistics that exists and has the field `holding`."""
    tables = (result.get(name) for name in names)
    return next((table for table in tables if isinstance(table, dict) and holding in table), {})


def _percentiles(tables: Sequence[dict[str, Any]]) -> tuple[dict[str, float | None], str]:
    if len(tables) > 1 and all(_has_upper_ends(table.get("bins")) for table in tables):
        return _pool_percentiles(tables), ""
    by_job = [
        {float(rank): value for rank, value in table["percentile"].items() if re.fullmatch(r"[\d.]+", rank) and value}
        for table in tables
    ]
    highest = {
        name: max(table[rank] for table in by_job) * _NS if all(rank in table for table in by_job) else None
        for name, rank in PERCENTILES.items()
    }
    return highest, "percentiles of latency are the slowest job's" if len(tables) > 1 else ""


def _has_upper_ends(bins: Any) -> bool:
    """Return whether the bins are named by their upper ends; before fio 3 they are numbered, next to the constants for
    the conversion.
    """
    return isinstance(bins, dict) and bool(bins) and all(name.isdecimal() for name in bins)


def _pool_percentiles(tables: Sequence[dict[str, Any]]) -> dict[str, float | None]:
    """Return the percentiles of the latencies of all operations; a bin is named by its upper end in ns."""
    counts: dict[int, int] = {}
    for table in tables:
        for bin_ns, operations in table["bins"].items():
            counts[int(bin_ns)] = counts.get(int(bin_ns), 0) + int(operations)
    total, below = sum(counts.values()), 0
    pooled: dict[str, float | None] = {}
    waiting = list(PERCENTILES.items())
    for bin_ns in sorted(counts):
        below += counts[bin_ns]
        while waiting and below >= waiting[0][1] / 100 * total:
            pooled[waiting.pop(0)[0]] = bin_ns * _NS
    return pooled
