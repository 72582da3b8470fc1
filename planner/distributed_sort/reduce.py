"""Phase two: every partition is read by its owner, sorted, written, and, where asked for, copied to another node."""

from __future__ import annotations

from collections import Counter, deque
from dataclasses import replace
from functools import partial
from typing import Any, Final

from planner.distributed_sort import node_tasks
from planner.distributed_sort.job import Job
from planner.distributed_sort.node_tasks import Sorted, SortOrder
from planner.distributed_sort.nodes import LOST
from planner.distributed_sort.pending_tasks import Flight
from planner.errors import IoFailureError

PHASE: Final = "sort and reduce"


def reduce(job: Job) -> bool:
    """Run phase two; say whether all partitions are finished, rather than some in need of phase one again.

    Raises IoFailureError when something cannot be read or written.
    """
    with job.stretch(PHASE):
        return Reduce(job).run()


class Reduce:
    """Keeps a few partitions of every node under way until all are finished or a node is lost."""

    def __init__(self, job: Job) -> None:
        self._job = job
        self._flight = Flight(job.ray, job.crew)
        self._under_way: dict[int, str] = {}
        self._sorted: dict[int, Sorted] = {}
        self._copies = min(job.request.copies, len(job.crew.names))
        self._copies_to: Counter[str] = Counter()  # that are under way
        self._copied_to: Counter[str] = Counter()  # in all
        self._lost_before = job.crew.lost

    def run(self) -> bool:
        """Do it, and cancel what is under way if it fails."""
        queue = deque(number for number in range(len(self._job.ledger.owner)) if not self._is_finished(number))
        self._tell()
        try:
            while queue or self._under_way:
                if not self._is_hit:
                    queue = self._submit(queue)
                if self._flight:
                    self._flight.land()
                self._job.notice_losses()
                if self._is_hit and not self._under_way:
                    break
                self._tell()
        except BaseException:
            self._flight.abandon()
            raise
        self._tell()
        return not self._is_hit and self._is_complete()

    @property
    def _is_hit(self) -> bool:
        """Whether a node has gone since this began."""
        return self._job.crew.lost != self._lost_before

    def _is_complete(self) -> bool:
        return all(map(self._is_finished, range(len(self._job.ledger.owner))))

    def _is_finished(self, number: int) -> bool:
        """Whether a partition is written, and has as many copies as it shall have, or there are nodes for."""
        wanted = min(self._job.request.copies, len(self._job.crew.names))
        done = self._job.ledger.done.get(number)
        return done is not None and len(done[0].copies) >= wanted

    def _source(self, number: int) -> str:
        """Return the node that a partition comes from: where it lies, or that has its records."""
        done = self._job.ledger.done.get(number)
        return self._job.ledger.owner[number] if done is None else done[0].copies[0].node

    def _submit(self, queue: deque[int]) -> deque[int]:
        """Start what there is room for and return what is left."""
        concurrency, copied = self._job.crew.concurrency, self._job.request.copies > 1
        sorts = concurrency.sorts(copied=copied)  # as memory was divided, whoever is left
        busy, left = Counter(self._under_way.values()), deque[int]()
        sorting = Counter(owner for number, owner in self._under_way.items() if number not in self._sorted)
        for number in queue:
            owner = self._source(number)
            if busy[owner] < concurrency.partitions(copied=copied) and sorting[owner] < sorts:
                busy[owner] += 1
                sorting[owner] += 1
                self._begin(number, owner)
            else:
                left.append(number)
        return left

    def _begin(self, number: int, owner: str) -> None:
        job = self._job
        if number in job.ledger.done:
            self._restore_copy(number, source=owner)
            return
        job.retries += self._sorted.pop(number, None) is not None
        order = self._order(number, owner, int(job.ledger.records[number]))
        found, records = job.crew.run(owner, node_tasks.sort_partition, order, returns=2)
        self._under_way[number] = owner
        self._flight.add(found, partial(self._sorted_one, number, records), node=owner)

    def _order(self, number: int, node: str, records: int) -> SortOrder:
        return SortOrder(
            number=number,
            records=records,
            layout=self._job.request.source.layout,
            files=self._job.files,
            memory_bytes=self._job.sizes.sort_bytes,
            is_copied=self._copies > 1,
            threads=self._job.crew.threads(node),
        )

    def _sorted_one(self, number: int, records: Any, found: Any) -> None:
        if found is LOST:
            self._give_up(number)
            return
        self._job.moved.intermediate_read += found.read_bytes
        self._job.moved.output_written += found.written_bytes
        self._sorted[number] = found
        if self._copies > 1:
            self._copy(number, records, source=self._under_way[number])
        else:
            self._finish(number, found)

    def _copy(self, number: int, records: Any, *, source: str) -> None:
        """Send a sorted partition to another node: one to which least is under way, and of these, that got least."""
        job = self._job
        others = [name for name in job.crew.names if name != source]
        if not others:
            self._finish(number, self._sorted[number])
            return
        node = min(others, key=lambda name: (self._copies_to[name], self._copied_to[name]))
        self._copies_to[node] += 1
        self._copied_to[node] += 1
        order = self._order(number, node, self._sorted[number].partition.records)
        copied = job.crew.run(node, node_tasks.write_partition, records, order)
        self._flight.add(copied, partial(self._copied, number, node), node=node, sources=(source,))

    def _copied(self, number: int, node: str, copied: Any) -> None:
        self._copies_to[node] -= 1
        if copied is LOST:
            self._give_up(number)
            return
        first = self._sorted[number].partition
        if copied.partition.checksum != first.checksum or copied.summary != self._sorted[number].summary:
            raise IoFailureError(f"the copy {copied.partition.uri} differs from {first.uri}, which it was made of")
        size = copied.written_bytes
        self._job.moved.replica_written += size
        self._job.moved.crossed_network += size
        both = replace(first, copies=(*first.copies, *copied.partition.copies))
        self._finish(number, replace(self._sorted[number], partition=both))

    def _finish(self, number: int, found: Sorted) -> None:
        kept = found.partition.without_nodes(self._job.crew.lost)
        self._under_way.pop(number, None)
        if kept.copies:
            self._job.ledger.done[number] = (kept, found.summary)
            self._job.journal.finished(number, kept, found.summary)

    def _give_up(self, number: int) -> None:
        """Leave a partition to the next round: its owner, or the node of its copy, has gone."""
        self._under_way.pop(number, None)
        self._job.retries += 1
        self._job.notice_losses(at_once=True)

    def _restore_copy(self, number: int, *, source: str) -> None:
        """Copy a finished partition anew that has lost a copy with its node."""
        partition, summary = self._job.ledger.done[number]
        self._sorted[number] = Sorted(partition=partition, read_bytes=0, written_bytes=0, summary=summary)
        records = self._job.crew.run(source, node_tasks.read_partition, partition, self._job.request.source.layout)
        self._under_way[number] = source
        self._copy(number, records, source=source)

    def _tell(self) -> None:
        job = self._job
        done = sum(partition.records for partition, _ in job.ledger.done.values())
        job.emit(
            {
                "event": "progress",
                "phase": PHASE,
                "bytes_done": done * job.record_size,
                "bytes_total": job.request.source.bytes,
                "nodes": len(job.crew.names),
            }
        )
