"""Segments that a killed job left in a node's memory: the next job there frees them.

A process that writes segments, or serves them, holds their folder with a lock, which the system lets go when the
process has ended, however it ends. So a folder that nobody holds is of a job whose processes on this node are gone.
Nothing in it is needed: a job that goes on groups anew what was not stored. Should a folder of a live job go after all,
because its processes are just being replaced, its blocks are missing where they are asked for, and are made again.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import threading
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Final

_NAMES: Final = ".planner-sort-*-blocks"
_held: Final = dict[Path, int]()
"""By folder: a descriptor whose lock says that this process uses it."""
_changing: Final = threading.Lock()


def made_and_held(folder: Path) -> None:
    """Make a folder of segments, which only its owner may read, unless there is one, and hold it. Raises OSError."""
    while not held(folder):
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)


def held(folder: Path) -> bool:
    """Hold a folder until this process ends or the folder goes, and say whether there is one. Raises OSError."""
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
        return _is_at(descriptor, folder)  # it may have been freed before the lock was had


def free_abandoned(parents: Iterable[Path]) -> None:
    """Delete the folders of segments that no process holds, as far as this user may."""
    for folder in [folder for parent in dict.fromkeys(parents) for folder in parent.glob(_NAMES)]:
        with suppress(OSError):  # someone holds it, or it has just gone
            _free(folder)


def _free(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        shutil.rmtree(folder, ignore_errors=True)
    finally:
        os.close(descriptor)


def _is_at(descriptor: int | None, folder: Path) -> bool:
    """Whether a descriptor is of the folder that is there now."""
    if descriptor is None:
        return False
    try:
        return os.path.samestat(os.fstat(descriptor), folder.stat())
    except FileNotFoundError:
        return False
