"""Output in a folder that all nodes reach by its path: emulated nodes, those of the machine that they share."""

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
from planner.distributed_sort.node_files.run_files import file_errors, write_whole

_WITHOUT_LOCKS: Final = (errno.EBADF, errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOSYS)
_STEP_BYTES: Final = 16_000_000
_WITHOUT_LINKS: Final = (errno.EXDEV, errno.EPERM, errno.EOPNOTSUPP, errno.EMLINK)


def list_files(folder: str) -> dict[str, int]:
    """Return the bytes of every file directly in a folder by its path; none where there is no folder. Raises
    IoFailureError.
    """
    with file_errors("list", folder):
        if not Path(folder).exists():
            return {}
        return {str(path): path.stat().st_size for path in sorted(Path(folder).iterdir())}


def require_writable(folder: str) -> None:
    """Write and delete an empty file, and make the folder before. Raises IoFailureError when either is refused."""
    path = Path(folder) / f".planner-writable-{uuid4().hex[:8]}"
    write_whole(path, (), durable=False)
    with file_errors("delete", path):
        path.unlink()


def write_file(uri: str, path: Path) -> int:
    """Put a file that was synced into the folder, and return the requests that it took, which are none. On the same
    file system it gets a second name, elsewhere it is copied. Raises IoFailureError.
    """
    target = Path(uri)
    with file_errors("write", target):
        target.unlink(missing_ok=True)  # of an attempt that was given up
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
    """Delete a job's output partitions directly in a folder, and the folder if they were all that it held; nothing
    else there. Raises IoFailureError.
    """
    if not (own := [name for name in list_files(folder) if job_of_part(Path(name).name) == job]):
        return
    for name in own:
        delete_file(name)
    with suppress(OSError):  # it holds something else
        Path(folder).rmdir()


def delete_file(path: str) -> None:
    """Delete a file; it is well if there is none. Raises IoFailureError."""
    with file_errors("delete", path):
        Path(path).unlink(missing_ok=True)


def read_version(path: str) -> tuple[bytes, Any] | None:
    """Return what a file holds, and what `put_if` knows this version by; None where there is none. Raises
    IoFailureError.
    """
    with file_errors("read", path):
        try:
            with Path(path).open("rb") as file:
                return file.read(), _version(os.fstat(file.fileno()))
        except FileNotFoundError:
            return None


def put_if(path: str, content: bytes, *, seen: Any) -> bool:
    """Write a file, durably, if the version that was `seen` is still there, none where None; say whether it was
    written. Raises IoFailureError.
    """
    target = Path(path)
    written = target.with_name(f".planner-{uuid4().hex[:8]}.partial")  # with the target's, it could be too long a name
    with file_errors("write", path), _locked(target.parent):
        try:
            with written.open("xb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            if seen is None:
                return _link(written, target)
            with suppress(FileNotFoundError):
                if _version(target.stat()) == seen:
                    written.replace(target)
                    return True
            return False
        finally:
            written.unlink(missing_ok=True)


def _link(written: Path, target: Path) -> bool:
    """Give a file its name unless something has it, and say whether it got it."""
    try:
        os.link(written, target)
    except FileExistsError:
        return False
    except OSError as error:
        if error.errno not in _WITHOUT_LINKS:
            raise
        if target.exists():  # only here may somebody who takes no lock come between
            return False
        written.replace(target)
    return True


def _version(status: os.stat_result) -> tuple[int, int, int]:
    return status.st_ino, status.st_mtime_ns, status.st_size


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Keep others that take this lock from changing a folder, which is made if need be."""
    folder.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        _lock(descriptor)
        yield
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _lock(descriptor: int) -> None:
    """Lock a folder, where its file system can: NFS locks only what is open for writing, as no folder can be. There the
    first result still gets its name by a link, and of two that replace one the journal refuses the second.
    """
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
    except OSError as error:
        if error.errno not in _WITHOUT_LOCKS:
            raise


def _copy(path: Path, target: Path) -> None:
    with file_errors("read", path), path.open("rb") as file:
        steps = (np.frombuffer(step, np.uint8) for step in iter(lambda: file.read(_STEP_BYTES), b""))
        write_whole(target, steps, durable=True)
