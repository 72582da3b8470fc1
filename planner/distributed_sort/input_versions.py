"""Whether input files stay what they are while they are sorted: slices of two versions would lose rows or double them.

Objects of a store are left out: to ask for their version takes a request for each slice.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from planner.distributed_sort.dataset import Partition
from planner.distributed_sort.node_environment import node_name
from planner.distributed_sort.object_store import is_object
from planner.distributed_sort.partition_reader import copies_at
from planner.distributed_sort.run_files import failing
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
    with failing("read", uri):
        status = Path(uri).stat()
    return FileVersion(uri=uri, node=node, size_bytes=status.st_size, changed_ns=status.st_mtime_ns)


@dataclass
class InputVersions:
    """The first version that was seen of each file."""

    _first: dict[tuple[str, str], FileVersion] = field(default_factory=dict)

    def note(self, versions: Iterable[FileVersion | None]) -> None:
        """Take note of versions that tasks read. Raises IoFailureError, which names the file, when one differs from the
        version that was seen before.
        """
        for version in versions:
            if version is None:
                continue
            first = self._first.setdefault((version.node, version.uri), version)
            if version != first:
                where = f"{version.node}: {version.uri}" if version.node else version.uri
                raise IoFailureError(
                    f"{where} was changed while it was sorted, so rows could be lost or doubled",
                    [
                        f"{version.size_bytes} bytes instead of {first.size_bytes}"
                        if version.size_bytes != first.size_bytes
                        else "its size is the same, but it was written again",
                        "sort again when nobody writes to it",
                    ],
                )
