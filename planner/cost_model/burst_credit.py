"""Whether volumes that are fast on burst credit alone do for a run: they must last for it, and cost less."""

from __future__ import annotations

from typing import Final

import numpy as np

from planner.arrays import Floats
from planner.cost_model.block_volumes import VolumeChoice
from planner.cost_model.disk_layout import VOLUMES
from planner.cost_model.staging_steps import on_volumes_bytes
from planner.cost_model.workload import JobContext

_USUAL_RUN_S: Final = 1800.0
"""How long loading, job and validation are taken to move data when the number of nodes is not given: a cluster that is
done sooner holds less on each node, and pays more for a rate that comes with size.
"""


def with_lasting_credit(
    sustained: JobContext, *, on_credit: VolumeChoice, price_usd_per_hour: Floats, nodes: int | None, max_nodes: int
) -> VolumeChoice:
    """Return `on_credit` for the types (T,) of which as many nodes as allowed have enough credit for the whole run on
    every layout, and where a byte then costs less than on the context's own volumes; the latter for the others.
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
    """Return, for each type (T,), the most of an amount (R,) over its layouts."""
    most = np.zeros(len(context.catalog.instances))
    np.maximum.at(most, context.layouts.type_row, amount)
    return most


def _usd_per_byte(volumes: VolumeChoice, price_usd_per_hour: Floats, held_bytes: Floats) -> Floats:
    """Return what a node with its volumes costs for each byte that it could move in an hour, over 3600."""
    capacity = np.maximum(volumes.bytes_min, held_bytes) * volumes.usd_per_byte_hour
    hourly = np.nan_to_num(price_usd_per_hour) + volumes.fixed_usd_per_hour + capacity
    return np.asarray(hourly * (1 / volumes.read + 1 / volumes.write) / 2)
