"""One cluster in full: phases with their bottleneck, ranges by exact order statistics, evidence and warnings."""

from __future__ import annotations

import numpy as np

from planner.cost_model.bill import Hourly, bill, cost
from planner.cost_model.capacity import capacity_per_node, fewest_nodes
from planner.cost_model.caveats import caveats, deciding, evidence_of, goes_in_one_group, simulation_advice
from planner.cost_model.disk_layout import LOCAL, MEMORY, OBJECTS, VOLUMES
from planner.cost_model.duration import disturbed, planned_spares, undisturbed
from planner.cost_model.estimate import energy_j
from planner.cost_model.model import Phase
from planner.cost_model.prices import Offer
from planner.cost_model.staging import around_seconds, staging_notes
from planner.cost_model.workload import JobContext, cpu_seconds, driver_seconds
from planner.planning.candidates.quoted import with_quoted
from planner.schemas.plan import (
    Candidate,
    DiskSplit,
    Interruptions,
    PhaseEstimate,
    Range,
    Request,
    ResourceUse,
    VolumeSet,
)
from planner.statistics.order_statistics import Duration


def candidate(context: JobContext, *, row: int, nodes: int, offer: Offer, request: Request | None = None) -> Candidate:
    """Return the cluster of `nodes` on layout `row` of `context`, computed exactly; with a `request`, how likely it is
    to keep its deadlines, too.
    """
    context = context.only(row)
    type_row = int(context.layouts.type_row[0])
    instances = context.catalog.instances
    phases = tuple(_phase(context, phase, nodes) for phase in context.model.phases)
    overheads = _overheads(context, nodes)
    spares = planned_spares(context, phases, nodes)
    spared = undisturbed(context, phases, nodes, spares=spares)
    whole = disturbed(context, spared, nodes)
    time_s = _range(sum(phase.time_s for phase in phases), whole)
    price = float(offer.price_usd_per_hour[type_row])
    hourly = Hourly.of(context, nodes=nodes, spares=spares, price_usd_per_hour=price, reservations=offer.reservations)
    notes = staging_notes(context, nodes)
    lines = bill(context, hourly, job_s=time_s.expected, around_s=overheads, notes=notes)
    evidence = evidence_of(context, phases, nodes=nodes, price=offer.evidence[type_row])
    cluster = Candidate(
        model=context.model.name,
        cloud=context.catalog.cloud,
        region=offer.region,
        instance_type=str(instances.instance_type[type_row]),
        cloud_type=str(instances.instance_type[type_row]).partition("+")[0],
        nodes=nodes,
        nodes_min=int(fewest_nodes(context)[0]),
        spares=spares.count,
        placement_group=nodes > 1 and goes_in_one_group(context, machines=nodes + spares.count),
        pricing=offer.pricing,
        price_usd_per_hour=price,
        usd_per_hour=hourly.job,
        storage=_storage(context, nodes),
        volumes=_volumes(context, nodes),
        disk_split=_split(context),
        shared=bool(context.layouts.shared[0]),
        time_s=time_s,
        cost_usd=cost(context, hourly, time_s, around_s=sum(overheads.values()), late_s=_late_s(context, nodes)),
        phases=phases,
        capacity_bytes={group: _finite(float(capacity[0])) for group, capacity in capacity_per_node(context).items()},
        needed_bytes={group: needed / nodes for group, needed in context.group_bytes().items()},
        overheads_s=overheads,
        bill=lines,
        evidence=deciding(evidence, phases),
        durability=context.model.durability,
        interruptions=_interruptions(context, time_s.expected, spared_s=spared.mean_s, nodes=nodes),
        deadline_kept=_kept(whole, request, around_s=sum(overheads.values())) if request else None,
        energy_j=_finite(_energy_j(context, time_s.expected, nodes=nodes)),
        warnings=(
            *caveats(context, phases, evidence, nodes=nodes, spares=spares.count, pricing=offer.pricing),
            *simulation_advice(context, nodes=nodes),
            *([offer.notes[type_row]] if type_row in offer.notes else []),
        ),
    )
    return with_quoted(cluster, data_bytes=context.job.map_in)


def _kept(whole: Duration, request: Request, *, around_s: float) -> float | None:
    """Return how likely a sort of a duration is to keep the deadlines; None without any."""
    limits_s = [] if request.sort_deadline_s is None else [request.sort_deadline_s]
    limits_s += [] if request.deadline_s is None else [request.deadline_s - around_s]
    return whole.probability_by(min(limits_s)) if limits_s else None


def _energy_j(context: JobContext, seconds: float, *, nodes: int) -> float:
    power = context.power_w[context.layouts.type_row]
    return float(energy_j(np.array([seconds]), nodes=np.array([float(nodes)]), power_w=power)[0])


def _finite(amount: float) -> float | None:
    return amount if np.isfinite(amount) else None


def _phase(context: JobContext, phase: Phase, nodes: int) -> PhaseEstimate:
    count, first = np.array([float(nodes)]), slice(0, 1)
    uses = {
        name: _use(float(work.total_bytes[0]) / nodes, float(work.node_seconds[0]) / nodes)
        for name, work in context.works(phase).items()
    }
    moved = float(context.network_bytes(phase, first, count)[0, 0])
    if moved > 0:
        uses["network"] = _use(moved, float(context.network_seconds(phase, first, count)[0, 0]))
    if (work := context.works(phase).get("cpu")) is not None:
        uses["cpu"] = _use(uses["cpu"].bytes_per_node, float(cpu_seconds(context, phase, work, first, count)[0, 0]))
    if (driver_s := driver_seconds(context, phase, first, count)) is not None:
        uses["driver"] = _use(0.0, float(driver_s[0, 0]))
    uses |= {name: _use(moved, float(s[0])) for name, (moved, s) in context.undivided(phase, count).items()}
    uses = {name: use for name, use in uses.items() if use.time_s > 0}
    bottleneck = max(uses, key=lambda name: uses[name].time_s, default="nothing")
    return PhaseEstimate(
        name=phase.name, time_s=uses[bottleneck].time_s if uses else 0.0, bottleneck=bottleneck, resources=uses
    )


def _use(bytes_per_node: float, seconds: float) -> ResourceUse:
    rate = bytes_per_node / seconds if seconds > 0 else 0.0
    return ResourceUse(bytes_per_node=bytes_per_node, bytes_per_s=rate, time_s=seconds)


def _interruptions(context: JobContext, expected_s: float, *, spared_s: float, nodes: int) -> Interruptions | None:
    if context.risk is None:
        return None
    return Interruptions(
        per_node_hour=context.risk.per_node_s * 3600,
        expected=nodes * context.risk.per_node_s * expected_s,
        recovery=context.risk.recovery,
        delay_s=expected_s - spared_s,
        evidence=context.risk.evidence,
    )


def _range(equation_s: float, whole: Duration) -> Range:
    p50, p95 = (float(whole.quantile_s(probability)) for probability in (0.5, 0.95))
    return Range(equation=equation_s, expected=whole.mean_s, p50=p50, p95=p95)


def _overheads(context: JobContext, nodes: int) -> dict[str, float]:
    """Seconds that every node is paid for around the job."""
    overheads = context.overheads
    count = np.array([float(nodes)])
    boot_s = float(overheads.booting_s(count)[0])
    named = {"boot": boot_s, "screen": overheads.screen_s, "teardown": overheads.teardown_s}
    moved = {name: float(seconds[0, 0]) for name, seconds in around_seconds(context, count).items()}
    return {name: seconds for name, seconds in (named | moved).items() if seconds > 0}


def _late_s(context: JobContext, nodes: int) -> float:
    """Seconds by which the 95th percentile of the boot exceeds what is expected of it."""
    overheads, count = context.overheads, np.array([float(nodes)])
    return float((overheads.late_booting_s(count) - overheads.booting_s(count))[0])


def _storage(context: JobContext, nodes: int) -> str:
    type_row, layouts, volumes = int(context.layouts.type_row[0]), context.layouts, _volumes(context, nodes)
    texts = {
        LOCAL: f"{layouts.disks[0]:.0f} local {context.catalog.instances.local_disk_kind[type_row]}",
        VOLUMES: f"{volumes.count} x {volumes.volume_type} of {volumes.bytes_each / 2**30:.0f} GiB" if volumes else "",
        OBJECTS: context.objects.name,
        MEMORY: "memory",
    }
    return " + ".join(text for medium, text in texts.items() if layouts.uses(medium)[0])


def _volumes(context: JobContext, nodes: int) -> VolumeSet | None:
    if not context.layouts.uses(VOLUMES)[0]:
        return None
    type_row, volumes = int(context.layouts.type_row[0]), context.volumes
    count = int(volumes.count[type_row])
    held_bytes = max(float(context.held_on(VOLUMES)[0]) / nodes, float(volumes.bytes_min[type_row]))
    return VolumeSet(
        volume_type=str(volumes.volume_type[type_row]),
        count=count,
        bytes_each=held_bytes / count,
        bytes_per_s_each=max(float(volumes.read[type_row]), float(volumes.write[type_row])) / count,
    )


def _split(context: JobContext) -> DiskSplit | None:
    if bool(context.layouts.shared[0]) or not context.layouts.uses(LOCAL)[0]:
        return None
    return DiskSplit(data=int(context.layouts.data_disks[0]), intermediate=int(context.layouts.intermediate_disks[0]))
