"""Per-node work of each resource in a phase: bytes moved and the node-seconds they take.

Disks, volumes and CPU serve a node's own share, so their time is `node_seconds / nodes`; only the network's rate
depends on the number of nodes too. Arrays are over R layouts and N cluster sizes.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from planner.arrays import Floats, Rows
from planner.catalog import Catalog, Straggler
from planner.cost_model.disk_layout import OBJECTS, VOLUMES, Layouts
from planner.cost_model.evidence import CERTAIN, RateDoubts, Spreads, narrowed
from planner.cost_model.model import GROUPS, MEDIA, Coefficients, CostModel, JobVolumes, Phase
from planner.cost_model.object_store import PREFIX_BYTES, ObjectStoreChoice, Staging
from planner.cost_model.rates import Rates, time_s
from planner.cost_model.rotating_disks import Visits
from planner.cost_model.run_overheads import RunOverheads
from planner.cost_model.volumes.block_volumes import VolumeChoice
from planner.cost_model.work import Work, on_credit_s
from planner.statistics.interruptions import Risk
from planner.statistics.order_statistics import Spread
from planner.statistics.taught_times import Teacher


@dataclass(frozen=True, kw_only=True, eq=False)
class JobContext:
    """A job on every type of one catalog, on at most `most_machines`: R layouts over T types, and their rates."""

    catalog: Catalog
    model: CostModel
    job: JobVolumes
    rates: Rates
    volumes: VolumeChoice
    objects: ObjectStoreChoice
    layouts: Layouts
    spreads: Spreads
    overheads: RunOverheads
    paper: bool
    staging: Staging = field(default_factory=Staging)
    power_w: Floats
    region: str = ""
    unknown: str | None = None
    risk: Risk | None = None
    doubts: RateDoubts = CERTAIN
    most_machines: float = np.inf
    known: Teacher | None = None
    """Times that real runs teach, in place of the equations'."""

    def only(self, rows: Rows) -> JobContext:
        """Return the same job on these layouts alone, whose work is looked up among that of all."""
        part = self.only_rows(rows)
        part.__dict__["place"] = (self, rows)  # set as if cached: `replace` does not copy it
        return part

    def only_rows(self, rows: Rows) -> JobContext:
        """Return the same job on these layouts alone."""
        return replace(self, layouts=self.layouts.only(rows), risk=self.risk and self.risk.of(rows))

    def times(self, scale: Mapping[str, float | Floats]) -> JobContext:
        """Return the same job with the speed of each of `RESOURCES` in `scale` multiplied by its factor: one for all
        layouts, or one for each (R,). Where those of `startup` differ, each layout must be that of a cluster.
        """
        overheads = self.overheads.times(scale["startup"]) if "startup" in scale else self.overheads
        return replace(self, layouts=self.layouts.times(scale), overheads=overheads)

    def barrier_s(self, nodes: Floats) -> Floats:
        """Return the seconds at the end of a phase in which the engine's head only waits for word that all of `nodes`
        are done, shape (R, N) or (1, N) for all.
        """
        seconds = 0.0 if self.paper else self.model.engine.barrier_per_node_s
        return np.where(nodes > 1, seconds * nodes, 0.0) / self.layouts.speed("barriers")[:, None]

    @property
    def nodes_min(self) -> int:
        """The fewest nodes that keep the model's copies apart and occupy the requested number of zones."""
        return max(self.model.nodes_min, self.staging.zones)

    @property
    def prefixes(self) -> int:
        """Places of the store that the input, and the output, are spread over; each has its own limit of requests."""
        if self.paper:
            return 1
        suggested = math.ceil(self.job.map_in * self.staging.stored_share / PREFIX_BYTES)
        return self.staging.prefixes or max(1, min(suggested, self.staging.files or suggested))

    @property
    def requests_per_s(self) -> dict[str, float]:
        """The reads and the writes that all places of the store take in a second, infinite where unknown."""
        return {"read": self.objects.reads_per_s * self.prefixes, "write": self.objects.writes_per_s * self.prefixes}

    def group_bytes(self) -> dict[str, float]:
        """Return the bytes that each disk group must hold over the whole cluster."""
        return {group: self.job.total(self.model.capacity.get(group, {})) for group in GROUPS}

    def held_on(self, medium: int) -> Floats:
        """Return the bytes that a medium must hold over the whole cluster, shape (R,)."""
        return self._on(medium, self.group_bytes())

    def moved_on(self, medium: int, phase: Phase) -> Floats:
        """Return the bytes that a phase reads from and writes to a medium over the whole cluster, shape (R,)."""
        return self._on(medium, self._totals(phase.read)) + self._on(medium, self._totals(phase.write))

    def works(self, phase: Phase) -> dict[str, Work]:
        """Return the work of each resource but the network, keyed by resource; those idle on every layout are left
        out.
        """
        if id(phase) not in self._works_of:
            self._works_of[id(phase)] = (phase, self._work_of(phase) if self.place is None else self._part_of(phase))
        return dict(self._works_of[id(phase)][1])

    @cached_property
    def place(self) -> tuple[JobContext, Rows] | None:
        """The same job on more layouts, and the rows of these among them, if it was made by `only`."""
        return None

    def _part_of(self, phase: Phase) -> dict[str, Work]:
        assert self.place is not None
        larger, rows = self.place
        works = ((name, work.only(rows)) for name, work in larger.works(phase).items())
        return {name: work for name, work in works if work.total_bytes.any()}

    @cached_property
    def _works_of(self) -> dict[int, tuple[Phase, dict[str, Work]]]:
        """Results of `works`, by the identity of the phase, which is kept alive so that no other has it."""
        return {}

    def _work_of(self, phase: Phase) -> dict[str, Work]:
        read, write = self._totals(phase.read), self._totals(phase.write)
        shared, works = self.layouts.shared, {}
        if shared.any():
            works["local_disks"] = self._shared_disks(read, write)
        if not shared.all():
            works |= {f"{group}_disks": self._own_disks(group, read, write) for group in GROUPS}
        if self.layouts.uses(VOLUMES).any():
            works["volumes"] = self._one_after_the_other("volumes", VOLUMES, read, write)
        if self.layouts.uses(OBJECTS).any():
            works["object_store"] = self._one_after_the_other("objects", OBJECTS, read, write)
        works["cpu"] = self._cpu(phase)
        shares = {name: self.model.engine.busy_share(name, phase.cpu) for name in works}
        return {name: work.at_share(shares[name]) for name, work in works.items() if work.total_bytes.any()}

    def spread(self, resource: str, work: Work | None, *, row: int = 0) -> Spread:
        """Return the spread of a resource of one layout between nodes in a phase, in which it does `work`; a tail slows
        the network, which has no `work`, as a whole.
        """

        def slow_factor(tail: Straggler) -> float:
            direction = tail.resource.partition("_")[2]
            return tail.slow_factor if work is None else work.slow_factor(direction, factor=tail.slow_factor, row=row)

        spread = self.spreads.of(resource, type_row=int(self.layouts.type_row[row]), slow_factor=slow_factor)
        return narrowed(spread, self._narrowing(row))

    def usual_spread(self, resource: str, *, row: int = 0) -> Spread:
        """Return the spread of a resource of one layout between nodes if nothing was observed on its type."""
        return narrowed(self.spreads.default(resource), self._narrowing(row))

    def _narrowing(self, row: int) -> float:
        return float(np.prod(self.layouts.speed("barriers", slice(row, row + 1))))  # 1 where there are no layouts

    def undivided(self, phase: Phase, nodes: Floats) -> dict[str, tuple[float, Floats]]:
        """Return the work that more nodes do not speed up (the software's start-up, single streams and the requests
        that an object store takes): its bytes over the whole cluster, and its seconds by cluster size, shape (R, N)
        or (1, N) for all. The papers have none.
        """
        streamed = self.job.total(phase.one_stream)
        requested, request_s = self._requests(phase)
        works: dict[str, tuple[float, float | Floats, str]] = {
            "object_requests": (requested, request_s, "requests"),
            "start_up": (0.0, phase.startup_s + phase.per_node_s * nodes, "startup"),
            "one_stream": (streamed, streamed / self.rates.one_stream_bytes_per_s, "cpu"),
        }
        return {
            name: (moved, np.broadcast_to(seconds, nodes.shape) / self.layouts.speed(resource)[:, None])
            for name, (moved, seconds, resource) in works.items()
            if not self.paper and np.any(seconds)
        }

    def _requests(self, phase: Phase) -> tuple[float, float]:
        """Return the bytes that a phase moves to and from the object store, and the seconds until one place there has
        served all its requests.
        """
        sizes, per_s = self.model.requests, self.requests_per_s
        if not sizes or self.model.storage["data"] != MEDIA[OBJECTS]:
            return 0.0, 0.0
        share = self.staging.stored_share
        read, write = self._totals(phase.read)["data"] * share, self._totals(phase.write)["data"] * share
        seconds = read / sizes["read_bytes"] / per_s["read"] + write / sizes["write_bytes"] / per_s["write"]
        return read + write, seconds

    def network_bytes(self, phase: Phase, nodes: Floats) -> Floats:
        """Return the bytes per node through the busier direction of its NIC, shape (R, N).

        Of a shuffle, (n-1)/n crosses the network; the papers charge all of it. A copy for another node crosses it
        whole. The object store, and volumes without a link of their own, add their traffic: reads in, writes out.
        """
        busier = np.maximum(*self._through_nic(phase))[:, None]
        return np.asarray(self._exchanged(phase, nodes) + busier / nodes)

    def network_parts(self, phase: Phase, nodes: Floats) -> tuple[Floats, Floats, Floats]:
        """Return the bytes per node that nodes send each other, shape (1, N), and those that its NIC carries in from
        an object store or volumes, and out to them, shape (R, N).
        """
        read, written = (moved[:, None] / nodes for moved in self._through_nic(phase))
        return self._exchanged(phase, nodes)[None, :], read, written

    def _exchanged(self, phase: Phase, nodes: Floats) -> Floats:
        """Return the bytes per node that nodes send each other, shape (N,)."""
        crossing = 1.0 if self.paper else (nodes - 1) / nodes
        return np.asarray((self.job.total(phase.network) * crossing + self.job.total(phase.replicate)) / nodes)

    def _through_nic(self, phase: Phase) -> tuple[Floats, Floats]:
        """Return the bytes that all NICs carry in from an object store or volumes, and out to them, shape (R,)."""
        if id(phase) not in self._nic_of:
            if self.place is None:
                nic = (self.catalog.instances.volume_link == "nic")[self.layouts.type_row]
                totals = [self._totals(groups) for groups in (phase.read, phase.write)]
                read, written = (np.where(nic, self._on(VOLUMES, t), 0.0) + self._on(OBJECTS, t) for t in totals)
            else:
                larger, rows = self.place
                read, written = (moved[rows] for moved in larger._through_nic(phase))
            self._nic_of[id(phase)] = (phase, read, written)
        return self._nic_of[id(phase)][1:]

    @cached_property
    def _nic_of(self) -> dict[int, tuple[Phase, Floats, Floats]]:
        """Results of `_through_nic`, by the identity of the phase, as in `_works_of`."""
        return {}

    def network_seconds(self, phase: Phase, nodes: Floats) -> Floats:
        """Return the seconds the NIC needs for `network_bytes`; NaN where its rate is unknown.

        A link with a token bucket sends B bytes in max(B / burst, (B - tokens) / baseline) seconds: at burst while
        tokens last, which traffic above the baseline spends. Earlier phases are assumed to have sent at burst.
        """
        moved = self.network_bytes(phase, nodes)
        if not moved.any():
            return moved
        network, type_rows = self.rates.network, self.layouts.type_row
        speed = self.layouts.speed("network")[:, None]
        rate = network.at(type_rows, nodes) * (speed * self.model.engine.busy_share("network", phase.cpu))
        tokens = network.bucket_bytes[type_rows]
        if np.isnan(tokens).all():
            return time_s(moved, rate)
        burst = np.fmax(network.burst[type_rows][:, None] * speed, rate)
        left = np.maximum(tokens[:, None] - self._sent_before(phase, nodes) * (1 - rate / burst), 0.0)
        bursting = np.maximum(moved / burst, (moved - left) / rate)
        return np.where(np.isnan(tokens)[:, None], time_s(moved, rate), bursting)

    def _sent_before(self, phase: Phase, nodes: Floats) -> Floats:
        sent = np.zeros((1, 1))
        for earlier in self.model.phases:
            if earlier is phase:
                break
            sent = sent + self.network_bytes(earlier, nodes)
        return sent

    def _totals(self, groups: Mapping[str, Coefficients]) -> dict[str, float]:
        return {group: self.job.total(groups.get(group, {})) for group in GROUPS}

    def _shared_disks(self, read: dict[str, float], write: dict[str, float]) -> Work:
        """Return the work of local disks under both groups: exclusive times add; the simultaneous rate of one disk
        already contains the sharing.
        """
        both = self.device_rates("local")[2]
        reading = np.where(self.layouts.shared, sum(read.values()), 0.0)
        writing = np.where(self.layouts.shared, sum(write.values()), 0.0)
        apart = np.isnan(both)
        read_rate, write_rate = self._exclusive_rates(
            self.layouts.disks, directions=(sum(read.values()) > 0) + (sum(write.values()) > 0)
        )
        read_s = time_s(reading, np.where(apart, read_rate, both))
        write_s = time_s(writing, np.where(apart, write_rate, both))
        return Work(
            total_bytes=reading + writing,
            node_seconds=np.where(apart, read_s + write_s, np.maximum(read_s, write_s)),
            read_node_s=read_s,
            write_node_s=write_s,
        )

    def _own_disks(self, group: str, read: dict[str, float], write: dict[str, float]) -> Work:
        """Return the work of local disks of one group: their share of the one-way rate of all disks of the instance.

        DiskBench's simultaneous rate is that of half the disks, so all of them together do twice as much one way.
        """
        disks = self.layouts.data_disks if group == "data" else self.layouts.intermediate_disks
        alone = (disks > 0) & ~self.layouts.shared
        share = np.where(alone, disks / np.maximum(self.layouts.disks, 1), 1.0)
        one_way = self.device_rates("local")[2] * np.where(self.layouts.disks > 1, 2.0, 1.0)
        reading, writing = np.where(alone, read[group], 0.0), np.where(alone, write[group], 0.0)
        exclusive_rates = self._exclusive_rates(disks, directions=(read[group] > 0) + (write[group] > 0))
        read_s, write_s = (
            time_s(moved, share * np.where(np.isnan(one_way), exclusive, one_way))
            for moved, exclusive in zip((reading, writing), exclusive_rates, strict=True)
        )
        return Work.alternating(reading + writing, read_node_s=read_s, write_node_s=write_s)

    def _exclusive_rates(self, disks: Floats, *, directions: int) -> tuple[Floats, Floats]:
        """Return the rates of all disks of a node for reading alone and writing alone, shape (R,). Rotating ones lose
        time to the streams of the engine's tasks, in one direction or both, that share these `disks`.
        """
        row, given, rates = self.layouts.type_row, self.overheads.rotating_disk, self.device_rates("local")[:2]
        rotating = self.catalog.instances.local_disk_kind[row] == "hdd"
        if not given or not rotating.any():
            return rates
        streams = directions * self.model.engine.streams(self.catalog.instances.vcpu[row], disks)
        visits, count = Visits(**given), np.maximum(self.layouts.disks, 1)
        each = visits.read_rate(rates[0] / count, streams=streams), visits.write_rate(rates[1] / count, streams=streams)
        read_rate, write_rate = (
            np.where(rotating, rate * count, alone) for rate, alone in zip(each, rates, strict=True)
        )
        return read_rate, write_rate

    def _one_after_the_other(self, device: str, medium: int, read: dict[str, float], write: dict[str, float]) -> Work:
        """Return the work of a device whose reads and writes add up."""
        reading, writing, rates = self._on(medium, read), self._on(medium, write), self.device_rates(device)
        read_s, write_s = time_s(reading, rates[0]), time_s(writing, rates[1])
        return Work.alternating(reading + writing, read_node_s=read_s, write_node_s=write_s)

    def device_rates(self, name: str) -> tuple[Floats, Floats, Floats]:
        """Return a node's rates of a device of `rates`, each (R,): to read, to write, and for either at once."""
        device, row, speed = getattr(self.rates, name), self.layouts.type_row, self.layouts.speed(name)
        return device.read[row] * speed, device.write[row] * speed, device.simultaneous[row] * speed

    def link_rates(self, nodes: int) -> tuple[float, float]:
        """Return a link's rate in a cluster of `nodes` on the only layout, and that of its bursts; NaN if unknown."""
        network, row, speed = self.rates.network, self.layouts.type_row[:1], self.layouts.speed("network")[0]
        return float(network.at(row, np.array([float(nodes)]))[0, 0] * speed), float(network.burst[row[0]] * speed)

    def _on(self, medium: int, totals: dict[str, float]) -> Floats:
        """Return the bytes moved to or from one medium, shape (R,)."""
        share = self.staging.stored_share if medium == OBJECTS else 1.0
        data = np.where(self.layouts.data_on == medium, totals["data"] * share, 0.0)
        return data + np.where(self.layouts.intermediate_on == medium, totals["intermediate"], 0.0)

    def _cpu(self, phase: Phase) -> Work:
        """Return all the CPU work of a phase by its bytes, one kind after the other on the same cores."""
        vcpu = self.rates.vcpu[self.layouts.type_row]
        amounts = {work: self.job.total(coefficients) for work, coefficients in phase.cpu.items()}
        engine = self.model.engine
        moving_s = engine.send_s_per_byte * self.job.total(phase.network)
        moving_s += engine.copy_s_per_byte * self.job.total(phase.replicate)
        per_byte = np.full(len(vcpu), moving_s)
        for work, amount in amounts.items():
            per_byte += amount / self._cpu_rate(work)
        moved = np.full(len(vcpu), float(sum(amounts.values())))
        nothing = np.zeros(len(vcpu))
        seconds = time_s(per_byte, vcpu * self.layouts.speed("cpu"))
        return Work(total_bytes=moved, node_seconds=seconds, read_node_s=nothing, write_node_s=nothing)

    def _cpu_rate(self, work: str) -> Floats | float:
        """Return bytes/s per vCPU of one kind of work: a number for all layouts, or shape (R,) where types differ."""
        default, measured = self.rates.cpu_bytes_per_s_per_vcpu[work], self.rates.measured_sort_per_vcpu
        if work != "sort" or np.isinf(default) or np.isnan(measured).all():
            return default
        return np.where(np.isnan(measured), default, measured)[self.layouts.type_row]


def cpu_seconds(context: JobContext, phase: Phase, work: Work, nodes: Floats, *, tasks: Floats | None) -> Floats:
    """Return the seconds of the busiest node's processors in a phase that gives them `work` and `tasks`, as
    `task_count` returns them, shape (R, N).

    Burstable processors are fast until their credit at launch is spent, part of it by earlier phases.
    """
    full_s = _full_speed_s(context, phase, work, nodes, tasks=tasks)
    credits, type_rows = context.rates.credits, context.layouts.type_row
    share = credits.baseline_share[type_rows, None]
    if (share == 1).all():
        return full_s
    earlier_s = np.zeros_like(full_s)
    for earlier in itertools.takewhile(lambda other: other is not phase, context.model.phases):
        if (before := context.works(earlier).get("cpu")) is not None:
            earlier_tasks = task_count(context, earlier, nodes)
            earlier_s += _full_speed_s(context, earlier, before, nodes, tasks=earlier_tasks)
    credit_s = credits.launch_credit_vcpu_s / context.catalog.instances.vcpu
    credited = nodes <= credits.credited_nodes_most[type_rows, None]
    return on_credit_s(
        full_s, earlier_s=earlier_s, share=share, credit_s=np.where(credited, credit_s[type_rows, None], 0.0)
    )


def mean_processor_speed(context: JobContext, nodes: int) -> float:
    """Return the speed of the processors of the only layout of `context` over the whole job, 1 being full speed."""
    count = np.array([float(nodes)])
    full_s = needed_s = 0.0
    for phase in context.model.phases:
        if (work := context.works(phase).get("cpu")) is not None:
            tasks = task_count(context, phase, count)
            full_s += float(_full_speed_s(context, phase, work, count, tasks=tasks)[0, 0])
            needed_s += float(cpu_seconds(context, phase, work, count, tasks=tasks)[0, 0])
    return full_s / needed_s if needed_s > 0 else 1.0


def _full_speed_s(context: JobContext, phase: Phase, work: Work, nodes: Floats, *, tasks: Floats | None) -> Floats:
    """Return the seconds of processors at full speed, for each byte and each task. Of n nodes each sends (n-1)/n of its
    part of a shuffle.
    """
    seconds = work.node_seconds[:, None] * (_left(context, phase, work, nodes) / nodes)
    if tasks is None:
        return np.asarray(seconds)
    by_nodes = _node_task_s(context, phase, nodes) / nodes
    busy = context.model.engine.busy_share("cpu", phase.cpu)
    shared = nodes if context.model.engine.shares_processors else 1.0
    by_driver = driver_task_s(context, phase, nodes, decides=not context.model.engine.shares_processors) / shared
    vcpu = context.rates.vcpu[context.layouts.type_row, None]
    return np.asarray(seconds + tasks * (by_nodes + by_driver) / (vcpu * busy))


def driver_seconds(context: JobContext, phase: Phase, nodes: Floats, *, tasks: Floats | None) -> Floats | None:
    """Return the seconds of the driver's processor in a phase of `tasks`, shape (R, N); None for an engine without a
    driver.

    The driver orders all tasks on one processor of the head. On many nodes coordinators do that, each on one processor
    of a node. The tasks use a burstable node's credit: the driver gets at most the node's sustained speed.
    """
    if tasks is None:
        return None
    type_rows = context.layouts.type_row
    sustained = (context.rates.credits.baseline_share * context.catalog.instances.vcpu)[type_rows, None]
    return np.asarray(tasks * driver_task_s(context, phase, nodes, decides=True) / np.minimum(sustained, 1.0))


def _left(context: JobContext, phase: Phase, work: Work, nodes: Floats) -> Floats | float:
    """Return the share of an infinite cluster's work per node that remains on one of n nodes, which sends less."""
    sent_s = context.model.engine.send_s_per_byte * context.job.total(phase.network)
    if not sent_s:
        return 1.0
    vcpu = context.rates.vcpu[context.layouts.type_row] * context.layouts.speed("cpu")
    busy = context.model.engine.busy_share("cpu", phase.cpu)
    whole_s = np.nanmax(work.node_seconds * vcpu, initial=0.0) * busy  # the same for all layouts
    return np.asarray(1 - sent_s / whole_s / nodes)


def task_count(context: JobContext, phase: Phase, nodes: Floats) -> Floats | None:
    """Return the tasks of a phase, shape (R, N): slices of the input, or partitions of the output."""
    sizes, type_rows = context.model.engine.sizes, context.layouts.type_row
    if sizes is None or not phase.cpu:
        return None
    memory, vcpu = (getattr(context.catalog.instances, name)[type_rows] for name in ("memory_bytes", "vcpu"))
    copied = any(bool(other.replicate) for other in context.model.phases)
    partitions = sizes.partitions(context.job.map_out, memory_bytes=memory, vcpu=vcpu, nodes=nodes, copied=copied)
    if "partition" not in phase.cpu:
        return partitions
    rates = context.rates.network.at(type_rows, nodes) * context.layouts.speed("network")[:, None]
    links = np.where(nodes > 1, np.nan_to_num(rates), 0.0)
    return sizes.slices(
        context.job.map_in, memory_bytes=memory, vcpu=vcpu, nodes=nodes, link_bytes_per_s=links, partitions=partitions
    )


def _node_task_s(context: JobContext, phase: Phase, nodes: Floats) -> Floats:
    """Return the seconds of the nodes' processors for each task of a phase, shape (R, N) or (1, N) for all."""
    costs = [context.model.engine.tasks[work] for work in phase.cpu]
    seconds = sum((cost.node_s + cost.node_block_s * (nodes - 1) for cost in costs), start=np.zeros(nodes.shape))
    return seconds / context.layouts.speed("cpu")[:, None]


def driver_task_s(context: JobContext, phase: Phase, nodes: Floats, *, decides: bool) -> Floats:
    """Return the driver's seconds for each task of a phase, shape (R, N) or (1, N) for all, for a driver that
    `decides` the duration or one with time to spare. With coordinators these are of the busiest one, or of all.
    """
    engine, seconds = context.model.engine, np.zeros(nodes.shape)
    sizes = engine.sizes
    parcels = 0.0 if sizes is None else sizes.parcels(nodes, driver_decides=decides)
    for cost in (engine.tasks[work] for work in phase.cpu):
        seconds += cost.driver_s + cost.driver_parcel_s * parcels + cost.driver_per_node_s * nodes
    ordering = 1.0 if sizes is None else sizes.ordering(nodes, decides=decides)
    speed = context.layouts.speed("cpu") * context.layouts.speed("driver")
    return np.asarray(seconds * ordering / speed[:, None])
