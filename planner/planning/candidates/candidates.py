"""A cluster as a candidate of a plan: its breakdown, its place, and its figures in the field's usual units."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, fields, replace
from functools import partial
from typing import Any, Final

from planner.catalog.instances import Instances, split_weighting
from planner.cost_model.breakdown import Breakdown, Outline
from planner.cost_model.prices import Offer
from planner.cost_model.workload import JobContext
from planner.schemas.plan import BillLine, Candidate, DiskSplit, Machine, Quoted, Request
from planner.statistics.order_statistics import Duration

_COPIED: Final = tuple(part.name for part in fields(Breakdown) if part.name != "duration")
"""Fields that a candidate copies from its breakdown."""

_RECORD_BYTES: Final = 100
"""Record size of the sort benchmark, in which figures are compared even for jobs with other records."""


@dataclass(frozen=True, kw_only=True, repr=False)
class Outlined(Candidate):
    """A cluster that may be shown, without the fields that no choice depends on; `full` computes those."""

    nodes_min: int = 0
    placement_group: bool = False
    storage: str = ""
    disk_split: DiskSplit | None = None
    capacity_bytes: dict[str, float | None] = field(default_factory=dict)
    needed_bytes: dict[str, float] = field(default_factory=dict)
    evidence: str = ""
    bill: tuple[BillLine, ...] = ()
    full: Callable[[], Candidate]


def in_full(cluster: Candidate) -> Candidate:
    """Return a cluster with all its fields."""
    return cluster.full() if isinstance(cluster, Outlined) else cluster


def candidate(context: JobContext, *, row: int, nodes: int, offer: Offer) -> Candidate:
    """Return the cluster of `nodes` on layout `row` of `context`, computed exactly."""
    return _whole(Outline.of(context.only(row), offer, nodes=nodes), None)


def outlined(context: JobContext, *, row: int, nodes: int, offer: Offer, request: Request) -> tuple[Outlined, Duration]:
    """Return the same cluster as `candidate` as an outline, with its probability of meeting the deadlines of a request;
    and the distribution of its time.
    """
    parts = Outline.of(context.only(row), offer, nodes=nodes)
    cluster = Outlined(
        **_placement_fields(parts, request),
        spares=parts.spares.count,
        price_usd_per_hour=float(offer.price_usd_per_hour[parts.context.layouts.type_row[0]]),
        usd_per_hour=parts.hourly.job,
        time_s=parts.time_s,
        cost_usd=parts.cost_usd,
        phases=parts.phases,
        overheads_s=parts.overheads_s,
        energy_j=parts.energy_j,
        full=partial(_whole, parts, request),
    )
    return cluster, parts.duration


def _whole(parts: Outline, request: Request | None) -> Candidate:
    context, breakdown = parts.context, parts.in_full()
    cluster = Candidate(**_placement_fields(parts, request), **{name: getattr(breakdown, name) for name in _COPIED})
    return with_quoted(cluster, data_bytes=context.job.map_in)


def _placement_fields(parts: Outline, request: Request | None) -> dict[str, Any]:
    """Return the fields of a candidate that do not come from its breakdown."""
    context, offer = parts.context, parts.offer
    name, weighting = split_weighting(context.catalog.instances.names[context.layouts.type_row[0]])
    return {
        "model": context.model.name,
        "cloud": context.catalog.cloud,
        "region": offer.region,
        "instance_type": name,
        "cloud_type": name.partition("+")[0],
        "machine": _machine(context.catalog.instances, int(context.layouts.type_row[0])),
        "bandwidth_weighting": weighting,
        "nodes": parts.nodes,
        "pricing": offer.pricing,
        "shared": bool(context.layouts.shared[0]),
        "durability": context.model.durability,
        "deadline_kept": _deadline_kept(parts, request) if request else None,
    }


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


def _deadline_kept(parts: Outline, request: Request) -> float | None:
    """Return the probability that a cluster meets the deadlines; None without any."""
    limits_s = [] if request.sort_deadline_s is None else [request.sort_deadline_s]
    limits_s += [] if request.deadline_s is None else [request.deadline_s - sum(parts.overheads_s.values())]
    return parts.duration.probability_by(min(limits_s)) if limits_s else None


def with_quoted(candidate: Candidate, *, data_bytes: float) -> Candidate:
    """Return the candidate with expected time, cost and energy for `data_bytes` of input in the field's usual units."""
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
