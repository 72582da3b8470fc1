"""ioping's JSON output (`ioping -J`): operations of one block at a time, and their latency."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

from planner.errors import BadInputError
from planner.measurement.ingest.json_documents import day_of, number
from planner.measurement.ingest.measurement import Reading

_NS = 1e-9
_MEMORY: Final = {"tmpfs", "ramfs", "devtmpfs", "hugetlbfs"}
_ELSEWHERE: Final = ("nfs", "cifs", "smb", "fuse.", "ceph", "lustre", "gluster", "9p")
_IN_MEMORY: Final = ("/dev/ram", "/dev/zram", "/dev/nullb")


def is_ioping(items: list[Any]) -> bool:
    """Return whether a parsed list is ioping's."""
    return bool(items) and all(isinstance(item, dict) and "target" in item for item in items)


def read_ioping(path: Path, items: list[dict[str, Any]]) -> Reading:
    """Return the reading of a file: operations/s with one in flight, and their mean latency.

    Without its single requests (`-q`), a file does not show whether it read or wrote. Raises BadInputError for an
    interrupted run, one without requests, or one in memory.
    """
    stat = items[-1].get("stat")
    if not isinstance(stat, dict):
        raise BadInputError(f"{path}: no statistics at its end; was ioping interrupted?", code="incomplete-output")
    count, moved = number(path, stat, "count"), number(path, stat, "size")
    if count == 0:
        raise BadInputError(f"{path}: no request counted; run it with more (-c)", code="nothing-moved")
    if any(_target(item, "fstype") in _MEMORY or _target(item, "device").startswith(_IN_MEMORY) for item in items):
        raise BadInputError(
            f"{path}: ioping's target {_target(items[-1], 'path')} lies in memory; run it on a disk", code="in-memory"
        )
    if (_target(items[-1], "fstype") or "").startswith(_ELSEWHERE):
        raise BadInputError(
            f"{path}: ioping's target is on {_target(items[-1], 'fstype')}, another machine's disk",
            code="other-machine",
        )
    operations = {item["io"].get("operation") for item in items if isinstance(item.get("io"), dict)}
    return {
        "quantity": f"{operations.pop()}_only" if len(operations) == 1 else None,
        "bytes_per_s": number(path, stat, "bps"),
        "operations_per_s": number(path, stat, "iops"),
        "latency_mean_s": number(path, stat, "avg") * _NS,
        "pattern": "random",
        "block_bytes": round(moved / count),
        "threads": 1,
        "depth": 1,
        "buffered": "yes",
        "note": "the page cache may be in the figure: the file does not say whether ioping ran with -D",
        "seconds": number(path, stat, "time") * _NS,
        "as_of": day_of(items[-1].get("timestamp")),
        "instances": 1,
        "repeats": 1,
        "aggregate": "mean",
        "method": f"ioping, one request at a time, {round(count)} requests",
        "source": path.name,
    }


def _target(item: dict[str, Any], name: str) -> str:
    return str((item.get("target") or {}).get(name, ""))
