"""What lies under a directory: device, file system, room. Reported with every disk measurement, since it limits it."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from planner.errors import BadInputError, IoFailureError

_MOUNTS = Path("/proc/self/mountinfo")


@dataclass(frozen=True, kw_only=True)
class FileSystem:
    """A directory's file system; `device` and `kind` are None where the system does not tell."""

    directory: str
    device: str | None
    device_number: int
    kind: str | None
    free_bytes: int
    total_bytes: int


def file_system_of(directory: Path) -> FileSystem:
    """Return what `directory` lies on. Raises BadInputError unless it is a directory, IoFailureError if unreadable."""
    if not directory.is_dir():
        raise BadInputError(f"--dir {directory}: not a directory; create it, or name a mounted disk's")
    try:
        space, number = os.statvfs(directory), directory.stat().st_dev
    except OSError as error:
        raise IoFailureError(f"--dir {directory}: {error.strerror}; name a directory that can be written") from error
    device, file_system = _mounted(number)
    return FileSystem(
        directory=str(directory),
        device=device,
        device_number=number,
        kind=file_system,
        free_bytes=space.f_bavail * space.f_frsize,
        total_bytes=space.f_blocks * space.f_frsize,
    )


def same_device_notes(systems: Sequence[FileSystem]) -> tuple[str, ...]:
    """Return a sentence for each device that carries several of the directories."""
    by_device: dict[int, list[str]] = {}
    for system in systems:
        by_device.setdefault(system.device_number, []).append(system.directory)
    return tuple(
        f"{' and '.join(shared)} lie on one file system: they do not work side by side"
        for shared in by_device.values()
        if len(shared) > 1
    )


def _mounted(device_number: int) -> tuple[str | None, str | None]:
    """Return (device, file-system type) from the kernel's table of mounts."""
    if not _MOUNTS.exists():
        return None, None
    device_id = f"{os.major(device_number)}:{os.minor(device_number)}"
    for line in _MOUNTS.read_text(encoding="utf-8").splitlines():
        if line.split()[2] == device_id and (mount := re.search(r" - (\S+) (\S+) ", line)):
            return mount[2], mount[1]
    return None, None
