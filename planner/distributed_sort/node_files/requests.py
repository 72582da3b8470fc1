"""Open requests of a node's processes to other services: the node's service reports them as reasons of a wait."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from planner.distributed_sort.node_files.node_environment import node_memory, node_name

_WORTH_SAYING_S: Final = 10.0


@contextmanager
def track_request(doing: str) -> Iterator[None]:
    """Note the request of this thread during the body, if this node has room for a note."""
    note = _folder() / f"{os.getpid()}-{threading.get_ident()}"
    with suppress(OSError):
        note.parent.mkdir(mode=0o700, exist_ok=True)
        note.write_text(doing)
    try:
        yield
    finally:
        with suppress(OSError):  # other requests have notes there
            note.unlink()
            note.parent.rmdir()


def longest_request() -> tuple[str, float]:
    """Return the request that a process of this node has waited for longest, and its seconds; '' if none takes long."""
    found = [(0.0, "")]
    for note in _notes():
        with suppress(FileNotFoundError):  # it has just been answered
            found.append((time.time() - note.stat().st_mtime, note.read_text()))
    seconds, doing = max(found)
    return (doing, seconds) if seconds >= _WORTH_SAYING_S else ("", 0.0)


def _notes() -> Iterator[Path]:
    """Yield the notes of live processes."""
    for note in _folder().glob("*-*"):
        if Path("/proc", note.name.partition("-")[0]).exists():
            yield note
        else:
            note.unlink(missing_ok=True)


def _folder() -> Path:
    return node_memory() / f".planner-requests-{node_name()}"
