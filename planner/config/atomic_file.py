"""Files written by several processes: locked during use, replaced as a whole or not at all."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from planner.errors import IoFailureError


@contextmanager
def hold_lock(path: Path, *, wait: bool = True) -> Iterator[None]:
    """Hold an exclusive lock on the file `path`, creating it if needed, while the body runs.

    The system releases the lock of a process that dies. Without `wait`, raises BlockingIOError while another process
    holds the lock. Raises OSError if the file cannot be opened.
    """
    with path.open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield


@contextmanager
def change_store(path: Path, *, what: str) -> Iterator[None]:
    """Keep other processes from changing a store's file while the body runs; its folder is created if needed.

    Raises IoFailureError, naming `what` as the data to store, for an OSError of the body.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with hold_lock(path.parent / ".lock"):
            yield
    except OSError as error:
        reason = error.strerror or str(error)
        raise IoFailureError(f"cannot store {what} {path}: {reason}; nothing was changed", code="io") from error


def sync_to_disk(path: Path) -> None:
    """Wait until the data of a file, or the names in a folder, are on the disk. Raises OSError."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def replace_file(path: Path, content: str | bytes) -> None:
    """Write text or bytes to `path`, replacing it atomically. After an OSError, `path` is unchanged."""
    partial = path.with_name(f".{path.name}.{os.getpid()}.partial")
    try:
        with partial.open("wb") as file:
            file.write(content.encode() if isinstance(content, str) else content)
            file.flush()
            os.fsync(file.fileno())
        partial.replace(path)
    except BaseException:
        if partial.parent.is_dir():
            partial.unlink(missing_ok=True)
        raise
