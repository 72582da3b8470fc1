"""The two phases as run by the driver: alone on a few nodes, by coordinators for groups of nodes on many.

A task costs its owner milliseconds of a processor, and each block of it some more. So on many nodes the driver owns no
tasks. A coordinator for each group, an actor, runs the driver's own code for the slices that its nodes group, or the
partitions that they sort, and reports every few seconds. When a node or a coordinator is lost, all coordinators end,
and new ones do the work that is missing in the driver's ledger.
"""

from __future__ import annotations

import gc
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, fields, replace
from functools import cache
from pathlib import Path
from typing import Any, Final

import numpy as np

from planner.arrays import Ints
from planner.distributed_sort.dataset.dataset import Partition
from planner.distributed_sort.dataset.partition_reader import UnreadableCopy, nodes_with, slices
from planner.distributed_sort.job.job import BytesMoved, Cluster, Job, SortRequest, Work
from planner.distributed_sort.job.ledger import Journal, Ledger, LedgerRows
from planner.distributed_sort.job.nodes import LOST, Nodes
from planner.distributed_sort.job.waiting import Silence, ignore
from planner.distributed_sort.node_files.node_environment import JobFiles
from planner.distributed_sort.node_files.run_files import DiskFullError
from planner.distributed_sort.phases import reduce as phase_two
from planner.distributed_sort.phases import shuffle as phase_one
from planner.distributed_sort.phases.reduce import unfinished_partitions
from planner.errors import IoFailureError
from planner.sort_policy.sizing import Sizes, coordinator_sizes, groups
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
        self._phase = phase_one.Shuffle(self._job) if facts.phase == phase_one.PHASE else phase_two.Reduce(self._job)
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


_MAX_IDLE_ROUNDS: Final = 20
_LONGEST_PAUSE_S: Final = 5.0
"""Longest pause between rounds without progress, each a second longer: a process of a node may be restarting."""


def run_rounds(
    job: Job, *, between: Callable[[Job], None] = lambda _: None, pause: Callable[[float], None] = time.sleep
) -> None:
    """Run rounds until all partitions are finished, and call `between` between them.

    Raises IoFailureError after several rounds without progress or a lost node, and the errors of a round.
    """
    idle_rounds, before = 0, _progress_marker(job)
    while not run_round(job):
        between(job)
        marker = _progress_marker(job)
        idle_rounds, before = idle_rounds + 1 if marker == before else 0, marker
        if idle_rounds == _MAX_IDLE_ROUNDS:
            numbers = ", ".join(map(str, unfinished_partitions(job)[:10]))
            raise IoFailureError(
                f"the sort got no further in {idle_rounds} tries although no node was lost",
                [f"partitions that are not finished: {numbers}", "see Ray's logs of the nodes; then run it again"],
                code="no-progress",
            )
        if idle_rounds:
            pause(min(float(idle_rounds), _LONGEST_PAUSE_S))


def _progress_marker(job: Job) -> tuple[int, int, frozenset[str]]:
    """Return a marker that changes with progress: stored data, copies of finished partitions, lost nodes."""
    copies = sum(len(partition.copies) for partition, _ in job.work.ledger.done.values())
    return job.work.ledger.stored_records, copies, job.cluster.nodes.lost


_FIRST_REPORT_S: Final = 0.25
_REPORT_EVERY_S: Final = 5.0
"""Longest interval of reports: the first comes soon, and each interval is twice as long as the one before."""
_LONGEST_WAIT_S: Final = 0.5
_LONGEST_END_S: Final = 15.0
_MAX_FAILED_STARTS: Final = 10


def shuffle(job: Job) -> None:
    """Have coordinators run phase one for all missing slices. Raises IoFailureError when data is unavailable or cannot
    be written.
    """
    with job.clock.time_phase(phase_one.PHASE):
        while job.work.ledger.missing_slices():
            _run_coordinators(job, phase_one.PHASE)


def reduce(job: Job) -> bool:
    """Have coordinators run phase two and return whether all partitions are finished; if not, some need phase one
    again.

    Raises IoFailureError when data cannot be read or written.
    """
    with job.clock.time_phase(phase_two.PHASE):
        _run_coordinators(job, phase_two.PHASE)
        return not phase_two.unfinished_partitions(job)


def run_round(job: Job) -> bool:
    """Do the missing work, and return whether all partitions are finished. Without coordinators, partitions that lost
    nothing are sorted and copied meanwhile, so links have copies to carry while processors group slices again.

    Raises IoFailureError when data is unavailable, or cannot be read or written.
    """
    if is_coordinated(job):
        shuffle(job)
        return reduce(job)
    tasks = job.pending_tasks()
    rest = phase_two.Reduce(job, tasks)
    with job.clock.time_phase(phase_one.PHASE):
        phase_one.Shuffle(job, tasks).run(meanwhile=rest.begin_unaffected)
    with job.clock.time_phase(phase_two.PHASE):
        return rest.run()


def is_coordinated(job: Job) -> bool:
    """Return whether a job has enough nodes that its driver owns no tasks."""
    return len(job.cluster.nodes.names) > job.request.nodes_per_coordinator


def _run_coordinators(job: Job, phase: str) -> None:
    """Have coordinators run a phase until it is over, or until one of them or a node is lost. Raises IoFailureError
    when they repeatedly end too early.
    """
    before, suspicions = job.cluster.nodes.lost, job.trouble.suspicions.total()
    coordinators = _start_coordinators(job, phase)
    running = {coordinator.advance.remote(_FIRST_REPORT_S): node for node, coordinator in coordinators.items()}
    try:
        is_over = _follow(job, phase, coordinators, running)
    finally:
        _end(job, coordinators, running)
    job.notice_losses(at_once=True)
    job.trouble.failed_starts += (
        not is_over and job.cluster.nodes.lost == before and job.trouble.suspicions.total() == suspicions
    )
    if job.trouble.failed_starts > _MAX_FAILED_STARTS:
        raise IoFailureError(
            f"coordinators ended {job.trouble.failed_starts} times although no node was lost", code="coordinators-ended"
        )


def _follow(job: Job, phase: str, coordinators: dict[str, Any], running: dict[Any, str]) -> bool:
    """Take over the reports of coordinators, and return whether all are done; they are not when a node was lost or left
    out. `running` has the pending reports, by the coordinator's node.
    """
    before, done_records = (
        job.cluster.nodes.lost,
        sum(partition.records for partition, _ in job.work.ledger.done.values()),
    )
    seconds, silence = dict.fromkeys(coordinators, _FIRST_REPORT_S), Silence()
    for node in coordinators:
        silence.begin(node)
    while running:
        _report_progress(job, phase, done_records)
        ended, _ = job.cluster.ray.wait(list(running), num_returns=1, timeout=_LONGEST_WAIT_S)
        for reference in ended:
            node, report = running.pop(reference), job.cluster.nodes.outcome(reference)
            silence.hear(node)
            if report is LOST or _note(job, report):
                return False
            done_records += sum(partition.records for _, partition, _ in report.finished)
            seconds[node] = min(_REPORT_EVERY_S, 2 * seconds[node])
            if not report.is_over:
                running[coordinators[node].advance.remote(seconds[node])] = node
        job.cluster.nodes.report_silent_nodes(silence, running.values())
        if job.notice_losses() or job.cluster.nodes.lost != before:
            return False
    _report_progress(job, phase, done_records)
    return True


def _report_progress(job: Job, phase: str, done_records: int) -> None:
    job.report_progress(phase, records=job.work.ledger.stored_records if phase == phase_one.PHASE else done_records)


def _end(job: Job, coordinators: dict[str, Any], running: dict[Any, str]) -> None:
    """End coordinators. Running ones cancel their tasks first, which could write after a clean-up."""
    last = [reference for reference, node in running.items() if node not in job.cluster.nodes.lost]
    for coordinator in coordinators.values() if last else ():
        coordinator.end.remote()
    if last:
        job.cluster.ray.wait(last, num_returns=len(last), timeout=_LONGEST_END_S)
    for coordinator in coordinators.values():
        job.cluster.ray.kill(coordinator)


def _start_coordinators(job: Job, phase: str) -> dict[str, Any]:
    """Begin a coordinator on the first node of each group, and return them by node."""
    parts = groups(job.cluster.nodes.names, most=job.request.nodes_per_coordinator)
    facts = JobFacts(
        phase=phase,
        request=replace(job.request, source=job.work.source),
        nodes=job.cluster.nodes,
        files=job.cluster.files,
        sizes=job.work.sizes,
        splitting=[job.work.splitting_reference],
        owner=job.work.ledger.owner,
        done=job.work.ledger.done,
        coordinators=len(parts),
    )
    facts_reference = job.cluster.ray.put(facts)
    slices = _divide_slices(job, parts) if phase == phase_one.PHASE else [[] for _ in parts]
    coordinators = dict[str, Any]()
    for members, numbers in zip(parts, slices, strict=True):
        own = np.array(numbers, np.int64)
        group = GroupFacts(members=members, slices=own, stored=job.work.ledger.rows_of(own))
        coordinators[members[0]] = job.cluster.nodes.begin_actor(members[0], Coordinator, facts_reference, group)
    return coordinators


def _divide_slices(job: Job, parts: list[tuple[str, ...]]) -> list[list[int]]:
    """Return the missing slices for each group. A slice goes to a group that holds its input, or to any if none does,
    and there to the one with the fewest slices.
    """
    group_of = {name: at for at, members in enumerate(parts) for name in members}

    @cache
    def holders(partition: int) -> list[int]:
        nodes = nodes_with(job.work.source.partitions[partition].readable_from(job.cluster.nodes.names))
        return sorted({group_of[name] for name in nodes if name}) or list(range(len(parts)))

    slices: list[list[int]] = [[] for _ in parts]
    for number in job.work.ledger.missing_slices():
        slices[min(holders(job.work.slices[number].partition), key=lambda at: len(slices[at]))].append(number)
    return slices


def _note(job: Job, report: Report) -> bool:
    """Take over the work of a coordinator, and return whether all must restart."""
    job.work.ledger.merge(report.changes)
    for number, partition, summary in report.finished:
        job.work.ledger.done[number] = (partition, summary)
        job.work.journal.record_finished(number, partition, summary)
    job.work.input_checksums |= report.input_checksums
    job.work.note_content(report.content_checksums)
    for moved in fields(job.work.moved):
        setattr(job.work.moved, moved.name, getattr(job.work.moved, moved.name) + getattr(report.moved, moved.name))
    job.trouble.retries += report.retries
    job.trouble.damaged |= report.damaged
    job.clock.coordinated.update(report.effort)
    for event in report.events:
        job.emit(event)
    for node in report.stuck:
        job.cluster.nodes.note_stuck(node)
    for node in report.full.keys() - job.cluster.nodes.lost:
        job.on_full_disk(node, DiskFullError(report.full[node]))
    if report.unreadable is not None:
        job.suspect(report.unreadable)
    is_avoided = [job.report_slow_node(drop) for drop in report.slow if drop.node not in job.trouble.slow_nodes]
    return report.is_stopped or any(is_avoided)
