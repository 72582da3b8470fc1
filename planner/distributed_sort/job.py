"""What a cluster sort is asked to do, and the state that its phases share."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from planner.distributed_sort.dataset import Dataset, Partition
from planner.distributed_sort.ledger import Journal, Ledger
from planner.distributed_sort.node_environment import JobFiles
from planner.distributed_sort.nodes import LOST, Crew
from planner.distributed_sort.partition_reader import Slice
from planner.distributed_sort.partitioning import Splitting
from planner.distributed_sort.sizing import Sizes
from planner.errors import IoFailureError
from planner.statistics.slow_node_screening import Drop

Emit = Callable[[dict[str, Any]], None]
"""Told what happens, as JSON-able events."""


@dataclass(frozen=True, kw_only=True)
class SortRequest:
    """Sort `source` into the folder `output` of every node's disks, or below the prefix `output` of an object store
    (s3://bucket/prefix), each partition on `copies` nodes.

    `rates` are the nodes' speeds in any one unit; nodes not named count as the mean. `directory` is where nodes that
    were not told of their disks keep files. `uniform` trusts keys to be evenly spread over all values (Indy).
    `in_memory` keeps intermediate data in the nodes' memory (Minutesort). `sums_input` asks for the input's checksum.
    `avoid_slow` leaves out nodes that turn out much slower than the others, if these can do their work.
    """

    source: Dataset
    output: str
    copies: int = 1
    memory_bytes: int | None = None
    rates: dict[str, float] = field(default_factory=dict)
    directory: str = ""
    uniform: bool = False
    on_volume: bool = False
    in_memory: bool = False
    sums_input: bool = False
    avoid_slow: bool = True


@dataclass
class Moved:
    """Bytes that tasks reported, those of repetitions included."""

    sample_read: int = 0
    input_read: int = 0
    input_remade: int = 0
    intermediate_written: int = 0
    intermediate_read: int = 0
    output_written: int = 0
    replica_written: int = 0
    crossed_network: int = 0


@dataclass(kw_only=True)
class Job:
    """A running job. `seconds` sums the clock over each phase, `timeline` lists each stretch of them."""

    request: SortRequest
    ray: Any
    crew: Crew
    files: JobFiles
    sizes: Sizes
    slices: list[Slice]
    splitting: Splitting
    splitting_reference: Any
    ledger: Ledger
    journal: Journal
    emit: Emit
    samplers: dict[str, Any]
    moved: Moved = field(default_factory=Moved)
    input_checksums: dict[int, int] = field(default_factory=dict)
    """Of the slices that were read; the sum of all is that of the input."""
    retries: int = 0
    slow_nodes: dict[str, str] = field(default_factory=dict)
    """Nodes that were much slower than the others, and what came of it."""
    timeline: list[dict[str, Any]] = field(default_factory=list)
    began: float = field(default_factory=time.monotonic)
    began_at_s: float = field(default_factory=time.time)

    @property
    def record_size(self) -> int:
        """Bytes of a record."""
        return self.request.source.layout.record_size

    def input_of(self, slice_: Slice) -> Partition:
        """Return the partition that a slice is of, with the copies that are left."""
        return self.request.source.partitions[slice_.partition].reached_from(self.crew.names)

    def notice_losses(self, *, at_once: bool = False) -> frozenset[str]:
        """Strike out nodes that have gone, and return them. Raises IoFailureError naming input that went with them."""
        gone = self.crew.newly_lost(at_once=at_once)
        if gone:
            self.emit({"event": "lost", "nodes": sorted(gone), "left": self.crew.names})
            self.ledger.forget_nodes(gone, self.crew.names)
            self.journal.owners(self.ledger.owner)
            self.require_inputs()
        return gone

    def avoid(self, drop: Drop) -> bool:
        """Leave a slow node out if the others can do its work; say whether. What it had is done again elsewhere."""
        if not self.request.avoid_slow:
            return False
        node, left = drop.node, [name for name in self.crew.names if name != drop.node]
        copies = self.request.copies
        free_bytes = min((self.crew.facts[name].free_bytes for name in left), default=0)
        needed_bytes = self.request.source.bytes * (1 + copies) / max(1, len(left))
        partitions = [each.reached_from(left) for each in self.request.source.partitions]
        can_be_had = all(each.copies or each.recipe is not None for each in partitions)
        if len(left) < copies or needed_bytes > free_bytes or not can_be_had:
            return False
        self.crew.avoid(node)
        self.ledger.forget_nodes(frozenset({node}), self.crew.names)
        self.journal.owners(self.ledger.owner)
        return True

    def require_inputs(self) -> None:
        """Raise IoFailureError, naming each, when partitions of the input are still needed and cannot be had."""
        needed = {self.slices[number].partition for number in self.ledger.slices_missing()}
        partitions, here = self.request.source.partitions, self.crew.names
        lost = [
            partitions[number]
            for number in sorted(needed)
            if not partitions[number].reached_from(here).copies and partitions[number].recipe is None
        ]
        if lost:
            gone = ", ".join(sorted({copy.node for partition in lost for copy in partition.copies} - set(here)))
            found = [
                f"{each.uri} on {', '.join(copy.node for copy in each.copies)}: {each.records} records" for each in lost
            ]
            raise IoFailureError(f"lost with {gone}, and there is neither a copy nor a recipe to remake it", found)

    def usage(self) -> dict[str, list[dict[str, float]]]:
        """Return each node's samples since the job's beginning, from which times count; none of nodes that are lost."""
        asked = {name: self.samplers[name].samples.remote() for name in self.crew.names if name in self.samplers}
        found = {name: self.crew.awaited(reference, nodes=(name,)) for name, reference in asked.items()}
        return {
            name: [
                sample | {"at_s": sample["at_s"] - self.began_at_s}
                for sample in samples
                if sample["at_s"] > self.began_at_s
            ]
            for name, samples in found.items()
            if samples is not LOST
        }

    def stretch(self, phase: str) -> Stretch:
        """Return a context that notes when a stretch of a phase began and ended."""
        return Stretch(self, phase)

    def seconds(self, phase: str) -> float:
        """Return the clock's seconds in a phase so far."""
        return float(sum(each["end_s"] - each["start_s"] for each in self.timeline if each["phase"] == phase))


class Stretch:
    """Notes a stretch of a phase in the job's timeline, seconds counted from the job's beginning."""

    def __init__(self, job: Job, phase: str) -> None:
        self._job = job
        self._phase = phase

    def __enter__(self) -> None:
        self._start_s = time.monotonic() - self._job.began

    def __exit__(self, *_: object) -> None:
        end_s = time.monotonic() - self._job.began
        self._job.timeline.append({"phase": self._phase, "start_s": self._start_s, "end_s": end_s})
