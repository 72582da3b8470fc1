"""The two phases as run by the driver: alone on a few nodes, by coordinators for groups of nodes on many.

A task costs its owner milliseconds of a processor, and each block of it some more. So on many nodes the driver owns no
tasks. A coordinator for each group runs the same code for the slices that its nodes group, or the partitions that they
sort, and reports every few seconds. When a node or a coordinator is lost, all coordinators end, and new ones do the
work that is missing in the driver's ledger.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import fields, replace
from functools import cache
from typing import Any, Final

import numpy as np

from planner.distributed_sort.dataset.partition_reader import nodes_with
from planner.distributed_sort.job.job import Job
from planner.distributed_sort.job.nodes import LOST
from planner.distributed_sort.job.silence import Silence
from planner.distributed_sort.node_files.run_files import DiskFullError
from planner.distributed_sort.phases import reduce as phase_two
from planner.distributed_sort.phases import shuffle as phase_one
from planner.distributed_sort.phases.coordinator import Coordinator, GroupFacts, JobFacts, Report
from planner.distributed_sort.phases.reduce import unfinished_partitions
from planner.errors import IoFailureError
from planner.sort_policy.sizing import groups

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
