"""An actor that orders a phase's tasks for a group of nodes, with the driver's own code, and reports the work done."""

from __future__ import annotations

import gc
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from planner.arrays import Ints
from planner.distributed_sort.dataset.dataset import Partition
from planner.distributed_sort.dataset.slicing import slices
from planner.distributed_sort.dataset.unreadable_input import UnreadableCopy
from planner.distributed_sort.job.events import ignore
from planner.distributed_sort.job.job import BytesMoved, Cluster, Job, SortRequest, Work
from planner.distributed_sort.job.ledger import Journal, Ledger, LedgerRows
from planner.distributed_sort.job.nodes import Nodes
from planner.distributed_sort.node_files.node_environment import JobFiles
from planner.distributed_sort.phases import reduce, shuffle
from planner.errors import IoFailureError
from planner.sort_policy.sizing import Sizes, coordinator_sizes
from planner.statistics.slow_node_screening import DroppedNode

_OBJECTS_PER_COLLECTION: Final = 200_000
"""Hundreds of thousands of blocks wait here, none of them in a cycle: searching for cycles took a sixth of the time."""


@dataclass(frozen=True, kw_only=True)
class JobFacts:
    """Facts of the job for all coordinators of a phase. `splitting` is Ray's reference, within a list, so that Ray
    passes it on as it is.
    """

    phase: str
    request: SortRequest
    nodes: Nodes
    files: JobFiles
    sizes: Sizes
    splitting: list[Any]
    owner: list[str]
    done: dict[int, tuple[Partition, bytes]]
    coordinators: int


@dataclass(frozen=True, kw_only=True)
class GroupFacts:
    """The nodes of one coordinator; in phase one also the slices that they group, and the stored parts of these."""

    members: tuple[str, ...]
    slices: Ints
    stored: LedgerRows


@dataclass(frozen=True, kw_only=True)
class Report:
    """The work of a coordinator since its last report. `is_over`: nothing is left for it to do. `is_stopped`: a node
    was lost, or it was asked to end, so it has abandoned its running tasks.
    """

    is_over: bool
    is_stopped: bool
    changes: LedgerRows
    finished: tuple[tuple[int, Partition, bytes], ...]
    input_checksums: dict[int, int]
    content_checksums: dict[int, int]
    moved: BytesMoved
    slow: tuple[DroppedNode, ...]
    damaged: dict[str, str]
    unreadable: UnreadableCopy | None
    events: tuple[dict[str, Any], ...]
    stuck: frozenset[str]
    """Nodes that do nothing; the driver, which has more information, decides whether they are lost."""
    full: dict[str, str]
    """Nodes with a full disk, and the file that could not be written."""
    retries: int
    effort: Counter[str]


class NodesLostError(Exception):
    """A node was lost, or a copy of the input; the driver decides which nodes take over its partitions, or read the
    input.
    """


class _UnwrittenJournal(Journal):
    """Keeps the lines to be written to the driver's journal."""

    def __init__(self) -> None:
        super().__init__(Path())
        self.lines: list[tuple[int, Partition, bytes]] = []

    def record_finished(self, number: int, partition: Partition, summary: bytes) -> None:
        self.lines.append((number, partition, summary))


@dataclass(kw_only=True)
class GroupJob(Job):
    """A coordinator's part of a job: it ends when a node is lost, and leaves slow nodes to the driver."""

    unwritten: _UnwrittenJournal
    events: list[dict[str, Any]] = field(default_factory=list)
    slow: list[DroppedNode] = field(default_factory=list)
    unreadable: UnreadableCopy | None = None
    full: dict[str, str] = field(default_factory=dict)

    def notice_losses(self, *, at_once: bool = False) -> frozenset[str]:
        """Raise NodesLostError when a node is lost. Only the driver looks continually: the head answers it alone."""
        if at_once and self.cluster.nodes.detect_losses(at_once=True):
            raise NodesLostError
        return frozenset()

    def suspect(self, fault: UnreadableCopy) -> None:
        """Raise NodesLostError when input has to be restored, or may be lost: only the driver can handle that."""
        if fault.is_damaged or fault.remove_from(self.work.source.partitions[fault.partition]) is not None:
            self.unreadable = fault
            raise NodesLostError

    def on_full_disk(self, node: str, error: IoFailureError) -> None:
        """Raise NodesLostError when a disk is full: only the driver can handle that."""
        self.full[node] = error.message
        raise NodesLostError

    def report_slow_node(self, drop: DroppedNode) -> bool:
        """Note a slow node for the next report."""
        self.slow.append(drop)
        return False


class Coordinator:
    """Orders one phase for a group, for some time at each call. Tasks continue between calls."""

    def __init__(self, facts: JobFacts, group: GroupFacts) -> None:
        gc.set_threshold(_OBJECTS_PER_COLLECTION)
        self._job = _job_of(facts, group)
        self._phase = shuffle.Shuffle(self._job) if facts.phase == shuffle.PHASE else reduce.Reduce(self._job)
        self._cpu_s = 0.0
        self._is_ended = False

    def advance(self, seconds: float) -> Report:
        """Continue for at most `seconds`. Raises IoFailureError when data is unavailable or cannot be written."""
        until_s, is_stopped = time.monotonic() + seconds, False
        try:
            self._phase.run(until=lambda: self._is_ended or time.monotonic() >= until_s or bool(self._job.events))
        except NodesLostError:
            is_stopped = True
        if self._is_ended:
            self._phase.cancel()
        return self._report(is_over=self._phase.is_over, is_stopped=is_stopped or self._is_ended)

    def end(self) -> None:
        """Have `advance` cancel all tasks and return."""
        self._is_ended = True

    def _report(self, *, is_over: bool, is_stopped: bool) -> Report:
        job = self._job
        cpu_s = time.process_time() - self._cpu_s
        effort = {"reports": 1, "tasks": job.cluster.nodes.tasks, "cpu_s": cpu_s}
        report = Report(
            is_over=is_over,
            is_stopped=is_stopped,
            changes=job.work.ledger.take_changes(),
            finished=tuple(job.unwritten.lines),
            input_checksums=job.work.input_checksums,
            content_checksums=job.work.content_checksums,
            moved=job.work.moved,
            slow=tuple(job.slow),
            damaged=dict(job.trouble.damaged),
            unreadable=job.unreadable,
            events=tuple(job.events),
            stuck=job.cluster.nodes.stuck,
            full=job.full,
            retries=job.trouble.retries,
            effort=Counter(effort),
        )
        job.cluster.nodes.tasks = job.trouble.retries = 0
        job.work.moved, job.work.input_checksums, job.work.content_checksums = BytesMoved(), {}, {}
        job.unwritten.lines, job.slow = [], []
        job.events.clear()
        self._cpu_s = time.process_time()
        return report


def _job_of(facts: JobFacts, group: GroupFacts) -> GroupJob:
    cut = list(slices(facts.request.source, facts.sizes.slice_records))
    ledger = Ledger(slices=len(cut), owner=facts.owner, own=group.slices.tolist())
    ledger.done = facts.done
    ledger.merge(group.stored)
    unwritten, events = _UnwrittenJournal(), list[dict[str, Any]]()
    facts.nodes.emit = events.append
    return GroupJob(
        request=facts.request,
        emit=ignore,
        cluster=Cluster(
            ray=facts.nodes.ray,
            nodes=facts.nodes,
            files=facts.files,
            members=group.members,
            coordinators=facts.coordinators,
        ),
        work=Work(
            source=facts.request.source,
            sizes=coordinator_sizes(
                facts.sizes, store_bytes=min(facts.nodes.store_bytes.values()) // facts.coordinators
            ),
            slices=cut,
            splitting_reference=facts.splitting[0],
            ledger=ledger,
            journal=unwritten,
        ),
        unwritten=unwritten,
        events=events,
    )
