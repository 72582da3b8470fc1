"""Putting a job away that was killed: what it left on every node and in the store is freed, and nothing else."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from planner.distributed_sort.dataset import object_store
from planner.distributed_sort.dataset.copies import run_on_any
from planner.distributed_sort.job.ledger import EarlierJob, Journal
from planner.distributed_sort.job.nodes import Nodes
from planner.distributed_sort.job.waiting import Emit
from planner.distributed_sort.node_tasks import node_tasks
from planner.distributed_sort.publishing import manifest_places, may_be_published
from planner.errors import BadInputError, UnfinishedError
from planner.units import format_bytes


@dataclass(frozen=True, kw_only=True)
class AbandonedSort:
    """A job that was put away: the nodes that were freed, the bytes that its files took on their disks and in their
    memory, and the absent nodes, whose files stay.

    `is_published`: the result had been published, or that is unknown, so its files stay. `uploads` counts the
    unfinished uploads that were ended in the store: None where nobody could look for them.
    """

    job: str
    nodes: tuple[str, ...]
    freed_bytes: int
    absent_nodes: tuple[str, ...]
    is_published: bool
    uploads: int | None


def abandon(
    *, ray: Any, journal: Path, manifest: str, wait_s: float, forgets_absent: bool, emit: Emit = lambda _: None
) -> AbandonedSort:
    """Free what the job of a journal left on the cluster that `ray` is connected to, and delete the journal.

    Raises BadInputError where no job is to be put away, or one is running; and, unless it `forgets_absent` ones,
    UnfinishedError where a node of the job is absent: the others are freed, and the journal stays for a second call.
    """
    held = Journal(journal)
    with held.hold():
        earlier = earlier_job(journal)
        files = earlier.files
        nodes = Nodes(ray, directory=files.directory, emit=emit, wait_s=wait_s)
        keeps_output = may_be_published(held, files.job, manifest_places(files.output, manifest, nodes))
        freed = nodes.run_on_all(node_tasks.free, files, node_tasks.clean if keeps_output else node_tasks.undo)
        uploads = 0
        if files.in_store:
            uploads = run_on_any(
                nodes, object_store.end_uploads, files.output, files.job, doing="unfinished uploads were ended"
            )
        absent = tuple(sorted(_nodes_of(earlier) - freed.keys()))
        done = AbandonedSort(
            job=files.job,
            nodes=tuple(sorted(freed)),
            freed_bytes=sum(freed.values()),
            absent_nodes=absent,
            is_published=keeps_output,
            uploads=uploads,
        )
        if absent and not forgets_absent:
            raise UnfinishedError(
                f"{', '.join(absent)}: absent, so the job's files stay there",
                [
                    f"{format_bytes(done.freed_bytes)} were freed on {', '.join(done.nodes)}",
                    "the same command frees the rest when they are back; with --force they are forgotten",
                ],
                code="absent-nodes",
            )
        held.end()
    return done


def earlier_job(journal: Path) -> EarlierJob:
    """Return the job of a journal. Raises BadInputError where there is none."""
    if (earlier := Journal(journal).read()) is None:
        raise BadInputError(
            f"no unfinished sort to this output is known here: there is no journal {journal}",
            ["name the OUTPUT as the sort did; that of a store is known in the directory where it was called"],
            code="no-job",
        )
    return earlier


def _nodes_of(job: EarlierJob) -> set[str]:
    """Return the nodes that are known to have files of a job."""
    if job.progress is None:
        return set()
    _, _, owner, done = job.progress
    return {*owner, *(copy.node for partition, _ in done.values() for copy in partition.copies)} - {""}
