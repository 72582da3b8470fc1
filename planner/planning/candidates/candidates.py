"""A cluster as a candidate of a plan: a row of the evaluated clusters with its place, evidence, bill and warnings, and
its figures in the field's usual units.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final

import numpy as np

from planner.catalog.instances import Instances, split_weighting
from planner.cost_model.caveats import Basis, deciding
from planner.cost_model.clusters import Clusters
from planner.cost_model.disk_layout import LOCAL, MEMORY, OBJECTS, VOLUMES
from planner.cost_model.prices import Offer
from planner.cost_model.staging import staging_notes
from planner.cost_model.workload import JobContext
from planner.schemas.plan import Candidate, DiskSplit, FrontierPoint, Interruptions, Machine, Quoted, Request, VolumeSet

_RECORD_BYTES: Final = 100
"""Record size of the sort benchmark, in which figures are compared even for jobs with other records."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Cluster:
    """One of evaluated `clusters`, `at` its place: what decides between clusters, and the `candidate` it makes."""

    clusters: Clusters
    at: int

    @property
    def instance_type(self) -> str:
        """The type, with its added disks."""
        return self._name[0]

    @property
    def bandwidth_weighting(self) -> str:
        """The type's bandwidth weighting: '' is the cloud's default."""
        return self._name[1]

    @cached_property
    def _name(self) -> tuple[str, str]:
        return split_weighting(self._context.catalog.instances.names[self._type_row])

    @property
    def is_own(self) -> bool:
        """True for machines of one's own."""
        return self._context.catalog.is_own

    @property
    def _context(self) -> JobContext:
        return self.clusters.context

    @property
    def home(self) -> tuple[JobContext, int]:
        """The job on all types of its grid, and the layout there."""
        context, row = self._context, self.at
        while context.place is not None:
            context, rows = context.place
            row = int(rows[row])
        return context, row

    @property
    def _type_row(self) -> int:
        return int(self._context.layouts.type_row[self.at])

    @property
    def nodes(self) -> int:
        """The nodes at work."""
        return int(self.clusters.nodes[self.at])

    @property
    def machines(self) -> int:
        """The nodes launched, spares included."""
        return self.nodes + int(self.clusters.spares.count[self.at])

    @property
    def expected_s(self) -> float:
        """The expected seconds of the job."""
        return float(self.clusters.expected_s[self.at])

    @property
    def total_usd(self) -> float:
        """The expected cost of the whole run."""
        return float(self.clusters.total_usd[self.at])

    @property
    def place(self) -> tuple[str, ...]:
        """Model, cloud, region, way to pay and type."""
        context, offer = self._context, self.clusters.offer
        return (context.model.name, self.cloud, offer.region, offer.pricing, self.instance_type)

    @property
    def cloud(self) -> str:
        """The cloud that rents it out."""
        return self._context.catalog.cloud

    @property
    def pricing(self) -> str:
        """The way to pay."""
        return self.clusters.offer.pricing

    @property
    def point(self) -> FrontierPoint:
        """The cluster as a point of the frontier."""
        return FrontierPoint(
            model=self._context.model.name,
            cloud=self.cloud,
            instance_type=self.instance_type,
            bandwidth_weighting=self.bandwidth_weighting,
            nodes=self.nodes,
            pricing=self.pricing,
            region=self.clusters.offer.region,
            time_s=self.expected_s,
            cost_usd_total=self.total_usd,
        )

    def deadline_kept(self, request: Request) -> float | None:
        """Return the probability that a cluster meets the deadlines of a request; None without any."""
        limits_s = [] if request.sort_deadline_s is None else [request.sort_deadline_s]
        if request.deadline_s is not None:
            limits_s.append(request.deadline_s - float(self.clusters.around_s[self.at]))
        limits = np.full(len(self.clusters), min(limits_s, default=0.0))
        return float(self.clusters.times.whole.probability_by(limits)[self.at]) if limits_s else None

    def candidate(self, request: Request | None = None) -> Candidate:
        """Return the cluster with all that a plan says of it; the chance of a deadline is that of `request`."""
        clusters, at, nodes, offer = self.clusters, self.at, self.nodes, self.clusters.offer
        context, type_row, (name, weighting) = self._context.only(np.array([at])), self._type_row, self._name
        time_s, phases = clusters.time_s(at), clusters.phases(at)
        steps_s = {step: float(seconds[at]) for step, seconds in clusters.steps_s.items() if seconds[at] > 0}
        spares, energy_j = self.machines - nodes, float(clusters.energy_j[at])
        basis = Basis(context=context, phases=phases, nodes=nodes, spares=spares, offer=offer)
        cluster = Candidate(
            model=context.model.name,
            cloud=context.catalog.cloud,
            region=offer.region,
            instance_type=name,
            cloud_type=name.partition("+")[0],
            machine=_machine(context.catalog.instances, type_row),
            bandwidth_weighting=weighting,
            nodes=nodes,
            nodes_min=int(clusters.fewest[at]),
            spares=spares,
            placement_group=nodes > 1 and nodes + spares <= basis.grouped_most,
            pricing=offer.pricing,
            price_usd_per_hour=float(offer.price_usd_per_hour[type_row]),
            price_as_of=offer.day_of(type_row),
            usd_per_hour=float(clusters.bills.hourly.job[at, 0]),
            shared=bool(context.layouts.shared[0]),
            durability=context.model.durability,
            storage=_storage(context, nodes),
            volumes=_volumes(context, nodes),
            disk_split=_disk_split(context),
            time_s=time_s,
            cost_usd=clusters.cost_usd(at),
            phases=phases,
            capacity_bytes={group: _known(float(of[at])) for group, of in clusters.capacity_bytes.items()},
            needed_bytes={group: needed / nodes for group, needed in context.group_bytes().items()},
            overheads_s=steps_s,
            late_staging_s=clusters.bills.late_staging_at(at),
            bill=clusters.bills.lines(at, {"job": time_s.expected, **steps_s}, notes=staging_notes(context, nodes)),
            evidence=deciding(basis.evidence, phases),
            interruptions=self._interruptions(),
            energy_j=_known(energy_j),
            deadline_kept=self.deadline_kept(request) if request else None,
            warnings=(*basis.caveats(), *([offer.notes[type_row]] if type_row in offer.notes else [])),
        )
        return with_quoted(cluster, data_bytes=context.job.map_in)

    def _interruptions(self) -> Interruptions | None:
        risk = self._context.risk
        if risk is None:
            return None
        per_node_s = float(np.broadcast_to(risk.per_node_s, len(self.clusters))[self.at])
        return Interruptions(
            per_node_hour=per_node_s * 3600,
            expected=self.nodes * per_node_s * self.expected_s,
            recovery=risk.recovery,
            delay_s=float(self.clusters.times.delay_s[self.at]),
            evidence=risk.evidence,
        )


def candidates(clusters: Sequence[Cluster], request: Request) -> list[Candidate]:
    """Return clusters with all that a plan says of them, evaluated together, one batch for each job and offer."""
    homes = [cluster.home for cluster in clusters]
    batches: dict[tuple[int, int], list[int]] = {}
    for number, (cluster, (context, _)) in enumerate(zip(clusters, homes, strict=True)):
        batches.setdefault((id(context), id(cluster.clusters.offer)), []).append(number)
    made: dict[int, Candidate] = {}
    for numbers in batches.values():
        offer, context = clusters[numbers[0]].clusters.offer, homes[numbers[0]][0]
        rows, nodes = np.array([[homes[number][1], clusters[number].nodes] for number in numbers]).T
        batch = Clusters.of(context, offer, rows=rows, nodes=nodes.astype(float))
        made |= {number: Cluster(clusters=batch, at=at).candidate(request) for at, number in enumerate(numbers)}
    return [made[number] for number in range(len(clusters))]


def candidate(context: JobContext, *, row: int, nodes: int, offer: Offer) -> Candidate:
    """Return the cluster of `nodes` on layout `row` of `context`."""
    alone = Clusters.of(context, offer, rows=np.array([row]), nodes=np.array([float(nodes)]))
    return Cluster(clusters=alone, at=0).candidate()


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
