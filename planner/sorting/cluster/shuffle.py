"""Phase one: every slice is read, grouped by partition, sent, and written to the disks of the partitions' owners."""

from __future__ import annotations

import time
from collections import Counter, defaultdict, deque
from functools import partial
from typing import Any, Final

from planner.errors import IoFailureError
from planner.sorting.cluster import tasks
from planner.sorting.cluster.crew import LOST
from planner.sorting.cluster.flight import Flight
from planner.sorting.cluster.job import Job
from planner.sorting.cluster.sources import Slice, nodes_with
from planner.sorting.cluster.tasks import MapOrder

PHASE: Final = "map and shuffle"
_MOST_ATTEMPTS: Final = 10
_PROGRESS_EVERY_S: Final = 0.5


def shuffle(job: Job) -> None:
    """Run phase one for all that is missing. Raises IoFailureError when something cannot be had or written."""
    with job.stretch(PHASE):
        Shuffle(job).run()


class Shuffle:
    """Keeps a few slices of every node under way until nothing is missing."""

    def __init__(self, job: Job) -> None:
        self._job = job
        self._flight = Flight(job.ray, job.crew)
        self._queues: dict[str, deque[int]] = defaultdict(deque)
        self._under_way: dict[int, tuple[str, int]] = {}  # slice: its source, tasks not yet ended
        self._attempts: Counter[int] = Counter()
        self._told_at = 0.0

    def run(self) -> None:
        """Do it, and cancel what is under way if it fails."""
        try:
            self._enqueue(self._job.ledger.slices_missing())
            while self._submit() or self._under_way:
                if self._flight:
                    self._flight.land()
                self._heed_losses()
                self._tell()
        except BaseException:
            self._flight.abandon()
            raise
        self._tell(at_once=True)

    def _heed_losses(self, *, at_once: bool = False) -> bool:
        """Queue everything anew when nodes have gone, whose queues nobody would empty; say whether any has."""
        if not self._job.notice_losses(at_once=at_once):
            return False
        self._queues.clear()
        self._enqueue([number for number in self._job.ledger.slices_missing() if number not in self._under_way])
        return True

    def _enqueue(self, numbers: list[int]) -> None:
        """Queue slices at a node that has their input; '' is the queue of those that any node can read."""
        for number in numbers:
            nodes = nodes_with(self._job.input_of(self._job.slices[number]))
            self._queues[min(nodes, key=lambda node: len(self._queues[node]))].append(number)

    def _submit(self) -> bool:
        """Start what there is room for; say whether anything is still queued."""
        busy = Counter(source for source, _ in self._under_way.values())
        most = self._job.crew.concurrency.slices
        for node in self._job.crew.names:
            while busy[node] < most and (queue := self._queues[node] or self._queues[""]):
                busy[node] += self._begin(queue.popleft(), node)
        return any(self._queues.values())

    def _begin(self, number: int, node: str) -> bool:
        """Start the map task of a slice and the store tasks that wait for its blocks; say whether there was need."""
        job, slice_ = self._job, self._job.slices[number]
        missing = job.ledger.missing_ranges(number)
        if not missing:
            return False
        self._attempts[number] += 1
        if self._attempts[number] > _MOST_ATTEMPTS:
            raise IoFailureError(f"slice {number} of the input failed {_MOST_ATTEMPTS} times on {node}")
        job.retries += self._attempts[number] > 1
        source = job.input_of(slice_)
        order = MapOrder(
            slice=slice_,
            partition=source,
            layout=job.request.source.layout,
            job=job.files.job,
            ranges=tuple((first, end) for _, first, end in missing),
            threads=job.crew.threads(node),
            sums=job.request.sums_input,
        )
        mapped, *blocks = job.crew.run(
            node,
            tasks.map_slice,
            order,
            job.splitting_reference,
            returns=1 + len(missing),
            firmly=nodes_with(source) != [""] and source.recipe is None,
        )
        self._under_way[number] = (node, 1 + len(blocks))
        self._flight.add(mapped, partial(self._mapped, number))
        for block, (owner, first, _) in zip(blocks, missing, strict=True):
            stored = job.crew.run(owner, tasks.store, block, job.files, number, first)
            self._flight.add(stored, partial(self._stored, slice_, owner, first))
        return True

    def _mapped(self, number: int, mapped: Any) -> None:
        if mapped is not LOST:
            self._job.moved.input_read += mapped.read_bytes
            self._job.moved.input_remade += mapped.remade_bytes
            self._job.input_checksums[number] = mapped.checksum
        self._one_ended(number)

    def _stored(self, slice_: Slice, owner: str, first: int, counts: Any) -> None:
        source, _ = self._under_way[slice_.number]
        # The owner may have gone after the task ended, or the partition may have a new owner already.
        if counts is not LOST and owner not in self._job.crew.lost:
            size = int(counts.sum()) * self._job.record_size
            self._job.moved.intermediate_written += size + counts.nbytes
            self._job.moved.crossed_network += 0 if source == owner else size
            self._job.ledger.record(slice_number=slice_.number, first=first, counts=counts)
        self._one_ended(slice_.number)

    def _one_ended(self, number: int) -> None:
        source, left = self._under_way.pop(number)
        if left > 1:
            self._under_way[number] = (source, left - 1)
        elif self._job.ledger.missing_ranges(number) and not self._heed_losses(at_once=True):
            self._enqueue([number])

    def _tell(self, *, at_once: bool = False) -> None:
        if not at_once and time.monotonic() - self._told_at < _PROGRESS_EVERY_S:
            return
        self._told_at = time.monotonic()
        job = self._job
        done, total = job.ledger.stored_records, job.request.source.records
        job.emit(
            {
                "event": "progress",
                "phase": PHASE,
                "bytes_done": done * job.record_size,
                "bytes_total": total * job.record_size,
                "nodes": len(job.crew.names),
            }
        )
