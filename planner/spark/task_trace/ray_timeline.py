"""A Ray timeline, as `ray timeline` and `ray.timeline()` write it: Chrome trace events, a task with its parts inside.

As Ray 2.60 writes it: events of the category `task::NAME`, and within each on the same worker
`task:deserialize_arguments`, `task:execute` and `task:store_outputs`. Times are in microseconds.
"""

from __future__ import annotations

import sys
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

from planner.spark.task_trace.trace import TracedTask

_TASK: Final = "task::"
PARTS: Final = {
    "task:deserialize_arguments": "deserialisation_s",
    "task:execute": "run_s",
    "task:store_outputs": "result_serialisation_s",
}
_US: Final = 1e6


def tasks_of(events: Iterable[Any]) -> Iterator[TracedTask]:
    """Yield the tasks of a timeline, skipping anything but complete events of tasks."""
    by_worker: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for event in events:
        if _is_timed(event) and (event["cat"] in PARTS or event["cat"].startswith(_TASK)):
            kept = {"cat": sys.intern(event["cat"]), "ts": event["ts"], "dur": event["dur"]}
            by_worker.setdefault((str(event.get("pid")), str(event.get("tid"))), []).append(kept)
    for (node, worker), those in by_worker.items():
        parts = sorted((event for event in those if event["cat"] in PARTS), key=_begin)
        begins = [_begin(part) for part in parts]
        for event in those:
            if event["cat"].startswith(_TASK):
                first, end = bisect_left(begins, _begin(event)), bisect_left(begins, _begin(event) + event["dur"])
                yield _task(event, parts[first:end], worker=worker, node=node)


def _begin(event: dict[str, Any]) -> float:
    return float(event["ts"])


def _is_timed(event: Any) -> bool:
    if not isinstance(event, dict) or event.get("ph") != "X" or not isinstance(event.get("cat"), str):
        return False
    return all(isinstance(event.get(name), int | float) for name in ("ts", "dur"))


def _task(event: dict[str, Any], parts: Sequence[dict[str, Any]], *, worker: str, node: str) -> TracedTask:
    parts_s: dict[str, float] = {}
    for part in parts:
        name = PARTS[part["cat"]]
        parts_s[name] = parts_s.get(name, 0.0) + part["dur"] / _US
    return TracedTask(
        name=event["cat"].removeprefix(_TASK),
        began_at_s=_begin(event) / _US,
        elapsed_s=event["dur"] / _US,
        worker=f"{node} {worker}",
        node=node,
        parts_s=parts_s,
    )
