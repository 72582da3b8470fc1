"""Engines: the software that carries out a plan, with its costs beyond moving bytes over disks and networks.

The papers' equations (SoCC 2015, section 3.3) cover only disks and the network: the engine `ideal`. A measured engine
adds processor seconds for each byte and each task of a phase, a driver that orders all tasks, or coordinators that do
so on many nodes, and the memory that a node needs.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Final

import numpy as np

from planner.arrays import Floats
from planner.schemas.door import Between
from planner.schemas.request import FORMATS

RATES: Final = ("partition", "sort")
"""CPU work of models; both have tasks: slices of the input, and partitions of the output."""
Amount = Annotated[float, Between(0, 1e15)]


@dataclass(frozen=True, kw_only=True)
class TaskCost:
    """Processor seconds that a slice or a partition costs in addition to its bytes: the driver's and the nodes'.

    A slice sends a block to each other node, and a partition is made of pieces from each, which costs nodes
    `node_block_s`. Blocks that wait together are sent as one parcel, which costs the driver `driver_parcel_s`; in
    addition it needs `driver_per_node_s` for each node of the cluster.
    """

    driver_s: Amount
    node_s: Amount
    driver_parcel_s: Amount = 0.0
    node_block_s: Amount = 0.0
    driver_per_node_s: Amount = 0.0


@dataclass(frozen=True, kw_only=True)
class TaskSizes:
    """Number of slices and partitions into which a job is cut, so that data in progress fits in memory.

    A node has `store_share` of its memory for blocks, and `sort_share` for sorting. If `nodes_per_coordinator` is not
    0, larger clusters have one coordinator for each `nodes_per_coordinator` nodes to order the tasks instead of the
    driver; a task then costs `coordinated_cost` times as much. The other figures are from the engine's own sizing: the
    share that a slice or a partition may take. If memory allows, a slice has `piece_bytes_min` for each partition of a
    node, and keeps a link busy for `slice_link_s`, where half or a quarter of the slices are enough for that.
    """

    store_share: Amount
    sort_share: Amount
    tasks_min: Amount
    tasks_max: Amount
    slices_per_task: Amount
    slice_turns: Amount
    slices_extra: Amount
    parcels_min: Amount
    parcels_max: Amount
    slice_bytes_max: Amount
    slice_store_share: Amount
    slice_sort_share: Amount
    partition_sort_share: Amount
    copied_store_share: Amount
    partitions_per_node: Amount
    nodes_per_coordinator: Amount = 0.0
    coordinated_cost: Amount = 1.0
    slice_bytes_min: Amount = 1.0
    piece_bytes_min: Amount = 0.0
    slice_link_s: Amount = 0.0
    partition_bytes_min: Amount = 1.0

    def tasks(self, vcpu: Floats) -> Floats:
        """Return the number of tasks that a node with `vcpu` processors runs at a time."""
        return np.clip(np.floor(vcpu), self.tasks_min, self.tasks_max)

    def slices(
        self,
        data_bytes: float,
        *,
        memory_bytes: Floats,
        vcpu: Floats,
        nodes: Floats,
        link_bytes_per_s: Floats,
        partitions: Floats,
    ) -> Floats:
        """Return the number of slices, shape (R, N), on nodes with `memory_bytes` (R,), `vcpu` (R,) and links of
        `link_bytes_per_s` (R, N), 0 where unknown; the output has `partitions` (R, N).
        """
        in_progress = self.slices_per_task * (self.tasks(vcpu) + 1)
        in_sort = memory_bytes * self.sort_share * self.slice_sort_share / self.tasks(vcpu)
        largest = np.minimum(in_sort, self.slice_bytes_max)
        wanted = np.maximum(partitions / nodes * self.piece_bytes_min, link_bytes_per_s * self.slice_link_s)
        enough = data_bytes / np.minimum(np.maximum(wanted, self.slice_bytes_min), largest[:, None])
        in_store = memory_bytes * self.store_share * self.slice_store_share

        def count(in_progress: Floats, turns: float) -> Floats:
            fewest = data_bytes * np.maximum(in_progress / in_store, 1 / largest)
            most = np.minimum(turns * in_progress[:, None] * nodes, data_bytes / self.slice_bytes_min)
            return np.asarray(np.maximum(fewest[:, None], most))

        many = count(in_progress, self.slice_turns)
        fits = many <= enough
        if fits.all():
            return many + self.slices_extra * nodes
        half = count(in_progress / 2, self.slice_turns)
        few = np.where(half <= enough, half, count(in_progress / 2, self.slice_turns / 2))
        return np.asarray(np.where(fits, many, few) + self.slices_extra * nodes)

    def parcels(self, nodes: Floats, *, driver_decides: bool) -> Floats:
        """Return the number of parcels for a slice's blocks, shape (N,): in large clusters nearly `parcels_max`.

        If the driver is the bottleneck, blocks wait for it and are sent in full parcels, `parcels_min` to a slice.
        """
        free = (nodes - 1) / (1 + (nodes - 1) / self.parcels_max)
        return np.minimum(free, self.parcels_min) if driver_decides else np.asarray(free)

    def ordering(self, nodes: Floats, *, decides: bool) -> Floats:
        """Return the cost of ordering tasks, shape (N,), as a multiple of that of a driver that orders all: for the
        busiest coordinator if it `decides` the duration, else for all together.
        """
        if not self.nodes_per_coordinator:
            return np.ones(nodes.shape)
        coordinators = np.ceil(nodes / self.nodes_per_coordinator)
        return np.where(coordinators > 1, self.coordinated_cost / (coordinators if decides else 1.0), 1.0)

    def partitions(
        self, data_bytes: float, *, memory_bytes: Floats, vcpu: Floats, nodes: Floats, copied: bool
    ) -> Floats:
        """Return the number of partitions, shape (R, N); smaller ones where they are `copied` to another node."""
        tasks = self.tasks(vcpu)
        largest = memory_bytes * self.sort_share * self.partition_sort_share / (tasks - copied)
        if copied:
            in_store = memory_bytes * self.store_share * self.copied_store_share / (tasks + 1)
            largest = np.minimum(largest, in_store)
        least = np.minimum(self.partitions_per_node * nodes, max(1.0, data_bytes / self.partition_bytes_min))
        return np.maximum((data_bytes / largest)[:, None], least)


@dataclass(frozen=True, kw_only=True)
class Emulated:
    """Differences on emulated nodes: `sample_s` before the first phase, processor seconds for each byte through a
    capped link, and by CPU work the share that they reach of one sort's rate on the disk that they share.

    The kernel wakes the receiver of a capped link for few packets at a time, fewer on slower links. `capped_s_per_byte`
    was measured behind a cap of `cap_bytes_per_s`, `slow_capped_s_per_byte` behind one of `slow_cap_bytes_per_s`.
    """

    sample_s: Amount = 0.0
    capped_s_per_byte: Amount = 0.0
    cap_bytes_per_s: Amount = 0.0
    slow_capped_s_per_byte: Amount = 0.0
    slow_cap_bytes_per_s: Amount = 0.0
    partition_disk_share: Amount = 1.0
    sort_disk_share: Amount = 1.0

    def packets_s_per_byte(self, cap_bytes_per_s: float | None) -> float:
        """Return the processor seconds of a byte through a cap, None for no cap: linear in the time of a byte between
        the measured caps, constant outside them.
        """
        if cap_bytes_per_s is None:
            return 0.0
        if not self.cap_bytes_per_s or not self.slow_cap_bytes_per_s:
            return self.capped_s_per_byte
        times_s = [1 / self.cap_bytes_per_s, 1 / self.slow_cap_bytes_per_s]
        return float(np.interp(1 / cap_bytes_per_s, times_s, [self.capped_s_per_byte, self.slow_capped_s_per_byte]))


@dataclass(frozen=True, kw_only=True)
class Engine:
    """Software that runs a plan; the defaults are the papers', which need no processor.

    `cpu_s_per_byte` has the processor seconds of a byte by CPU work; `send_s_per_byte` is that of a byte sent to
    another node in a shuffle, both ends together, `copy_s_per_byte` of a byte of a second copy: sent, received and
    written. `decode_s_per_byte` and `encode_s_per_byte` have, by format of files, the additional time of partitioning
    and sorting a byte of them, compared to a byte of records. `busy` has, by resource and CPU work of the phase, the
    share of its rate that is reached where it decides; 1 where nothing is stated. `memory_node_bytes` and
    `memory_task_bytes` are the memory of a node and each of its tasks in addition to the data; `tasks_per_vcpu` run at
    a time where no `sizes` are stated. `vcpu_bytes_per_s` is the speed of the vCPUs that the engine was measured on, as
    in `planner.catalog.processors.speeds`: 0 where all vCPUs count alike. Where `shares_processors`, all nodes and the
    driver run on the processors of one machine. `shared_sigma` is the standard deviation of ln(time) of whole runs,
    `measured_nodes` the most nodes in measurements of whole sorts (0: not stated), `evidence` the basis of the figures,
    `source` their origin.

    In addition to its data a run needs `start_s`, and `start_per_node_s` for each node, until the engine runs on all
    nodes, and at the end of each phase `barrier_per_node_s` for each node, until the head knows that all are done.
    """

    name: str
    title: str
    cpu_s_per_byte: Mapping[Annotated[str, RATES], Amount] = field(default_factory=dict)
    send_s_per_byte: Amount = 0.0
    copy_s_per_byte: Amount = 0.0
    decode_s_per_byte: Mapping[Annotated[str, FORMATS], Amount] = field(default_factory=dict)
    encode_s_per_byte: Mapping[Annotated[str, FORMATS], Amount] = field(default_factory=dict)
    busy: Mapping[str, Mapping[str, Amount]] = field(default_factory=dict)
    tasks: Mapping[Annotated[str, RATES], TaskCost] = field(default_factory=dict)
    sizes: TaskSizes | None = None
    memory_node_bytes: Amount = 0.0
    memory_task_bytes: Amount = 0.0
    tasks_per_vcpu: Amount = 0.0
    vcpu_bytes_per_s: Amount = 0.0
    in_memory: bool = True
    one_machine: bool = False
    shares_processors: bool = False
    emulated: Emulated = field(default_factory=Emulated)
    shared_sigma: Amount | None = None
    measured_nodes: Amount = 0.0
    start_s: Amount = 0.0
    start_per_node_s: Amount = 0.0
    barrier_per_node_s: Amount = 0.0
    evidence: str = "measured"
    source: str = ""

    def busy_share(self, resource: str, works: Collection[str]) -> float:
        """Return the share of a resource's rate that is reached in a phase with these kinds of CPU work."""
        shares = self.busy.get(resource, {})
        return min((shares[work] for work in works if work in shares), default=1.0)

    def streams(self, vcpu: Floats, disks: Floats) -> Floats:
        """Return the mean number of files that each of a node's `disks` reads or writes at a time: none if tasks are
        not stated, as the papers' sorts give each file a disk of its own.
        """
        tasks = self.sizes.tasks(vcpu) if self.sizes else self.tasks_per_vcpu * vcpu
        return np.asarray(tasks / np.maximum(disks, 1))

    def memory_min_bytes(self, vcpu: Floats) -> Floats:
        """Return the least memory of a node with `vcpu` processors: 0 where nothing is stated."""
        tasks = self.sizes.tasks(vcpu) if self.sizes else np.ones_like(vcpu)
        return np.asarray(self.memory_node_bytes + self.memory_task_bytes * tasks)

    def least_phases_s(
        self, form: str, *, data_bytes: float, copies: int, nodes: int, cpus: float, link_bytes_per_s: float
    ) -> list[tuple[float, str]]:
        """Return the least time of both phases of a sort, each with its bottleneck, links or processors; the cost of
        tasks beyond their bytes, the disks and the driver are left out.

        Each of n nodes has 1/n of `data_bytes` in format `form`, sends (n-1)/n of that in the first phase, and sends
        `copies` - 1 of it in the second. All nodes together have `cpus` processors.
        """
        sent_share = (nodes - 1) / nodes
        cpu_s = [
            self.cpu_s_per_byte["partition"]
            + self.decode_s_per_byte.get(form, 0.0)
            + self.send_s_per_byte * sent_share,
            self.cpu_s_per_byte["sort"] + self.encode_s_per_byte.get(form, 0.0) + self.copy_s_per_byte * (copies - 1),
        ]
        sent_bytes = [data_bytes / nodes * sent_share, data_bytes / nodes * (copies - 1)]
        return [
            max((data_bytes * per_byte / cpus, "processors"), (sent / link_bytes_per_s, "links"))
            for per_byte, sent in zip(cpu_s, sent_bytes, strict=True)
        ]


IDEAL: Final = Engine(name="ideal", title="the papers' sort: disks and the network alone")
