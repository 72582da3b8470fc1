"""The version of a file as a node reads it, to notice that it was written or replaced since a sort began."""

from __future__ import annotations

import os
import zlib
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Final

from planner.distributed_sort.dataset import object_store
from planner.distributed_sort.dataset.dataset import Copy, FileVersion
from planner.distributed_sort.node_files.run_files import file_errors
from planner.errors import InputChangedError, IoFailureError

_PIECES: Final = 8
_PIECE_BYTES: Final = 4096
_FILES_AT_ONCE: Final = 16
_PIECES_KEPT: Final = 1024
Versions = Mapping[str, FileVersion | None]
"""Versions of files by name; None where there is none yet."""


def version_of(uri: str) -> FileVersion:
    """Return the present version of a file or an object, without pieces of its content. Raises IoFailureError."""
    if object_store.is_object(uri):
        return object_store.version_of(uri)
    with file_errors("read", uri), Path(uri).open("rb") as file:  # NFS asks its server when a file is opened
        return version_in(os.fstat(file.fileno()))


def version_in(status: os.stat_result) -> FileVersion:
    """Return the same from the status of a file."""
    return FileVersion(
        size_bytes=status.st_size, modified=str(status.st_mtime_ns), status=str(status.st_ctime_ns), inode=status.st_ino
    )


def versions_of(files: Versions) -> dict[str, FileVersion]:
    """Return the versions of files, except unreadable ones: that is no change, and readers will report it."""

    def whole(uri: str) -> FileVersion | None:
        try:
            version = version_of(uri)
            return version if object_store.is_object(uri) else replace(version, pieces=_pieces(uri, version))
        except IoFailureError:
            return None

    with ThreadPoolExecutor(_FILES_AT_ONCE) as threads:
        found = dict(zip(files, threads.map(whole, files), strict=True))
    return {uri: version for uri, version in found.items() if version is not None}


def differences_of(files: Versions) -> dict[str, str]:
    """Return what changed in files since these versions, '' where nothing did; unreadable ones count as unchanged."""

    def changed(uri: str) -> str:
        try:
            return _difference(uri, before, version_of(uri)) if (before := files[uri]) else ""
        except IoFailureError:
            return ""

    with ThreadPoolExecutor(_FILES_AT_ONCE) as threads:
        return dict(zip(files, threads.map(changed, files), strict=True))


def are_seen_alike(files: Versions) -> bool:
    """Return whether this node sees these versions of files: then it sees the same files as the node that found them,
    not files of its own by the same names.
    """

    def is_alike(uri: str, version: FileVersion | None) -> bool:
        try:
            return version is None or version_of(uri).status == version.status
        except IoFailureError:
            return True

    return all(is_alike(uri, version) for uri, version in files.items())


def _difference(uri: str, before: FileVersion, now: FileVersion) -> str:
    """Return what changed in a file since a version, '' if nothing did. Where times of last change or inodes are not
    comparable, pieces of the content are compared.
    """
    is_same_inode = (now.status, now.inode) == (before.status, before.inode)
    return before.difference(replace(now, pieces=before.pieces if is_same_inode else _pieces(uri, now)))


def require_version(copy: Copy, now: FileVersion) -> None:
    """Raise InputChangedError where a copy's file has another version now."""
    if copy.version is not None and (how := _difference(copy.uri, copy.version, now)):
        raise InputChangedError.of(f"{copy.node}: {copy.uri}" if copy.node else copy.uri, how)


@contextmanager
def of_one_version(copy: Copy) -> Iterator[FileVersion]:
    """Yield the version of a file that the body reads. Raises InputChangedError where it is not the copy's, before or
    after; IoFailureError.
    """
    now = version_of(copy.uri)
    require_version(copy, now)
    try:
        yield now
    finally:
        if copy.version is not None:
            require_version(copy, version_of(copy.uri))


@lru_cache(maxsize=_PIECES_KEPT)
def _pieces(uri: str, version: FileVersion) -> int:
    """Return the CRC-32 of a few pieces of a file, from its beginning to its end. Raises IoFailureError."""
    if not (length := min(version.size_bytes, _PIECE_BYTES)):
        return 0
    last = version.size_bytes - length
    starts = sorted({last * number // (_PIECES - 1) for number in range(_PIECES)})
    with file_errors("read", uri), Path(uri).open("rb") as file:
        return zlib.crc32(b"".join(os.pread(file.fileno(), length, start) for start in starts))
