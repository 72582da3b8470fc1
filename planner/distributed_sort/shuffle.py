"""Phase one: every slice is read, grouped by partition, sent, and written to the disks of the partitions' owners."""

from __future__ import annotations

import time
from collections import Counter, defaultdict, deque
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from planner.distributed_sort import node_tasks
from planner.distributed_sort.job import Job
from planner.distributed_sort.map_task import MapOrder, map_slice
from planner.distributed_sort.nodes import LOST
from planner.distributed_sort.parcels import Block, Parcel
from planner.distributed_sort.partition_reader import Slice, nodes_with
from planner.distributed_sort.pending_tasks import PendingTasks
from planner.distributed_sort.transfer_rates import TransferRates
from planner.errors import IoFailureError
from planner.sort_policy.send_queue import SendQueue
from planner.sort_policy.turns import MapsUnderWay

PHASE: Final = "map and shuffle"
_MOST_ATTEMPTS: Final = 10
_MOST_FAILURES: Final = 3
"""Of a slice that cannot be read: each holder of its input is asked in turn, and one that is alone again."""
_PROGRESS_EVERY_S: Final = 0.5
_CHECK_SHARE: Final = 0.05
"""Of the driver's time, at most, to look for slow nodes: it compares all blocks under way."""


@dataclass(kw_only=True)
class _UnderWay:
    """A slice: the node that groups it, how many of its blocks are not stored yet, and their bytes."""

    source: str
    left: int
    left_bytes: int
    is_grouping: bool = True


class Shuffle:
    """Keeps a few slices of every node under way until nothing is missing."""

    def __init__(self, job: Job) -> None:
        self._job = job
        self._tasks = PendingTasks(job.ray, job.nodes)
        self._queues: dict[str, deque[int]] = defaultdict(deque)
        self._under_way: dict[int, _UnderWay] = {}  # by slice
        self._attempts: Counter[int] = Counter()
        self._failed_on: dict[int, list[str]] = defaultdict(list)  # nodes by slice that they could not group
        self._reported_at_s = self._next_check_at_s = 0.0
        store_bytes = min(job.nodes.store_bytes.values()) // job.coordinators
        self._send_queue = SendQueue[Block](
            store_bytes=store_bytes, parcel_bytes=job.sizes.parcel_bytes, least_bytes=job.sizes.least_parcel_bytes
        )
        self._is_begun = self.is_over = False
        self._grouped: Counter[str] = Counter()  # slices by node
        self._transfer_rates = TransferRates(most_partners=len(job.members or job.nodes.names))
        self._judged: set[str] = set()

    def run(self, *, until: Callable[[], bool] = lambda: False) -> bool:
        """Go on until nothing is missing, or `until` says so, and say whether nothing is missing. Cancels what is under
        way if it fails.
        """
        self._report()
        try:
            if not self._is_begun:
                self._enqueue(self._job.ledger.slices_missing())
                self._is_begun = True
            while self._submit() or self._under_way:
                self._send()
                if self._tasks:
                    self._tasks.wait()
                self._handle_losses()
                if time.monotonic() - self._reported_at_s >= _PROGRESS_EVERY_S:
                    self._check_speeds()
                    self._report()
                if until():
                    return False
        except BaseException:
            self.cancel()
            raise
        self._report()
        self.is_over = True
        return True

    def cancel(self) -> None:
        """Cancel what is under way, best effort."""
        self._tasks.cancel_all()

    def _handle_losses(self, *, at_once: bool = False) -> bool:
        """Queue all missing slices again when nodes are lost, and say whether any is; nobody would empty a lost node's
        queue.
        """
        if not self._job.notice_losses(at_once=at_once):
            return False
        self._queues.clear()
        self._enqueue([number for number in self._job.ledger.slices_missing() if number not in self._under_way])
        return True

    def _check_speeds(self) -> None:
        """Look for slow nodes, unless that would take much of the driver's time."""
        if (at_s := time.monotonic()) >= self._next_check_at_s:
            self._handle_slow_nodes()
            self._next_check_at_s = time.monotonic() + (time.monotonic() - at_s) / _CHECK_SHARE

    def _handle_slow_nodes(self) -> None:
        """Report nodes that are much slower than the others, and leave them out if much is still to come to them."""
        job, at_s = self._job, time.monotonic()
        self._transfer_rates.excuse(job.nodes.have_come, at_s=at_s)
        unjudged = [name for name in job.nodes.names if name not in self._judged]
        for drop in self._transfer_rates.slow(unjudged, at_s=at_s):
            self._judged.add(drop.node)
            if job.judge(drop):
                self._queues.clear()
                self._enqueue([number for number in job.ledger.slices_missing() if number not in self._under_way])

    def _enqueue(self, numbers: list[int]) -> None:
        """Queue slices at a node that holds their input; '' is the queue of slices that any node can read."""
        members = self._job.members
        for number in numbers:
            holders = nodes_with(self._job.input_of(self._job.slices[number]))
            if members:
                holders = [name for name in holders if name in members or not name]
            failed = self._failed_on.get(number, [])
            self._queues[min(holders, key=lambda node: (failed.count(node), len(self._queues[node])))].append(number)

    def _submit(self) -> bool:
        """Start what there is room for; say whether anything is still queued."""
        for node, room in self._room().items():
            begun = 0
            while begun < room and (queue := self._queues[node] or self._queues[""]):
                begun += self._begin(queue.popleft(), node)
        return any(self._queues.values())

    def _room(self) -> dict[str, int]:
        """Return how many slices each node may begin."""
        sizes, concurrency = self._job.sizes, self._job.nodes.concurrency
        slice_bytes = sizes.slice_records * self._job.record_size
        nodes = {name: MapsUnderWay(grouped=self._grouped[name]) for name in self._job.members or self._job.nodes.names}
        for slice_ in self._under_way.values():
            if (node := nodes.get(slice_.source)) is not None:
                node.held_bytes += slice_.left_bytes
                node.slices += 1
                node.grouping += slice_.is_grouping
        return {
            name: node.room(concurrency, slices=sizes.slices, slice_bytes=slice_bytes) for name, node in nodes.items()
        }

    def _begin(self, number: int, node: str) -> bool:
        """Start the map task of a slice, whose blocks are then queued; say whether anything was missing."""
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
            files=job.files,
            ranges=tuple(missing),
            threads=job.nodes.threads(node),
            sums=job.request.sums_input,
        )
        mapped, *blocks = job.nodes.run(
            node,
            map_slice,
            order,
            job.splitting_reference,
            returns=1 + len(missing),
            firmly=nodes_with(source) != [""] and source.recipe is None,
        )
        self._under_way[number] = _UnderWay(source=node, left=len(blocks), left_bytes=slice_.records * job.record_size)
        self._tasks.add(
            mapped,
            partial(self._mapped, slice_, missing, blocks),
            node=node,
            on_failure=partial(self._not_mapped, number, node),
        )
        return True

    def _not_mapped(self, number: int, node: str, error: IoFailureError) -> None:
        """Have a slice grouped again, best by another node that holds its input. Raises the error of the last try."""
        self._failed_on[number].append(node)
        if len(self._failed_on[number]) == _MOST_FAILURES:
            raise error
        self._ended(number, blocks=self._under_way[number].left, size_bytes=self._under_way[number].left_bytes)

    def _mapped(self, slice_: Slice, ranges: list[tuple[str, int, int]], blocks: list[Any], mapped: Any) -> None:
        number = slice_.number
        under_way = self._under_way[number]
        under_way.is_grouping = False
        if mapped is LOST:
            self._ended(number, blocks=under_way.left, size_bytes=under_way.left_bytes)
            return
        under_way.left_bytes = sum(mapped.sizes.values())
        self._grouped[under_way.source] += 1
        self._job.moved.input_read += mapped.read_bytes
        self._job.moved.input_remade += mapped.remade_bytes
        self._job.input_checksums[number] = mapped.checksum
        source, sizes, stored, add = mapped.node, mapped.sizes, mapped.stored, self._send_queue.add
        for (owner, first, end), records in zip(ranges, blocks, strict=True):
            block = Block(slice_, source, owner, first, end, sizes[first], records)
            if first in stored:
                self._record((block,), stored[first])
                self._ended(number, size_bytes=block.size_bytes)
            else:
                add(block)

    def _send(self) -> None:
        """Have owners pull and store the parcels that may go now; blocks from and to lost nodes are dropped."""
        for block in self._send_queue.remove_lost(self._job.nodes.lost):
            self._ended(block.slice.number, size_bytes=block.size_bytes)
        more_to_come = any(slice_.is_grouping for slice_ in self._under_way.values())
        for parcel in self._send_queue.next(more_to_come=more_to_come):
            self._transfer_rates.began(parcel, at_s=time.monotonic())
            owner, first, slices = parcel[0].owner, parcel[0].first, [block.slice.number for block in parcel]
            records = [block.records for block in parcel]
            stored = self._job.nodes.run(owner, node_tasks.store, self._job.files, first, slices, *records)
            sources = {block.source for block in parcel}
            self._tasks.add(stored, partial(self._stored, parcel), node=owner, sources=sources)

    def _stored(self, parcel: Parcel, stored: Any) -> None:
        """Note what an owner stored; send lost blocks once more, or have them made again."""
        self._send_queue.done(parcel)
        if stored is LOST and self._job.nodes.lost.isdisjoint(
            name for block in parcel for name in (block.source, block.owner)
        ):
            self._handle_losses(at_once=True)  # a node whose loss is not known yet, or a process
        came = frozenset() if stored is LOST else self._record(parcel, stored)
        self._transfer_rates.ended(parcel, came=came, at_s=time.monotonic())
        self._job.moved.crossed_network += sum(block.size_bytes for block in parcel if block.slice.number in came)
        for block in parcel:
            if stored is LOST and not block.again and not self._job.nodes.lost & {block.source, block.owner}:
                self._send_queue.add(block._replace(again=True))
            else:
                self._ended(block.slice.number, size_bytes=block.size_bytes)

    def _record(self, parcel: Parcel, stored: node_tasks.Stored) -> frozenset[int]:
        """Note that blocks lie on their owner's disk and return the slices that they are of.

        Nothing counts if the owner was lost since, because its partitions have new owners.
        """
        if parcel[0].owner in self._job.nodes.lost:
            return frozenset()
        self._job.moved.intermediate_written += stored.written_bytes
        came, size = frozenset(stored.slices), self._job.record_size
        records = {number: block.size_bytes // size for block in parcel if (number := block.slice.number) in came}
        self._job.ledger.record(records, first=parcel[0].first, end=parcel[0].end)
        return came

    def _ended(self, number: int, *, size_bytes: int, blocks: int = 1) -> None:
        """Note that blocks of a slice were stored or lost; after its last one, queue the slice again if any of it is
        missing.
        """
        under_way = self._under_way[number]
        under_way.left -= blocks
        under_way.left_bytes -= size_bytes
        if under_way.left:
            return
        del self._under_way[number]
        if self._job.ledger.is_missing(number) and not self._handle_losses(at_once=True):
            self._enqueue([number])

    def _report(self) -> None:
        self._reported_at_s = time.monotonic()
        self._job.report_progress(PHASE, records=self._job.ledger.stored_records)
