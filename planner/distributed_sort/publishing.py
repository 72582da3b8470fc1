"""Publishing a sorted dataset: its manifest is named in one step, and only if no other result has the name.

A job's files carry its id, and are not read before a manifest names them. So readers of the manifest see the previous
result or the new one. A job is begun (the journal, locked by the driver), sorted (all partitions; the journal names the
manifest to replace), published (the manifest names this job), then over: the replaced partitions are deleted. It may be
killed between any two; while sorted it may also be refused, as another job has published or replaced the name.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePosixPath

from planner.distributed_sort.dataset.copies import retry_on_nodes, run_on_any
from planner.distributed_sort.dataset.dataset import Dataset, dataset_of
from planner.distributed_sort.dataset.input_files import MANIFEST_NAME
from planner.distributed_sort.dataset.object_store import is_object
from planner.distributed_sort.job.ledger import Journal
from planner.distributed_sort.job.nodes import Nodes
from planner.distributed_sort.node_files.node_environment import job_of_part
from planner.distributed_sort.node_tasks import node_tasks
from planner.distributed_sort.staging import place_of
from planner.errors import BadInputError, IoFailureError, PlannerError, UnfinishedError


class PublishingUnknownError(UnfinishedError):
    """A job's manifest may or may not have been written, so that its files must stay."""

    code = "publishing-unknown"


@dataclass(frozen=True, kw_only=True)
class Manifest:
    """A job's manifest, and the one that it may replace; None: it must be the first."""

    content: str
    job: str
    replaced: str | None = None

    @classmethod
    def of(cls, dataset: Dataset, *, replaced: str | None = None) -> Manifest:
        """Return the manifest of a job's sorted dataset."""
        return cls(content=dataset.to_json() + "\n", job=dataset.job, replaced=replaced)


@dataclass(frozen=True, kw_only=True)
class ManifestPlace:
    """The place of a manifest: reached from here, or by `nodes`, if only they can reach the output's place."""

    uri: str
    nodes: Nodes | None = None

    @classmethod
    def below(cls, prefix: str, nodes: Nodes) -> ManifestPlace:
        """Return the place next to the output below a prefix, or in a folder."""
        return cls(uri=f"{prefix.rstrip('/')}/{MANIFEST_NAME}", nodes=nodes)

    def put(self, manifest: Manifest) -> None:
        """Do as `put_manifest`; after a node fails, the next one is used."""
        if self.nodes is None:
            refusal = put_manifest(self.uri, manifest)
        else:
            refusal = retry_on_nodes(self.nodes, put_manifest, self.uri, manifest, doing="the manifest was written")
        if refusal is not None:
            raise refusal

    def read(self) -> str | None:
        """Return the manifest, None where there is none. Raises IoFailureError."""
        if self.nodes is None:
            return read_manifest_text(self.uri)
        there: str | None = retry_on_nodes(
            self.nodes, read_manifest_text, self.uri, doing="an earlier result was looked for"
        )
        return there


def manifest_places(output: str, manifest: str, nodes: Nodes) -> list[ManifestPlace]:
    """Return the places of the manifest of a sort to `output`; the first decides which result is published."""
    if not manifest:
        return []
    beside = [ManifestPlace.below(output, nodes)] if is_object(output) else []
    return [*beside, ManifestPlace(uri=manifest)]


def put_manifest(uri: str, manifest: Manifest) -> BadInputError | None:
    """Give a job's manifest its name, unless an earlier call has done so and its answer was lost. Return an error where
    the place holds anything but the manifest that it may replace: this job's result may have been there in between, so
    its files may be gone, and the job may no longer publish.

    Raises IoFailureError when it is unknown whether the manifest was written.
    """
    place = place_of(uri)
    there = place.read_version(uri)
    text, expected_version = (None, None) if there is None else (_decode(there[0]), there[1])
    if text == manifest.replaced and place.put_if(uri, manifest.content.encode(), expected_version=expected_version):
        return None
    if job_of(read_manifest_text(uri)) == manifest.job:
        return None
    return BadInputError(
        f"{uri}: another result is there by now, and was not changed",
        ["name another, or say --force"],
        code="another-result",
    )


def _decode(content: bytes) -> str:
    return content.decode(errors="replace")


def read_manifest_text(uri: str) -> str | None:
    """Return the content of a manifest, None where there is none."""
    there = place_of(uri).read_version(uri)
    return None if there is None else _decode(there[0])


def job_of(manifest: str | None) -> str:
    """Return the job whose result a manifest is; '' for anything else."""
    dataset = _parse(manifest)
    return "" if dataset is None else dataset.job


def _parse(manifest: str | None) -> Dataset | None:
    try:
        return None if manifest is None else dataset_of(json.loads(manifest))
    except (ValueError, TypeError, KeyError, AttributeError):
        return None


def may_be_published(journal: Journal, job: str, places: Sequence[ManifestPlace]) -> bool:
    """Return whether a job's manifest is at one of some places, or that is unknown, so that its output must stay."""
    try:
        return journal.replaced() is not None and any(job_of(place.read()) == job for place in places)
    except IoFailureError:
        return True


def publish(
    places: Sequence[ManifestPlace],
    dataset: Dataset,
    *,
    journal: Journal,
    nodes: Nodes,
    replaces: bool,
    source: Dataset,
) -> None:
    """Publish a job's result at one place after another; the first decides. Then delete the files of the replaced
    result, except those that the sort has read.

    Raises BadInputError, with nothing published, where another result is there, and PublishingUnknownError when it is
    unknown whether this one is there: a second call continues.
    """
    if (replaced := journal.replaced()) is None:
        replaced = [place.read() if replaces else None for place in places]
        journal.record_replaced(replaced)
    for number, (place, text) in enumerate(zip(places, replaced, strict=True)):
        try:
            place.put(Manifest.of(dataset, replaced=text if replaces else None))
        except PlannerError as error:
            if isinstance(error, BadInputError) and not number:
                raise
            raise PublishingUnknownError(
                f"{place.uri}: the manifest could not be written: {error.message}",
                [*error.details, "all partitions are sorted"],
            ) from error
    inputs = {uri for part in source.partitions for copy in part.copies for uri in copy.files}
    for old in filter(None, map(_parse, set(replaced))):
        if old.job not in ("", dataset.job):
            remove_files(nodes, old, kept=inputs)


def without_empty_files(nodes: Nodes, dataset: Dataset) -> Dataset:
    """Delete the files of a job's result that have no records, except the first where all are empty, and return the
    result without them. A job that continues afterwards makes them again.
    """
    full = tuple(part for part in dataset.partitions if part.records)
    empty = tuple(part for part in dataset.partitions if not part.records)
    if not full:
        full, empty = empty[:1], empty[1:]
    remove_files(nodes, replace(dataset, partitions=empty), kept=())
    return replace(dataset, partitions=full)


def remove_files(nodes: Nodes, old: Dataset, *, kept: Collection[str]) -> None:
    """Delete the files that a job's manifest names and that carry its id, except those `kept`. Files on missing nodes
    stay.
    """
    by_node = defaultdict[str, list[str]](list)
    for copy in (copy for partition in old.partitions for copy in partition.copies):
        if job_of_part(PurePosixPath(copy.uri).name) == old.job:
            by_node[copy.node].append(copy.uri)
    for node in sorted(by_node.keys() & {*nodes.names, ""}):
        if node:
            nodes.wait_for(nodes.run(node, node_tasks.delete_files, by_node[node], kept), nodes=(node,))
        else:
            run_on_any(nodes, node_tasks.delete_files, by_node[node], kept, doing="the earlier result was deleted")


def require_unoccupied(prefix: str, job: str) -> None:
    """Raise BadInputError when a prefix holds anything that does not belong to a job."""
    is_own = job_of(read_manifest_text(f"{prefix.rstrip('/')}/{MANIFEST_NAME}")) == job
    files = [] if is_own else place_of(prefix).list_files(prefix)
    if others := [uri for uri in files if job_of_part(PurePosixPath(uri).name) != job]:
        raise BadInputError(
            f"{prefix}: not empty; name another place, or say --force to replace a result",
            others[:10],
            code="not-empty",
        )
