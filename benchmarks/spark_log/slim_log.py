"""Shrink a log of `bench_causes.py` for a test, without names of users, hosts and paths.

python benchmarks/spark_log/slim_log.py cpu-first.log tests/data/spark/causes/cpu.gz
"""

from __future__ import annotations

import gzip
import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from planner.spark.log.reading import EVENTS_READ

_KEPT_PROPERTIES: Final = ("spark.sql.execution.id", "spark.executor.", "spark.master", "spark.task.cpus")
_DROPPED: Final = {
    "Details", "Callsite", "Stage Infos", "details", "description", "physicalPlanDescription", "simpleString",
    "metadata", "metrics", "modifiedConfigs", "User", "Log Urls", "Attributes", "Hadoop Properties",
    "System Properties", "Classpath Entries", "Metrics Properties", "JVM Information", "Storage Level", "Resources",
    "Accumulables", "rootExecutionId", "Driver Logs", "Driver Attributes", "jobTags",
}  # fmt: skip
_NAMELESS: Final = {"Host": "host", "App Name": "job"}


def slimmed(value: Any) -> Any:
    """Return an event, or a part of one, without the fields that no reader needs."""
    if isinstance(value, list):
        return [slimmed(item) for item in value]
    if not isinstance(value, dict):
        return value
    return {key: _field(key, item) for key, item in value.items() if key not in _DROPPED}


def _field(key: str, value: Any) -> Any:
    if key in ("Properties", "Spark Properties") and isinstance(value, Mapping):
        return {name: text for name, text in value.items() if name.startswith(_KEPT_PROPERTIES)}
    return _NAMELESS[key] if key in _NAMELESS else slimmed(value)


def main() -> None:
    source, target = map(Path, sys.argv[1:])
    events = (json.loads(line) for line in source.read_text().splitlines())
    lines = [json.dumps(slimmed(event), separators=(",", ":")) for event in events if event["Event"] in EVENTS_READ]
    target.parent.mkdir(parents=True, exist_ok=True)
    with target.open("wb") as raw, gzip.GzipFile(fileobj=raw, mode="wb", mtime=0, filename="") as written:
        written.write("\n".join(lines).encode() + b"\n")


if __name__ == "__main__":
    main()
