"""Intermediate files on a node's disk: the records of one slice of the input for consecutive partitions.

A file holds the partitions' records one partition after another, then the number of records of each as 64-bit integers.
Its name says the slice and the partitions, so that a folder tells what has been done, and it appears whole or not.
"""

from __future__ import annotations

import os
import re
import uuid
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from io import FileIO
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from planner.errors import IoFailureError
from planner.sorting.cluster import direct_files
from planner.sorting.cluster.node import node_name

_NAME: Final = re.compile(r"(\d+)-(\d+)-(\d+)\.run")
_FILES_KNOWN: Final = 4096
"""Of which a process keeps the counts: it reads a piece of each for every partition that it sorts."""

Bytes = NDArray[np.uint8]
Ints = NDArray[np.int64]


@dataclass(frozen=True, kw_only=True)
class RunFile:
    """Records of slice `slice_number` for partitions `first` to `end` - 1."""

    path: Path
    slice_number: int
    first: int
    end: int

    def counts(self) -> Ints:
        """Return the records of each partition. Raises IoFailureError."""
        return np.diff(self._ends(), prepend=0)

    def records(self, partition: int) -> slice:
        """Return which of the file's records are a partition's. Raises IoFailureError."""
        ends, number = self._ends(), partition - self.first
        return slice(int(ends[number - 1]) if number else 0, int(ends[number]))

    def read(self, records: slice, into: Bytes, *, record_size: int) -> None:
        """Read some of the file's records into `into`, which has their size. Raises IoFailureError."""
        with failing("read", self.path), direct_files.opened(self.path, os.O_RDONLY) as descriptor:
            done = direct_files.read_into(descriptor, into, offset=records.start * record_size)
        if done < len(into):
            raise _too_short(self.path, len(into) - done)

    def _ends(self) -> Ints:
        with failing("read", self.path):
            return _ends(self.path, self.path.stat().st_mtime_ns, self.end - self.first)


@lru_cache(maxsize=_FILES_KNOWN)
def _ends(path: Path, _written_at: int, partitions: int) -> Ints:
    """Return how many of a run file's records stand before the end of each partition."""
    with path.open("rb") as file:
        file.seek(-8 * partitions, os.SEEK_END)
        return np.cumsum(np.frombuffer(file.read(8 * partitions), "<i8"))


def run_files(folders: Iterable[Path]) -> list[RunFile]:
    """Return the complete run files of some folders in order of slices; none where there is no folder."""
    named = ((entry, _NAME.fullmatch(entry.name)) for folder in folders for entry in _entries(folder))
    found = [
        RunFile(path=Path(entry.path), slice_number=int(match[1]), first=int(match[2]), end=int(match[3]))
        for entry, match in named
        if match
    ]
    return sorted(found, key=lambda run: (run.slice_number, run.first))


def _entries(folder: Path) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return list(entries)
    except FileNotFoundError:
        return []


def runs_of(partition: int, folders: Iterable[Path]) -> list[RunFile]:
    """Return a run file of each slice that holds `partition`. There may be several of a slice: when a node is lost, Ray
    repeats its map tasks, and one that runs on the owner writes there what others bring along with more partitions.
    """
    holding = (run for run in run_files(folders) if run.first <= partition < run.end)
    return list({run.slice_number: run for run in holding}.values())


def write_run(folder: Path, *, slice_number: int, first: int, counts: Ints, records: Bytes) -> int:
    """Write a run file and return its bytes. Raises IoFailureError, with nothing left of it."""
    path = folder / f"{slice_number:08d}-{first:06d}-{first + len(counts):06d}.run"
    return write_whole(path, (records, counts.astype("<i8")), durable=False)


def write_whole(path: Path, arrays: Iterable[NDArray[Any]], *, durable: bool) -> int:
    """Write arrays one after another to `path`, which appears whole or not at all, and return the bytes.

    `durable` files survive a power cut when this returns. Raises IoFailureError naming node and file.
    """
    partial = path.with_name(f".{path.name}.{uuid.uuid4().hex[:8]}.partial")
    with failing("write", path):
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            with direct_files.opened(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL) as descriptor:
                written = direct_files.write_all(descriptor, arrays)
                if durable:
                    os.fsync(descriptor)
            partial.replace(path)
        except BaseException:
            partial.unlink(missing_ok=True)
            raise
    return written


def read_exactly(file: FileIO, into: Bytes, path: Path | str) -> None:
    """Fill `into` from a file object. Raises IoFailureError when the file ends first."""
    view, done = raw(into), 0
    while done < len(view):
        count = file.readinto(view[done:])
        if not count:
            raise _too_short(path, len(view) - done)
        done += count


@contextmanager
def failing(doing: str, path: Path | str) -> Iterator[None]:
    """Turn an OSError of the body into an IoFailureError that names node, file and what was being done."""
    try:
        yield
    except OSError as error:
        raise IoFailureError(f"{node_name()}: cannot {doing} {path}: {error.strerror or error}") from error


def raw(array: NDArray[Any]) -> memoryview:
    """Return the bytes of a contiguous array."""
    return array.reshape(-1).view(np.uint8).data


def _too_short(path: Path | str, missing: int) -> IoFailureError:
    return IoFailureError(f"{node_name()}: {path} ends {missing} bytes too early: it is truncated, or was changed")


def partial_files(folders: Iterable[Path]) -> Iterator[Path]:
    """Yield what tasks that were killed left of files they had begun."""
    for folder in folders:
        yield from folder.glob(".*.partial")
