"""The request for a cluster sort, and the state that its phases share."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, Final

from planner.distributed_sort.dataset.dataset import Dataset, Partition
from planner.distributed_sort.dataset.object_store import is_object
from planner.distributed_sort.dataset.partition_reader import (
    Slice,
    UnreadableCopy,
    display_name,
    require_intact_copy,
    unreadable_copy,
)
from planner.distributed_sort.dataset.readable_input import with_decompressed_copies
from planner.distributed_sort.job.ledger import Journal, Ledger
from planner.distributed_sort.job.nodes import LOST, Nodes
from planner.distributed_sort.job.pending_tasks import PendingTasks
from planner.distributed_sort.job.waiting import WAIT_S, Emit, patience_s
from planner.distributed_sort.node_files.node_environment import JobFiles
from planner.errors import InputChangedError, IoFailureError
from planner.sort_policy.sizing import NODES_PER_COORDINATOR, Sizes
from planner.statistics.slow_node_screening import DroppedNode

_MOST_SUSPICIONS: Final = 3
"""How many times an input partition may be re-read from another source because a node could not read it."""
_WORTH_AVOIDING: Final = 1 / 3
"""Share of a slow node's data: if more than that is still to come, the node takes longer than redoing all of it
elsewhere.
"""

_UNEVEN: Final = 2
"""Largest ratio of a partition to its share."""


@dataclass(frozen=True, kw_only=True)
class SortRequest:
    """Sort `source` into the folder `output` of every node's disks, or below the prefix `output` of an object store
    (s3://bucket/prefix), each partition on `copies` nodes.

    `rates` are the nodes' speeds in any one unit; a node without one gets the mean. Nodes whose environment names no
    disks keep files in `directory`. `uniform` assumes that keys are spread evenly over all values (Indy). `in_memory`
    keeps intermediate data in the nodes' memory (Minutesort). `sums_input` requests the input's checksum. `avoid_slow`
    leaves out nodes that are much slower than the others, if the others can do their work. On more nodes than
    `nodes_per_coordinator`, coordinators order the tasks of about that number of nodes each. Small data makes no
    partition for each node that has much less than `least_partition_bytes`; `partition_bytes` is the intended size of a
    partition. A new job's id is `job`, or drawn where that is ''. It waits for CPUs that other jobs use for `wait_s`.
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
    nodes_per_coordinator: int = NODES_PER_COORDINATOR
    least_partition_bytes: int | None = None
    partition_bytes: int | None = None
    job: str = ""
    wait_s: float = WAIT_S

    def stored_bytes(self, source: Dataset) -> float:
        """Return the bytes written to the nodes' own disks in all; the output of tables counts as 0, as its size is
        unknown.
        """
        is_elsewhere = self.on_volume or is_object(self.output) or source.layout.table is not None
        return source.bytes * ((not self.in_memory) + (0 if is_elsewhere else self.copies))


@dataclass
class BytesMoved:
    """Bytes that tasks reported, repeated tasks included."""

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
    """A running job: the nodes that it runs on, and its files on them; its work, progress and problems so far.

    `source` is that of the request, with each partition where it can be read now. `timeline` lists the beginning and
    end of each stretch of a phase, in seconds from the job's beginning.
    """

    request: SortRequest
    emit: Emit
    nodes: Nodes
    files: JobFiles
    source: Dataset
    sizes: Sizes
    slices: list[Slice]
    splitting_reference: Any
    ledger: Ledger
    journal: Journal
    members: tuple[str, ...] = ()
    """The nodes of a coordinator that orders a part of them; empty for all nodes."""
    coordinators: int = 1
    """Number of coordinators: each fills an equal share of a node's store."""
    moved: BytesMoved = field(default_factory=BytesMoved)
    input_checksums: dict[int, int] = field(default_factory=dict)
    """Checksums by slice that was read; their sum is the checksum of the input."""
    content_checksums: dict[int, int] = field(default_factory=dict)
    """By slice of records or text that was read: the CRC-32 of its bytes."""
    retries: int = 0
    damaged: dict[str, str] = field(default_factory=dict)
    """By node with unreadable intermediate files: the reason."""
    damages: Counter[str] = field(default_factory=Counter)
    """Repairs of damaged files, by node."""
    failed_starts: int = 0
    """Times that coordinators ended too early although no node was lost."""
    slow_nodes: dict[str, str] = field(default_factory=dict)
    """By node much slower than the others: its slowness, and whether it was left out."""
    suspected: dict[int, str] = field(default_factory=dict)
    """By input partition: the last node that could not read its copy."""
    suspicions: Counter[int] = field(default_factory=Counter)
    """Number of such failures, by input partition."""
    damaged_inputs: list[UnreadableCopy] = field(default_factory=list)
    """Copies of the input that no node can read."""
    unnoticed: frozenset[str] = frozenset()
    """Nodes lost while input was restored, and not yet returned by `notice_losses`."""
    began_s: float = field(default_factory=time.monotonic)
    began_at_s: float = field(default_factory=time.time)
    began_cpu_s: float = field(default_factory=time.process_time)
    timeline: list[dict[str, Any]] = field(default_factory=list)
    coordinated: Counter[str] = field(default_factory=Counter)
    """Tasks and processor seconds of coordinators."""

    def usage(self) -> dict[str, list[dict[str, float]]]:
        """Return each remaining node's samples since the job's beginning, in seconds from it."""
        services, since_s = self.nodes.services, self.began_at_s
        asked = {name: services[name].samples.remote() for name in self.nodes.names if name in services}
        samples_of = {name: self.nodes.wait_for(reference, nodes=(name,)) for name, reference in asked.items()}
        return {
            name: [sample | {"at_s": sample["at_s"] - since_s} for sample in samples if sample["at_s"] > since_s]
            for name, samples in samples_of.items()
            if samples is not LOST
        }

    def note_content(self, checksums: Mapping[int, int]) -> None:
        """Keep checksums of slices. Raises InputChangedError where a slice had another when it was read before."""
        for number, checksum in checksums.items():
            if self.content_checksums.setdefault(number, checksum) != checksum:
                name = display_name(self.source.partitions[self.slices[number].partition])
                raise InputChangedError.of(name, "a part of it was read again, with other content")

    @property
    def record_size(self) -> int:
        """Bytes of a record."""
        return self.source.layout.record_size

    @contextmanager
    def time_phase(self, phase: str) -> Iterator[None]:
        """Note in the timeline the beginning and end of the body, a stretch of a phase, also if it fails."""
        start_s = time.monotonic() - self.began_s
        try:
            yield
        finally:
            end_s = time.monotonic() - self.began_s
            self.timeline.append({"phase": phase, "start_s": start_s, "end_s": end_s})

    def phases_s(self) -> dict[str, float]:
        """Return the seconds spent in each phase so far."""
        seconds = Counter[str]()
        for stretch in self.timeline:
            seconds[stretch["phase"]] += stretch["end_s"] - stretch["start_s"]
        return dict(seconds)

    def finish(self, number: int, partition: Partition, summary: bytes) -> None:
        """Note a finished partition, in the journal too."""
        self.ledger.done[number] = (partition, summary)
        self.journal.record_finished(number, partition, summary)

    def input_of(self, slice_: Slice) -> Partition:
        """Return the partition of a slice, with the copies that are left, as the slice's task needs it."""
        whole = self.source.partitions[slice_.partition]
        return whole.for_slice(slice_.first, slice_.records).readable_from(self.nodes.names)

    def pending_tasks(self) -> PendingTasks:
        """Return a watcher of running tasks, with a limit for the duration of the largest."""
        slice_bytes = self.sizes.slice_records * self.record_size
        partition_bytes = self.source.bytes / len(self.ledger.owner)
        limit_s = patience_s(max(slice_bytes, _UNEVEN * partition_bytes))
        return PendingTasks(
            self.nodes.ray, self.nodes, limit_s=limit_s, on_full_disk=self.on_full_disk, uploads=self.files.in_store
        )

    def notice_losses(self, *, at_once: bool = False) -> frozenset[str]:
        """Record lost nodes and return them. Raises IoFailureError naming input that was lost with them."""
        before, unnoticed = self.nodes.lost, self.unnoticed
        self.unnoticed = frozenset()
        self.after_losses(self.nodes.detect_losses(at_once=at_once))
        return unnoticed | (self.nodes.lost - before)

    def on_unreadable_input(self, number: int, node: str, read: Partition, error: IoFailureError) -> None:
        """Suspect the copy of an input partition that a task `read` on a node, if that is why the task failed."""
        if fault := unreadable_copy(number, node, read, error):
            self.suspect(fault)

    def suspect(self, fault: UnreadableCopy) -> None:
        """Restore input that a node could not read: from a copy that all reach, or decompressed or made again.

        Raises IoFailureError after too many tries, BadInputError when all copies of a partition are damaged, and the
        errors of `require_inputs`.
        """
        partitions, number = self.source.partitions, fault.partition
        if fault.is_damaged:
            self.damaged_inputs.append(fault)
            require_intact_copy(number, partitions[number].readable_from(self.nodes.names), self.damaged_inputs)
        if (rest := fault.remove_from(partitions[number])) is None:
            return
        if self.suspicions[number] == _MOST_SUSPICIONS:
            raise IoFailureError(f"{fault.reason}; read otherwise {_MOST_SUSPICIONS} times", code="suspected")
        self.suspicions[number] += 1
        self.suspected[number] = fault.node
        self.emit({"event": "unreadable", "node": fault.node, "reason": fault.reason})
        before = self.nodes.lost
        changed = (*partitions[:number], rest, *partitions[number + 1 :])
        self.source = replace(self.source, partitions=changed)
        self.after_losses(self.require_inputs())
        self.unnoticed |= self.nodes.lost - before

    def after_losses(self, lost_nodes: frozenset[str]) -> None:
        """Forget the data of lost nodes, and restore the input on them. Raises the errors of `require_inputs`."""
        while lost_nodes:
            self.emit({"event": "lost", "nodes": sorted(lost_nodes), "left": self.nodes.names})
            self._forget(lost_nodes)
            lost_nodes = self.require_inputs()

    def _forget(self, lost_nodes: frozenset[str]) -> None:
        self.ledger.forget_nodes(lost_nodes, self.nodes.names)
        self.journal.record_owners(self.ledger.owner)

    def report_slow_node(self, drop: DroppedNode) -> bool:
        """Report a slow node, leave it out if much is still to come to it, and return whether it was left out."""
        is_early = not self.ledger.done and self.ledger.share_missing(drop.node) > _WORTH_AVOIDING
        is_avoided = is_early and self.request.avoid_slow and self.exclude_node(drop.node)
        self.slow_nodes[drop.node] = f"{drop.reason}, {'left out' if is_avoided else 'kept'}"
        self.emit({"event": "slow", "node": drop.node, "reason": self.slow_nodes[drop.node]})
        return is_avoided

    def on_full_disk(self, node: str, error: IoFailureError) -> None:
        """Leave out a node whose disk is full; its work goes to the others, if they have room. Otherwise raises the
        error.
        """
        if self.request.on_volume or not self.exclude_node(node):
            raise error
        self.emit({"event": "full", "node": node, "reason": error.message})

    def exclude_node(self, node: str) -> bool:
        """Leave a node out if the others can do all its work again, and return whether it was left out."""
        left = [name for name in self.nodes.names if name != node]
        copies = self.request.copies
        free_bytes = min((self.nodes.facts[name].free_bytes for name in left), default=0)
        needed_bytes = self.request.stored_bytes(self.source) / max(1, len(left))
        partitions = [partition.readable_from(left) for partition in self.source.partitions]
        is_available = all(partition.copies or partition.recipe is not None for partition in partitions)
        if len(left) < copies or needed_bytes > free_bytes or not is_available:
            return False
        self.nodes.exclude_node(node)
        self._forget(frozenset({node}))
        self.after_losses(self.require_inputs())
        return True

    def require_inputs(self) -> frozenset[str]:
        """Have lost compressed input that is still needed decompressed again, and return the nodes lost meanwhile.
        Raises IoFailureError naming the partitions that are still needed but lost.
        """
        needed = {self.slices[number].partition for number in self.ledger.missing_slices()}
        partitions, names = self.source.partitions, self.nodes.names
        lost = [
            partitions[number]
            for number in sorted(needed)
            if not partitions[number].readable_from(names).copies and partitions[number].recipe is None
        ]
        if lost:
            lost_nodes = ", ".join(sorted({copy.node for partition in lost for copy in partition.copies} - set(names)))
            lines = [
                f"{partition.uri} on {', '.join(copy.node for copy in partition.copies)}: {partition.records} records"
                for partition in lost
            ]
            raise IoFailureError(
                f"lost with {lost_nodes}, and there is neither a copy nor a recipe to remake it",
                lines,
                code="inputs-lost",
            )
        before = self.nodes.lost
        self.source, read_bytes = with_decompressed_copies(
            self.source, self.files, self.nodes, self.emit, needed=needed, suspected=self.suspected
        )
        self.moved.input_read += read_bytes
        return self.nodes.lost - before

    def driver_effort(self) -> dict[str, float]:
        """Return this process's cost of ordering the job: tasks, processor seconds, and bytes of the ledger."""
        return {
            "tasks": self.nodes.tasks,
            "cpu_s": time.process_time() - self.began_cpu_s,
            "ledger_bytes": self.ledger.size_bytes,
            **{f"coordinators_{name}": amount for name, amount in self.coordinated.items()},
        }

    def report_progress(self, phase: str, *, records: int) -> None:
        """Emit the progress of a phase, in records of the input."""
        self.emit(progress(phase, self.source, records=records, nodes=len(self.nodes.names)))


def progress(phase: str, source: Dataset, *, records: int, nodes: int) -> dict[str, Any]:
    """Return the event that `records` records of `source` are done in a phase, on `nodes` nodes."""
    size = source.layout.record_size
    counts = {"bytes_done": min(records * size, source.bytes), "bytes_total": source.bytes, "nodes": nodes}
    return {"event": "progress", "phase": phase} | counts
