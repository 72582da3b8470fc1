"""Reader of the files of `planner bench ... --json`: rates of one node's disks and of small operations on them, a
network curve, the rate of sorting.

The runs of one file follow each other within minutes: their differences do not show how other days differ, and average
out over a job like variation within a run. Variation over time comes from several files, of several days.
"""

from __future__ import annotations

import statistics
from datetime import date
from pathlib import Path
from typing import Any, Final

from planner.errors import BadInputError
from planner.measurement.ingest.json_documents import number
from planner.measurement.ingest.measurement import Reading
from planner.statistics.variance_components import within_runs

_QUANTITY: Final = {"mixed": "simultaneous", "read": "read_only", "write": "write_only"}

_ARRAYS: Final = ("/dev/md", "/dev/mapper/")
"""Beginnings of the names of Linux devices that combine several disks."""


def is_own(document: dict[str, Any]) -> bool:
    """Return whether a parsed file is from one of this tool's instruments."""
    return "instrument" in document


def read_own(path: Path, document: dict[str, Any]) -> list[Reading]:
    """Return the readings of a file: one for each mode (DiskBench), operation (small-io) or cluster size (NetBench), or
    one of sorting.

    Raises BadInputError for other instruments and for damaged files.
    """
    readers = {"diskbench": _disk, "netbench": _net, "smallio": _small_io, "sortbench": _sort}
    instrument = str(document["instrument"])
    if instrument not in readers:
        raise BadInputError(
            f"{path}: {instrument} is no instrument known here; known: {', '.join(readers)}", code="unknown-instrument"
        )
    try:
        common = _common_fields(path, document)
        return [{**common, **reading} for reading in readers[instrument](path, document)]
    except (KeyError, TypeError, ValueError) as error:
        raise BadInputError(
            f"{path}: not as {instrument} writes it ({error!r}); measure again", code="malformed"
        ) from error


def _common_fields(path: Path, document: dict[str, Any]) -> Reading:
    return {
        "instance_type": document.get("machine_type"),
        "as_of": date.fromisoformat(str(document["measured_at"])[:10]),
        "method": f"{document['instrument']} {document['planner_version']}: {document['method']}",
        "source": path.name,
    }


def _disk(path: Path, document: dict[str, Any]) -> list[Reading]:
    seconds = {run["mode"]: number(path, run, "seconds") for run in document["runs"]}
    return [
        {
            "quantity": _QUANTITY[rate["mode"]],
            "side": side if rate["mode"] == "mixed" else None,
            "pattern": "sequential",
            "layout": rate.get("layout", "jbod"),
            "bytes_per_s": number(path, rate, f"{side}_bytes_per_s"),
            "disks": _disks({str(system["device"]) for system in document["file_systems"]}),
            "instances": 1,
            "repeats": int(rate["repeats"]),
            "aggregate": "median",
            "seconds": seconds[rate["mode"]],
            "within_run_sigma": rate.get("within_run_sigma"),
            "note": "; ".join(document["notes"]),
        }
        for rate in document["rates"]
        for side in ("read", "write")
        if rate[f"{side}_bytes_per_s"] is not None
    ]


def _disks(devices: set[str]) -> int | None:
    """Return the number of disks; None if one device is an array with an unknown number of disks."""
    return None if any(device.startswith(_ARRAYS) for device in devices) else len(devices)


def _net(path: Path, document: dict[str, Any]) -> list[Reading]:
    sizes: dict[int, list[dict[str, Any]]] = {}
    for run in document["runs"]:
        sizes.setdefault(int(run["nodes"]), []).append(run)
    return [_cluster(path, nodes, runs) for nodes, runs in sizes.items()]


def _cluster(path: Path, nodes: int, runs: list[dict[str, Any]]) -> Reading:
    slowest = [number(path, run, "slowest_bytes_per_s") for run in runs]
    return {
        "quantity": "network",
        "bytes_per_s": sum(slowest) / len(runs),
        "nodes": nodes,
        "connections": int(runs[0]["connections"]),
        "instances": nodes,
        "repeats": len(runs),
        "aggregate": "slowest_of_n",
        "seconds": number(path, runs[0], "seconds"),
    }


def _small_io(path: Path, document: dict[str, Any]) -> list[Reading]:
    """Return a reading for each operation: the median of its runs with the recommended number of threads."""
    chosen: dict[str, list[dict[str, Any]]] = {}
    for run in document["runs"]:
        if document["recommended_threads"][run["operation"]] == run["threads"]:
            chosen.setdefault(run["operation"], []).append(run)
    return [
        {
            "quantity": operation,
            "bytes_per_s": statistics.median(number(path, run, "bytes_per_s") for run in runs),
            "operations_per_s": _median(runs, "operations_per_s"),
            "latency_mean_s": _median(runs, "mean_latency_s"),
            **{f"latency_{rank}_s": _median(runs, f"latency_{rank}_s") for rank in ("p50", "p90", "p99", "p999")},
            "threads": int(runs[0]["threads"]),
            "instances": 1,
            "repeats": len(runs),
            "aggregate": "mean" if len(runs) == 1 else "median",
            "seconds": number(path, runs[0], "seconds"),
            "within_run_sigma": within_runs([run["series_bytes_per_s"] for run in runs]),
        }
        for operation, runs in chosen.items()
    ]


def _median(runs: list[dict[str, Any]], name: str) -> float | None:
    """Return the median of the runs that have a figure; None if none has."""
    values = [run[name] for run in runs if run.get(name) is not None]
    return statistics.median(values) if values else None


def _sort(path: Path, document: dict[str, Any]) -> list[Reading]:
    return [
        {
            "quantity": "sort",
            "bytes_per_s": number(path, document, "bytes_per_s_per_vcpu"),
            "threads": int(document["threads"]),
            "instances": 1,
            "repeats": int(document["repeats"]),
            "aggregate": "median",
        }
    ]
