"""What `planner bench disk --json` and `planner bench net --json` write: rates of one node's disks, a network curve."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import Any, Final

from planner.errors import BadInputError
from planner.measure.documents import number
from planner.measure.measurement import Reading

_QUANTITY: Final = {"mixed": "simultaneous", "read": "read_only", "write": "write_only"}


def is_own(document: dict[str, Any]) -> bool:
    """Whether a parsed file is one of this tool's instruments'."""
    return "instrument" in document


def read_own(path: Path, document: dict[str, Any]) -> list[Reading]:
    """Return what a file of DiskBench (a reading for each mode) or NetBench (one for each cluster size) says.

    Raises BadInputError for other instruments, whose figures a catalog does not hold, and for damaged files.
    """
    readers = {"diskbench": _disk, "netbench": _net}
    instrument = str(document["instrument"])
    if instrument not in readers:
        raise BadInputError(f"{path}: figures of {instrument} are no rates of a catalog; ingest diskbench or netbench")
    try:
        common = _common(path, document)
        return [{**common, **reading} for reading in readers[instrument](path, document)]
    except (KeyError, TypeError, ValueError) as error:
        raise BadInputError(f"{path}: not as {instrument} writes it ({error!r}); measure again") from error


def _common(path: Path, document: dict[str, Any]) -> Reading:
    return {
        "instance_type": document.get("machine_type"),
        "as_of": date.fromisoformat(str(document["measured_at"])[:10]),
        "method": f"{document['instrument']} {document['version']}: {document['method']}",
        "source": path.name,
    }


def _disk(path: Path, document: dict[str, Any]) -> list[Reading]:
    seconds = {run["mode"]: number(path, run, "seconds") for run in document["runs"]}
    disks = len({system["device"] for system in document["file_systems"]})
    return [
        {
            "quantity": _QUANTITY[rate["mode"]],
            "bytes_per_s": min(
                number(path, rate, name) for name in ("read_bytes_per_s", "write_bytes_per_s") if rate[name] is not None
            ),
            "disks": disks,
            "instances": 1,
            "repeats": int(rate["repeats"]),
            "aggregate": "mean",
            "seconds": seconds[rate["mode"]],
            "note": "; ".join(document["notes"]),
        }
        for rate in document["rates"]
    ]


def _net(path: Path, document: dict[str, Any]) -> list[Reading]:
    sizes: dict[int, list[dict[str, Any]]] = {}
    for run in document["runs"]:
        sizes.setdefault(int(run["nodes"]), []).append(run)
    return [
        {
            "quantity": "network",
            "bytes_per_s": sum(number(path, run, "slowest_bytes_per_s") for run in runs) / len(runs),
            "nodes": nodes,
            "connections": int(runs[0]["connections"]),
            "instances": nodes,
            "repeats": len(runs),
            "aggregate": "slowest_of_n",
            "seconds": number(path, runs[0], "seconds"),
        }
        for nodes, runs in sizes.items()
    ]
