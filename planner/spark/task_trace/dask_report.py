"""A Dask performance report: a page in which Bokeh keeps the task stream, one row for each stretch of a task.

As distributed 2026.8 writes it with Bokeh 3: a data source with the columns `start` and `duration` in milliseconds,
`name` and `worker`. Stretches that fetch data from other workers are named `transfer-NAME`.
"""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterator
from typing import Any, Final

from planner.spark.task_trace.trace import TracedTask

_DOCUMENT: Final = re.compile(r'<script type="application/json"[^>]*>(.*?)</script>', re.DOTALL)
_COLUMNS: Final = ("start", "duration", "name", "worker")
_MS: Final = 1e3


def stream_of(page: str) -> dict[str, list[Any]] | None:
    """Return the columns of a page's task stream, None if it has none."""
    for match in _DOCUMENT.finditer(page):
        try:
            document = json.loads(html.unescape(match[1]))
        except (ValueError, RecursionError):
            continue
        for columns in _sources(document):
            if len({len(columns[name]) for name in _COLUMNS}) == 1:
                return columns
    return None


def tasks_of(stream: dict[str, list[Any]]) -> Iterator[TracedTask]:
    """Yield the stretches of a task stream as tasks, skipping those without numbers."""
    for start, duration, name, worker in zip(*(stream[column] for column in _COLUMNS), strict=True):
        if isinstance(start, int | float) and isinstance(duration, int | float):
            yield TracedTask(
                name=str(name),
                began_at_s=start / _MS,
                elapsed_s=duration / _MS,
                worker=str(worker),
                node=str(worker).rpartition("/")[2].rpartition(":")[0],
            )


def _sources(value: Any) -> Iterator[dict[str, list[Any]]]:
    """Yield all data in a document that has the columns of a task stream."""
    if isinstance(value, dict):
        entries = value.get("entries")
        columns = {key: column for key, column in _pairs(entries) if isinstance(key, str)} if entries else value
        if all(isinstance(columns.get(name), list) for name in _COLUMNS):
            yield columns
        for inner in value.values():
            yield from _sources(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _sources(inner)


def _pairs(entries: Any) -> Iterator[tuple[Any, Any]]:
    if isinstance(entries, list):
        yield from (tuple(entry) for entry in entries if isinstance(entry, list) and len(entry) == 2)
