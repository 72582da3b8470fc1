"""Requests of a node's processes that somebody else has yet to answer: the node's service says what they wait for."""

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
def request_under_way(doing: str) -> Iterator[None]:
    """Note what this thread waits for during the body, if this node has room for a note."""
    note = _folder() / f"{os.getpid()}-{threading.get_ident()}"
    with suppress(OSError):
        note.parent.mkdir(mode=0o700, exist_ok=True)
        note.write_text(doing)
    try:
        yield
    finally:
        with suppress(OSError):  # others have notes there
            note.unlink()
            note.parent.rmdir()


def longest_request() -> tuple[str, float]:
    """Return what a process of this node waits for longest, and for how many seconds; '' if none waits for long."""
    found = [(0.0, "")]
    for note in _notes():
        with suppress(FileNotFoundError):  # it has just been answered
            found.append((time.time() - note.stat().st_mtime, note.read_text()))
    seconds, doing = max(found)
    return (doing, seconds) if seconds >= _WORTH_SAYING_S else ("", 0.0)


def _notes() -> Iterator[Path]:
    """Yield the notes of processes that live."""
    for note in _folder().glob("*-*"):
        if Path("/proc", note.name.partition("-")[0]).exists():
            yield note
        else:
            note.unlink(missing_ok=True)


def _folder() -> Path:
    return node_memory() / f".planner-requests-{node_name()}"
