"""What map tasks grouped for other nodes, in the memory of their own node until it is fetched: a file for each slice.

Such a segment is written again and again, because the first touch of fresh memory costs more than the copy. Who orders
the tasks names it, and names it again only when nobody can be reading it (`SegmentNames`).
"""

from __future__ import annotations

import errno
import os
import secrets
import shutil
from collections import defaultdict
from collections.abc import Iterable, Sequence
from itertools import count
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from planner.distributed_sort.exchange.abandoned_segments import held, made_and_held
from planner.distributed_sort.node_files.node_environment import JobFiles
from planner.distributed_sort.node_files.run_files import failing, raw


class SegmentNames:
    """Names of segments by node."""

    def __init__(self) -> None:
        self._prefix = secrets.token_hex(4)  # other orderers, and earlier rounds, have names of their own
        self._numbers = count()
        self._free: dict[str, list[str]] = defaultdict(list)
        self._retired: dict[str, list[str]] = defaultdict(list)

    def take(self, node: str) -> str:
        """Return a name for the next slice of a node."""
        return self._free[node].pop() if self._free[node] else f"{self._prefix}-{next(self._numbers)}"

    def give_back(self, node: str, name: str, *, is_stored: bool) -> None:
        """Free a name whose slice has ended; `is_stored` says that all of it was stored at the first try."""
        (self._free if is_stored else self._retired)[node].append(name)

    def retired(self, node: str) -> tuple[str, ...]:
        """Return, once, the segments of a node that nobody shall begin to read."""
        return tuple(self._retired.pop(node, ()))


def write_segment(files: JobFiles, name: str, arrays: Sequence[NDArray[Any]], *, reserve_bytes: int) -> None:
    """Write arrays one after another to the segment `name`: in memory if that leaves `reserve_bytes` there, which
    others count on, else on a disk. Raises IoFailureError.
    """
    memory, disk = (folder / name for folder in files.segment_folders())
    if _has_room(memory, sum(array.nbytes for array in arrays) + reserve_bytes) and _written(memory, arrays):
        return
    memory.unlink(missing_ok=True)
    with failing("write", disk):
        _write(disk, arrays)


def open_segment(files: JobFiles, name: str) -> int:
    """Return a descriptor of a segment that this node has. Raises OSError when there is none."""
    memory, disk = (folder / name for folder in files.segment_folders())
    held(memory.parent)
    try:
        return os.open(memory, os.O_RDONLY)
    except FileNotFoundError:
        return os.open(disk, os.O_RDONLY)


def drop_segments(files: JobFiles, names: Iterable[str]) -> None:
    """Delete segments; it is well if there are none."""
    for folder in files.segment_folders():
        for name in names:
            (folder / name).unlink(missing_ok=True)


def _has_room(path: Path, size: int) -> bool:
    """Say whether a file of so many bytes fits, which may replace what the path holds now."""
    held = path.stat().st_blocks * 512 if path.exists() else 0
    return shutil.disk_usage(path.parent.parent).free + held >= size


def _written(path: Path, arrays: Sequence[NDArray[Any]]) -> bool:
    """Write arrays to a path, and say whether they fitted."""
    try:
        _write(path, arrays)
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            return False
        raise
    return True


def _write(path: Path, arrays: Sequence[NDArray[Any]]) -> None:
    made_and_held(path.parent)
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT, 0o600)
    try:
        for array in arrays:
            content = raw(array)
            while content:
                content = content[os.write(descriptor, content) :]
    finally:
        os.close(descriptor)
