"""Phase two: every partition is read by its owner, sorted and written, and copied if requested."""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from collections.abc import Callable, Collection
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar, Final

from planner.distributed_sort.exchange.block_fetch import Part
from planner.distributed_sort.exchange.segments import SegmentNames
from planner.distributed_sort.job.job import Job
from planner.distributed_sort.job.nodes import LOST
from planner.distributed_sort.job.pending_tasks import PendingTasks
from planner.distributed_sort.node_files.run_files import RunsDamagedError
from planner.distributed_sort.node_tasks import node_tasks
from planner.distributed_sort.node_tasks.node_tasks import Sorted, SortOrder
from planner.errors import IoFailureError
from planner.sort_policy.concurrency import sorts_to_begin
from planner.sort_policy.placement import copy_target

PHASE: Final = "sort and reduce"


class Reduce:
    """Keeps a few partitions of every node under way until all are finished or a node is lost. Raises IoFailureError
    when data cannot be read or written. `tasks` may be shared with a phase one that recreates lost data.
    """

    name: ClassVar = PHASE

    def __init__(self, job: Job, tasks: PendingTasks | None = None) -> None:
        self._job = job
        self._is_begun = False
        self.is_over = False
        """True when nothing is left to do, or nothing can be done before phase one runs again."""
        self._tasks = job.pending_tasks() if tasks is None else tasks
        self._unqueued = [
            number for number in unfinished_partitions(job) if not job.members or source_of(job, number) in job.members
        ]
        self._queues: dict[str, deque[int]] = defaultdict(deque)
        """By node: its partitions that have not begun."""
        self._in_progress: dict[int, str] = {}
        self._done_records = self.records_done(job)
        self._sorted: dict[int, Sorted] = {}
        self._tried: dict[int, set[str]] = defaultdict(set)
        """By partition: the nodes tried for its copy."""
        self._segments = SegmentNames()
        self._segment_of: dict[int, str] = {}
        """By partition under way: the segment where its records wait to be copied."""
        self._copies = min(job.request.copies, len(job.nodes.names))
        self._copies_in_flight: Counter[str] = Counter()  # by their destination
        self._copies_sent: Counter[str] = Counter()
        self._lost_before = job.nodes.lost

    def begin_unaffected(self) -> None:
        """While phase one recreates lost data, begin as many partitions as there is room for, of those that lost
        nothing or only their copy.
        """
        if not self._is_begun:
            self._enqueue(self._job.ledger.done.keys() | set(self._job.ledger.complete_partitions()))
            self._is_begun = True
        if not self._has_lost_nodes:
            self._submit()

    def _enqueue(self, numbers: Collection[int]) -> None:
        """Queue those of some partitions that were not queued yet, each at its source node."""
        for number in self._unqueued:
            if number in numbers:
                self._queues[source_of(self._job, number)].append(number)
        self._unqueued = [number for number in self._unqueued if number not in numbers]

    def run(self, *, until: Callable[[], bool] = lambda: False) -> bool:
        """Continue until it is over, or `until` returns True, and return whether all partitions are finished; if it is
        over and some are not, they need phase one again. Cancels the running tasks if it fails.
        """
        self._report()
        self._enqueue(range(len(self._job.ledger.owner)))
        try:
            while any(self._queues.values()) or self._in_progress:
                if not self._has_lost_nodes:
                    self._submit()
                if self._tasks:
                    self._tasks.wait()
                self._job.notice_losses()
                if self._has_lost_nodes and not self._in_progress:
                    break
                self._report()
                if until():
                    return False
        except BaseException:
            self.cancel()
            raise
        self._report()
        self.is_over = True
        return not self._has_lost_nodes and not unfinished_partitions(self._job)

    @staticmethod
    def records_done(job: Job) -> int:
        """Return the records of finished partitions."""
        return sum(partition.records for partition, _ in job.ledger.done.values())

    def cancel(self) -> None:
        """Cancel the running tasks, best effort."""
        self._tasks.cancel_all()

    @property
    def _has_lost_nodes(self) -> bool:
        """True if a node was lost since this began."""
        return self._job.nodes.lost != self._lost_before

    def _submit(self) -> None:
        """Start as many partitions as there is room for."""
        concurrency = self._job.nodes.concurrency
        copied = self._job.request.copies > 1  # memory was divided for this number, also after losses
        busy = Counter(self._in_progress.values())
        sorting = Counter(owner for number, owner in self._in_progress.items() if number not in self._sorted)
        for owner, queue in self._queues.items():
            startable_sorts = sorts_to_begin(
                concurrency, in_progress=busy[owner], sorting=sorting[owner], copied=copied
            )
            for _ in range(min(startable_sorts, len(queue))):
                self._begin(queue.popleft(), owner)

    def _begin(self, number: int, owner: str) -> None:
        job = self._job
        if number in job.ledger.done:
            self._restore_copy(number, source=owner)
            return
        job.retries += self._sorted.pop(number, None) is not None
        self._in_progress[number] = owner
        outcome = job.nodes.run(owner, node_tasks.sort_partition, self._source_order(number, owner))
        on_failure = partial(self._on_sort_failure, number, owner)
        self._tasks.add(outcome, partial(self._on_sorted, number), node=owner, on_failure=on_failure)

    def _source_order(self, number: int, node: str) -> SortOrder:
        """Return the order for the source of a partition, from which it is to be copied."""
        order = self._order(number, node)
        if self._copies == 1:
            return order
        segment = self._segment_of[number] = self._segments.take(node)
        reserve_bytes = self._job.nodes.store_bytes[node]
        return replace(order, segment=segment, dropped=self._segments.pop_retired(node), reserve_bytes=reserve_bytes)

    def _order(self, number: int, node: str) -> SortOrder:
        return SortOrder(
            number=number,
            slices=len(self._job.slices),
            layout=self._job.source.layout,
            files=self._job.files,
            memory_bytes=self._job.sizes.sort_bytes,
            threads=self._job.nodes.threads(node),
        )

    def _on_sorted(self, number: int, outcome: Any) -> None:
        if outcome is LOST:
            self._give_up(number)
            return
        self._job.moved.intermediate_read += outcome.read_bytes
        self._job.moved.output_written += outcome.written_bytes
        self._sorted[number] = outcome
        if self._copies > 1:
            self._copy(number, outcome.sent_bytes)
        else:
            self._finish(number, outcome)

    def _on_sort_failure(self, number: int, owner: str, error: IoFailureError) -> None:
        """Leave a node's partitions to the next round if its intermediate files are damaged: their content is made
        again first. Raises any other error.
        """
        if not isinstance(error, RunsDamagedError):
            raise error
        self._job.damaged[owner] = error.message
        self._queues[owner].clear()
        self._job.retries += 1
        self._release(number, is_copied=True)

    def _copy(self, number: int, sent_bytes: int) -> None:
        """Have another node fetch and write a partition that lies in a segment of its source; each is tried once."""
        job, source, tried = self._job, self._in_progress[number], self._tried[number]
        others = [name for name in job.nodes.names if name != source and name not in tried]
        if not others:
            self._give_up(number) if tried else self._finish(number, self._sorted[number])
            return
        node = copy_target(others, in_flight=self._copies_in_flight, sent=self._copies_sent)
        tried.add(node)
        self._copies_in_flight[node] += 1
        self._copies_sent[node] += 1
        part = Part(number, job.nodes.address(source), self._segment_of[number], 0, sent_bytes, partitions=0)
        copied = job.nodes.call(node, "copy", self._order(number, node), part)
        self._tasks.add(
            copied, partial(self._on_copied, number, node, sent_bytes), node=node, sources=(source,), is_call=True
        )

    def _on_copied(self, number: int, node: str, sent_bytes: int, copied: Any) -> None:
        self._copies_in_flight[node] -= 1
        if copied is LOST and self._in_progress[number] not in self._job.nodes.lost:
            self._copy(number, sent_bytes)  # to another node: that one is lost, or its service restarts
            return
        if copied is LOST or copied is None:
            self._give_up(number)
            return
        first = self._sorted[number].partition
        if copied.partition.checksum != first.checksum or copied.summary != self._sorted[number].summary:
            self._job.retries += 1
            self._copy(number, sent_bytes)  # it changed on its way, or in the segment: then it is sorted again
            return
        size = copied.written_bytes
        self._job.moved.replica_written += size
        self._job.moved.crossed_network += size
        both = replace(first, copies=(*first.copies, *copied.partition.copies))
        self._finish(number, replace(self._sorted[number], partition=both))

    def _finish(self, number: int, outcome: Sorted) -> None:
        partition = outcome.partition.without_nodes(self._job.nodes.lost)
        self._release(number, is_copied=True)
        if partition.copies:
            self._done_records += 0 if number in self._job.ledger.done else partition.records
            self._job.finish(number, partition, outcome.summary)

    def _give_up(self, number: int) -> None:
        """Leave a partition to the next round, because its owner or the node of its copy was lost."""
        if (source := self._in_progress.get(number)) in self._job.nodes.names:
            self._job.nodes.ask_address(source)
        self._release(number, is_copied=False)
        self._job.retries += 1
        self._job.notice_losses(at_once=True)

    def _restore_copy(self, number: int, *, source: str) -> None:
        """Copy a finished partition again if its copy was lost with its node."""
        partition, summary = self._job.ledger.done[number]
        self._sorted[number] = Sorted(partition=partition, read_bytes=0, written_bytes=0, summary=summary)
        self._in_progress[number] = source
        offered = self._job.nodes.run(source, node_tasks.offer_partition, partition, self._source_order(number, source))
        self._tasks.add(offered, partial(self._on_offered, number), node=source)

    def _on_offered(self, number: int, sent_bytes: Any) -> None:
        if sent_bytes is LOST:
            self._give_up(number)
        else:
            self._copy(number, sent_bytes)

    def _release(self, number: int, *, is_copied: bool) -> None:
        """Note that a partition is no longer under way; a segment copied in full at the first try is read no more."""
        source, segment = self._in_progress.pop(number, ""), self._segment_of.pop(number, "")
        is_first_try = len(self._tried.pop(number, ())) <= 1
        if segment:
            self._segments.release_segment(source, segment, is_stored=is_copied and is_first_try)

    def _report(self) -> None:
        self._job.report_progress(PHASE, records=self._done_records)


def unfinished_partitions(job: Job) -> list[int]:
    """Return the partitions that are not written with as many copies as requested, or as there are nodes."""
    copies, done = min(job.request.copies, len(job.nodes.names)), job.ledger.done
    return [
        number for number in range(len(job.ledger.owner)) if number not in done or len(done[number][0].copies) < copies
    ]


def source_of(job: Job, number: int) -> str:
    """Return the node that holds a finished partition, or the records of an unfinished one."""
    done = job.ledger.done.get(number)
    return job.ledger.owner[number] if done is None else done[0].copies[0].node
