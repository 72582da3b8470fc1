"""A cluster as a candidate of a plan: its breakdown, its place, and its figures in the units that the field quotes."""

from __future__ import annotations

import math
from dataclasses import fields, replace
from typing import Final

from planner.catalog.instances import Instances, split_weighting
from planner.cost_model.breakdown import Breakdown, breakdown
from planner.cost_model.prices import Offer
from planner.cost_model.workload import JobContext
from planner.schemas.plan import Candidate, Machine, Quoted, Request

_COPIED: Final = tuple(field.name for field in fields(Breakdown) if field.name != "duration")
"""What a candidate takes over from its breakdown as it is."""

_RECORD_BYTES: Final = 100
"""The sort benchmark's, also where the records of a job are others: figures are compared by it."""


def candidate(context: JobContext, *, row: int, nodes: int, offer: Offer, request: Request | None = None) -> Candidate:
    """Return the cluster of `nodes` on layout `row` of `context`, computed exactly; with a `request`, how likely it is
    to keep its deadlines, too.
    """
    context = context.only(row)
    parts = breakdown(context, offer, nodes=nodes)
    name, weighting = split_weighting(context.catalog.instances.names[context.layouts.type_row[0]])
    cluster = Candidate(
        model=context.model.name,
        cloud=context.catalog.cloud,
        region=offer.region,
        instance_type=name,
        cloud_type=name.partition("+")[0],
        bandwidth_weighting=weighting,
        nodes=nodes,
        pricing=offer.pricing,
        shared=bool(context.layouts.shared[0]),
        durability=context.model.durability,
        deadline_kept=_deadline_kept(parts, request) if request else None,
        machine=_machine(context.catalog.instances, int(context.layouts.type_row[0])),
        **{name: getattr(parts, name) for name in _COPIED},
    )
    return with_quoted(cluster, data_bytes=context.job.map_in)


def _machine(instances: Instances, row: int) -> Machine:
    disks = _known(instances.local_disks[row])
    return Machine(
        vcpus=_known(instances.vcpu[row]),
        memory_bytes=_known(instances.memory_bytes[row]),
        network_bytes_per_s=_known(instances.network_baseline_bytes_per_s[row]),
        network_peak_bytes_per_s=_known(instances.network_peak_bytes_per_s[row]),
        local_disks=None if disks is None else int(disks),
        local_disk_bytes=_known(instances.local_disk_bytes[row]) if disks else None,
        local_disk_kind=str(instances.local_disk_kind[row]) if disks else "",
    )


def _known(amount: float) -> float | None:
    return float(amount) if math.isfinite(amount) else None


def _deadline_kept(parts: Breakdown, request: Request) -> float | None:
    """Return how likely a cluster is to keep the deadlines; None without any."""
    limits_s = [] if request.sort_deadline_s is None else [request.sort_deadline_s]
    limits_s += [] if request.deadline_s is None else [request.deadline_s - sum(parts.overheads_s.values())]
    return parts.duration.probability_by(min(limits_s)) if limits_s else None


def with_quoted(candidate: Candidate, *, data_bytes: float) -> Candidate:
    """Return the candidate with its expected time, cost and energy for `data_bytes` of input in the field's units."""
    seconds, terabytes = candidate.time_s.expected, data_bytes / 1e12
    if not seconds:
        return candidate
    energy = candidate.energy_j
    quoted = Quoted(
        tb_per_min=terabytes / (seconds / 60),
        mb_per_s_per_node=data_bytes / 1e6 / seconds / candidate.nodes,
        usd_per_tb=candidate.cost_usd.expected / terabytes,
        usd_per_tb_total=candidate.cost_usd.total / terabytes,
        records_per_j=data_bytes / _RECORD_BYTES / energy if energy else None,
    )
    return replace(candidate, quoted=quoted)
