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
from typing import Any, ClassVar, Final, Protocol

import numpy as np

from planner.arrays import Ints
from planner.distributed_sort.dataset.dataset import Partition
from planner.distributed_sort.dataset.partition_reader import UnreadableCopy, nodes_with, slices
from planner.distributed_sort.job.job import BytesMoved, Job
from planner.distributed_sort.job.ledger import Ledger, LedgerRows
from planner.distributed_sort.job.nodes import LOST
from planner.distributed_sort.job.waiting import Silence, ignore
from planner.distributed_sort.node_files.run_files import DiskFullError
from planner.errors import IoFailureError
from planner.sort_policy.sizing import coordinator_sizes, groups
from planner.statistics.slow_node_screening import DroppedNode

_OBJECTS_PER_COLLECTION: Final = 200_000
"""Hundreds of thousands of blocks wait here, none of them in a cycle: searching for cycles took a sixth of the time."""


@dataclass(frozen=True, kw_only=True)
class Group:
    """The nodes of one coordinator; in phase one also the slices that they group, and the stored parts of these."""

    members: tuple[str, ...]
    slices: Ints
    stored: LedgerRows


@dataclass(kw_only=True)
class Report:
    """The work of a coordinator since its last report. `is_over`: nothing is left for it to do. `is_stopped`: a node
    was lost, or it was asked to end, so it has abandoned its running tasks.
    """

    is_over: bool = False
    is_stopped: bool = False
    changes: LedgerRows | None = None
    finished: list[tuple[int, Partition, bytes]] = field(default_factory=list)
    input_checksums: dict[int, int] = field(default_factory=dict)
    content_checksums: dict[int, int] = field(default_factory=dict)
    moved: BytesMoved = field(default_factory=BytesMoved)
    slow: list[DroppedNode] = field(default_factory=list)
    damaged: dict[str, str] = field(default_factory=dict)
    unreadable: UnreadableCopy | None = None
    events: list[dict[str, Any]] = field(default_factory=list)
    stuck: frozenset[str] = frozenset()
    """Nodes that do nothing; the driver, which has more information, decides whether they are lost."""
    full: dict[str, str] = field(default_factory=dict)
    """Nodes with a full disk, and the file that could not be written."""
    retries: int = 0
    effort: Counter[str] = field(default_factory=Counter)


class Phase(Protocol):
    """A phase of a job, which a coordinator runs for its group."""

    name: ClassVar[str]
    is_over: bool

    def __init__(self, job: Job, /) -> None: ...
    def run(self, *, until: Callable[[], bool]) -> bool: ...
    def cancel(self) -> None: ...

    @staticmethod
    def records_done(job: Job, /) -> int:
        """Return the records of a job that went through the phase."""


class NodesLostError(Exception):
    """A node was lost, or a copy of the input; the driver decides which nodes take over its partitions, or read the
    input.
    """


@dataclass(kw_only=True)
class GroupJob(Job):
    """A coordinator's part of a job: it ends when a node is lost, and leaves slow nodes and the journal to the driver.
    The next `report` has what it did.
    """

    report: Report = field(default_factory=Report)

    def finish(self, number: int, partition: Partition, summary: bytes) -> None:
        """Note a finished partition for the next report."""
        self.ledger.done[number] = (partition, summary)
        self.report.finished.append((number, partition, summary))

    def notice_losses(self, *, at_once: bool = False) -> frozenset[str]:
        """Raise NodesLostError when a node is lost. Only the driver looks continually: the head answers it alone."""
        if at_once and self.nodes.detect_losses(at_once=True):
            raise NodesLostError
        return frozenset()

    def suspect(self, fault: UnreadableCopy) -> None:
        """Raise NodesLostError when input has to be restored, or may be lost: only the driver can handle that."""
        if fault.is_damaged or fault.remove_from(self.source.partitions[fault.partition]) is not None:
            self.report.unreadable = fault
            raise NodesLostError

    def on_full_disk(self, node: str, error: IoFailureError) -> None:
        """Raise NodesLostError when a disk is full: only the driver can handle that."""
        self.report.full[node] = error.message
        raise NodesLostError

    def report_slow_node(self, drop: DroppedNode) -> bool:
        """Note a slow node for the next report."""
        self.report.slow.append(drop)
        return False


class Coordinator:
    """Orders one phase for a group, for some time at each call. Tasks continue between calls."""

    def __init__(self, phase: type[Phase], shared: GroupJob, group: Group) -> None:
        gc.set_threshold(_OBJECTS_PER_COLLECTION)
        cut = list(slices(shared.source, shared.sizes.slice_records))
        ledger = Ledger(slices=len(cut), owner=shared.ledger.owner, own=group.slices.tolist())
        ledger.done = shared.ledger.done
        ledger.merge(group.stored)
        self._job = replace(shared, slices=cut, ledger=ledger, members=group.members)
        self._job.nodes.emit = self._note_event
        self._phase = phase(self._job)
        self._cpu_s = 0.0
        self._is_ended = False

    def _note_event(self, event: dict[str, Any]) -> None:
        self._job.report.events.append(event)

    def advance(self, seconds: float) -> Report:
        """Continue for at most `seconds`. Raises IoFailureError when data is unavailable or cannot be written."""
        until_s, is_stopped = time.monotonic() + seconds, False
        try:
            self._phase.run(until=lambda: self._has_news() or time.monotonic() >= until_s)
        except NodesLostError:
            is_stopped = True
        if self._is_ended:
            self._phase.cancel()
        return self._report(is_over=self._phase.is_over, is_stopped=is_stopped or self._is_ended)

    def _has_news(self) -> bool:
        return self._is_ended or bool(self._job.report.events)

    def end(self) -> None:
        """Have `advance` cancel all tasks and return."""
        self._is_ended = True

    def _report(self, *, is_over: bool, is_stopped: bool) -> Report:
        job, cpu_s = self._job, time.process_time() - self._cpu_s
        report = replace(
            job.report,
            is_over=is_over,
            is_stopped=is_stopped,
            changes=job.ledger.take_changes(),
            input_checksums=job.input_checksums,
            content_checksums=job.content_checksums,
            moved=job.moved,
            damaged=dict(job.damaged),
            stuck=job.nodes.stuck,
            retries=job.retries,
            effort=Counter({"reports": 1, "tasks": job.nodes.tasks, "cpu_s": cpu_s}),
        )
        job.nodes.tasks = job.retries = 0
        job.moved, job.input_checksums, job.content_checksums, job.report = BytesMoved(), {}, {}, Report()
        self._cpu_s = time.process_time()
        return report


_FIRST_REPORT_S: Final = 0.25
_REPORT_EVERY_S: Final = 5.0
"""Longest interval of reports: the first comes soon, and each interval is twice as long as the one before."""
_LONGEST_WAIT_S: Final = 0.5
_LONGEST_END_S: Final = 15.0
_MAX_FAILED_STARTS: Final = 10


def run_coordinators(job: Job, phase: type[Phase]) -> None:
    """Have coordinators run a phase until it is over, or until one of them or a node is lost. Raises IoFailureError
    when they repeatedly end too early.
    """
    before, suspicions = job.nodes.lost, job.suspicions.total()
    coordinators = _start_coordinators(job, phase)
    running = {coordinator.advance.remote(_FIRST_REPORT_S): node for node, coordinator in coordinators.items()}
    try:
        is_over = _follow(job, phase, coordinators, running)
    finally:
        _end(job, coordinators, running)
    job.notice_losses(at_once=True)
    job.failed_starts += not is_over and job.nodes.lost == before and job.suspicions.total() == suspicions
    if job.failed_starts > _MAX_FAILED_STARTS:
        raise IoFailureError(
            f"coordinators ended {job.failed_starts} times although no node was lost", code="coordinators-ended"
        )


def _follow(job: Job, phase: type[Phase], coordinators: dict[str, Any], running: dict[Any, str]) -> bool:
    """Take over the reports of coordinators, and return whether all are done; they are not when a node was lost or left
    out. `running` has the pending reports, by the coordinator's node.
    """
    before, seconds, silence = job.nodes.lost, dict.fromkeys(coordinators, _FIRST_REPORT_S), Silence()
    for node in coordinators:
        silence.begin(node)
    while running:
        _report_progress(job, phase)
        ended, _ = job.nodes.ray.wait(list(running), num_returns=1, timeout=_LONGEST_WAIT_S)
        for reference in ended:
            node, report = running.pop(reference), job.nodes.outcome(reference)
            silence.hear(node)
            if report is LOST or _note(job, report):
                return False
            seconds[node] = min(_REPORT_EVERY_S, 2 * seconds[node])
            if not report.is_over:
                running[coordinators[node].advance.remote(seconds[node])] = node
        job.nodes.report_silent_nodes(silence, running.values())
        if job.notice_losses() or job.nodes.lost != before:
            return False
    _report_progress(job, phase)
    return True


def _report_progress(job: Job, phase: type[Phase]) -> None:
    job.report_progress(phase.name, records=phase.records_done(job))


def _end(job: Job, coordinators: dict[str, Any], running: dict[Any, str]) -> None:
    """End coordinators. Running ones cancel their tasks first, which could write after a clean-up."""
    last = [reference for reference, node in running.items() if node not in job.nodes.lost]
    for coordinator in coordinators.values() if last else ():
        coordinator.end.remote()
    if last:
        job.nodes.ray.wait(last, num_returns=len(last), timeout=_LONGEST_END_S)
    for coordinator in coordinators.values():
        job.nodes.ray.kill(coordinator)


def _start_coordinators(job: Job, phase: type[Phase]) -> dict[str, Any]:
    """Begin a coordinator on the first node of each group, and return them by node."""
    parts = groups(job.nodes.names, most=job.request.nodes_per_coordinator)
    shared = GroupJob(
        request=replace(job.request, source=job.source),
        emit=ignore,
        nodes=job.nodes,
        files=job.files,
        source=job.source,
        sizes=coordinator_sizes(job.sizes, store_bytes=min(job.nodes.store_bytes.values()) // len(parts)),
        slices=[],
        splitting_reference=job.splitting_reference,
        ledger=Ledger(slices=0, owner=job.ledger.owner),
        journal=job.journal,
        coordinators=len(parts),
    )
    shared.ledger.done = job.ledger.done
    reference = job.nodes.ray.put(shared)
    slices = _divide_slices(job, parts)
    coordinators = dict[str, Any]()
    for members, numbers in zip(parts, slices, strict=True):
        own = np.array(numbers, np.int64)
        group = Group(members=members, slices=own, stored=job.ledger.rows_of(own))
        coordinators[members[0]] = job.nodes.begin_actor(members[0], Coordinator, phase, reference, group)
    return coordinators


def _divide_slices(job: Job, parts: list[tuple[str, ...]]) -> list[list[int]]:
    """Return the missing slices for each group. A slice goes to a group that holds its input, or to any if none does,
    and there to the one with the fewest slices.
    """
    group_of = {name: at for at, members in enumerate(parts) for name in members}

    @cache
    def holders(partition: int) -> list[int]:
        nodes = nodes_with(job.source.partitions[partition].readable_from(job.nodes.names))
        return sorted({group_of[name] for name in nodes if name}) or list(range(len(parts)))

    slices: list[list[int]] = [[] for _ in parts]
    for number in job.ledger.missing_slices():
        slices[min(holders(job.slices[number].partition), key=lambda at: len(slices[at]))].append(number)
    return slices


def _note(job: Job, report: Report) -> bool:
    """Take over the work of a coordinator, and return whether all must restart."""
    if report.changes is not None:
        job.ledger.merge(report.changes)
    for number, partition, summary in report.finished:
        job.finish(number, partition, summary)
    job.input_checksums |= report.input_checksums
    job.note_content(report.content_checksums)
    for moved in fields(job.moved):
        setattr(job.moved, moved.name, getattr(job.moved, moved.name) + getattr(report.moved, moved.name))
    job.retries += report.retries
    job.damaged |= report.damaged
    job.coordinated.update(report.effort)
    for event in report.events:
        job.emit(event)
    for node in report.stuck:
        job.nodes.note_stuck(node)
    for node in report.full.keys() - job.nodes.lost:
        job.on_full_disk(node, DiskFullError(report.full[node]))
    if report.unreadable is not None:
        job.suspect(report.unreadable)
    is_avoided = [job.report_slow_node(drop) for drop in report.slow if drop.node not in job.slow_nodes]
    return report.is_stopped or any(is_avoided)
