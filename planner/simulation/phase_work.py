"""The work of a node in a phase, from the same rates and coefficients as the closed form.

The closed form needs the share of time for which links, processors or disks are busy. The simulation instead lets tasks
wait for each other, and uses these resources in full.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from planner.cost_model.disk_layout import OBJECTS
from planner.cost_model.model import MEDIA, Coefficients, Phase
from planner.cost_model.workload import JobContext, driver_task_s
from planner.simulation.machines import Machines
from planner.simulation.phase_tasks import Tasks, phase_tasks
from planner.sort_policy.placement import fits_in_cache


@dataclass(frozen=True, kw_only=True)
class PhaseWork:
    """The work of a median node in a phase.

    `read_s` and `write_s` are seconds of a device by its name; a device in `both_ways` reads and writes at once.
    `compute_s`, `move_s` and `block_s` are processor seconds for tasks, moved bytes and blocks. Bytes are those
    exchanged with other nodes, and those through the NIC from and to a store. `spread` is the share of writes that
    other nodes do. `driver_s` is the driver's work for the whole cluster, and `order_s` the part that is not for
    parcels. `driver_core_s` is the part on the nodes' processors, where driver and nodes share them. `fixed_s` takes
    its time whatever the nodes do, and `barrier_s` once all are done. Work with `is_anyones` reads from a place that
    all nodes reach: faster nodes take more.
    """

    name: str
    read_s: Mapping[str, float]
    write_s: Mapping[str, float]
    both_ways: frozenset[str]
    compute_s: float
    move_s: float
    block_s: float
    exchanged_bytes: float
    in_bytes: float
    out_bytes: float
    spread: float
    driver_s: float
    order_s: float
    driver_core_s: float
    requests_s: float
    fixed_s: Mapping[str, float]
    tasks: Tasks | None
    is_anyones: bool = False
    barrier_s: float = 0.0

    @property
    def is_sent_by_parcel(self) -> bool:
        """True if transfers between nodes are simulated parcel by parcel and copy by copy."""
        has_any = self.exchanged_bytes > 0 or (self.tasks is not None and self.tasks.slices > 0)
        return self.tasks is not None and self.tasks.is_sent_by_parcel and has_any

    @property
    def own_share(self) -> float:
        """Share of a phase's writes that is not exchanged; if `is_sent_by_parcel`, other nodes write the rest."""
        if self.tasks is None or not self.tasks.slices:
            return 1 - self.spread
        return 1 - self.tasks.sent_share


def at_full_rate(context: JobContext) -> JobContext:
    """Return a job whose engine uses all of links, processors and disks: waiting is simulated, not assumed."""
    engine = context.model.engine
    waited_for = ("network", "cpu", "local_disks")
    busy = {name: shares for name, shares in engine.busy.items() if name not in waited_for}
    return replace(context, model=replace(context.model, engine=replace(engine, busy=busy)))


def phase_work(context: JobContext, phase: Phase, nodes: int, machines: Machines) -> PhaseWork:
    """Return the work of a phase on `nodes` nodes with these `machines`, of the only layout of `context`."""
    phase = _past_the_cache(context, phase, nodes)
    count = np.array([float(nodes)])
    works = context.works(phase)
    devices = {name: work for name, work in works.items() if name != "cpu"}
    exchanged, streamed_in, streamed_out = (float(part[0, 0]) for part in context.network_parts(phase, count))
    fixed_s = {name: float(seconds[0, 0]) for name, (_, seconds) in context.undivided(phase, count).items()}
    tasks = phase_tasks(context, phase, nodes, link_bytes_per_s=machines.first_bytes_per_s)
    whole = 0.0 if tasks is None else float(len(tasks.lengths) * nodes)
    compute_s, move_s, block_s = _processor_s(context, phase, nodes, tasks=whole)
    driver_s, driver_core_s = _driver_s(context, phase, nodes, tasks=whole)
    return PhaseWork(
        name=phase.name,
        read_s={name: float(work.read_node_s[0]) / nodes for name, work in devices.items()},
        write_s={name: float(work.write_node_s[0]) / nodes for name, work in devices.items()},
        both_ways=frozenset(
            name
            for name, work in devices.items()
            if float(work.node_seconds[0]) < float(work.read_node_s[0] + work.write_node_s[0]) * (1 - 1e-9)
        ),
        compute_s=compute_s,
        move_s=move_s,
        block_s=block_s,
        exchanged_bytes=exchanged,
        in_bytes=streamed_in,
        out_bytes=streamed_out,
        spread=_remote_write_share(context, phase),
        driver_s=driver_s,
        order_s=_order_s(context, phase, nodes, tasks=whole),
        driver_core_s=driver_core_s,
        requests_s=fixed_s.pop("object_requests", 0.0),
        fixed_s=fixed_s,
        tasks=tasks,
        barrier_s=float(context.barrier_s(count)[0, 0]),
        is_anyones=bool(phase.network) and context.model.storage["data"] == MEDIA[OBJECTS],
    )


def _past_the_cache(context: JobContext, phase: Phase, nodes: int) -> Phase:
    """Return a phase without the intermediate data that the nodes' memory keeps off their disks, by the scheduler's own
    rule.
    """
    engine = context.model.engine
    memory_bytes = float(context.catalog.instances.memory_bytes[context.layouts.type_row[0]])
    available_bytes = memory_bytes / (nodes if engine.shares_processors else 1) - engine.memory_node_bytes
    is_cached = fits_in_cache(node_bytes=context.job.map_in / nodes, available_bytes=available_bytes)
    if engine.sizes is None or not is_cached:
        return phase
    read, write = (
        {group: moved for group, moved in groups.items() if group != "intermediate"}
        for groups in (phase.read, phase.write)
    )
    return replace(phase, read=read, write=write)


def _remote_write_share(context: JobContext, phase: Phase) -> float:
    """Return the share of a phase's writes that other nodes do: shuffled data goes to all, a copy to one."""
    if phase.network:
        return 1.0
    written = _disk_bytes(context, phase.write)
    return min(1.0, context.job.total(phase.replicate) / written) if written else 0.0


def _disk_bytes(context: JobContext, groups: Mapping[str, Coefficients]) -> float:
    """Return the bytes that all groups of disks read or write together."""
    return sum(context.job.total(coefficients) for coefficients in groups.values())


def _processor_s(context: JobContext, phase: Phase, nodes: int, *, tasks: float) -> tuple[float, float, float]:
    """Return the processor seconds of a node: for its tasks, for moving their bytes, and for storing blocks."""
    work = context.works(phase).get("cpu")
    if work is None:
        return 0.0, 0.0, 0.0
    engine, job, factor = context.model.engine, context.job, float(context.layouts.speed("cpu")[0])
    vcpu = float(context.rates.vcpu[context.layouts.type_row[0]])
    everything_s = float(work.node_seconds[0]) * vcpu
    all_sent_s = engine.send_s_per_byte * job.total(phase.network) / factor
    copied_s = engine.copy_s_per_byte * job.total(phase.replicate) / factor
    compute_s, move_s = everything_s - all_sent_s - copied_s, all_sent_s * (nodes - 1) / nodes + copied_s
    blocks_s = 0.0
    if tasks:
        costs = [engine.tasks[name] for name in phase.cpu]
        compute_s += tasks * sum(cost.node_s for cost in costs) / factor
        blocks_s = tasks * sum(cost.node_block_s for cost in costs) * (nodes - 1) / factor
        if not phase.network:  # the task that sorts pieces also reads them
            compute_s, blocks_s = compute_s + blocks_s, 0.0
    return max(compute_s, 0.0) / nodes, move_s / nodes, blocks_s / nodes


def _driver_s(context: JobContext, phase: Phase, nodes: int, *, tasks: float) -> tuple[float, float]:
    """Return the driver's seconds for a whole phase where it is the limit, and those on processors it shares with
    nodes.
    """
    if not tasks:
        return 0.0, 0.0
    count = np.array([float(nodes)])
    task_s = (float(driver_task_s(context, phase, count, decides=decides)[0, 0]) for decides in (True, False))
    needed_s, free_s = (tasks * each_s for each_s in task_s)
    return needed_s, free_s if context.model.engine.shares_processors else 0.0


def _order_s(context: JobContext, phase: Phase, nodes: int, *, tasks: float) -> float:
    """Return the driver's seconds for ordering tasks, without their parcels."""
    engine = context.model.engine
    if engine.sizes is None or not tasks:
        return 0.0
    share = float(engine.sizes.ordering(np.array([float(nodes)]), decides=True)[0])
    cost_s = sum(engine.tasks[name].driver_s for name in phase.cpu) / float(context.layouts.speed("cpu")[0])
    return tasks * cost_s * share
