"""How many nodes it takes to hold the data: the planner never recommends a cluster that runs out of disk."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from planner.work import Situation

Floats = NDArray[np.float64]


def capacity_per_node(situation: Situation) -> dict[str, Floats]:
    """Return what each disk group of a node holds, per layout, after file-system overhead; shared disks count for
    both groups.
    """
    instances, layouts = situation.catalog.instances, situation.layouts
    usable = instances.local_disk_bytes[layouts.type_row] * (1 - situation.lifecycle.file_system_overhead)
    on_volumes = situation.volumes.bytes_max[layouts.type_row]
    disks = {"data": layouts.data_disks, "intermediate": layouts.intermediate_disks}
    return {group: np.where(count > 0, count * usable, on_volumes) for group, count in disks.items()}


def fewest_nodes(situation: Situation) -> Floats:
    """Return the fewest nodes that hold the job's peak on each layout: NaN where a capacity is unknown.

    Groups on the same disks need room for both. The papers pool the disks of a split too (300 TB on 6.4 TB nodes: 47
    nodes).
    """
    capacity, needed = capacity_per_node(situation), situation.group_bytes()
    layouts = situation.layouts
    apart = np.maximum(*(needed[group] / capacity[group] for group in ("data", "intermediate")))
    disks = layouts.disks * situation.catalog.instances.local_disk_bytes[layouts.type_row]
    whole = disks * (1 - situation.lifecycle.file_system_overhead)
    on_local = (layouts.data_disks > 0) & (layouts.intermediate_disks > 0)
    on_volumes = (layouts.data_disks == 0) & (layouts.intermediate_disks == 0)
    room = np.where(on_volumes, capacity["data"], whole)
    with np.errstate(divide="ignore"):
        pooled = sum(needed.values()) / room
    together = on_volumes | layouts.shared | (on_local & situation.paper)
    return np.ceil(np.where(together, pooled, apart) - 1e-9).clip(min=1)
