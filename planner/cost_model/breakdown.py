"""A cluster in full, as one value: its phases with their bottlenecks, times, bill, evidence and warnings."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from planner.cost_model.bill import Hourly, bill, cost
from planner.cost_model.capacity import capacity_per_node, fewest_nodes
from planner.cost_model.caveats import caveats, deciding, evidence_of, fits_placement_group, simulation_advice
from planner.cost_model.disk_layout import LOCAL, MEMORY, OBJECTS, VOLUMES
from planner.cost_model.duration import PlannedSpares, Undisturbed, disturbed, planned_spares, slowest_resource
from planner.cost_model.estimate import energy_j
from planner.cost_model.model import Phase
from planner.cost_model.prices import Offer
from planner.cost_model.staging import staging_notes, staging_seconds
from planner.cost_model.workload import JobContext, cpu_seconds, driver_seconds, task_count
from planner.schemas.plan import BillLine, Cost, DiskSplit, Interruptions, PhaseEstimate, Range, ResourceUse, VolumeSet
from planner.statistics.order_statistics import Duration


@dataclass(frozen=True, kw_only=True)
class Breakdown:
    """Times, costs and capacity of a cluster of one size. Fields shared with `Candidate` have the same meaning.

    `duration` is the distribution of the job's time, summarised by `time_s`; `overheads_s` has the seconds of each step
    around the job.
    """

    nodes_min: int
    spares: int
    placement_group: bool
    price_usd_per_hour: float
    price_as_of: str
    usd_per_hour: float
    storage: str
    volumes: VolumeSet | None
    disk_split: DiskSplit | None
    duration: Duration
    time_s: Range
    cost_usd: Cost
    phases: tuple[PhaseEstimate, ...]
    capacity_bytes: dict[str, float | None]
    needed_bytes: dict[str, float]
    overheads_s: dict[str, float]
    bill: tuple[BillLine, ...]
    evidence: str
    interruptions: Interruptions | None
    energy_j: float | None
    warnings: tuple[str, ...]


@dataclass(frozen=True, kw_only=True, eq=False)
class Outline:
    """Exact figures that decide between clusters, for `nodes` nodes on the only layout of `context`; `phases` are the
    equations', and `spared` is the time when no node is taken back. Other fields are as in the full `Breakdown`.
    """

    context: JobContext
    offer: Offer
    nodes: int
    phases: tuple[PhaseEstimate, ...]
    spares: PlannedSpares
    spared: Undisturbed
    duration: Duration
    time_s: Range
    overheads_s: dict[str, float]
    hourly: Hourly
    cost_usd: Cost
    energy_j: float | None

    @classmethod
    def of(cls, context: JobContext, offer: Offer, *, nodes: int) -> Outline:
        """Compute the outline."""
        phases = _phases_by_equation(context, nodes)
        spares = planned_spares(context, phases, nodes)
        spared = Undisturbed.of(context, phases, nodes, spares=spares)
        whole = disturbed(context, spared.total, nodes)
        time_s = _range(sum(phase.equation_s for phase in phases), whole)
        overheads_s = _overheads_s(context, nodes)
        price = float(offer.price_usd_per_hour[int(context.layouts.type_row[0])])
        hourly = Hourly.of(
            context, nodes=nodes, spares=spares, price_usd_per_hour=price, reservations=offer.reservations
        )
        around_s, late_s = sum(overheads_s.values()), _boot_delay_s(context, nodes)
        return cls(
            context=context,
            offer=offer,
            nodes=nodes,
            phases=phases,
            spares=spares,
            spared=spared,
            duration=whole,
            time_s=time_s,
            overheads_s=overheads_s,
            hourly=hourly,
            cost_usd=cost(context, hourly, time_s, overheads_s=around_s, late_s=late_s),
            energy_j=_finite(_energy_j(context, time_s.expected, nodes=nodes)),
        )

    def in_full(self) -> Breakdown:
        """Return the breakdown."""
        context, offer, nodes, spares = self.context, self.offer, self.nodes, self.spares.count
        type_row = int(context.layouts.type_row[0])
        phases = self.phases if context.paper else _expected_phases(self.phases, self.spared)
        evidence = evidence_of(context, phases, nodes=nodes, price=offer.evidence[type_row])
        job_s, notes = self.time_s.expected, staging_notes(context, nodes)
        capacity_bytes = capacity_per_node(context)
        return Breakdown(
            nodes_min=int(fewest_nodes(context)[0]),
            spares=spares,
            placement_group=nodes > 1 and fits_placement_group(context, machines=nodes + spares),
            price_usd_per_hour=float(offer.price_usd_per_hour[type_row]),
            price_as_of=offer.day_of(type_row),
            usd_per_hour=self.hourly.job,
            storage=_storage(context, nodes),
            volumes=_volumes(context, nodes),
            disk_split=_disk_split(context),
            duration=self.duration,
            time_s=self.time_s,
            cost_usd=self.cost_usd,
            phases=phases,
            capacity_bytes={group: _finite(float(capacity[0])) for group, capacity in capacity_bytes.items()},
            needed_bytes={group: needed / nodes for group, needed in context.group_bytes().items()},
            overheads_s=self.overheads_s,
            bill=bill(context, self.hourly, job_s=job_s, overheads_s=self.overheads_s, notes=notes),
            evidence=deciding(evidence, phases),
            interruptions=_interruptions(context, job_s, spared_s=self.spared.total.mean_s, nodes=nodes),
            energy_j=self.energy_j,
            warnings=(
                *caveats(context, phases, evidence, nodes=nodes, spares=spares, offer=offer),
                *simulation_advice(context, nodes=nodes),
                *([offer.notes[type_row]] if type_row in offer.notes else []),
            ),
        )


def whole_run_s(context: JobContext, *, nodes: int) -> float:
    """Return the expected seconds of a whole run, from boot to teardown, on the only layout of `context`."""
    phases = _phases_by_equation(context, nodes)
    spared = Undisturbed.of(context, phases, nodes, spares=planned_spares(context, phases, nodes))
    return disturbed(context, spared.total, nodes).mean_s + sum(_overheads_s(context, nodes).values())


def _expected_phases(phases: tuple[PhaseEstimate, ...], times: Undisturbed) -> tuple[PhaseEstimate, ...]:
    """Return phases with expected times, assuming that no node is taken back, in place of the equations' times. They
    add up to the mean of the distribution, in which a finite number of values stands for each phase.
    """
    scale = times.total.mean_s / times.mean_s if times.mean_s else 1.0
    expected = []
    for number, phase in enumerate(phases):
        alone = times.resources_s[number]
        uses = {name: replace(use, time_s=alone[name] * scale) for name, use in phase.resources.items()}
        bottleneck = times.bottleneck(number)
        expected.append(replace(phase, time_s=times.phases_s[number] * scale, bottleneck=bottleneck, resources=uses))
    return tuple(expected)


def _phases_by_equation(context: JobContext, nodes: int) -> tuple[PhaseEstimate, ...]:
    return tuple(_phase_estimate(context, phase, nodes) for phase in context.model.phases)


def _phase_estimate(context: JobContext, phase: Phase, nodes: int) -> PhaseEstimate:
    count, first, works = np.array([float(nodes)]), slice(0, 1), context.works(phase)
    tasks = task_count(context, phase, first, count)
    uses = {
        name: _resource_use(float(work.total_bytes[0]) / nodes, float(work.node_seconds[0]) / nodes)
        for name, work in works.items()
    }
    moved = float(context.network_bytes(phase, first, count)[0, 0])
    if moved > 0:
        uses["network"] = _resource_use(moved, float(context.network_seconds(phase, first, count)[0, 0]))
    if (work := works.get("cpu")) is not None:
        busy_s = float(cpu_seconds(context, phase, work, first, count, tasks=tasks)[0, 0])
        uses["cpu"] = _resource_use(uses["cpu"].bytes_per_node, busy_s)
    if (driver_s := driver_seconds(context, phase, first, count, tasks=tasks)) is not None:
        uses["driver"] = _resource_use(0.0, float(driver_s[0, 0]))
    uses |= {name: _resource_use(moved, float(s[0])) for name, (moved, s) in context.undivided(phase, count).items()}
    uses = {name: use for name, use in uses.items() if use.equation_s > 0}
    bottleneck = slowest_resource(uses)
    seconds = uses[bottleneck].equation_s if uses else 0.0
    return PhaseEstimate(name=phase.name, time_s=seconds, equation_s=seconds, bottleneck=bottleneck, resources=uses)


def _resource_use(bytes_per_node: float, seconds: float) -> ResourceUse:
    rate = bytes_per_node / seconds if seconds > 0 else 0.0
    return ResourceUse(bytes_per_node=bytes_per_node, bytes_per_s=rate, time_s=seconds, equation_s=seconds)


def _range(equation_s: float, whole: Duration) -> Range:
    p50, p95 = (float(whole.quantile_s(probability)) for probability in (0.5, 0.95))
    return Range(equation=equation_s, expected=whole.mean_s, p50=p50, p95=p95)


def _overheads_s(context: JobContext, nodes: int) -> dict[str, float]:
    """Return the seconds around the job for which every node is paid."""
    overheads = context.overheads
    count = np.array([float(nodes)])
    boot_s = float(overheads.booting_s(count)[0])
    install_s = overheads.install_s + float(overheads.starting_s(count)[0])
    named = {"boot": boot_s, "install": install_s, "screen": overheads.screen_s}
    named["teardown"] = overheads.teardown_s
    moved = {name: float(seconds[0, 0]) for name, seconds in staging_seconds(context, count).items()}
    return {name: seconds for name, seconds in (named | moved).items() if seconds > 0}


def _boot_delay_s(context: JobContext, nodes: int) -> float:
    """Return the seconds by which the 95th percentile of the boot time exceeds its expected value."""
    overheads, count = context.overheads, np.array([float(nodes)])
    return float((overheads.late_booting_s(count) - overheads.booting_s(count))[0])


def _energy_j(context: JobContext, seconds: float, *, nodes: int) -> float:
    power = context.power_w[context.layouts.type_row]
    return float(energy_j(np.array([seconds]), nodes=np.array([float(nodes)]), power_w=power)[0])


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


def _disk_split(context: JobContext) -> DiskSplit | None:
    if bool(context.layouts.shared[0]) or not context.layouts.uses(LOCAL)[0]:
        return None
    return DiskSplit(data=int(context.layouts.data_disks[0]), intermediate=int(context.layouts.intermediate_disks[0]))


def _finite(amount: float) -> float | None:
    return amount if np.isfinite(amount) else None
