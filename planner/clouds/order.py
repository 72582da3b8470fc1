"""Order for a run's machines: the cluster, its places, its end, and who may reach it."""

from __future__ import annotations

import math
import re
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from typing import Any, Final, Self

from planner.schemas.plan import Candidate, VolumeSet

RUN_NAME: Final = re.compile("[a-z0-9_-]{1,63}")
"""Names of runs that a call may carry: clouds and shells read none of these characters as a pattern."""
TAG_FORMS: Final = {
    "planner-run": re.compile("r[0-9]{8}-[0-9]{4}-[a-z0-9]{6}"),
    "planner-owner": re.compile("[a-z0-9_-]{0,63}"),
    "planner-origin": re.compile("([0-9a-f]{8})?"),
}
"""Tags as the planner writes them, '' for those that a resource may lack; `parse_stamp` has the form of its end."""


@dataclass(frozen=True, kw_only=True)
class VolumeOrder:
    """Block volumes of every node: `count` of `volume_type`, each of `size_gib` and good for `mibps_each`."""

    volume_type: str
    count: int
    size_gib: int
    mibps_each: int

    @classmethod
    def of(cls, volumes: VolumeSet) -> Self:
        """Return the order for a plan's volumes."""
        return cls(
            volume_type=volumes.volume_type,
            count=volumes.count,
            size_gib=math.ceil(volumes.bytes_each / 2**30),
            mibps_each=math.ceil(volumes.bytes_per_s_each / 2**20),
        )


@dataclass(frozen=True, kw_only=True)
class ClusterOffer:
    """One suitable cluster, as the plan ranked it.

    `nodes` must work; `spares` are launched in addition. `local_disks` are bought for each node, in addition to those
    of its type. `price_usd_per_hour` is the planned price of one node without volumes, `usd_per_hour` that of all
    planned nodes with volumes. `expected_s` is the whole run's time, `total_usd` its cost; 95 of 100 runs end within
    `late_s`, None where unknown. `pricing` is that of all machines but the head, which is always on
    demand; where they differ, `head_usd_per_hour` is the head's planned price, None where unknown.
    `bandwidth_weighting` is EC2's name for the split of bandwidth between network and volumes, '' for its default.
    `price_source` names the source of these prices.
    """

    instance_type: str
    regions: tuple[str, ...]
    nodes: int
    spares: int
    placement_group: bool
    price_usd_per_hour: float
    usd_per_hour: float
    expected_s: float
    total_usd: float
    volumes: VolumeOrder | None = None
    local_disks: int = 0
    late_s: float | None = None
    pricing: str = "on-demand"
    head_usd_per_hour: float | None = None
    bandwidth_weighting: str = ""
    price_source: str = field(default="the plan", compare=False)

    @classmethod
    def from_dict(cls, document: dict[str, Any]) -> Self:
        """Read the output of `dataclasses.asdict`, from JSON."""
        volumes = VolumeOrder(**document["volumes"]) if document["volumes"] else None
        return cls(**{**document, "regions": tuple(document["regions"]), "volumes": volumes})

    @property
    def type_with_disks(self) -> str:
        """The type with the disks bought for it, unlike the same type with other disks: n2-standard-32+16."""
        return f"{self.instance_type}+{self.local_disks}" if self.local_disks else self.instance_type

    @property
    def is_spot(self) -> bool:
        """True if the cloud may take back all machines but the head."""
        return self.pricing == "spot"

    @property
    def on_demand(self) -> Self:
        """The same cluster bought on demand, at its head's price."""
        head = self.head_usd_per_hour or self.price_usd_per_hour
        per_hour = self.usd_per_hour + self.nodes * (head - self.price_usd_per_hour)
        total = (
            self.total_usd + (per_hour - self.usd_per_hour - self._head_surcharge_usd_per_hour) * self.expected_s / 3600
        )
        return replace(
            self,
            pricing="on-demand",
            price_usd_per_hour=head,
            usd_per_hour=per_hour,
            total_usd=total,
            head_usd_per_hour=None,
        )

    @property
    def needed_s(self) -> float:
        """Seconds within which a whole run must be expected to end."""
        return self.late_s or self.expected_s

    @property
    def machines(self) -> int:
        """Number of machines launched."""
        return self.nodes + self.spares

    @property
    def launched_usd_per_hour(self) -> float:
        """Hourly cost of all launched machines, spares and volumes included."""
        return self.usd_per_hour * self.machines / self.nodes + self._head_surcharge_usd_per_hour

    @property
    def head_machine_usd_per_hour(self) -> float:
        """Hourly cost of the head, with its volumes."""
        own = self.price_usd_per_hour if self.head_usd_per_hour is None else self.head_usd_per_hour
        return self.node_usd_per_hour + own - self.price_usd_per_hour

    @property
    def _head_surcharge_usd_per_hour(self) -> float:
        """Hourly cost of the head beyond that of another machine."""
        return self.head_machine_usd_per_hour - self.node_usd_per_hour

    @property
    def node_usd_per_hour(self) -> float:
        """Hourly cost of one machine other than the head, with its volumes."""
        return self.usd_per_hour / self.nodes

    @property
    def ceiling_usd_per_hour(self) -> float | None:
        """Highest hourly cost of all launched machines: spot prices may rise to the on-demand price, None where that is
        unknown.
        """
        if not self.is_spot:
            return self.launched_usd_per_hour
        if self.head_usd_per_hour is None:
            return None
        rise = max(0.0, self.head_usd_per_hour - self.price_usd_per_hour)
        return self.machines * (self.node_usd_per_hour + rise)

    def with_head(self, usd_per_hour: float | None) -> Self:
        """Return the choice with another price of its head, included in the expected cost."""
        priced = replace(self, head_usd_per_hour=usd_per_hour)
        added = priced._head_surcharge_usd_per_hour - self._head_surcharge_usd_per_hour
        return replace(priced, total_usd=self.total_usd + added * self.expected_s / 3600)

    @classmethod
    def of(cls, candidate: Candidate, *, regions: tuple[str, ...], late_s: float) -> Self:
        """Return the offer for a recommendation, its own region first; 95 of 100 whole runs end within `late_s`."""
        overhead_s = sum(candidate.overheads_s.values())
        return cls(
            instance_type=candidate.cloud_type,
            regions=tuple(dict.fromkeys((candidate.region, *regions))),
            nodes=candidate.nodes,
            spares=candidate.spares,
            placement_group=candidate.placement_group,
            price_usd_per_hour=candidate.price_usd_per_hour,
            usd_per_hour=candidate.usd_per_hour,
            expected_s=candidate.time_s.expected + overhead_s,
            total_usd=candidate.cost_usd.total,
            volumes=VolumeOrder.of(candidate.volumes) if candidate.volumes else None,
            local_disks=added_disks(candidate.instance_type),
            late_s=late_s,
            pricing=candidate.pricing,
            bandwidth_weighting=candidate.bandwidth_weighting,
        )


@dataclass(frozen=True, kw_only=True)
class Order:
    """Everything that `up` needs to know. `choices` are tried in turn; `expires_at` is when every machine ends
    automatically.

    `ssh_from` is the only network, in CIDR notation, that reaches the head; `staging` opens the nodes' way to the
    cloud's object store; `node_identity` is their identity in the cloud, '' for none: an instance profile (EC2), a
    service account (Compute Engine), a user-assigned identity (Azure); `image` replaces the stock machine image.
    `subnet` is an existing one for all machines; '' makes a network for the run. The head has a public address unless
    `is_private`; `jump` is the machine through which the caller's ssh reaches it, '' for none. `reservation` is
    capacity reserved beforehand for all machines: a capacity reservation (EC2), a reservation (Compute Engine), a
    capacity reservation group (Azure); '' for none. `user_tags` go on everything, in addition to the run's own.
    `origin` identifies runs that other machines began with the same identity. `account` is what the cloud
    bills: an account (AWS), a project (Google) or a subscription (Azure); '' until it is confirmed.
    """

    run: str
    owner: str
    cloud: str
    expires_at: datetime
    choices: tuple[ClusterOffer, ...]
    ssh_from: str
    ssh_public_key: str
    image: str | None = None
    staging: bool = False
    node_identity: str = ""
    subnet: str = ""
    is_private: bool = False
    jump: str = ""
    reservation: str = ""
    user_tags: tuple[tuple[str, str], ...] = ()
    origin: str = ""
    account: str = ""

    @property
    def tags(self) -> dict[str, str]:
        """The tags of every resource; the planner's own are in characters that all clouds take: lower-case letters,
        digits, '-' and '_'.
        """
        own = {"planner-run": self.run, "planner-owner": self.owner, "planner-expires": stamp(self.expires_at)}
        return dict(self.user_tags) | own | ({"planner-origin": self.origin} if self.origin else {})

    def to_dict(self) -> dict[str, Any]:
        """Return the order as JSON-able values."""
        return {**asdict(self), "expires_at": stamp(self.expires_at)}

    @classmethod
    def from_dict(cls, document: dict[str, Any]) -> Self:
        """Read the output of `to_dict`."""
        choices = tuple(map(ClusterOffer.from_dict, document["choices"]))
        tags = tuple((key, value) for key, value in document.get("user_tags", ()))
        expires_at = parse_stamp(document["expires_at"])
        return cls(**{**document, "choices": choices, "expires_at": expires_at, "user_tags": tags})


def added_disks(instance_type: str) -> int:
    """Return how many local disks a catalog's name adds to a type: n2-standard-32+16x375GB adds 16."""
    return int(instance_type.partition("+")[2].partition("x")[0] or 0)


def stamp(moment: datetime) -> str:
    """Return a time in a form that tags can hold: 20261121t164500z."""
    return moment.astimezone(UTC).strftime("%Y%m%dt%H%M%Sz")


def parse_stamp(text: str) -> datetime:
    """Return the time that `stamp` wrote. Raises ValueError for anything else."""
    moment = datetime.strptime(text, "%Y%m%dt%H%M%Sz").replace(tzinfo=UTC)
    if stamp(moment) != text:
        raise ValueError(f"{text!r} is not a time as tags hold it")
    return moment
