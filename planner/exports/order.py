"""What a plan asks of a platform: the chosen cluster, the next choices, Spark's properties and how long it may live."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from planner.schemas.plan import Candidate, Plan
from planner.units import format_bytes

_LIKE_THE_CHOSEN = (0.95, 1.5)
"""Where a platform counts machines and not weights, only types of so much of the chosen one's throughput stand in for
it: slower ones miss the time, and of faster ones as many cost more than the plan.
"""


@dataclass(frozen=True, kw_only=True)
class Choice:
    """A cluster to take if those before it cannot be had. `throughput` is that of one of its nodes, as a share of the
    chosen type's: what of the job a node does in a second.
    """

    cluster: Candidate
    throughput: float

    @property
    def machine_type(self) -> str:
        """What is ordered from the cloud."""
        return self.cluster.cloud_type


@dataclass(frozen=True, kw_only=True)
class Order:
    """A plan's cluster, as a platform's file asks for it. `choices` begin with the chosen cluster and go on by rank:
    none is bare metal unless it is, and all have its processor `architecture` (`arm64` or `x86_64`, None where nobody
    states it). `spark` has properties of Spark.
    """

    plan: Plan
    best: Candidate
    choices: tuple[Choice, ...]
    architecture: str | None
    spark: Mapping[str, str] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """A name that all platforms take: lower-case letters, digits and hyphens, at most 40."""
        words = f"sort-{format_bytes(self.plan.request.data_bytes)}-{self.best.model}".lower()
        return re.sub("[^a-z0-9]+", "-", words.replace(" ", "").replace(".", "-"))[:40].strip("-")

    @property
    def alike(self) -> tuple[Choice, ...]:
        """The choices of which as many machines as of the chosen type keep the plan's time."""
        least, most = _LIKE_THE_CHOSEN
        return tuple(choice for choice in self.choices if least <= choice.throughput <= most)

    @property
    def spot(self) -> bool:
        """Whether the machines may be taken back."""
        return self.best.pricing == "spot"

    @property
    def ends_within_s(self) -> float:
        """Seconds from boot to the end that 95 of 100 runs keep."""
        return self.best.time_s.p95 + sum(self.best.overheads_s.values())

    @property
    def vcpus(self) -> int:
        """The vCPUs of one node, 1 where nobody states them."""
        machine = self.best.machine
        return int((machine.vcpus if machine else None) or 1)

    @property
    def memory_bytes(self) -> float:
        """The memory of one node, 0 where nobody states it."""
        machine = self.best.machine
        return (machine.memory_bytes if machine else None) or 0.0

    @property
    def local_disks(self) -> int:
        """The local disks of one node."""
        machine = self.best.machine
        return (machine.local_disks if machine else None) or 0


def order_of(plan: Plan, best: Candidate, architectures: Mapping[str, str], spark: Mapping[str, str]) -> Order:
    """Return what `plan` asks of a platform. `architectures` names the processors of the cloud's types."""
    architecture = architectures.get(best.instance_type)
    others = [
        other
        for other in plan.candidates
        if (other.cloud, other.region, other.pricing) == (best.cloud, best.region, best.pricing)
        and architectures.get(other.instance_type) == architecture
        and (".metal" in best.cloud_type or ".metal" not in other.cloud_type)
    ]
    by_type = {choice.cloud_type: choice for choice in (*reversed(others), best)}
    ranked = sorted(by_type.values(), key=lambda choice: (choice is not best, plan.candidates.index(choice)))
    choices = tuple(Choice(cluster=choice, throughput=_rate(choice) / _rate(best)) for choice in ranked)
    return Order(plan=plan, best=best, choices=choices, architecture=architecture, spark=spark)


def _rate(cluster: Candidate) -> float:
    """Return what share of the job one node does in a second."""
    return 1.0 / (cluster.nodes * cluster.time_s.expected)
