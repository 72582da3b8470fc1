"""Decision whether a call resumes an earlier job, or starts a new one and deletes the other's files."""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any, Final

from planner.distributed_sort.dataset.dataset import Dataset, FileVersion, Layout, Partition
from planner.distributed_sort.dataset.input_versions import files_of
from planner.distributed_sort.job.events import Emit
from planner.distributed_sort.job.job import SortRequest
from planner.distributed_sort.job.ledger import Journal, Progress
from planner.distributed_sort.job.nodes import Nodes
from planner.distributed_sort.node_files.node_environment import JobFiles, versions
from planner.distributed_sort.node_tasks import node_tasks
from planner.distributed_sort.publishing import ManifestPlace, may_be_published
from planner.distributed_sort.validate import unchanged_copies

_OPTIONS: Final = ("output", "copies", "uniform", "on_volume", "in_memory", "directory", "partition_bytes")
Done = dict[int, tuple[Partition, bytes]]


def open_job(
    request: SortRequest, nodes: Nodes, journal: Journal, emit: Emit, *, places: Sequence[ManifestPlace]
) -> tuple[JobFiles, Progress | None]:
    """Return the files and progress of the journal's job, if it is the same as now; else the files of a new one. All
    files of another job are deleted, unless its result was published at one of the `places`. Raises IoFailureError.
    """
    identity, earlier = _identity(request), journal.read()
    if earlier is not None:
        reason = _difference(earlier.identity, identity)
        if not reason and earlier.progress is not None:
            return earlier.files, _with_intact_output(earlier.progress, nodes, request.source.layout)
        if reason:
            emit({"event": "anew", "reason": reason})
        is_result = may_be_published(journal, earlier.files.job, places)
        nodes.run_on_all(node_tasks.clean if is_result else node_tasks.undo, earlier.files)
    files = JobFiles(
        job=request.job or secrets.token_hex(6),
        output=request.output,
        directory=request.directory,
        on_volume=request.on_volume,
        in_memory=request.in_memory,
    )
    journal.open_job(files, identity)
    return files, None


def _identity(request: SortRequest) -> dict[str, Any]:
    """Return the facts that must be the same for earlier work to count, as JSON-able values."""
    options = {name: getattr(request, name) for name in _OPTIONS}
    files = {f"{node}:{uri}": version for (node, uri), version in files_of(request.source).items() if version}
    return {
        "options": options | {"source": request.source.digest(), "versions": versions()},
        "files": {name: asdict(version) for name, version in files.items()},
    }


def _difference(earlier: Mapping[str, Any], now: Mapping[str, Any]) -> str:
    """Return the reason why earlier work does not count, '' if it does: a file that is no longer readable has not
    changed.
    """
    if earlier["options"] != now["options"]:
        return "the request is another one"
    before, present = earlier["files"], now["files"]
    for name in before.keys() & present.keys():
        if FileVersion(**before[name]).difference(FileVersion(**present[name])):
            return f"{name.removeprefix(':')} was changed"
    return ""


def _with_intact_output(progress: Progress, nodes: Nodes, layout: Layout) -> Progress:
    """Return a job's progress, with those of its finished partitions that are there and as they were written."""
    slice_records, splitting, owner, done = progress
    numbers = sorted(done)
    there = unchanged_copies(nodes, Dataset(partitions=tuple(done[number][0] for number in numbers), layout=layout))
    intact: Done = {
        number: (replace(done[number][0], copies=partition.copies), done[number][1])
        for number, partition in zip(numbers, there.partitions, strict=True)
        if partition.copies
    }
    return slice_records, splitting, owner, intact
