"""The versions of the input: a sort reads one version of each file to its end, as two would lose or duplicate rows."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Final

from planner.distributed_sort.dataset.dataset import Copy, Dataset, FileVersion
from planner.distributed_sort.dataset.file_versions import Versions, are_seen_alike, differences_of, versions_of
from planner.distributed_sort.job.nodes import LOST, Nodes
from planner.errors import InputChangedError

File = tuple[str, str]
"""The node on whose disks a file is, '' where all nodes reach it, and its name."""
_ATTEMPTS: Final = 3
"""How often files are asked about; the next time on the next node, as one may be lost, or not reach them."""
_MOST_COMPARED: Final = 16
"""Most files that all nodes look at, to see whether they share a file system."""


def files_of(source: Dataset) -> dict[File, FileVersion | None]:
    """Return the files of a dataset with their versions."""
    copies = [copy for partition in source.partitions for copy in partition.copies]
    return {(copy.node, file.uri): file.version for copy in copies for file in copy.parts or (copy,)}


def with_versions(source: Dataset, nodes: Nodes) -> Dataset:
    """Return a dataset with the present version of each file that a node can read, unless it has an earlier one.

    Times of last change and inodes are left out where nodes have files of their own by one name. Raises
    InputChangedError for text of another length than when it was listed.
    """
    found = _ask(nodes, versions_of, {file: None for file, version in files_of(source).items() if version is None})
    if not _share_file_system(nodes, {uri: found[node, uri] for node, uri in found if not node}):
        found = {file: version if file[0] else replace(version, status="", inode=0) for file, version in found.items()}
    _require_listed_length(source, found)

    def known(copy: Copy) -> Copy:
        parts = (replace(part, version=part.version or found.get((copy.node, part.uri))) for part in copy.parts)
        return replace(copy, version=copy.version or found.get((copy.node, copy.uri)), parts=tuple(parts))

    return replace(
        source, partitions=tuple(replace(part, copies=tuple(map(known, part.copies))) for part in source.partitions)
    )


def require_unchanged(source: Dataset, nodes: Nodes) -> None:
    """Raise InputChangedError where a file of a dataset has another version than when the sort began."""
    for (node, uri), how in _ask(nodes, differences_of, files_of(source)).items():
        if how:
            raise InputChangedError.of(f"{node}: {uri}" if node else uri, how)


def _ask(
    nodes: Nodes, task: Callable[[Versions], dict[str, Any]], files: Mapping[File, FileVersion | None]
) -> dict[File, Any]:
    """Return what a task answers about files, by file: asked on their nodes, and about shared ones on all by turns."""
    answers = dict[File, Any]()
    for attempt in range(_ATTEMPTS):
        shares = defaultdict[tuple[str, str], dict[str, FileVersion | None]](dict)
        for number, (node, uri) in enumerate(files):
            if (node, uri) not in answers and node in ("", *nodes.names):
                reader = node or nodes.names[(number + attempt) % len(nodes.names)]
                shares[reader, node][uri] = files[node, uri]
        begun = {asked: nodes.run(asked[0], task, share) for asked, share in shares.items()}
        told = {asked: nodes.wait_for(reference, nodes=asked[:1]) for asked, reference in begun.items()}
        for (_, node), share in told.items():
            answers |= {} if share is LOST else {(node, uri): answer for uri, answer in share.items()}
        if LOST in told.values():
            nodes.detect_losses(at_once=True)
    return answers


def _share_file_system(nodes: Nodes, shared: Mapping[str, FileVersion]) -> bool:
    files = [uri for uri, version in shared.items() if version.status]
    compared = {uri: shared[uri] for uri in files[:: max(1, len(files) // _MOST_COMPARED)]}
    asked = {name: nodes.run(name, are_seen_alike, compared) for name in nodes.names if compared}
    return all(nodes.wait_for(reference, nodes=(name,)) in (True, LOST) for name, reference in asked.items())


def _require_listed_length(source: Dataset, versions: Mapping[File, FileVersion]) -> None:
    """Raise InputChangedError where text is longer or shorter than its partitions, which reach to its end."""
    listed = Counter[File]()
    for partition in source.partitions if source.layout.text is not None else ():
        for copy in partition.copies:
            if not copy.compression:
                listed[copy.node, copy.uri] = max(listed[copy.node, copy.uri], copy.offset + partition.records)
    for (node, uri), size_bytes in listed.items():
        if (node, uri) in versions and (now := versions[node, uri].size_bytes) != size_bytes:
            raise InputChangedError.of(f"{node}: {uri}" if node else uri, f"{now} bytes instead of {size_bytes}")
