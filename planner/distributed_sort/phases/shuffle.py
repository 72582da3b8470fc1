"""Phase one: every slice is read, grouped by partition, sent, and written to the disks of the partitions' owners."""

from __future__ import annotations

import time
from collections import Counter, defaultdict, deque
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, Final

from planner.distributed_sort.dataset.partition_reader import Slice, nodes_with
from planner.distributed_sort.exchange.parcels import Block, Parcel, TransferRates, pack
from planner.distributed_sort.exchange.segments import SegmentNames
from planner.distributed_sort.job.job import Job
from planner.distributed_sort.job.nodes import LOST
from planner.distributed_sort.job.pending_tasks import PendingTasks
from planner.distributed_sort.node_tasks.node_tasks import MapOrder, Stored, map_slice
from planner.errors import InputChangedError, IoFailureError
from planner.sort_policy.concurrency import ActiveMaps
from planner.sort_policy.send_queue import SendQueue

PHASE: Final = "map and shuffle"
_AT_ONCE: Final = 2
"""Attempts that follow each other at once; then the pause doubles each time."""
_LONGEST_PAUSE_S: Final = 30.0


class PausedSlices:
    """Slices by number, and the times when each may be grouped again."""

    def __init__(self) -> None:
        self._until_s: dict[int, float] = {}

    def __len__(self) -> int:
        return len(self._until_s)

    def add(self, number: int, *, attempts: int) -> None:
        """Pause a slice after `attempts` attempts."""
        pause_s = min(2.0 ** (attempts - _AT_ONCE - 1), _LONGEST_PAUSE_S) if attempts > _AT_ONCE else 0.0
        self._until_s[number] = time.monotonic() + pause_s

    def pop_ready(self) -> list[int]:
        """Remove and return the slices whose pause is over."""
        now_s = time.monotonic()
        numbers = [number for number, until_s in self._until_s.items() if now_s >= until_s]
        for number in numbers:
            del self._until_s[number]
        return numbers

    def clear(self) -> None:
        """Remove all slices."""
        self._until_s.clear()


@dataclass(kw_only=True)
class ActiveSlice:
    """The node that groups a slice, the segment, the number of blocks not yet stored, and their bytes.

    If `is_disturbed`, some of it was lost on the way, so that its segment may still be read.
    """

    source: str
    segment: str
    left: int
    left_bytes: int
    is_grouping: bool = True
    is_disturbed: bool = False


_MOST_ATTEMPTS: Final = 10
_MOST_FAILURES: Final = 3
"""Most failures of a slice that cannot be read: each holder of its input is tried in turn, and a single one again."""
_IDLE_S: Final = 0.1
_PROGRESS_EVERY_S: Final = 0.5
_CHECK_SHARE: Final = 0.05
"""Largest share of the driver's time to look for slow nodes: it compares all blocks under way."""


class Shuffle:
    """Keeps a few slices of every node under way until nothing is missing. `tasks` may be shared with phase two."""

    name: ClassVar = PHASE

    def __init__(self, job: Job, tasks: PendingTasks | None = None) -> None:
        self._job = job
        self._tasks = job.pending_tasks() if tasks is None else tasks
        self._lost = job.nodes.lost
        self._queues: dict[str, deque[int]] = defaultdict(deque)
        self._paused = PausedSlices()
        self._in_progress: dict[int, ActiveSlice] = {}  # by slice
        self._attempts: Counter[int] = Counter()
        self._segments = SegmentNames()
        self._failed_on: dict[int, list[str]] = defaultdict(list)  # nodes that could not group a slice, by slice
        self._reported_at_s = self._next_check_at_s = 0.0
        store_bytes = min(job.nodes.store_bytes.values()) // job.coordinators
        self._send_queue = SendQueue[Block](
            store_bytes=store_bytes, parcel_bytes=job.sizes.parcel_bytes, least_bytes=job.sizes.least_parcel_bytes
        )
        self._is_begun = self.is_over = False
        self._grouped: Counter[str] = Counter()  # slices by node
        self._transfer_rates = TransferRates(most_partners=len(job.members or job.nodes.names))
        self._judged: set[str] = set()

    def run(self, *, until: Callable[[], bool] = lambda: False, meanwhile: Callable[[], None] = lambda: None) -> bool:
        """Continue until nothing is missing, or `until` returns True, and return whether nothing is missing.
        `meanwhile` may begin other tasks. Cancels the running tasks if it fails.
        """
        self._report()
        try:
            if not self._is_begun:
                self._enqueue(self._job.ledger.missing_slices())
                self._is_begun = True
            while self._submit() or self._in_progress or self._paused:
                self._send()
                meanwhile()
                if self._tasks:
                    self._tasks.wait()
                else:
                    time.sleep(_IDLE_S)
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

    @staticmethod
    def records_done(job: Job) -> int:
        """Return the records that owners stored."""
        return job.ledger.stored_records

    def cancel(self) -> None:
        """Cancel the running tasks, best effort."""
        self._tasks.cancel_all()

    def _handle_losses(self, *, at_once: bool = False) -> bool:
        """Queue all missing slices again when nodes are lost, and return whether any is: a lost node's queue would
        never be emptied. Others may have noticed the loss.
        """
        self._job.notice_losses(at_once=at_once)
        if self._job.nodes.lost == self._lost:
            return False
        self._lost = self._job.nodes.lost
        self._enqueue_all()
        return True

    def _check_speeds(self) -> None:
        """Look for slow nodes, unless that would take much of the driver's time."""
        if (at_s := time.monotonic()) >= self._next_check_at_s:
            self._handle_slow_nodes()
            self._next_check_at_s = time.monotonic() + (time.monotonic() - at_s) / _CHECK_SHARE

    def _handle_slow_nodes(self) -> None:
        """Report nodes that are much slower than the others, and leave them out if much is still to come to them."""
        job, at_s = self._job, time.monotonic()
        self._transfer_rates.excuse(job.nodes.have_arrived, at_s=at_s)
        unjudged = [name for name in job.nodes.names if name not in self._judged]
        for drop in self._transfer_rates.slow_nodes(unjudged, at_s=at_s):
            self._judged.add(drop.node)
            if job.report_slow_node(drop):
                self._enqueue_all()

    def _enqueue_all(self) -> None:
        self._queues.clear()
        self._paused.clear()
        self._enqueue([number for number in self._job.ledger.missing_slices() if number not in self._in_progress])

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
        """Start as many slices as there is room for, and return whether any is still queued."""
        self._enqueue(self._paused.pop_ready())
        for node, startable_slices in self._startable_slices().items():
            begun = 0
            while begun < startable_slices and (queue := self._queues[node] or self._queues[""]):
                begun += self._begin(queue.popleft(), node)
        return any(self._queues.values())

    def _startable_slices(self) -> dict[str, int]:
        """Return the number of slices that each node may begin."""
        sizes, concurrency = self._job.sizes, self._job.nodes.concurrency
        slice_bytes = sizes.slice_records * self._job.record_size
        nodes = {name: ActiveMaps(grouped=self._grouped[name]) for name in self._job.members or self._job.nodes.names}
        for slice_ in self._in_progress.values():
            if (node := nodes.get(slice_.source)) is not None:
                node.held_bytes += slice_.left_bytes
                node.slices += 1
                node.grouping += slice_.is_grouping
        return {
            name: node.startable_slices(concurrency, slices=sizes.slices, slice_bytes=slice_bytes)
            for name, node in nodes.items()
        }

    def _begin(self, number: int, node: str) -> bool:
        """Start the map task of a slice, whose blocks are then queued; return whether anything was missing."""
        job, slice_ = self._job, self._job.slices[number]
        missing = job.ledger.missing_ranges(number)
        if not missing:
            return False
        self._attempts[number] += 1
        if self._attempts[number] > _MOST_ATTEMPTS:
            raise IoFailureError(
                f"slice {number} of the input failed {_MOST_ATTEMPTS} times on {node}", code="attempts-failed"
            )
        job.retries += self._attempts[number] > 1
        source = job.input_of(slice_)
        order = MapOrder(
            slice=slice_,
            partition=source,
            layout=job.source.layout,
            files=job.files,
            ranges=tuple(missing),
            segment=self._segments.take(node),
            dropped=self._segments.pop_retired(node),
            reserve_bytes=job.nodes.store_bytes[node],
            threads=job.nodes.threads(node),
            sums=job.request.sums_input,
            memory_bytes=job.sizes.sort_bytes,
        )
        is_firm = nodes_with(source) != [""] and source.recipe is None
        mapped = job.nodes.run(node, map_slice, order, job.splitting_reference, firmly=is_firm)
        self._in_progress[number] = ActiveSlice(
            source=node, segment=order.segment, left=len(missing), left_bytes=slice_.records * job.record_size
        )
        on_failure = partial(self._on_map_failure, number, node, order)
        self._tasks.add(mapped, partial(self._on_mapped, slice_, missing), node=node, on_failure=on_failure)
        return True

    def _on_map_failure(self, number: int, node: str, order: MapOrder, error: IoFailureError) -> None:
        """Have a slice grouped again, preferably by another node that holds its input. Raises the error of the last
        try.
        """
        if isinstance(error, InputChangedError):
            raise error
        self._failed_on[number].append(node)
        if len(self._failed_on[number]) == _MOST_FAILURES:
            raise error
        self._job.on_unreadable_input(order.slice.partition, node, order.partition, error)
        self._release_blocks(
            number, blocks=self._in_progress[number].left, size_bytes=self._in_progress[number].left_bytes
        )

    def _on_mapped(self, slice_: Slice, ranges: list[tuple[str, int, int]], mapped: Any) -> None:
        number = slice_.number
        in_progress = self._in_progress[number]
        in_progress.is_grouping = False
        if mapped is LOST:
            in_progress.is_disturbed = True
            self._release_blocks(number, blocks=in_progress.left, size_bytes=in_progress.left_bytes)
            return
        self._job.note_content(mapped.content_checksum)
        in_progress.left_bytes = sum(mapped.sizes.values())
        in_progress.is_disturbed = mapped.node != in_progress.source  # the segment is on another node
        self._grouped[in_progress.source] += 1
        self._job.moved.input_read += mapped.read_bytes
        self._job.moved.input_remade += mapped.remade_bytes
        self._job.input_checksums[number] = mapped.checksum
        source, segment, sizes, offsets = mapped.node, in_progress.segment, mapped.sizes, mapped.offsets
        stored, add = mapped.stored, self._send_queue.add
        for owner, first, end in ranges:
            if first in stored:
                self._record((Block(slice_, source, owner, first, end, sizes[first]),), stored[first])
                self._release_blocks(number, size_bytes=sizes[first])
            else:
                add(Block(slice_, source, owner, first, end, sizes[first], segment, offsets[first]))

    def _send(self) -> None:
        """Have owners pull and store the parcels that may go now; blocks from and to lost nodes are dropped."""
        for block in self._send_queue.remove_lost(self._job.nodes.lost):
            self._drop_block(block)
        expects_more = any(slice_.is_grouping for slice_ in self._in_progress.values())
        for parcel in self._send_queue.next(expects_more=expects_more):
            self._transfer_rates.record_start(parcel, at_s=time.monotonic())
            owner, first = parcel[0].owner, parcel[0].first
            stored = self._job.nodes.call(owner, "store", self._job.files, first, pack(parcel, self._job.nodes.address))
            sources = {block.source for block in parcel}
            self._tasks.add(stored, partial(self._on_stored, parcel), node=owner, sources=sources, is_call=True)

    def _on_stored(self, parcel: Parcel, stored: Any) -> None:
        """Note the blocks that an owner stored; have missing ones sent once more, or made again."""
        self._send_queue.release(parcel)
        lost = self._job.nodes.lost
        if stored is LOST and lost.isdisjoint(name for block in parcel for name in (block.source, block.owner)):
            self._handle_losses(at_once=True)  # a node whose loss is not known yet, or a process
        numbers = frozenset() if stored is LOST else self._record(parcel, stored)
        self._transfer_rates.record_end(parcel, arrived_blocks=numbers, at_s=time.monotonic())
        arrived_blocks = (
            parcel if len(numbers) == len(parcel) else [block for block in parcel if block.slice.number in numbers]
        )
        for block in arrived_blocks:
            self._release_blocks(block.slice.number, size_bytes=block.size_bytes)
        self._job.moved.crossed_network += sum(block.size_bytes for block in arrived_blocks)
        if arrived_blocks is not parcel:
            self._handle_missing_blocks([block for block in parcel if block.slice.number not in numbers])

    def _handle_missing_blocks(self, missed: list[Block]) -> None:
        """Have missing blocks sent once more, or made again."""
        for source in {block.source for block in missed if not block.is_retry} - self._job.nodes.lost:
            self._job.nodes.ask_address(source)
        for block in missed:
            self._on_block_missing(block)

    def _on_block_missing(self, block: Block) -> None:
        """Have a block sent once more; after a second failure, or if its node is lost, it is made again."""
        if block.is_retry or self._job.nodes.lost & {block.source, block.owner}:
            self._drop_block(block)
            return
        self._in_progress[block.slice.number].is_disturbed = True
        self._send_queue.add(block._replace(is_retry=True))

    def _drop_block(self, block: Block) -> None:
        self._in_progress[block.slice.number].is_disturbed = True
        self._release_blocks(block.slice.number, size_bytes=block.size_bytes)

    def _record(self, parcel: Parcel, stored: Stored) -> frozenset[int]:
        """Note that blocks lie on their owner's disk and return their slices.

        Nothing counts if the owner was lost since, because its partitions have new owners.
        """
        if parcel[0].owner in self._job.nodes.lost:
            return frozenset()
        self._job.moved.intermediate_written += stored.written_bytes
        arrived_blocks, size = frozenset(stored.slices), self._job.record_size
        records = {
            number: block.size_bytes // size for block in parcel if (number := block.slice.number) in arrived_blocks
        }
        self._job.ledger.record(records, first=parcel[0].first, end=parcel[0].end)
        return arrived_blocks

    def _release_blocks(self, number: int, *, size_bytes: int, blocks: int = 1) -> None:
        """Note that blocks of a slice were stored or lost; after the last, queue the slice again if any is missing."""
        in_progress = self._in_progress[number]
        in_progress.left -= blocks
        in_progress.left_bytes -= size_bytes
        if in_progress.left:
            return
        del self._in_progress[number]
        self._segments.release_segment(in_progress.source, in_progress.segment, is_stored=not in_progress.is_disturbed)
        if self._job.ledger.is_missing(number) and not self._handle_losses(at_once=True):
            self._paused.add(number, attempts=self._attempts[number])

    def _report(self) -> None:
        self._reported_at_s = time.monotonic()
        self._job.report_progress(PHASE, records=self.records_done(self._job))
