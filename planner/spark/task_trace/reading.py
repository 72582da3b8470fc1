"""Reads a trace of tasks: a Ray timeline or a Dask performance report, recognised by its content."""

from __future__ import annotations

import codecs
import json
from pathlib import Path
from typing import Final

from planner.errors import BadInputError, IoFailureError
from planner.spark.task_trace import dask_report, ray_timeline
from planner.spark.task_trace.trace import TaskTrace, trace_of

_PEEKED_BYTES: Final = 4096


def looks_like_trace(path: Path) -> bool:
    """Return whether a file may be a trace: a page, or a list of objects. Event logs of Spark begin with an object."""
    if not path.is_file():
        return False
    try:
        with path.open("rb") as file:
            head = file.read(_PEEKED_BYTES).removeprefix(codecs.BOM_UTF8).lstrip()
    except OSError as error:
        raise IoFailureError(f"{path}: {error.strerror}", code="io") from error
    return head.startswith(b"[") or head[:9].lower() in (b"<!doctype", b"<html>") or head[:5].lower() == b"<html"


def read(path: str | Path) -> TaskTrace:
    """Return the tasks of a trace. Raises BadInputError for a file that is not a trace, IoFailureError."""
    file = Path(path).expanduser()
    try:
        text = file.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise IoFailureError(f"{file}: {error.strerror}", code="io") from error
    except UnicodeDecodeError as error:
        raise BadInputError(
            f"{file} is neither a Ray timeline nor a Dask performance report: {error}", code="unknown-format"
        ) from error
    if text.lstrip().startswith("["):
        return _ray(text, file)
    stream = dask_report.stream_of(text)
    tasks = list(dask_report.tasks_of(stream)) if stream else []
    if not tasks:
        raise BadInputError(
            f"{file}: a page without a task stream; distributed.performance_report writes one with it",
            code="no-task-stream",
        )
    return trace_of(tasks, path=str(file), system="Dask", parts=frozenset())


def _ray(text: str, file: Path) -> TaskTrace:
    try:
        events = json.loads(text)
    except ValueError as error:
        raise BadInputError(
            f"{file} is cut off, or no JSON: {error}; write it again with `ray timeline`", code="not-json"
        ) from error
    tasks = list(ray_timeline.tasks_of(events))
    if not tasks:
        raise BadInputError(
            f"{file}: {len(events)} events, and none is a task of Ray's; `ray timeline` writes them", code="no-tasks"
        )
    return trace_of(tasks, path=str(file), system="Ray", parts=frozenset(ray_timeline.PARTS.values()))
