"""Reads a trace of tasks: a Ray timeline or a Dask performance report, recognised by its content."""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, TextIO

from planner.errors import BadInputError, IoFailureError
from planner.spark.task_trace import dask_report, ray_timeline
from planner.spark.task_trace.trace import TaskTrace, trace_of

_PEEKED_BYTES: Final = 4096
_MOST_PAGE: Final = 128 << 20
"""Longest page that is read: parsed it takes fifteen times as much memory."""
_MOST_EVENT: Final = 1 << 20
_BETWEEN: Final = re.compile(r"[\s,]*")


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
        with file.open(encoding="utf-8-sig") as stream:
            head = stream.read(_PEEKED_BYTES)
            return _ray(head, stream, file) if head.lstrip().startswith("[") else _dask(head, stream, file)
    except OSError as error:
        raise IoFailureError(f"{file}: {error.strerror}", code="io") from error
    except UnicodeDecodeError as error:
        raise BadInputError(
            f"{file} is neither a Ray timeline nor a Dask performance report: {error}", code="unknown-format"
        ) from error


def _dask(head: str, stream: TextIO, file: Path) -> TaskTrace:
    page = head + stream.read(_MOST_PAGE)
    if stream.read(1):
        raise BadInputError(
            f"{file}: a page of more than {_MOST_PAGE >> 20} MiB; report on a shorter part of the run", code="too-long"
        )
    columns = dask_report.stream_of(page)
    tasks = list(dask_report.tasks_of(columns)) if columns else []
    if not tasks:
        raise BadInputError(
            f"{file}: a page without a task stream; distributed.performance_report writes one with it",
            code="no-task-stream",
        )
    return trace_of(tasks, path=str(file), system="Dask", parts=frozenset())


def _ray(head: str, stream: TextIO, file: Path) -> TaskTrace:
    try:
        tasks = list(ray_timeline.tasks_of(_events(head, stream)))
    except (ValueError, RecursionError) as error:
        why = "nested too deeply" if isinstance(error, RecursionError) else error
        raise BadInputError(
            f"{file} is cut off, or no JSON: {why}; write it again with `ray timeline`", code="not-json"
        ) from error
    if not tasks:
        raise BadInputError(
            f"{file}: none of its events is a task of Ray's; `ray timeline` writes them", code="no-tasks"
        )
    return trace_of(tasks, path=str(file), system="Ray", parts=frozenset(ray_timeline.PARTS.values()))


def _events(head: str, stream: TextIO) -> Iterator[Any]:
    """Yield the values of a JSON list one by one. Raises ValueError where it is none or has a value of some MiB."""
    decoder, text, at = json.JSONDecoder(), head.lstrip()[1:], 0
    while True:
        at = _BETWEEN.match(text, at).end()  # type: ignore[union-attr]
        if text.startswith("]", at):
            return
        try:
            value, at = decoder.raw_decode(text, at)
            yield value
        except ValueError:
            if len(text) - at > _MOST_EVENT or not (more := stream.read(_MOST_EVENT)):
                raise
            text, at = text[at:] + more, 0
