"""Notes of a node's processes about what they do: the node's service reports tasks that run, and open requests to other
services as reasons of a wait.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from functools import wraps
from pathlib import Path
from typing import Any, Final

from planner.distributed_sort.node_files.node_environment import node_memory, node_name

_WORTH_SAYING_S: Final = 10.0
_TRIES: Final = 3


def announced(task: Callable[..., Any], *, job: str) -> Callable[..., Any]:
    """Return a task that notes, while it runs, that one of a Ray job runs on this node."""

    @wraps(task)
    def run(*arguments: Any) -> Any:
        with _noted(_folder(f"tasks-{job}"), ""):
            return task(*arguments)

    return run


def running_tasks(job: str) -> int:
    """Return the number of announced tasks of a Ray job that run on this node."""
    return sum(1 for _ in _notes(_folder(f"tasks-{job}")))


def track_request(doing: str) -> AbstractContextManager[None]:
    """Note the request of this thread during the body, if this node has room for a note."""
    return _noted(_folder("requests"), doing)


@contextmanager
def _noted(folder: Path, text: str) -> Iterator[None]:
    note = folder / f"{os.getpid()}-{threading.get_ident()}"
    with suppress(OSError):
        _write(note, text)
    try:
        yield
    finally:
        with suppress(OSError):  # other requests have notes there
            note.unlink()
            note.parent.rmdir()


def longest_request() -> tuple[str, float]:
    """Return the request that a process of this node has waited for longest, and its seconds; '' if none takes long."""
    found = [(0.0, "")]
    for note in _notes(_folder("requests")):
        with suppress(FileNotFoundError):  # it has just been answered
            found.append((time.time() - note.stat().st_mtime, note.read_text()))
    seconds, doing = max(found)
    return (doing, seconds) if seconds >= _WORTH_SAYING_S else ("", 0.0)


def forget_ended() -> None:
    """Remove the notes of processes that are gone, whatever their job, and folders without notes."""
    for folder in node_memory().glob(f".planner-*-{node_name()}"):
        for _ in _notes(folder):
            pass
        with suppress(OSError):  # live processes have notes there
            folder.rmdir()


def _write(note: Path, text: str) -> None:
    for _ in range(_TRIES):
        note.parent.mkdir(mode=0o700, exist_ok=True)
        with suppress(FileNotFoundError):  # the end of another note has removed the folder meanwhile
            note.write_text(text)
            return


def _notes(folder: Path) -> Iterator[Path]:
    """Yield the notes of live processes, and remove the others."""
    for note in folder.glob("*-*"):
        if Path("/proc", note.name.partition("-")[0]).exists():
            yield note
        else:
            note.unlink(missing_ok=True)


def _folder(kind: str) -> Path:
    return node_memory() / f".planner-{kind}-{node_name()}"
