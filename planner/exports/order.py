"""Order to a platform: the chosen cluster, the next choices, Spark's properties and the longest lifetime."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from planner.schemas.plan import VolumeSet

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
        """A name that all platforms accept: lower-case letters, digits and hyphens, at most 40."""
        return re.sub("[^a-z0-9]+", "-", self.job.lower())[:40].strip("-") or "job"

    @property
    def alike(self) -> tuple[Choice, ...]:
        """The choices that keep the plan's time with as many machines as the chosen type."""
        least, most = _LIKE_THE_CHOSEN
        return tuple(choice for choice in self.choices if least <= choice.throughput <= most)

    @property
    def spot(self) -> bool:
        """True if the cloud may take the machines back."""
        return self.pricing == "spot"
