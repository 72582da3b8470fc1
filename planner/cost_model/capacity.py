"""Number of nodes that hold the data: the planner never recommends a cluster that runs out of disk."""

from __future__ import annotations

from typing import Final

import numpy as np

from planner.arrays import Codes, Floats
from planner.cost_model.disk_layout import LOCAL, MEMORY, VOLUMES
from planner.cost_model.staging import on_volumes_bytes
from planner.cost_model.volumes.block_volumes import VolumeChoice
from planner.cost_model.workload import JobContext


def capacity_per_node(context: JobContext) -> dict[str, Floats]:
    """Return the capacity of each disk group of a node, per layout, after file-system overhead; shared disks count for
    both groups, an object store holds anything.
    """
    layouts = context.layouts
    instances, type_rows = context.catalog.instances, layouts.type_row
    disk = instances.local_disk_bytes[type_rows] * (1 - context.overheads.file_system_overhead)
    volumes = context.volumes.bytes_max[type_rows]
    memory = instances.memory_bytes[type_rows] * context.overheads.memory_share

    def on_medium(medium: Codes, disks: Floats) -> Floats:
        elsewhere = np.where(medium == VOLUMES, volumes, np.where(medium == MEMORY, memory, np.inf))
        return np.where(medium == LOCAL, disks * disk, elsewhere)

    return {
        "data": on_medium(layouts.data_on, layouts.data_disks),
        "intermediate": on_medium(layouts.intermediate_on, layouts.intermediate_disks),
    }


def fewest_nodes(context: JobContext) -> Floats:
    """Return the fewest nodes for each layout that hold the job's peak with head room, keep the model's copies apart,
    occupy every zone, have the memory for two passes, and whose volumes' burst credit outlasts the run: NaN where a
    capacity is unknown.
    """
    most: Floats = np.maximum.reduce(list(node_bounds(context).values()))
    return np.ceil(most - 1e-9).clip(min=context.nodes_min)


def node_bounds(context: JobContext) -> dict[str, Floats]:
    """Return the least number of nodes by the limits `disks`, `memory` and `credit`, shape (R,), not rounded."""
    return {
        "disks": _with_head_room(context, _holding(context)),
        "memory": _by_memory(context),
        "credit": _by_credit(context),
    }


def _holding(context: JobContext) -> Floats:
    """Return the number of nodes that the data fills completely.

    Groups on the same disks need room for both. The papers also pool the disks of a split (300 TB on 6.4 TB nodes: 47
    nodes).
    """
    capacity, needed = capacity_per_node(context), context.group_bytes()
    layouts = context.layouts
    disks = layouts.disks * context.catalog.instances.local_disk_bytes[layouts.type_row]
    whole = disks * (1 - context.overheads.file_system_overhead)
    on_local = (layouts.data_on == LOCAL) & (layouts.intermediate_on == LOCAL)
    on_volumes = (layouts.data_on == VOLUMES) & (layouts.intermediate_on == VOLUMES)
    room = np.where(on_volumes, capacity["data"], whole)
    with np.errstate(divide="ignore"):
        apart = np.maximum(*(needed[group] / capacity[group] for group in ("data", "intermediate")))
        pooled = sum(needed.values()) / room
    together = on_volumes | layouts.shared | (on_local & context.paper)
    return np.where(together, pooled, apart)


def _with_head_room(context: JobContext, brimful: Floats) -> Floats:
    """Leave room on the fullest node and, with several nodes, for data of lost ones; a single node cannot lose one."""
    skewed = brimful * (1 + context.overheads.skew)
    return np.where(skewed > 1, np.maximum(skewed, brimful + context.overheads.lost_nodes), skewed)


def _by_memory(context: JobContext) -> Floats:
    """Return the number of nodes among which intermediate files must be shared so that two passes suffice, shape (R,).

    A node with M bytes of memory writes P partitions in pieces of b bytes, P x b <= M, and later holds k of them at
    once, k x D / P <= M for its share D. So D <= M^2 / (k x b).
    """
    layouts, overheads, instances = context.layouts, context.overheads, context.catalog.instances
    in_files = (layouts.intermediate_on == LOCAL) | (layouts.intermediate_on == VOLUMES)
    if not overheads.partitions_at_once:
        return np.zeros(len(in_files))
    kinds = instances.local_disk_kind[layouts.type_row]
    spinning = (kinds == "hdd") & (layouts.intermediate_on == LOCAL)
    pieces = np.where(spinning, overheads.pass_buffer_bytes["hdd"], overheads.pass_buffer_bytes["ssd"])
    memory = instances.memory_bytes[layouts.type_row] * overheads.memory_share
    most_bytes = memory**2 / (overheads.partitions_at_once * pieces)
    return np.where(in_files, context.group_bytes()["intermediate"] / most_bytes, 0.0)


def _by_credit(context: JobContext) -> Floats:
    """Return the number of nodes whose burst credit covers the whole run on volumes, shape (R,): 0 without credit."""
    return on_volumes_bytes(context) / context.volumes.credit_bytes[context.layouts.type_row]


_USUAL_RUN_S: Final = 1800.0
"""Assumed time in which loading, job and validation move data when the number of nodes is not given: a faster cluster
holds less on each node, and pays more for a rate that comes with size.
"""


def with_lasting_credit(
    sustained: JobContext, *, on_credit: VolumeChoice, price_usd_per_hour: Floats, nodes: int | None, max_nodes: int
) -> VolumeChoice:
    """Return `on_credit` for the types (T,) whose credit, on as many nodes as allowed, lasts for the whole run on every
    layout, if a byte then costs less than on the context's own volumes; the latter for the others.
    """
    moved_bytes, held_bytes = (
        _most(sustained, amount) for amount in (on_volumes_bytes(sustained), sustained.held_on(VOLUMES))
    )
    lasts = on_credit.on_credit & (moved_bytes <= on_credit.credit_bytes * (nodes or max_nodes))
    nodes_expected = nodes or np.clip(moved_bytes / (on_credit.read * _USUAL_RUN_S), 1, max_nodes)
    own = _usd_per_byte(sustained.volumes, price_usd_per_hour, held_bytes / nodes_expected)
    cheaper = _usd_per_byte(on_credit, price_usd_per_hour, held_bytes / nodes_expected) < np.nan_to_num(own, nan=np.inf)
    return on_credit.where(lasts & cheaper, sustained.volumes)


def _most(context: JobContext, amount: Floats) -> Floats:
    """Return the maximum of an amount (R,) over the layouts of each type (T,)."""
    most = np.zeros(len(context.catalog.instances))
    np.maximum.at(most, context.layouts.type_row, amount)
    return most


def _usd_per_byte(volumes: VolumeChoice, price_usd_per_hour: Floats, held_bytes: Floats) -> Floats:
    """Return the cost of a node with its volumes per byte that it could move in an hour, over 3600."""
    capacity = np.maximum(volumes.bytes_min, held_bytes) * volumes.usd_per_byte_hour
    hourly = np.nan_to_num(price_usd_per_hour) + volumes.fixed_usd_per_hour + capacity
    return np.asarray(hourly * (1 / volumes.read + 1 / volumes.write) / 2)
