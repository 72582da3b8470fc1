"""Segments: files in a node's memory, one for each slice, with the blocks for other nodes to fetch.

Such a segment is rewritten repeatedly, because the first touch of fresh memory costs more than the copy. The process
that orders the tasks names it, and reuses the name only when no node can be reading it (`SegmentNames`).
"""

from __future__ import annotations

import errno
import fcntl
import os
import re
import secrets
import shutil
import threading
from collections import defaultdict
from collections.abc import Iterable, Sequence
from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import Any, Final

from numpy.typing import NDArray

from planner.arrays import raw_bytes
from planner.distributed_sort.node_files.node_environment import JobFiles
from planner.distributed_sort.node_files.run_files import file_errors

_NAME: Final = re.compile(r"[a-z0-9]+-\d+")
_JOB: Final = re.compile(r"[\w-]+")


class SegmentNames:
    """Names of segments by node."""

    def __init__(self) -> None:
        self._prefix = secrets.token_hex(4)  # other coordinators and earlier rounds have names of their own
        self._numbers = count()
        self._free: dict[str, list[str]] = defaultdict(list)
        self._retired: dict[str, list[str]] = defaultdict(list)

    def take(self, node: str) -> str:
        """Return a name for the next slice of a node."""
        return self._free[node].pop() if self._free[node] else f"{self._prefix}-{next(self._numbers)}"

    def release_segment(self, node: str, name: str, *, is_stored: bool) -> None:
        """Free a name whose slice has ended; `is_stored` means that all of it was stored at the first try."""
        (self._free if is_stored else self._retired)[node].append(name)

    def pop_retired(self, node: str) -> tuple[str, ...]:
        """Return, once, the segments of a node that may no longer be read."""
        return tuple(self._retired.pop(node, ()))


def write_segment(files: JobFiles, name: str, arrays: Sequence[NDArray[Any]], *, reserve_bytes: int) -> None:
    """Write arrays one after another to the segment `name`: in memory if that leaves `reserve_bytes` there for other
    uses, else on a disk. Raises IoFailureError.
    """
    memory, disk = (folder / name for folder in files.segment_folders())
    if _fits_on_disk(memory, sum(array.nbytes for array in arrays) + reserve_bytes) and _try_write(memory, arrays):
        return
    memory.unlink(missing_ok=True)
    with file_errors("write", disk):
        _write(disk, arrays)


def is_job(job: str) -> bool:
    """Return whether a job may have this name, which comes from another node."""
    return _JOB.fullmatch(job) is not None


def is_segment(name: str) -> bool:
    """Return whether a segment may have this name, which comes from another node."""
    return _NAME.fullmatch(name) is not None


def drop_segments(files: JobFiles, names: Iterable[str]) -> None:
    """Delete segments; missing ones are no error."""
    for folder in files.segment_folders():
        for name in names:
            (folder / name).unlink(missing_ok=True)


def _fits_on_disk(path: Path, size: int) -> bool:
    """Return whether a file of `size` bytes fits, which may replace the present one."""
    held = path.stat().st_blocks * 512 if path.exists() else 0
    return shutil.disk_usage(path.parent.parent).free + held >= size


def _try_write(path: Path, arrays: Sequence[NDArray[Any]]) -> bool:
    """Write arrays to a path, and return whether they fitted."""
    try:
        _write(path, arrays)
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            return False
        raise
    return True


def _write(path: Path, arrays: Sequence[NDArray[Any]]) -> None:
    create_folder(path.parent)
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT, 0o600)
    try:
        for array in arrays:
            content = raw_bytes(array)
            while content:
                content = content[os.write(descriptor, content) :]
    finally:
        os.close(descriptor)


_NAMES: Final = ".planner-sort-*-blocks"
_held: Final = dict[Path, int]()
"""By folder: a descriptor whose lock marks the folder as used by this process."""
_changing: Final = threading.Lock()


def create_folder(folder: Path) -> None:
    """Create a folder of segments, which only its owner may read, unless it exists, and hold it. Raises OSError."""
    while not hold_folder(folder):
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)


def hold_folder(folder: Path) -> bool:
    """Hold a folder until this process ends or the folder is deleted, and return whether it exists. Raises OSError."""
    with _changing:
        if _is_at(_held.get(folder), folder):
            return True
        for gone in [other for other, descriptor in _held.items() if not _is_at(descriptor, other)]:
            os.close(_held.pop(gone))
        try:
            descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        except FileNotFoundError:
            return False
        fcntl.flock(descriptor, fcntl.LOCK_SH)
        _held[folder] = descriptor
        return _is_at(descriptor, folder)  # it may have been freed before it was locked


def free_abandoned(parents: Iterable[Path]) -> None:
    """Delete the folders of segments that no process holds, as far as this user may."""
    for folder in [folder for parent in dict.fromkeys(parents) for folder in parent.glob(_NAMES)]:
        with suppress(OSError):  # another process holds it, or it has just been deleted
            _free(folder)


def _free(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        shutil.rmtree(folder, ignore_errors=True)
    finally:
        os.close(descriptor)


def _is_at(descriptor: int | None, folder: Path) -> bool:
    """Return whether a descriptor refers to the folder's present version."""
    if descriptor is None:
        return False
    try:
        return os.path.samestat(os.fstat(descriptor), folder.stat())
    except FileNotFoundError:
        return False
