"""Versions of input files, to detect changes during a sort: slices of two versions would lose or duplicate rows.

Tasks do not check objects of a store: asking for a version takes a request for each slice. `fingerprints` includes
them, and `changed_objects` compares them at the end.
"""

from __future__ import annotations

import zlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import numpy as np

from planner.distributed_sort.dataset.dataset import Copy, Dataset, Layout, Partition
from planner.distributed_sort.dataset.object_store import is_object, version_of
from planner.distributed_sort.dataset.partition_reader import copies_at, read_windows
from planner.distributed_sort.node_files.node_environment import node_name
from planner.distributed_sort.node_files.run_files import file_errors
from planner.errors import IoFailureError


@dataclass(frozen=True, kw_only=True)
class FileVersion:
    """The size of a file on the disks of `node`, '' where all nodes reach it, and its time of modification.

    Inodes are left out: nodes that mount the same file may number it differently.
    """

    uri: str
    node: str
    size_bytes: int
    changed_ns: int


def version_here(partition: Partition) -> FileVersion | None:
    """Return the version of the file that this node reads a partition from; None if it is not a file. Raises
    IoFailureError.
    """
    copies = copies_at(partition, node_name())
    if not copies or is_object(copies[0].uri):
        return None
    uri, node = copies[0].uri, copies[0].node
    with file_errors("read", uri):
        status = Path(uri).stat()
    return FileVersion(uri=uri, node=node, size_bytes=status.st_size, changed_ns=status.st_mtime_ns)


_BYTES: Final = Layout(record_size=1, key_offset=0, key_size=0)
_SAMPLES: Final = 8
_SAMPLE_BYTES: Final = 4096
_FILES_AT_ONCE: Final = 16


def fingerprints(uris: Sequence[str]) -> dict[str, str]:
    """Return the version of each file or object that this node can read, and a checksum of pieces of its content, since
    a change may keep a file's time.
    """
    with ThreadPoolExecutor(_FILES_AT_ONCE) as threads:
        prints = list(threads.map(_fingerprint, uris))
    return {uri: text for uri, text in zip(uris, prints, strict=True) if text}


def changed_objects(before: Mapping[str, str]) -> list[str]:
    """Return the objects whose version differs from their earlier fingerprint; unreachable ones count as unchanged."""

    def is_changed(uri: str) -> bool:
        try:
            size, version = version_of(uri)
        except IoFailureError:
            return False
        return not before[uri].startswith(f"{size} bytes, {version}, ")

    with ThreadPoolExecutor(_FILES_AT_ONCE) as threads:
        return [uri for uri, changed in zip(before, threads.map(is_changed, before), strict=True) if changed]


def _fingerprint(uri: str) -> str:
    """Return '' for an unreadable file: that is no change, and readers will report it."""
    try:
        size, version = version_of(uri) if is_object(uri) else _version_of_file(uri)
        last = max(0, size - _SAMPLE_BYTES)
        starts = sorted({last * number // (_SAMPLES - 1) for number in range(_SAMPLES)})
        whole = Partition(records=size, copies=(Copy(uri=uri),))
        pieces = read_windows(whole, _BYTES, starts=starts, records=min(size, _SAMPLE_BYTES))
    except IoFailureError:
        return ""
    return f"{size} bytes, {version}, {zlib.crc32(np.concatenate(pieces).data):08x}"


def _version_of_file(path: str) -> tuple[int, str]:
    with file_errors("read", path):
        status = Path(path).stat()
    return status.st_size, str(status.st_mtime_ns)


@dataclass
class InputVersions:
    """The first version seen of each file, and the length of text files when they were listed."""

    listed_bytes: Mapping[tuple[str, str], int] = field(default_factory=dict)
    _first: dict[tuple[str, str], FileVersion] = field(default_factory=dict)

    @classmethod
    def of(cls, source: Dataset) -> InputVersions:
        """Return the known versions of a dataset's files before any is read: partitions of text reach to their end."""
        listed = Counter[tuple[str, str]]()
        for partition in source.partitions if source.layout.text is not None else ():
            for copy in partition.copies:
                if not copy.compression and not is_object(copy.uri):
                    place = copy.node, copy.uri
                    listed[place] = max(listed[place], copy.offset + partition.records)
        return cls(listed_bytes=listed)

    def note(self, versions: Iterable[FileVersion | None]) -> None:
        """Record versions that tasks read. Raises IoFailureError naming the file when one differs from the version seen
        before, or has another length than when it was listed.
        """
        for version in versions:
            if version is None:
                continue
            place = version.node, version.uri
            first = self._first.setdefault(place, version)
            size_bytes = self.listed_bytes.get(place, first.size_bytes)
            if version != first or version.size_bytes != size_bytes:
                where = f"{version.node}: {version.uri}" if version.node else version.uri
                raise IoFailureError(
                    f"{where} was changed while it was sorted, so rows could be lost or doubled",
                    [
                        f"{version.size_bytes} bytes instead of {size_bytes}"
                        if version.size_bytes != size_bytes
                        else "its size is the same, but it was written again",
                        "sort again when nobody writes to it",
                    ],
                )
