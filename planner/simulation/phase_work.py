"""What a node has to do in a phase, from the same rates and coefficients as the closed form.

Where the closed form needs a share of time for which a link or the processors are busy, the simulation lets tasks wait
for each other, and takes these resources whole.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from planner.cost_model.engine_seconds import driver_task_s, task_count
from planner.cost_model.model import Phase
from planner.cost_model.workload import JobContext


@dataclass(frozen=True, kw_only=True)
class Tasks:
    """A phase's tasks: how many each node has, how many it does at a time, and how many may be under way, with those
    that only send. `threads` is the processors that one uses.
    """

    per_node: float
    at_once: int
    under_way: int
    threads: float


@dataclass(frozen=True, kw_only=True)
class PhaseWork:
    """The work of a median node in a phase.

    `read_s` and `write_s` are seconds of a device by its name; one in `both_ways` reads and writes at once. `compute_s`
    and `move_s` are processor seconds: of the tasks, and of sending and storing. Bytes are those exchanged with other
    nodes, and those through the NIC from and to a store. `spread` is the share of writes that other nodes do.
    `driver_s` is the driver's work for the whole cluster, and `order_s` what of it is not for parcels. `driver_core_s`
    is that on the nodes' processors, where they are the same. `fixed_s` takes its time whatever the nodes do.
    """

    name: str
    read_s: Mapping[str, float]
    write_s: Mapping[str, float]
    both_ways: frozenset[str]
    compute_s: float
    move_s: float
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


def at_full_rate(context: JobContext) -> JobContext:
    """Return a job whose engine reaches all of what links and processors give: waiting is simulated, not assumed."""
    engine = context.model.engine
    busy = {name: shares for name, shares in engine.busy.items() if name not in ("network", "cpu")}
    return replace(context, model=replace(context.model, engine=replace(engine, busy=busy)))


def phase_work(context: JobContext, phase: Phase, nodes: int) -> PhaseWork:
    """Return the work of a phase on `nodes` nodes of the only layout of `context`."""
    count, row = np.array([float(nodes)]), slice(0, 1)
    works = context.works(phase)
    devices = {name: work for name, work in works.items() if name != "cpu"}
    exchanged, streamed_in, streamed_out = (float(part[0, 0]) for part in context.network_parts(phase, row, count))
    fixed_s = {name: float(seconds[0]) for name, (_, seconds) in context.undivided(phase, count).items()}
    tasks = task_count(context, phase, row, count)
    whole = 0.0 if tasks is None else float(tasks[0, 0])
    compute_s, move_s = _processor_s(context, phase, nodes, tasks=whole)
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
        exchanged_bytes=exchanged,
        in_bytes=streamed_in,
        out_bytes=streamed_out,
        spread=_spread(context, phase),
        driver_s=driver_s,
        order_s=_order_s(context, phase, nodes, tasks=whole),
        driver_core_s=driver_core_s,
        requests_s=fixed_s.pop("object_requests", 0.0),
        fixed_s=fixed_s,
        tasks=_tasks(context, phase, whole / nodes) if whole else None,
    )


def _spread(context: JobContext, phase: Phase) -> float:
    """Return the share of what a phase writes that other nodes write: what is shuffled goes to all, a copy to one."""
    if phase.network:
        return 1.0
    written = sum(context.job.total(coefficients) for coefficients in phase.write.values())
    return min(1.0, context.job.total(phase.replicate) / written) if written else 0.0


def _processor_s(context: JobContext, phase: Phase, nodes: int, *, tasks: float) -> tuple[float, float]:
    """Return the processor seconds of a node: of its tasks, and of what moves their bytes."""
    work = context.works(phase).get("cpu")
    if work is None:
        return 0.0, 0.0
    engine, job, factor = context.model.engine, context.job, context.rates.cpu_factor
    vcpu = float(context.rates.vcpu[context.layouts.type_row[0]])
    everything_s = float(work.node_seconds[0]) * vcpu
    all_sent_s = engine.send_s_per_byte * job.total(phase.network) / factor
    copied_s = engine.copy_s_per_byte * job.total(phase.replicate) / factor
    compute_s, move_s = everything_s - all_sent_s - copied_s, all_sent_s * (nodes - 1) / nodes + copied_s
    if tasks:
        costs = [engine.tasks[name] for name in phase.cpu]
        compute_s += tasks * sum(cost.node_s for cost in costs) / factor
        move_s += tasks * sum(cost.node_block_s for cost in costs) * (nodes - 1) / factor
    return max(compute_s, 0.0) / nodes, move_s / nodes


def _driver_s(context: JobContext, phase: Phase, nodes: int, *, tasks: float) -> tuple[float, float]:
    """Return the driver's seconds for a whole phase where it decides, and those of processors it shares with nodes."""
    if not tasks:
        return 0.0, 0.0
    count = np.array([float(nodes)])
    needed_s, free_s = (tasks * float(driver_task_s(context, phase, count, decides=d)[0]) for d in (True, False))
    return needed_s, free_s if context.model.engine.shares_processors else 0.0


def _order_s(context: JobContext, phase: Phase, nodes: int, *, tasks: float) -> float:
    """Return what of the driver's seconds is for ordering tasks without their parcels."""
    engine = context.model.engine
    if engine.sizes is None or not tasks:
        return 0.0
    share = float(engine.sizes.ordering(np.array([float(nodes)]), decides=True)[0])
    return tasks * sum(engine.tasks[name].driver_s for name in phase.cpu) * share / context.rates.cpu_factor


def _tasks(context: JobContext, phase: Phase, per_node: float) -> Tasks | None:
    sizes = context.model.engine.sizes
    if sizes is None:
        return None
    vcpu = context.rates.vcpu[context.layouts.type_row[:1]]
    at_once = int(sizes.tasks(vcpu)[0])
    is_sent = bool(phase.network) or bool(phase.replicate)
    return Tasks(
        per_node=per_node,
        at_once=at_once - is_sent,  # one is left for what arrives
        under_way=int(sizes.slices_per_task * (at_once + 1)) if is_sent else at_once + 1,
        threads=max(1.0, float(vcpu[0]) // at_once),
    )
