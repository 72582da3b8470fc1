"""Publishing a sorted dataset: its manifest gets its name by one step, and only if no other result has it.

A job's files carry its id, and nobody reads them before a manifest names them. So readers of the manifest see the
result of before or the new one. docs/cluster-sort.md has the states and the moves between them.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

from planner.distributed_sort.dataset.copies import retry_on_nodes, run_on_any
from planner.distributed_sort.dataset.dataset import Copy, Dataset, dataset_of
from planner.distributed_sort.dataset.input_files import MANIFEST_NAME
from planner.distributed_sort.job.ledger import Journal
from planner.distributed_sort.job.nodes import Nodes
from planner.distributed_sort.node_files.node_environment import job_of_part
from planner.distributed_sort.node_tasks import node_tasks
from planner.distributed_sort.staging import place_of
from planner.errors import BadInputError, IoFailureError


@dataclass(frozen=True, kw_only=True)
class Manifest:
    """A job's manifest, and whether it `replaces` the result of another."""

    content: str
    job: str
    replaces: bool

    @classmethod
    def of(cls, dataset: Dataset, *, replaces: bool) -> Manifest:
        """Return that of a job's sorted dataset."""
        return cls(content=dataset.to_json() + "\n", job=dataset.job, replaces=replaces)


@dataclass(frozen=True, kw_only=True)
class ManifestPlace:
    """Where a manifest goes: reached from here, or by `nodes`, as they alone may reach the output's place."""

    uri: str
    nodes: Nodes | None = None

    @classmethod
    def below(cls, prefix: str, nodes: Nodes) -> ManifestPlace:
        """Return that beside the output below a prefix, or in a folder."""
        return cls(uri=f"{prefix.rstrip('/')}/{MANIFEST_NAME}", nodes=nodes)

    def put(self, manifest: Manifest) -> str:
        """Do as `put_manifest`; a node that fails is followed by the next."""
        if self.nodes is None:
            return put_manifest(self.uri, manifest)
        outcome = retry_on_nodes(self.nodes, _put_or_refuse, self.uri, manifest, doing="the manifest was written")
        if isinstance(outcome, BadInputError):
            raise outcome
        return str(outcome)

    def read(self) -> str:
        """Return the manifest, '' where there is none. Raises IoFailureError."""
        if self.nodes is None:
            return read_manifest_text(self.uri)
        return str(retry_on_nodes(self.nodes, read_manifest_text, self.uri, doing="an earlier result was looked for"))


def put_manifest(uri: str, manifest: Manifest) -> str:
    """Give a job's manifest its name, and return what it replaced: '' where nothing, or the job's own of a call whose
    answer was lost.

    Raises BadInputError where another result is there that must not be replaced, and IoFailureError when it is not
    known whether the manifest was written.
    """
    place = place_of(uri)
    while True:
        there = place.read_version(uri)
        before = "" if there is None else there[0].decode(errors="replace")
        if there is not None and job_of(before) == manifest.job:
            return ""
        if there is not None and not manifest.replaces:
            raise BadInputError(
                f"{uri}: another result is there by now, and was not changed", ["name another, or say --force"]
            )
        if place.put_if(uri, manifest.content.encode(), seen=None if there is None else there[1]):
            return before


def _put_or_refuse(uri: str, manifest: Manifest) -> str | BadInputError:
    """Do as `put_manifest`, and return a refusal, which is the same on all nodes."""
    try:
        return put_manifest(uri, manifest)
    except BadInputError as error:
        return error


def read_manifest_text(uri: str) -> str:
    """Return what a manifest holds, '' where there is none."""
    there = place_of(uri).read_version(uri)
    return "" if there is None else there[0].decode(errors="replace")


def job_of(manifest: str) -> str:
    """Return the job whose result a manifest is; '' where it is of none, or no manifest."""
    dataset = _parse(manifest)
    return "" if dataset is None else dataset.job


def _parse(manifest: str) -> Dataset | None:
    try:
        return dataset_of(json.loads(manifest))
    except (ValueError, TypeError, KeyError, AttributeError):
        return None


def publish(
    places: Sequence[ManifestPlace],
    dataset: Dataset,
    *,
    journal: Journal,
    nodes: Nodes,
    replaces: bool,
    source: Dataset,
) -> None:
    """Publish a job's result at one place after another; the first decides. Then delete the files of what it replaced,
    but none that the sort has read.

    Raises BadInputError, with nothing published, where another result is there, and IoFailureError when it is not known
    whether this one is there: a second call goes on.
    """
    manifest = Manifest.of(dataset, replaces=replaces)
    kept = {copy for partition in source.partitions for copy in partition.copies}
    if replaces:
        journal.record_replaced([text for place in places if (text := place.read())])
    replaced = list[str]()
    for number, place in enumerate(places):
        try:
            replaced.append(place.put(manifest))
        except BadInputError as error:
            if not number:
                raise
            raise IoFailureError(f"the result is there, but not its manifest here: {error.message}") from error
    for text in {*journal.replaced(), *replaced}:
        old = _parse(text)
        if old is not None and old.job not in ("", dataset.job):
            remove_result(nodes, old, kept=kept)


def remove_result(nodes: Nodes, old: Dataset, *, kept: Collection[Copy]) -> None:
    """Delete the files that a job's manifest names and that carry its id, but for those `kept`. What lies on a node
    that is not there stays.
    """
    by_node = defaultdict[str, list[str]](list)
    for copy in (copy for partition in old.partitions for copy in partition.copies):
        if job_of_part(PurePosixPath(copy.uri).name) == old.job and not _is_among(copy, kept):
            by_node[copy.node].append(copy.uri)
    for node in sorted(by_node.keys() & {*nodes.names, ""}):
        if node:
            nodes.wait_for(nodes.run(node, node_tasks.delete_files, by_node[node]), nodes=(node,))
        else:
            run_on_any(nodes, node_tasks.delete_files, by_node[node], doing="the earlier result was deleted")


def _is_among(copy: Copy, kept: Collection[Copy]) -> bool:
    """Say whether a file is one of others; one that all nodes reach may lie on a node's disk."""
    return any(copy.uri == other.uri and ("" in (copy.node, other.node) or copy.node == other.node) for other in kept)


def require_unoccupied(prefix: str, job: str) -> None:
    """Raise BadInputError when there is anything below a prefix that is not of a job."""
    is_own = job_of(read_manifest_text(f"{prefix.rstrip('/')}/{MANIFEST_NAME}")) == job
    files = [] if is_own else place_of(prefix).list_files(prefix)
    if others := [uri for uri in files if job_of_part(PurePosixPath(uri).name) != job]:
        raise BadInputError(f"{prefix}: not empty; name another place, or say --force to replace a result", others[:10])
