"""What a cluster costs beside its nodes' hourly price: spares, capacity, requests, and how the bill is rounded."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from planner.arrays import Floats, Rows
from planner.cost_model.disk_layout import OBJECTS, VOLUMES
from planner.cost_model.workload import JobContext


def paid_nodes(nodes: Floats, *, spare_fraction: float) -> Floats:
    """Return the nodes a run pays for: spares are launched for clusters of more than one."""
    return np.where(nodes > 1, nodes + np.ceil(nodes * spare_fraction), nodes)


@dataclass(frozen=True, kw_only=True, eq=False)
class Reservations:
    """Prices that hold for so many nodes of a type only, both of shape (T,): beyond `nodes` (inf: no limit) the price
    is `above_usd_per_hour` more.
    """

    nodes: Floats
    above_usd_per_hour: Floats

    def excess_usd_per_hour(self, type_rows: Rows, paid: Floats) -> Floats:
        """Return what nodes beyond the reservations cost above the price, shape (rows, N), of `paid` nodes (N,)."""
        beyond = np.maximum(paid[None, :] - self.nodes[type_rows, None], 0.0)
        return beyond * self.above_usd_per_hour[type_rows, None]


def spares_paid_s(context: JobContext, nodes: Floats) -> Floats:
    """Return the seconds that spares are paid for at each cluster size (N,): a run ends them when screening is over."""
    return billed_s(context.overheads.booting_s(nodes) + context.overheads.screen_s, context)


def billed_s(seconds: Floats, context: JobContext) -> Floats:
    """Return the seconds that the cloud bills; the papers prorate, and so does a catalog that does not say."""
    billing = context.catalog.manifest.billing
    if context.paper or billing is None:
        return seconds
    return np.maximum(np.ceil(seconds / billing.step_s) * billing.step_s, billing.minimum_s)


def capacity_usd_per_hour(context: JobContext, nodes: Floats, rows: slice = slice(None)) -> Floats:
    """Return the hourly price of what the whole cluster holds on volumes and in the object store, shape (rows, N):
    (rows, 1) where it does not depend on the nodes.

    Volumes are bought as large as the data or, where their rate comes with their size, as large as the rate asks.
    """
    volumes, type_rows = context.volumes, context.layouts.type_row[rows]
    on_volumes, in_store_bytes = (context.held_on(medium, rows)[:, None] for medium in (VOLUMES, OBJECTS))
    in_store = np.where(in_store_bytes > 0, in_store_bytes * context.objects.usd_per_byte_hour, 0.0)
    if not on_volumes.any():
        return in_store
    least, usd = volumes.bytes_min[type_rows, None], volumes.usd_per_byte_hour[type_rows, None]
    bought = np.maximum(on_volumes, nodes * least) if least.any() else on_volumes
    return np.asarray(np.where(on_volumes > 0, bought * usd, 0.0) + in_store)


def request_usd(context: JobContext) -> float:
    """Return what the job's requests to the object store cost: reading the input and writing the output once."""
    sizes, store = context.model.requests, context.objects
    if not sizes:
        return 0.0
    reads = math.ceil(context.job.map_in / sizes["read_bytes"])
    writes = math.ceil(context.job.reduce_out / sizes["write_bytes"])
    return reads * store.read_usd_per_request + writes * store.write_usd_per_request
