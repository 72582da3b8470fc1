"""Samples of PerfKitBenchmarker, one JSON object each: rates of disks by fio, and of the network by iperf and netperf.

A sample has metric, value, unit, and its circumstances as `labels` (`|zone:us-east1-b|,|machine_type:n2-standard-8|`)
or `metadata` (an object). Metrics have the benchmarks' names: `JOB:read:bandwidth` of fio in KiB/s, although labelled
KB/s, since fio's `bw` is passed on; `Throughput` of iperf and `TCP_STREAM_Throughput` of netperf in Mbits/sec.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from planner.errors import BadInputError
from planner.measurement.ingest.json_documents import day_of, number
from planner.measurement.ingest.measurement import Reading, mean_of

Sample = dict[str, Any]

_LABEL: Final = re.compile(r"\|([^:|]+):([^|]*)\|")
_RATES: Final = {"Throughput", "TCP_STREAM_Throughput", "TCP_STREAM_Throughput_total"}
"""Metrics of iperf, and of netperf for one stream and for several."""
_NETWORK_UNITS: Final = {"Mbits/sec": 1e6 / 8, "Gbits/sec": 1e9 / 8}
_DISK_UNITS: Final = {"KB/s": 1024.0}
_FIO_RATE: Final = re.compile(r"(.+):(read|write):bandwidth")
_FIO_PART: Final = re.compile(r".+:(read|write):(bandwidth|iops|latency)(:p[\d.]+)?")
_PERCENTILES: Final = {
    "p50": "latency_p50_s",
    "p90": "latency_p90_s",
    "p99": "latency_p99_s",
    "p99.9": "latency_p999_s",
}
_US: Final = 1e-6
_TYPES: Final = (
    "vm_1_machine_type", "machine_type", "sending_machine_type", "receiving_machine_type", "vm_2_machine_type",
)  # fmt: skip
_ZONES: Final = ("vm_1_zone", "zone", "sending_zone", "receiving_zone", "vm_2_zone")
_STREAMS: Final = ("sending_thread_count", "num_streams", "netperf_num_streams")
_DISK_TYPES: Final = ("data_disk_0_type", "scratch_disk_type", "disk_type")
_DISK_COUNTS: Final = ("data_disk_count", "data_disk_0_num_stripes", "num_striped_disks")
_LOCAL: Final = {"local", "nvme", "local-ssd", "local_ssd"}


def is_perfkit(document: dict[str, Any]) -> bool:
    """Return whether a parsed object is one of its samples."""
    return {"metric", "value", "unit"} <= document.keys() and bool({"labels", "metadata"} & document.keys())


def read_perfkit(path: Path, samples: Sequence[Sample]) -> list[Reading]:
    """Return a reading for each rate among the samples of a file: repeats of one run as their mean, runs as instances.

    Samples of other metrics are counted in the note. Raises BadInputError where there is no rate, for a wrong unit, two
    machine types or zones in one sample, a network measured over UDP or only over external addresses.
    """
    rates = [sample for sample in samples if _FIO_RATE.fullmatch(str(sample["metric"])) or sample["metric"] in _RATES]
    used = _within_the_network(path, rates)
    if not used:
        names = ", ".join(dict.fromkeys(str(sample["metric"]) for sample in samples))
        raise BadInputError(f"{path}: no rate among PerfKitBenchmarker's samples: {names:.60}", [names], code="no-rate")
    others = sum(not _is_part(sample) for sample in samples) + len(rates) - len(used)
    groups: dict[tuple[Any, ...], dict[Any, list[Reading]]] = {}
    for sample in used:
        reading = _fio(path, sample, samples) if sample["metric"] not in _RATES else _network(path, sample)
        if others:
            reading["note"] = f"{others} samples of other metrics or addresses are not stored"
        setting = tuple(reading.get(name) for name in _SETTING)
        groups.setdefault(setting, {}).setdefault(sample.get("run_uri"), []).append(reading)
    return [_mean_of_runs(list(runs.values())) for runs in groups.values()]


_SETTING: Final = (
    "instance_type", "zone", "quantity", "side", "job", "block_bytes", "depth", "threads", "connections", "volume_type",
    "volumes", "disks",
)  # fmt: skip


def _mean_of_runs(runs: Sequence[list[Reading]]) -> Reading:
    each = [mean_of(run, over="repeats") if len(run) > 1 else run[0] for run in runs]
    return mean_of(each, over="instances") if len(each) > 1 else each[0]


def _is_part(sample: Sample) -> bool:
    return sample["metric"] in _RATES or bool(_FIO_PART.fullmatch(str(sample["metric"])))


def labels_of(sample: Sample) -> dict[str, str]:
    """Return a sample's circumstances by name."""
    metadata = sample.get("metadata")
    if isinstance(metadata, dict):
        return {str(name): str(value) for name, value in metadata.items()}
    return dict(_LABEL.findall(str(sample.get("labels"))))


def _within_the_network(path: Path, rates: Sequence[Sample]) -> list[Sample]:
    """Return the rates over internal addresses. Raises BadInputError if all are over external ones."""
    inside = [sample for sample in rates if labels_of(sample).get("ip_type", "internal").lower() == "internal"]
    if rates and not inside:
        raise BadInputError(
            f"{path}: measured over external addresses only; a shuffle uses internal ones", code="external-address"
        )
    return inside


def _value(path: Path, sample: Sample, units: Mapping[str, float]) -> float:
    if sample["unit"] not in units:
        known = " or ".join(units)
        raise BadInputError(
            f"{path}: {sample['metric']} in {sample['unit']!r:.20}, expected {known}", code="unknown-unit"
        )
    return number(path, sample, "value") * units[sample["unit"]]


def _common(path: Path, sample: Sample, labels: Mapping[str, str]) -> Reading:
    """Return the fields common to all readings. Raises BadInputError for two types or zones."""
    common: Reading = {
        "as_of": day_of(sample.get("timestamp")),
        "instances": 1,
        "repeats": 1,
        "aggregate": "mean",
        "method": f"PerfKitBenchmarker {sample.get('test', '')} {sample['metric']}".replace("  ", " "),
        "source": path.name,
    }
    for field, names in (("instance_type", _TYPES), ("zone", _ZONES)):
        reported = dict.fromkeys(labels[name] for name in names if labels.get(name))
        if len(reported) > 1:
            raise BadInputError(
                f"{path}: {sample['metric']} is between {' and '.join(reported)}; measure within one {field}",
                code="several-places",
            )
        if reported:
            common[field] = next(iter(reported))
    return common


def _network(path: Path, sample: Sample) -> Reading:
    labels = labels_of(sample)
    if labels.get("protocol", "TCP").upper() != "TCP":
        raise BadInputError(f"{path}: measured over {labels['protocol']}; a shuffle runs over TCP", code="not-tcp")
    streams, resent = _first(labels, _STREAMS), labels.get("netperf_retransmissions", "")
    return {
        **_common(path, sample, labels),
        "quantity": "network",
        "bytes_per_s": _value(path, sample, _NETWORK_UNITS),
        "nodes": 2,
        "instances": 2,
        "connections": int(streams) if streams.isdecimal() else None,
        "retransmits": int(resent) if resent.isdecimal() else None,
        "seconds": _seconds(labels),
    }


def _seconds(labels: Mapping[str, str]) -> float | None:
    text = _first(labels, ("runtime_in_seconds", "netperf_test_length"))
    return float(text) if text.replace(".", "", 1).isdecimal() else None


def _fio(path: Path, sample: Sample, samples: Sequence[Sample]) -> Reading:
    labels = labels_of(sample)
    job, side, _ = str(sample["metric"]).rsplit(":", 2)
    stem = f"{job}:{side}"
    mates = {reference["metric"]: reference for reference in samples if _of_one_run(reference, sample)}
    both = f"{job}:read:bandwidth" in mates and f"{job}:write:bandwidth" in mates
    rate = _value(path, sample, _DISK_UNITS)
    operations = number(path, mates[f"{stem}:iops"], "value") if f"{stem}:iops" in mates else None
    return {
        **_common(path, sample, labels),
        "quantity": "simultaneous" if both else f"{side}_only",
        "side": side if both else None,
        "job": job,
        "bytes_per_s": rate,
        "operations_per_s": operations,
        "block_bytes": _block_bytes(path, stem, rate, operations),
        "pattern": _pattern(job, labels),
        "depth": int(labels["iodepth"]) if labels.get("iodepth", "").isdecimal() else None,
        "threads": int(labels["numjobs"]) if labels.get("numjobs", "").isdecimal() else None,
        **_disks(labels),
        **dict(_latencies(path, stem, mates)),
    }


def _of_one_run(reference: Sample, sample: Sample) -> bool:
    """Return whether two samples are of one job at one setting; labels of latencies also contain figures."""
    mine, other = labels_of(sample), labels_of(reference)
    same = all(mine.get(name) == other.get(name) for name in ("fio_job", "iodepth", "numjobs", "iteration"))
    return same and reference.get("run_uri") == sample.get("run_uri")


def _block_bytes(path: Path, stem: str, rate: float, operations: float | None) -> int | None:
    """Return the bytes per operation; None without operations. fio's operations are whole numbers here.

    Raises BadInputError where rate and operations fit no block size that fio takes: two units, or mixed blocks.
    """
    if not operations:
        return None
    block = rate / operations
    nearest = 2 ** round(math.log2(block)) if block >= 1 else 0
    if not nearest or abs(block / nearest - 1) > 0.02 + 1 / operations:
        raise BadInputError(
            f"{path}: {stem} moved {block:,.0f} bytes an operation, which is no block size: two units in one file?",
            code="inconsistent-block",
        )
    return int(nearest)


def _pattern(job: str, labels: Mapping[str, str]) -> str | None:
    """Return the order of the blocks, from the option or from PerfKitBenchmarker's name of the job."""
    given = labels.get("rw") or job
    if given.startswith("rand"):
        return "random"
    return "sequential" if labels.get("rw") or given.startswith("seq") else None


def _disks(labels: Mapping[str, str]) -> Reading:
    kind, count = _first(labels, _DISK_TYPES), _first(labels, _DISK_COUNTS)
    number_of = int(count) if count.isdecimal() else None
    if kind and kind.lower() not in _LOCAL:
        return {"volume_type": kind, "volumes": number_of}
    return {"disks": number_of}


def _first(labels: Mapping[str, str], names: Sequence[str]) -> str:
    return next((labels[name] for name in names if labels.get(name)), "")


def _latencies(path: Path, stem: str, mates: Mapping[str, Sample]) -> Iterator[tuple[str, float]]:
    """Yield mean and percentiles, which are separate samples or labels of the mean."""
    mean = mates.get(f"{stem}:latency")
    if mean is None:
        return
    yield "latency_mean_s", _value(path, mean, {"usec": _US})
    labels = labels_of(mean)
    for rank, name in _PERCENTILES.items():
        if f"{stem}:latency:{rank}" in mates:
            yield name, _value(path, mates[f"{stem}:latency:{rank}"], {"usec": _US})
        elif rank in labels:
            yield name, float(labels[rank]) * _US
