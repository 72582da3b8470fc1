"""One cluster in full: phases with their bottleneck, ranges by exact order statistics, evidence and warnings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from planner.arrays import Floats
from planner.cost_model.bill import Hourly, bill, cost
from planner.cost_model.capacity import capacity_per_node, fewest_nodes
from planner.cost_model.disk_layout import LOCAL, MEMORY, OBJECTS, VOLUMES
from planner.cost_model.duration import disturbed, planned_spares, undisturbed
from planner.cost_model.energy import energy_j
from planner.cost_model.model import Phase
from planner.cost_model.prices import Reservations
from planner.cost_model.staging_steps import around_node_seconds
from planner.cost_model.workload import JobContext
from planner.planning.caveats import caveats, deciding, evidence_of
from planner.schemas.plan import Candidate, DiskSplit, Interruptions, PhaseEstimate, Range, ResourceUse, VolumeSet
from planner.statistics.order_statistics import Duration


@dataclass(frozen=True, kw_only=True, eq=False)
class Offer:
    """What a region asks for every type of a catalog, shape (T,): all-in USD per node-hour, and what that rests on.

    `notes` say which types' prices are the user's own, by row.
    """

    region: str
    pricing: str
    price_usd_per_hour: Floats
    evidence: tuple[str, ...]
    reservations: Reservations | None = None
    notes: Mapping[int, str] = field(default_factory=dict)


def candidate(context: JobContext, *, row: int, nodes: int, offer: Offer) -> Candidate:
    """Return the cluster of `nodes` on layout `row` of `context`, computed exactly."""
    one = context.only(row)
    kind = int(one.layouts.type_row[0])
    instances = one.catalog.instances
    phases = tuple(_phase(one, phase, nodes) for phase in one.model.phases)
    overheads = _overheads(one, nodes)
    spares = planned_spares(one, phases, nodes)
    spared = undisturbed(one, phases, nodes, spares=spares)
    time_s = _range(sum(phase.time_s for phase in phases), disturbed(one, spared, nodes))
    price = float(offer.price_usd_per_hour[kind])
    hourly = Hourly.of(one, nodes=nodes, spares=spares, price_usd_per_hour=price, reservations=offer.reservations)
    lines = bill(one, hourly, job_s=time_s.expected, around_s=overheads)
    evidence = evidence_of(one, phases, nodes=nodes, price=offer.evidence[kind])
    return Candidate(
        model=one.model.name,
        cloud=one.catalog.cloud,
        region=offer.region,
        instance_type=str(instances.instance_type[kind]),
        cloud_type=str(instances.instance_type[kind]).partition("+")[0],
        nodes=nodes,
        nodes_min=int(fewest_nodes(one)[0]),
        spares=spares.count,
        placement_group=bool(instances.placement_group[kind]) and nodes > 1 and one.staging.zones == 1,
        pricing=offer.pricing,
        price_usd_per_hour=price,
        usd_per_hour=hourly.job,
        storage=_storage(one, nodes),
        volumes=_volumes(one, nodes),
        disk_split=_split(one),
        shared=bool(one.layouts.shared[0]),
        time_s=time_s,
        cost_usd=cost(one, hourly, time_s, around_s=sum(overheads.values())),
        phases=phases,
        capacity_bytes={group: _finite(float(held[0])) for group, held in capacity_per_node(one).items()},
        needed_bytes={group: held / nodes for group, held in one.group_bytes().items()},
        overheads_s=overheads,
        bill=lines,
        evidence=deciding(evidence, phases),
        durability=one.model.durability,
        interruptions=_interruptions(one, time_s.expected, spared_s=spared.mean_s, nodes=nodes),
        energy_j=_finite(_energy_j(one, time_s.expected, nodes=nodes)),
        warnings=(
            *caveats(one, phases, evidence, nodes=nodes, pricing=offer.pricing),
            *([offer.notes[kind]] if kind in offer.notes else []),
        ),
    )


def _energy_j(one: JobContext, seconds: float, *, nodes: int) -> float:
    power = one.power_w[one.layouts.type_row]
    return float(energy_j(np.array([seconds]), nodes=np.array([float(nodes)]), power_w=power)[0])


def _finite(amount: float) -> float | None:
    return amount if np.isfinite(amount) else None


def _phase(one: JobContext, phase: Phase, nodes: int) -> PhaseEstimate:
    count, first = np.array([float(nodes)]), slice(0, 1)
    uses = {
        name: _use(float(work.total_bytes[0]) / nodes, float(work.node_seconds[0]) / nodes)
        for name, work in one.works(phase).items()
    }
    moved = float(one.network_bytes(phase, first, count)[0, 0])
    if moved > 0:
        uses["network"] = _use(moved, float(one.network_seconds(phase, first, count)[0, 0]))
    uses |= {name: _use(moved, float(s[0])) for name, (moved, s) in one.undivided(phase, count).items()}
    uses = {name: use for name, use in uses.items() if use.time_s > 0}
    bottleneck = max(uses, key=lambda name: uses[name].time_s, default="nothing")
    return PhaseEstimate(
        name=phase.name,
        time_s=uses[bottleneck].time_s if uses else 0.0,
        bottleneck=bottleneck,
        resources=uses,
    )


def _use(bytes_per_node: float, seconds: float) -> ResourceUse:
    rate = bytes_per_node / seconds if seconds > 0 else 0.0
    return ResourceUse(bytes_per_node=bytes_per_node, bytes_per_s=rate, time_s=seconds)


def _interruptions(one: JobContext, expected_s: float, *, spared_s: float, nodes: int) -> Interruptions | None:
    if one.risk is None:
        return None
    return Interruptions(
        per_node_hour=one.risk.per_node_s * 3600,
        expected=nodes * one.risk.per_node_s * expected_s,
        recovery=one.risk.recovery,
        delay_s=expected_s - spared_s,
        evidence=one.risk.evidence,
    )


def _range(equation_s: float, whole: Duration) -> Range:
    p50, p95 = (float(whole.quantile_s(probability)) for probability in (0.5, 0.95))
    return Range(equation=equation_s, expected=whole.mean_s, p50=p50, p95=p95)


def _overheads(one: JobContext, nodes: int) -> dict[str, float]:
    """Seconds that every node is paid for around the job."""
    life = one.overheads
    named = {"boot": life.boot_s, "screen": life.screen_s, "teardown": life.teardown_s}
    moved = {name: float(seconds[0]) / nodes for name, seconds in around_node_seconds(one).items()}
    return {name: seconds for name, seconds in (named | moved).items() if seconds > 0}


def _storage(one: JobContext, nodes: int) -> str:
    kind, layouts, volumes = int(one.layouts.type_row[0]), one.layouts, _volumes(one, nodes)
    texts = {
        LOCAL: f"{layouts.disks[0]:.0f} local {one.catalog.instances.local_disk_kind[kind]}",
        VOLUMES: f"{volumes.count} x {volumes.volume_type} of {volumes.bytes_each / 2**30:.0f} GiB" if volumes else "",
        OBJECTS: one.objects.name,
        MEMORY: "memory",
    }
    return " + ".join(text for medium, text in texts.items() if layouts.uses(medium)[0])


def _volumes(one: JobContext, nodes: int) -> VolumeSet | None:
    if not one.layouts.uses(VOLUMES)[0]:
        return None
    kind, volumes = int(one.layouts.type_row[0]), one.volumes
    count = int(volumes.count[kind])
    held = max(float(one.held_on(VOLUMES)[0]) / nodes, float(volumes.bytes_min[kind]))
    return VolumeSet(
        volume_type=str(volumes.volume_type[kind]),
        count=count,
        bytes_each=held / count,
        bytes_per_s_each=max(float(volumes.read[kind]), float(volumes.write[kind])) / count,
    )


def _split(one: JobContext) -> DiskSplit | None:
    if bool(one.layouts.shared[0]) or not one.layouts.uses(LOCAL)[0]:
        return None
    return DiskSplit(data=int(one.layouts.data_disks[0]), intermediate=int(one.layouts.intermediate_disks[0]))
