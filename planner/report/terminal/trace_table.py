"""A trace of tasks in the terminal: a row for each name, and what the file does not tell."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from planner.spark.task_trace.trace import TaskTrace
from planner.units import format_duration

_PARTS = {"deserialisation_s": "arguments", "run_s": "running"}
"""Results, mostly short, are in CSV and JSON."""


def trace_table(trace: TaskTrace) -> tuple[list[str], Iterator[Sequence[str]]]:
    """Return the headings and rows of a trace's table, in order of start."""
    parts = [name for name in _PARTS if name in trace.parts]
    headings = ["tasks", "count", "lasted", "in all", *(_PARTS[name] for name in parts), "median", "longest"]
    return headings, (_trace_row(row, parts) for row in trace.stage_rows())


def _trace_row(row: dict[str, object], parts: Sequence[str]) -> list[str]:
    seconds = ["elapsed_s", *parts, "task_median_s", "task_longest_s"]
    return [
        str(row["name"]),
        str(row["tasks"]),
        format_duration(float(str(row["duration_s"]))),
        *(format_duration(float(str(row[name]))) for name in seconds),
    ]


def trace_sentence(trace: TaskTrace) -> str:
    """Return what the trace is of, and what it does not tell."""
    nodes = f"{len(trace.nodes)} node{'s' * (len(trace.nodes) != 1)}"
    return (
        f"{trace.system}: {format_duration(trace.duration_s)}, {trace.workers} workers on {nodes}. The file tells when "
        "tasks ran; of bytes, processors and memory it tells nothing, so what bound them is unknown."
    )
