"""Phase one: every slice is read, grouped by partition, sent, and written to the disks of the partitions' owners."""

from __future__ import annotations

import time
from collections import Counter, defaultdict, deque
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final

from planner.distributed_sort import node_tasks
from planner.distributed_sort.job import Job
from planner.distributed_sort.map_task import MapOrder, map_slice
from planner.distributed_sort.nodes import LOST
from planner.distributed_sort.partition_reader import nodes_with
from planner.distributed_sort.pending_tasks import Flight
from planner.distributed_sort.send_queue import Block, Lines, Parcel
from planner.distributed_sort.transfer_rates import Pace
from planner.errors import IoFailureError

PHASE: Final = "map and shuffle"
_MOST_ATTEMPTS: Final = 10
_MOST_UNDER_WAY: Final = 4
"""Times the slices that a node may hold: all that is left of one may be empty blocks, but these stand in line, too."""
_PROGRESS_EVERY_S: Final = 0.5
_WORTH_AVOIDING: Final = 1 / 3
"""Of what a slow node shall store, if that much is still to come: it would take longer than doing all of it again."""


@dataclass(kw_only=True)
class _UnderWay:
    """A slice: the node that groups it, how many of its blocks are not stored yet, and the bytes of these."""

    source: str
    left: int
    left_bytes: int
    is_grouping: bool = True


def shuffle(job: Job) -> None:
    """Run phase one for all that is missing. Raises IoFailureError when something cannot be had or written."""
    with job.stretch(PHASE):
        Shuffle(job).run()


class Shuffle:
    """Keeps a few slices of every node under way until nothing is missing; one to begin with, then one more
    for each that is grouped, so that links need not wait until several are grouped side by side.
    """

    def __init__(self, job: Job) -> None:
        self._job = job
        self._flight = Flight(job.ray, job.crew)
        self._queues: dict[str, deque[int]] = defaultdict(deque)
        self._under_way: dict[int, _UnderWay] = {}  # by slice
        self._attempts: Counter[int] = Counter()
        self._told_at = 0.0
        self._lines = Lines(store_bytes=min(job.crew.store_bytes.values()), parcel_bytes=job.sizes.parcel_bytes)
        self._grouped: Counter[str] = Counter()  # slices by node
        self._pace = Pace()
        self._judged: set[str] = set()

    def run(self) -> None:
        """Do it, and cancel what is under way if it fails."""
        self._tell()
        try:
            self._enqueue(self._job.ledger.slices_missing())
            while self._submit() or self._under_way:
                self._send()
                if self._flight:
                    self._flight.land()
                self._heed_losses()
                if time.monotonic() - self._told_at >= _PROGRESS_EVERY_S:
                    self._heed_slow_nodes()
                    self._tell()
        except BaseException:
            self._flight.abandon()
            raise
        self._tell()

    def _heed_losses(self, *, at_once: bool = False) -> bool:
        """Queue everything anew when nodes have gone, whose queues nobody would empty; say whether any has."""
        if not self._job.notice_losses(at_once=at_once):
            return False
        self._queues.clear()
        self._enqueue([number for number in self._job.ledger.slices_missing() if number not in self._under_way])
        return True

    def _heed_slow_nodes(self) -> None:
        """Report nodes that are much slower than the others; go on without them if much is still to come to them."""
        job, at_s = self._job, time.monotonic()
        self._pace.excuse(job.crew.have_come, at_s=at_s)
        unjudged = [name for name in job.crew.names if name not in self._judged]
        for drop in self._pace.slow(unjudged, at_s=at_s):
            self._judged.add(drop.node)
            is_early = not job.ledger.done and job.ledger.share_missing(drop.node) > _WORTH_AVOIDING
            is_avoided = is_early and job.avoid(drop)
            job.slow_nodes[drop.node] = f"{drop.reason}, {'left out' if is_avoided else 'kept'}"
            job.emit({"event": "slow", "node": drop.node, "reason": job.slow_nodes[drop.node]})
            if is_avoided:
                self._queues.clear()
                self._enqueue([number for number in job.ledger.slices_missing() if number not in self._under_way])

    def _enqueue(self, numbers: list[int]) -> None:
        """Queue slices at a node that has their input; '' is the queue of those that any node can read."""
        for number in numbers:
            nodes = nodes_with(self._job.input_of(self._job.slices[number]))
            self._queues[min(nodes, key=lambda node: len(self._queues[node]))].append(number)

    def _submit(self) -> bool:
        """Start what there is room for; say whether anything is still queued."""
        for node, room in self._room().items():
            begun = 0
            while begun < room and (queue := self._queues[node] or self._queues[""]):
                begun += self._begin(queue.popleft(), node)
        return any(self._queues.values())

    def _room(self) -> dict[str, int]:
        """Return how many slices each node may begin: as its store has room for, beside what it holds, or is about to,
        and has not left it; as it may group; and not so many that empty blocks pile up.
        """
        sizes, most_grouping = self._job.sizes, self._job.crew.concurrency.maps
        slice_bytes = sizes.slice_records * self._job.record_size
        held_bytes, under_way, grouping = Counter[str](), Counter[str](), Counter[str]()
        for each in self._under_way.values():
            held_bytes[each.source] += each.left_bytes
            under_way[each.source] += 1
            grouping[each.source] += each.is_grouping
        return {
            node: min(
                (min(sizes.slices, 1 + self._grouped[node]) * slice_bytes - held_bytes[node]) // slice_bytes,
                most_grouping - grouping[node],
                _MOST_UNDER_WAY * sizes.slices - under_way[node],
            )
            for node in self._job.crew.names
        }

    def _begin(self, number: int, node: str) -> bool:
        """Start the map task of a slice, whose blocks will then stand in line; say whether there was need."""
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
            threads=job.crew.threads(node),
            sums=job.request.sums_input,
        )
        mapped, *blocks = job.crew.run(
            node,
            map_slice,
            order,
            job.splitting_reference,
            returns=1 + len(missing),
            firmly=nodes_with(source) != [""] and source.recipe is None,
        )
        standing = [
            Block(slice=slice_, source=node, owner=owner, first=first, end=end, records=block)
            for block, (owner, first, end) in zip(blocks, missing, strict=True)
        ]
        self._under_way[number] = _UnderWay(source=node, left=len(blocks), left_bytes=slice_.records * job.record_size)
        self._flight.add(mapped, partial(self._mapped, number, standing), node=node)
        return True

    def _mapped(self, number: int, blocks: list[Block], mapped: Any) -> None:
        under_way = self._under_way[number]
        under_way.is_grouping = False
        if mapped is LOST:
            for block in blocks:
                self._ended(block)
            return
        under_way.left_bytes = sum(mapped.sizes.values())
        self._grouped[under_way.source] += 1
        self._job.moved.input_read += mapped.read_bytes
        self._job.moved.input_remade += mapped.remade_bytes
        self._job.input_checksums[number] = mapped.checksum
        for grouped in blocks:
            block = replace(grouped, source=mapped.node, size_bytes=mapped.sizes[grouped.first])
            if block.first in mapped.stored:
                self._record((block,), mapped.stored[block.first])
                self._ended(block)
            else:
                self._lines.join(block)

    def _send(self) -> None:
        """Have owners pull and store the parcels whose turn it is; blocks of nodes that have gone are for nobody."""
        for block in self._lines.leave(self._job.crew.lost):
            self._ended(block)
        for parcel in self._lines.next():
            self._pace.began(parcel, at_s=time.monotonic())
            owner, first, slices = parcel[0].owner, parcel[0].first, [block.slice.number for block in parcel]
            records = [block.records for block in parcel]
            stored = self._job.crew.run(owner, node_tasks.store, self._job.files, first, slices, *records)
            sources = {block.source for block in parcel}
            self._flight.add(stored, partial(self._stored, parcel), node=owner, sources=sources)

    def _stored(self, parcel: Parcel, stored: Any) -> None:
        """Note what an owner stored; what was lost, or stored beside it by a task repeated, is sent or made again."""
        self._lines.done(parcel)
        if stored is LOST and self._job.crew.lost.isdisjoint(
            name for block in parcel for name in (block.source, block.owner)
        ):
            self._heed_losses(at_once=True)  # with a node that nobody knows of yet, or with a process
        sizes = {} if stored is LOST else self._record(parcel, stored)
        for block in parcel:
            size = sizes.get(block.slice.number, 0)
            self._job.moved.crossed_network += size
            self._pace.ended(block, size_bytes=size, at_s=time.monotonic())
            if stored is LOST and not block.again and not self._job.crew.lost & {block.source, block.owner}:
                self._lines.join(replace(block, again=True))
            else:
                self._ended(block)

    def _record(self, parcel: Parcel, stored: node_tasks.Stored) -> dict[int, int]:
        """Note that blocks lie on their owner's disk and return the bytes of each slice; none of it counts where the
        owner has gone since, whose partitions have new owners.
        """
        if parcel[0].owner in self._job.crew.lost:
            return {}
        self._job.moved.intermediate_written += stored.written_bytes
        for number, counts in stored.counts.items():
            self._job.ledger.record(slice_number=number, first=parcel[0].first, counts=counts)
        return {number: int(counts.sum()) * self._job.record_size for number, counts in stored.counts.items()}

    def _ended(self, block: Block) -> None:
        """Note that a block was stored or lost; after the last one, what is missing of the slice is queued again."""
        number = block.slice.number
        under_way = self._under_way[number]
        under_way.left -= 1
        under_way.left_bytes -= block.size_bytes
        if under_way.left:
            return
        del self._under_way[number]
        if self._job.ledger.missing_ranges(number) and not self._heed_losses(at_once=True):
            self._enqueue([number])

    def _tell(self) -> None:
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
