"""Order to a platform, from the plan of a sort or of a logged Spark application: the chosen cluster, the next choices,
Spark's properties and the longest lifetime.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from planner.catalog.loading import load_catalog
from planner.errors import BadInputError
from planner.schemas.plan import Candidate, Plan, VolumeSet
from planner.spark.model.choices import SparkCluster, SparkPlan
from planner.spark.model.configuration import configuration, sort_configuration
from planner.spark.model.platforms import SparkPlatform
from planner.units import format_bytes, format_usd

_WEIGHTED: dict[str, tuple[str, ...]] = {"vpc": ("network",), "ebs": ("volumes", "volume_read", "volume_write")}
"""Resources that EC2's bandwidth weightings raise, by a quarter of a baseline."""

_LIKE_THE_CHOSEN = (0.95, 1.5)
"""Throughput, as a share of the chosen type's, of types that may replace it where a platform counts machines, not
weights: slower ones miss the time, and the same number of faster ones costs more than the plan.
"""


@dataclass(frozen=True, kw_only=True)
class Choice:
    """A cluster to take if those before it are not available. `machine_type` is the cloud's name for it, and
    `disks_to_add` local disks may be bought for it. `throughput` is how much of the job one node does in a second, as a
    share of the chosen type's. `memory_bytes` is 0 where unknown.
    """

    machine_type: str
    nodes: int
    vcpus: int
    memory_bytes: float
    local_disks: int
    throughput: float = 1.0
    placement_group: bool = False
    disks_to_add: bool = False
    volumes: VolumeSet | None = None


@dataclass(frozen=True, kw_only=True)
class Order:
    """Contents of a platform's file. `choices` begin with the chosen cluster and go on by rank: only if it is bare
    metal may others be, and all have its processor `architecture` (`arm64` or `x86_64`, None where unknown).

    `job` names the job in a few words and `engine` what it was planned for: `spark`, `ray` or another. The job takes
    `expected_s`, and in 95 of 100 runs at most `p95_s`, or `ends_within_s` from boot to end. `cost` is a text.
    `disk_bytes` is the data that one node keeps on its disks. The plan counts on `spares` at launch, on dropping slow
    machines (`screened`), and on EC2's `bandwidth_weighting` ('' for none), without which it takes `unweighted_s`
    longer. `spark` has properties of Spark. `input`, `output`, `format` and `copies` are those of a sort.
    """

    job: str
    engine: str
    cloud: str
    region: str
    pricing: str
    choices: tuple[Choice, ...]
    architecture: str | None
    expected_s: float
    p95_s: float
    ends_within_s: float
    usd_per_hour: float
    on_demand_usd_per_hour: float
    cost: str
    disk_bytes: float = 0.0
    spares: int = 0
    screened: bool = False
    bandwidth_weighting: str = ""
    unweighted_s: float = 0.0
    spark: Mapping[str, str] = field(default_factory=dict)
    input: str | None = None
    output: str | None = None
    format: str | None = None
    to_store: bool = False
    copies: int = 1

    @property
    def best(self) -> Choice:
        """The chosen cluster."""
        return self.choices[0]

    @property
    def name(self) -> str:
        """A name that all platforms accept: a letter, then lower-case letters, digits and hyphens, at most 40."""
        name = re.sub("[^a-z0-9]+", "-", self.job.lower()).strip("-") or "job"
        return (name if name[0].isalpha() else f"job-{name}")[:40].rstrip("-")

    @property
    def alike(self) -> tuple[Choice, ...]:
        """The choices that keep the plan's time with as many machines as the chosen type."""
        least, most = _LIKE_THE_CHOSEN
        return tuple(
            choice
            for choice in self.choices
            if least <= choice.throughput <= most and choice.vcpus <= most * self.best.vcpus
        )

    @property
    def spot(self) -> bool:
        """True if the cloud may take the machines back."""
        return self.pricing == "spot"


def order_of_plan(plan: Plan, platform: SparkPlatform) -> Order:
    """Return a plan's order to a platform. Raises BadInputError for a plan without a cluster."""
    best, request = plan.best, plan.request
    if best is None:
        raise BadInputError(
            "the plan has no cluster to export: nothing is feasible, as `planner report` shows", code="infeasible"
        )
    architectures = _architectures(plan, best)
    size = format_bytes(request.data_bytes)
    return Order(
        job=f"sort {size} {best.model}".replace(".", "-"),
        engine=request.engine,
        cloud=best.cloud,
        region=best.region,
        pricing=best.pricing,
        choices=tuple(_choice(each, best) for each in _ranked(plan, best, architectures)),
        architecture=architectures.get(best.instance_type),
        expected_s=best.time_s.expected,
        p95_s=best.time_s.p95,
        ends_within_s=best.late_run_s,
        usd_per_hour=best.usd_per_hour,
        on_demand_usd_per_hour=best.price_usd_per_hour if best.pricing == "on-demand" else float("nan"),
        cost=f"{'at least ' if best.cost_usd.at_least else ''}{format_usd(best.cost_usd.total)}",
        disk_bytes=sum(best.needed_bytes.values()),
        spares=best.spares,
        screened="screen" in best.overheads_s,
        bandwidth_weighting=best.bandwidth_weighting,
        unweighted_s=_without_weighting(best),
        spark=sort_configuration(
            best.nodes,
            data_bytes=request.data_bytes * request.map_ratio,
            vcpus=int((best.machine and best.machine.vcpus) or 1),
            memory_bytes=best.machine.memory_bytes if best.machine else None,
            platform=platform,
        ),
        input=request.input,
        output=request.output,
        format=request.format,
        to_store=best.model == "object-store",
        copies=2 if best.model == "daytona" else 1,
    )


def _ranked(plan: Plan, best: Candidate, architectures: Mapping[str, str]) -> list[Candidate]:
    """Return the best cluster, and the best of each other type that could replace it."""
    others = [
        other
        for other in plan.candidates
        if (other.cloud, other.region, other.pricing) == (best.cloud, best.region, best.pricing)
        and architectures.get(other.instance_type) == architectures.get(best.instance_type)
        and (".metal" in best.cloud_type or ".metal" not in other.cloud_type)
    ]
    by_type = {each.cloud_type: each for each in (*reversed(others), best)}
    return sorted(by_type.values(), key=lambda each: (each is not best, plan.candidates.index(each)))


def _choice(cluster: Candidate, best: Candidate) -> Choice:
    machine = cluster.machine
    return Choice(
        machine_type=cluster.cloud_type,
        nodes=cluster.nodes,
        vcpus=int((machine and machine.vcpus) or 1),
        memory_bytes=(machine and machine.memory_bytes) or 0.0,
        local_disks=(machine and machine.local_disks) or 0,
        throughput=best.nodes * best.time_s.expected / (cluster.nodes * cluster.time_s.expected),
        placement_group=cluster.placement_group,
        disks_to_add=cluster.instance_type != cluster.cloud_type,
        volumes=cluster.volumes,
    )


def _without_weighting(best: Candidate) -> float:
    """Return how many seconds longer the phases take without the weighting's extra quarter of a baseline."""
    raised = _WEIGHTED.get(best.bandwidth_weighting[:3], ())
    longer_s = 0.0
    for phase in best.phases:
        times = [use.time_s * (1.25 if name in raised else 1.0) for name, use in phase.resources.items()]
        longer_s += max(0.0, max(times, default=0.0) - phase.time_s)
    return longer_s


def _architectures(plan: Plan, best: Candidate) -> dict[str, str]:
    """Return the processor architectures that the request's catalogs state; none for a missing catalog."""
    found: dict[str, str] = {}
    for name in plan.request.catalogs:
        try:
            catalog = load_catalog(name)
        except BadInputError:
            continue
        if catalog.cloud == best.cloud:
            found |= dict(zip(map(str, catalog.instances.instance_type), map(str, catalog.instances.arch), strict=True))
    return {name: arch for name, arch in found.items() if arch}


def order_of_application(plan: SparkPlan, platform: SparkPlatform, *, name: str, region: str, pricing: str) -> Order:
    """Return the order for a logged application's plan. Raises BadInputError where no cluster ends in time."""
    best = plan.best
    if best is None:
        raise BadInputError("no cluster ends in time, so there is none to export", code="deadline")
    machine = best.nodes.machine
    others = [each for each in plan.choices if each.nodes.machine.instance_type != machine.instance_type]
    alike = [
        each for each in others if (each.nodes.machine.cloud, each.nodes.machine.arch) == (machine.cloud, machine.arch)
    ]
    return Order(
        job=name,
        engine="spark",
        cloud=machine.cloud,
        region=region,
        pricing=pricing,
        choices=tuple(_of_each_type(best, alike)),
        architecture=machine.arch or None,
        expected_s=best.prediction.duration_s,
        p95_s=best.prediction.high_s,
        ends_within_s=best.prediction.high_s,
        usd_per_hour=best.nodes.usd_per_hour,
        on_demand_usd_per_hour=machine.on_demand_usd_per_hour,
        cost=format_usd(best.nodes.usd_per_hour * best.prediction.duration_s / 3600),  # the fee is told beside it
        disk_bytes=float(plan.work.steps.bytes["written"].sum()) / best.nodes.count,
        spark=configuration(plan.work, best.nodes, platform),
    )


def _of_each_type(best: SparkCluster, others: Sequence[SparkCluster]) -> Iterator[Choice]:
    """Yield the chosen cluster, and of each other type, with whatever disks, the best."""
    seen = set[str]()
    for choice in (_spark_choice(each, best) for each in (best, *others)):
        if choice.machine_type not in seen:
            seen.add(choice.machine_type)
            yield choice


def _spark_choice(cluster: SparkCluster, best: SparkCluster) -> Choice:
    machine = cluster.nodes.machine
    return Choice(
        machine_type=machine.instance_type.partition("+")[0],
        disks_to_add="+" in machine.instance_type,
        nodes=cluster.nodes.count,
        vcpus=machine.vcpu,
        memory_bytes=machine.memory_bytes,
        local_disks=machine.local_disks,
        throughput=best.nodes.count
        * best.prediction.duration_s
        / (cluster.nodes.count * cluster.prediction.duration_s),
    )
