"""The order to a platform: the chosen cluster, the next choices, Spark's properties and how long it may live."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from planner.schemas.plan import VolumeSet

_LIKE_THE_CHOSEN = (0.95, 1.5)
"""Where a platform counts machines and not weights, only types of so much of the chosen one's throughput stand in for
it: slower ones miss the time, and of faster ones as many cost more than the plan.
"""


@dataclass(frozen=True, kw_only=True)
class Choice:
    """A cluster to take if those before it cannot be had. `machine_type` is what the cloud calls it, to which
    `disks_to_add` may be bought. `throughput` is that of one of its nodes, as a share of the chosen type's: what of the
    job a node does in a second. `memory_bytes` is 0 where nobody states it.
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
    """What a platform's file asks for. `choices` begin with the chosen cluster and go on by rank: none is bare metal
    unless it is, and all have its processor `architecture` (`arm64` or `x86_64`, None where nobody states it).

    `job` names the job in a few words and `engine` what it was planned for: `spark`, `ray` or another. The job takes
    `expected_s`, `p95_s` in 95 of 100 runs; from boot to the end it is `ends_within_s` in as many. `cost` is a text.
    `disk_bytes` are what one node keeps on its disks. Of a launch the plan counts on `spares` and on dropping slow
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
        """A name that all platforms take: lower-case letters, digits and hyphens, at most 40."""
        return re.sub("[^a-z0-9]+", "-", self.job.lower())[:40].strip("-") or "job"

    @property
    def alike(self) -> tuple[Choice, ...]:
        """The choices of which as many machines as of the chosen type keep the plan's time."""
        least, most = _LIKE_THE_CHOSEN
        return tuple(choice for choice in self.choices if least <= choice.throughput <= most)

    @property
    def spot(self) -> bool:
        """Whether the machines may be taken back."""
        return self.pricing == "spot"

    @property
    def vcpus(self) -> int:
        """The vCPUs of one node of the chosen type."""
        return self.best.vcpus

    @property
    def memory_bytes(self) -> float:
        """The memory of one node of the chosen type."""
        return self.best.memory_bytes

    @property
    def local_disks(self) -> int:
        """The local disks of one node of the chosen type."""
        return self.best.local_disks
