"""The actor of a node for a whole Ray job: it samples the node's use, serves the blocks grouped there, and fetches and
stores the blocks that the node owns.

Samples are taken each second: CPU time, bytes of disks, bytes over the network (SoCC 2015, figure 11). A node's
processes are those in its network namespace: all processes on a real machine, and only its own on an emulated node. Its
network traffic is that of its interfaces except the loopback.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final

import numpy as np
import psutil

from planner.arrays import Bytes
from planner.distributed_sort.exchange.block_fetch import ARRIVED, Address, BlockFetcher, BlockServer, PackedParts, Part
from planner.distributed_sort.exchange.segments import write_segment
from planner.distributed_sort.job.waiting import Pulse
from planner.distributed_sort.node_files.node_environment import JobFiles, longest_request, running_tasks
from planner.distributed_sort.node_files.run_files import Block
from planner.distributed_sort.node_tasks import node_tasks
from planner.distributed_sort.node_tasks.node_tasks import Sorted, SortOrder, Stored
from planner.sort_policy.send_queue import MOST_PARCELS

_PERIOD_S: Final = 1.0
_IDLE_CORES: Final = 0.2
_IDLE_BYTES_PER_S: Final = 1e6
"""Most bytes/s of an idle node: Ray's own processes and this sampler use less."""


@dataclass(frozen=True, kw_only=True)
class Counters:
    """Totals at one moment: by process, CPU seconds and bytes read and written; over the network, bytes."""

    at_s: float
    processes: dict[int, tuple[float, int, int]]
    received_bytes: int
    sent_bytes: int


@dataclass(frozen=True, kw_only=True)
class Sample:
    """Means over about a second, which ended at `at_s` in seconds of Unix time."""

    at_s: float
    cpu_cores: float
    disk_read_bytes_per_s: float
    disk_write_bytes_per_s: float
    network_in_bytes_per_s: float
    network_out_bytes_per_s: float

    @property
    def is_idle(self) -> bool:
        """True if the node did no work."""
        disks = self.disk_read_bytes_per_s + self.disk_write_bytes_per_s
        return (
            self.cpu_cores < _IDLE_CORES
            and disks + self.network_in_bytes_per_s + self.network_out_bytes_per_s < _IDLE_BYTES_PER_S
        )


def read_counters() -> Counters:
    """Return this node's counters now, without those of unreadable processes."""
    interfaces = psutil.net_io_counters(pernic=True, nowrap=False)
    interfaces.pop("lo", None)
    namespace = Path("/proc/self/ns/net").readlink()
    processes = {}
    for pid in psutil.pids():
        with suppress(OSError, psutil.Error):  # it has ended, or belongs to another user
            if Path(f"/proc/{pid}/ns/net").readlink() == namespace:
                processes[pid] = _process_usage(psutil.Process(pid))
    return Counters(
        at_s=time.time(),
        processes=processes,
        received_bytes=sum(interface.bytes_recv for interface in interfaces.values()),
        sent_bytes=sum(interface.bytes_sent for interface in interfaces.values()),
    )


def mean_usage(before: Counters, after: Counters) -> Sample:
    """Return the means between two counts; a process begun meanwhile counts from its beginning."""
    seconds = max(after.at_s - before.at_s, 1e-9)
    nothing = (0.0, 0, 0)
    changes = [
        [max(0.0, now - then) for now, then in zip(new, before.processes.get(pid, nothing), strict=True)]
        for pid, new in after.processes.items()
    ]
    cpu_s, read, written = (sum(change[column] for change in changes) for column in range(3))
    return Sample(
        at_s=after.at_s,
        cpu_cores=cpu_s / seconds,
        disk_read_bytes_per_s=read / seconds,
        disk_write_bytes_per_s=written / seconds,
        network_in_bytes_per_s=(after.received_bytes - before.received_bytes) / seconds,
        network_out_bytes_per_s=(after.sent_bytes - before.sent_bytes) / seconds,
    )


@dataclass
class Sampler:
    """Takes a sample each second from its creation until the process ends."""

    taken: list[Sample] = field(default_factory=list)
    _worked_at_s: float = field(default_factory=time.time)

    def __post_init__(self) -> None:
        threading.Thread(target=self._run, name="usage", daemon=True).start()

    def samples(self) -> list[dict[str, float]]:
        """Return the samples so far as JSON-able values."""
        return [asdict(sample) for sample in list(self.taken)]

    def idle_s(self) -> float:
        """Return the seconds for which the node has done nothing."""
        return time.time() - self._worked_at_s

    def _run(self) -> None:
        before = read_counters()
        while True:
            time.sleep(_PERIOD_S)
            after = read_counters()
            self.taken.append(mean_usage(before, after))
            self._worked_at_s = self._worked_at_s if self.taken[-1].is_idle else after.at_s
            before = after


def _process_usage(process: Any) -> tuple[float, int, int]:
    with process.oneshot():
        cpu, io = process.cpu_times(), process.io_counters()
    return cpu.user + cpu.system, io.read_bytes, io.write_bytes


STORING: Final = "storing"
"""Concurrency group of the methods that may wait for other nodes: it has room for enough calls that others never wait
for them.
"""
MOST_STORING: Final = MOST_PARCELS + 3
PULSE: Final = "pulse"
"""Concurrency group of the method that answers at once."""
_PROBE: Final = "probe-0"


class NodeService:
    """Service whose process listens on `host`, at a port derived from `seed`, for clients that know the `token`. It
    counts the tasks of the Ray `job`.
    """

    def __init__(self, host: str, *, token: bytes, seed: int, job: str = "") -> None:
        self._job = job
        self._sampler = Sampler()
        self._server = BlockServer(host, token=token, seed=seed)
        self._fetcher = BlockFetcher(token)
        self._buffers = _Buffers()
        self._storing: dict[int, tuple[int, list[Part], Bytes]] = {}  # by thread

    def address(self) -> Address:
        """Return the address from which others fetch this node's blocks."""
        return self._server.address

    def pulse(self) -> Pulse:
        """Return the state of the node."""
        awaits, awaits_s = longest_request()
        running = running_tasks(self._job)
        return Pulse(idle_s=self._sampler.idle_s(), awaits=awaits, awaits_s=awaits_s, running=running)

    def meet(self, others: Collection[Address], neighbour: Address) -> str:
        """Begin a sort with nodes at these addresses, and return why `neighbour` cannot be fetched from, '' if it
        can.
        """
        self._fetcher.resume_fetching(others)
        return self._fetcher.reach(neighbour)

    def samples(self) -> list[dict[str, float]]:
        """Return the node's resource use, each second so far."""
        return self._sampler.samples()

    def store(self, files: JobFiles, first: int, packed: PackedParts) -> Stored:
        """Fetch a parcel, whose blocks are for partitions from `first` on, and write it to one of this node's disks as
        one file. Blocks that are unavailable, or have changed on the way, are left out. Raises IoFailureError.
        """
        parts = packed.unpack()
        states = np.zeros(len(parts), np.uint8)
        self._storing[threading.get_ident()] = first, parts, states
        try:
            with self._buffers.array(sum(part.size_bytes for part in parts)) as into:
                fetched = zip(parts, self._fetcher.fetch(files, parts, into, states=states), strict=True)
                blocks = {
                    part.slice: Block.parse(piece, partitions=part.partitions)
                    for part, piece in fetched
                    if piece is not None
                }
                intact = {number: block for number, block in blocks.items() if block.is_intact}
                return node_tasks.store(files, first, intact)
        finally:
            del self._storing[threading.get_ident()]

    def copy(self, order: SortOrder, part: Part) -> Sorted | None:
        """Fetch a sorted partition and write it here, too; return None if it is unavailable. Raises IoFailureError."""
        with self._buffers.array(part.size_bytes) as into:
            (records,) = self._fetcher.fetch(order.files, [part], into)
            return None if records is None else node_tasks.write_partition(records, order)

    def arrived_blocks(self) -> set[tuple[int, int]]:
        """Return the blocks that have arrived, but wait for others of their parcel: (slice, first partition)."""
        return {
            (part.slice, first)
            for first, parts, states in list(self._storing.values())
            for part, state in zip(parts, states.tolist(), strict=True)
            if state == ARRIVED
        }

    def give_up(self, addresses: Collection[Address] | None = None) -> None:
        """Abandon the fetches from lost nodes; all fetches, where none are named."""
        self._fetcher.give_up(addresses)

    def begin_probe(self, files: JobFiles, size: int) -> None:
        """Create a segment of `size` bytes that others can fetch to measure the time."""
        write_segment(files, _PROBE, [np.zeros(size, np.uint8)], reserve_bytes=0)

    def probe_seconds(self, files: JobFiles, address: Address, size: int) -> float | None:
        """Return the seconds to fetch the probe of another node; None if it is unavailable."""
        part = Part(slice=0, address=address, segment=_PROBE, offset=0, size_bytes=size, partitions=0)
        with self._buffers.array(size) as into:
            into.fill(0)  # keeps the first touch out of the measurement
            began = time.perf_counter()
            (piece,) = self._fetcher.fetch(files, [part], into)
            return None if piece is None else time.perf_counter() - began


class _Buffers:
    """Arrays for reuse, since the first touch of fresh memory costs more than receiving the data."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._free: list[Bytes] = []

    @contextmanager
    def array(self, size: int) -> Iterator[Bytes]:
        """Yield `size` bytes, which are free again afterwards."""
        with self._lock:
            whole = self._free.pop() if self._free else np.empty(0, np.uint8)
        if len(whole) < size:
            whole = np.empty(size + size // 8, np.uint8)
        try:
            yield whole[:size]
        finally:
            with self._lock:
                self._free.append(whole)
