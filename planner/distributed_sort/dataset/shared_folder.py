"""Output in a folder that all nodes reach by its path: for emulated nodes, one on the machine that they share."""

from __future__ import annotations

import errno
import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final
from uuid import uuid4

import numpy as np

from planner.distributed_sort.node_files.node_environment import job_of_part
from planner.distributed_sort.node_files.run_files import file_errors, write_atomically

_WITHOUT_LOCKS: Final = (errno.EBADF, errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOSYS)
_STEP_BYTES: Final = 16_000_000
_WITHOUT_LINKS: Final = (errno.EXDEV, errno.EPERM, errno.EOPNOTSUPP, errno.EMLINK)


def list_files(folder: str) -> dict[str, int]:
    """Return the size of every file directly in a folder by its path; nothing without the folder. Raises
    IoFailureError.
    """
    with file_errors("list", folder):
        if not Path(folder).exists():
            return {}
        return {str(path): path.stat().st_size for path in sorted(Path(folder).iterdir())}


def require_writable(folder: str) -> None:
    """Create the folder, then write and delete an empty file. Raises IoFailureError when either fails."""
    path = Path(folder) / f".planner-writable-{uuid4().hex[:8]}"
    write_atomically(path, (), durable=False)
    with file_errors("delete", path):
        path.unlink()


def write_file(uri: str, path: Path) -> int:
    """Put a synced file into the folder, and return the number of requests, 0. On the same file system it gets a second
    name, elsewhere it is copied. Raises IoFailureError.
    """
    target = Path(uri)
    with file_errors("write", target):
        target.unlink(missing_ok=True)  # left by an abandoned attempt
        try:
            os.link(path, target)
        except OSError as error:
            if error.errno not in _WITHOUT_LINKS:
                raise
        else:
            return 0
    _copy(path, target)
    return 0


def delete_partitions(folder: str, job: str) -> None:
    """Delete a job's output partitions directly in a folder, and the folder if nothing else is in it; nothing else
    there. Raises IoFailureError.
    """
    if not (own := [name for name in list_files(folder) if job_of_part(Path(name).name) == job]):
        return
    for name in own:
        delete_file(name)
    with suppress(OSError):  # it holds other files
        Path(folder).rmdir()


def delete_file(path: str) -> None:
    """Delete a file; a missing one is no error. Raises IoFailureError."""
    with file_errors("delete", path):
        Path(path).unlink(missing_ok=True)


def read_version(path: str) -> tuple[bytes, Any] | None:
    """Return a file's content, and its version for `put_if`; None where there is no file. Raises IoFailureError."""
    with file_errors("read", path):
        try:
            with Path(path).open("rb") as file:
                return file.read(), _version(os.fstat(file.fileno()))
        except FileNotFoundError:
            return None


def put_if(path: str, content: bytes, *, expected_version: Any) -> bool:
    """Write a file durably if `expected_version` is still there, or no file where it is None; return whether it was
    written. Raises IoFailureError.
    """
    target = Path(path)
    written = target.with_name(f".planner-{uuid4().hex[:8]}.partial")  # could be too long with the target's name
    with file_errors("write", path), _locked(target.parent):
        try:
            with written.open("xb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            if expected_version is None:
                return _link(written, target)
            with suppress(FileNotFoundError):
                if _version(target.stat()) == expected_version:
                    written.replace(target)
                    return True
            return False
        finally:
            written.unlink(missing_ok=True)


def _link(written: Path, target: Path) -> bool:
    """Give a file its name unless that is taken, and return whether it got it."""
    try:
        os.link(written, target)
    except FileExistsError:
        return False
    except OSError as error:
        if error.errno not in _WITHOUT_LINKS:
            raise
        if target.exists():  # only here may a process without the lock interfere
            return False
        written.replace(target)
    return True


def _version(status: os.stat_result) -> tuple[int, int, int]:
    return status.st_ino, status.st_mtime_ns, status.st_size


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Lock a folder, created if need be, against changes by others that take this lock."""
    folder.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        _lock(descriptor)
        yield
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _lock(descriptor: int) -> None:
    """Lock a folder, where its file system can: NFS locks only files that are open for writing, which a folder cannot
    be. There the first result still gets its name by a link, and the journal refuses the second of two that replace
    one.
    """
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
    except OSError as error:
        if error.errno not in _WITHOUT_LOCKS:
            raise


def _copy(path: Path, target: Path) -> None:
    with file_errors("read", path), path.open("rb") as file:
        steps = (np.frombuffer(step, np.uint8) for step in iter(lambda: file.read(_STEP_BYTES), b""))
        write_atomically(target, steps, durable=True)
