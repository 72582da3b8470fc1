"""Decompressed input on a node's disks: each text has its length in its name, and every attempt a name of its own.

A text that is shorter than its name says was cut, by a crash of the node or a disk. It is not used again.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

import numpy as np

from planner.arrays import Bytes
from planner.distributed_sort.node_files.run_files import file_errors, read_exactly, write_whole
from planner.errors import IoFailureError

_STEP_BYTES: Final = 4 << 20


class PlainTexts:
    """The texts of one file of the input in some folders, one on each disk."""

    def __init__(self, folders: Sequence[Path], number: int) -> None:
        self._folders = folders
        self._number = number

    def whole(self, *, is_read_through: bool = False) -> Path | None:
        """Return a text that is as long as it was, and readable, if that is asked; others are deleted."""
        for path in self._paths():
            if _is_whole(path, is_read_through=is_read_through):
                return path
            with suppress(OSError):
                path.unlink()
        return None

    def write(self, chunks: Iterable[Bytes]) -> Path:
        """Write a text; where one could not be deleted, to the next disk. Raises IoFailureError."""
        turn = self._number + sum(1 for _ in self._paths())
        folder, token = self._folders[turn % len(self._folders)], secrets.token_hex(4)
        unnamed = folder / f"new-{self._number:06d}-{token}"
        size = write_whole(unnamed, chunks, durable=False)
        with file_errors("write", unnamed):
            return unnamed.rename(folder / f"input-{self._number:06d}-{size}-{token}")

    def _paths(self) -> Iterator[Path]:
        for folder in self._folders:
            yield from sorted(folder.glob(f"input-{self._number:06d}-*-*"))


def size_in_name(path: Path) -> int:
    """Return how long a text was when it was written."""
    return int(path.name.split("-")[2])


def _is_whole(path: Path, *, is_read_through: bool) -> bool:
    try:
        if path.stat().st_size != size_in_name(path):
            return False
        if is_read_through:
            _read_through(path)
    except (OSError, IoFailureError):
        return False
    return True


def _read_through(path: Path) -> None:
    """Read all of a file. Raises OSError, IoFailureError."""
    left, into = size_in_name(path), np.empty(_STEP_BYTES, np.uint8)
    with path.open("rb", buffering=0) as file:
        while left:
            step = into[: min(left, _STEP_BYTES)]
            read_exactly(file, step, path)
            left -= len(step)
