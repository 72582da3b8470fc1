"""What an engine's processors and its driver take in a phase, by cluster size: R layouts by N sizes.

Processors work for each byte and for each task. Of n nodes each sends (n-1)/n of its part of a shuffle. The driver
orders all tasks on one processor, which is the head's. On many nodes coordinators do that, each on one of a node.
"""

from __future__ import annotations

import numpy as np

from planner.arrays import Floats
from planner.cost_model.model import Phase
from planner.cost_model.workload import JobContext, Work


def cpu_seconds(context: JobContext, phase: Phase, work: Work, rows: slice, nodes: Floats) -> Floats:
    """Return the seconds of the busiest node's processors in a phase that gives them `work`, shape (rows, N)."""
    seconds = work.node_seconds[rows, None] * (_left(context, phase, work, nodes) / nodes)
    if (tasks := task_count(context, phase, rows, nodes)) is None:
        return np.asarray(seconds)
    by_nodes = _node_task_s(context, phase, nodes) / nodes
    busy = context.model.engine.busy_share("cpu", phase.cpu)
    shared = nodes if context.model.engine.shares_processors else 1.0
    by_driver = driver_task_s(context, phase, nodes, decides=not context.model.engine.shares_processors) / shared
    vcpu = context.rates.vcpu[context.layouts.type_row[rows], None]
    return np.asarray(seconds + tasks * (by_nodes + by_driver) / (vcpu * busy))


def driver_seconds(context: JobContext, phase: Phase, rows: slice, nodes: Floats) -> Floats | None:
    """Return the seconds of the driver's processor in a phase, shape (rows, N); None for an engine without a driver."""
    tasks = task_count(context, phase, rows, nodes)
    return None if tasks is None else tasks * driver_task_s(context, phase, nodes, decides=True)


def _left(context: JobContext, phase: Phase, work: Work, nodes: Floats) -> Floats | float:
    """Return which part of what a node of an infinite cluster does is left on one of n, which sends less."""
    sent_s = context.model.engine.send_s_per_byte * context.job.total(phase.network) / context.rates.cpu_factor
    if not sent_s:
        return 1.0
    vcpu = context.rates.vcpu[context.layouts.type_row]
    busy = context.model.engine.busy_share("cpu", phase.cpu)
    whole_s = np.nanmax(work.node_seconds * vcpu, initial=0.0) * busy  # of all layouts the same
    return np.asarray(1 - sent_s / whole_s / nodes)


def task_count(context: JobContext, phase: Phase, rows: slice, nodes: Floats) -> Floats | None:
    """Return the tasks of a phase, shape (rows, N): slices of the input, or partitions of the output."""
    sizes, type_rows = context.model.engine.sizes, context.layouts.type_row[rows]
    if sizes is None or not phase.cpu:
        return None
    memory, vcpu = context.catalog.instances.memory_bytes[type_rows], context.rates.vcpu[type_rows]
    copied = any(bool(other.replicate) for other in context.model.phases)
    partitions = sizes.partitions(context.job.map_out, memory_bytes=memory, vcpu=vcpu, nodes=nodes, copied=copied)
    if "partition" not in phase.cpu:
        return partitions
    links = np.where(nodes > 1, np.nan_to_num(context.rates.network.at(type_rows, nodes)), 0.0)
    return sizes.slices(
        context.job.map_in, memory_bytes=memory, vcpu=vcpu, nodes=nodes, link_bytes_per_s=links, partitions=partitions
    )


def _node_task_s(context: JobContext, phase: Phase, nodes: Floats) -> Floats:
    """Return the seconds that each task of a phase costs the nodes' processors, shape (N,)."""
    costs = [context.model.engine.tasks[work] for work in phase.cpu]
    seconds = sum((cost.node_s + cost.node_block_s * (nodes - 1) for cost in costs), start=np.zeros(len(nodes)))
    return seconds / context.rates.cpu_factor


def driver_task_s(context: JobContext, phase: Phase, nodes: Floats, *, decides: bool) -> Floats:
    """Return the seconds that each task of a phase costs the driver, shape (N,), which `decides` how long it takes or
    has time to spare. Of coordinators that is the busiest, or all of them.
    """
    engine, seconds = context.model.engine, np.zeros(len(nodes))
    sizes = engine.sizes
    parcels = 0.0 if sizes is None else sizes.parcels(nodes, driver_decides=decides)
    for cost in (engine.tasks[work] for work in phase.cpu):
        seconds += cost.driver_s + cost.driver_parcel_s * parcels + cost.driver_per_node_s * nodes
    ordering = 1.0 if sizes is None else sizes.ordering(nodes, decides=decides)
    return np.asarray(seconds * ordering / context.rates.cpu_factor)
