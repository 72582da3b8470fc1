"""Versions of input files, to detect a change during a sort: slices of two versions would lose rows or double them.

Objects of a store are left out: to ask for their version takes a request for each slice.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from planner.distributed_sort.dataset.dataset import Dataset, Partition
from planner.distributed_sort.dataset.object_store import is_object
from planner.distributed_sort.dataset.partition_reader import copies_at
from planner.distributed_sort.node_files.node_environment import node_name
from planner.distributed_sort.node_files.run_files import file_errors
from planner.errors import IoFailureError


@dataclass(frozen=True, kw_only=True)
class FileVersion:
    """The size of a file on the disks of `node`, '' where all nodes reach it, and when it was changed last.

    No inode: where a file is mounted on several nodes, each may number it in its own way.
    """

    uri: str
    node: str
    size_bytes: int
    changed_ns: int


def version_here(partition: Partition) -> FileVersion | None:
    """Return the version of the file that this node reads a partition from; None where that is no file. Raises
    IoFailureError.
    """
    copies = copies_at(partition, node_name())
    if not copies or is_object(copies[0].uri):
        return None
    uri, node = copies[0].uri, copies[0].node
    with file_errors("read", uri):
        status = Path(uri).stat()
    return FileVersion(uri=uri, node=node, size_bytes=status.st_size, changed_ns=status.st_mtime_ns)


@dataclass
class InputVersions:
    """The first version that was seen of each file, and how long files of text were when they were listed."""

    listed_bytes: Mapping[tuple[str, str], int] = field(default_factory=dict)
    _first: dict[tuple[str, str], FileVersion] = field(default_factory=dict)

    @classmethod
    def of(cls, source: Dataset) -> InputVersions:
        """Return what is known of a dataset's files before any is read: partitions of text reach to their end."""
        listed = Counter[tuple[str, str]]()
        for partition in source.partitions if source.layout.text is not None else ():
            for copy in partition.copies:
                if not copy.compression and not is_object(copy.uri):
                    place = copy.node, copy.uri
                    listed[place] = max(listed[place], copy.offset + partition.records)
        return cls(listed_bytes=listed)

    def note(self, versions: Iterable[FileVersion | None]) -> None:
        """Take note of versions that tasks read. Raises IoFailureError, which names the file, when one differs from the
        version that was seen before, or is not as long as when it was listed.
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
