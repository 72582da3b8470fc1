"""Decodes a line of a log into its event. msgspec, if installed, skips the fields that nothing reads."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import Any, Final, TypedDict

from planner.spark.log.stage_tally import METRICS


class _Step(TypedDict, total=False):
    nodeName: Any
    children: list[_Step]


def _some(*names: str) -> dict[str, Any]:
    return dict.fromkeys(names, Any)


_OF_STAGE: Final = _some("Event", "Stage ID", "Stage Attempt ID")
_TASK_END: Final = {
    **_OF_STAGE,
    "Task End Reason": _some("Reason"),
    "Task Info": _some(
        *("Task ID", "Launch Time", "Executor ID", "Host", "Speculative", "Getting Result Time", "Finish Time")
    ),
    "Task Executor Metrics": _some("JVMHeapMemory", "OnHeapStorageMemory", "OffHeapStorageMemory"),
    "Task Metrics": {
        **_some(*METRICS[""], "Peak Execution Memory"),
        **{place: _some(*keys) for place, keys in METRICS.items() if place},
        **_some("Updated Blocks"),
    },
}
_STAGE: Final = {
    **_some("Event"),
    "Stage Info": {
        **_some("Stage ID", "Stage Attempt ID", "Stage Name", "Number of Tasks", "Parent IDs"),
        **_some("Submission Time", "Completion Time", "Failure Reason", "Resource Profile Id"),
        "RDD Info": [_some("Name", "Scope", "Callsite")],
        "Accumulables": [_some("Name")],
    },
}
_PLAN: Final = {**_some("Event", "executionId"), "sparkPlanInfo": _Step}
_READ: Final[dict[str, dict[str, Any]]] = {
    "SparkListenerTaskStart": {**_OF_STAGE, "Task Info": _some("Task ID", "Launch Time")},
    "SparkListenerTaskEnd": _TASK_END,
    "SparkListenerStageSubmitted": _STAGE,
    "SparkListenerStageCompleted": _STAGE,
    "SparkListenerJobStart": {
        **_some("Event", "Job ID", "Submission Time", "Stage IDs", "Properties"),
        "Stage Infos": [_some("Stage ID", "Number of Tasks")],
    },
    "org.apache.spark.sql.execution.ui.SparkListenerSQLExecutionStart": _PLAN,
    "org.apache.spark.sql.execution.ui.SparkListenerSQLAdaptiveExecutionUpdate": _PLAN,
}
"""Fields that the tallies read, by event; of other events they get all fields."""


def decode(line: bytes, *, event: bytes) -> Any:
    """Return the event on a line, with at least the fields that are read if it is a known event. Raises ValueError,
    RecursionError.
    """
    decoders = _decoders()
    try:
        return (decoders.get(event) or decoders[b""])(line)
    except ValueError:
        return json.loads(line)  # accepts NaN, lone surrogates and values of other types


@cache
def _decoders() -> dict[bytes, Callable[[bytes], Any]]:
    try:
        decoder = import_module("msgspec").json.Decoder
    except ImportError:
        return {b"": json.loads}
    return {b"": decoder().decode, **{name.encode(): decoder(_type(shape)).decode for name, shape in _READ.items()}}


def _type(shape: Any) -> Any:
    if isinstance(shape, dict):
        return TypedDict("_", {name: _type(inner) for name, inner in shape.items()}, total=False)  # type: ignore[operator]
    return list[_type(shape[0])] if isinstance(shape, list) else shape  # type: ignore[misc]
