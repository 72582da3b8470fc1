"""Order for a run's machines: the cluster, its places, its end, and who may reach it."""

from __future__ import annotations

import math
import re
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from typing import Any, Final, Self

from planner.schemas.plan import ADDRESS_LINE, HEAD_LINE, ROOTS_LINE, BillLine, Candidate, VolumeSet

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
    planned nodes with volumes. `expected_s` is the whole run's time, `bill` its cost, the plan's own lines; 95 of 100
    runs end within `late_s`, None where unknown. `pricing` is that of all machines but the head, which is always on
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
    bill: tuple[BillLine, ...]
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
        before = [{"name": "job", "time_s": document["expected_s"], "usd": document.pop("total_usd", None)}]  # no lines
        bill = tuple(BillLine(**line) for line in document.get("bill", before))
        return cls(**{**document, "regions": tuple(document["regions"]), "volumes": volumes, "bill": bill})

    @property
    def total_usd(self) -> float:
        """The expected cost of the whole run, as far as it is known."""
        return math.fsum(line.usd or 0.0 for line in self.bill)

    @property
    def _billed_s(self) -> float:
        return math.fsum(line.time_s or 0.0 for line in self.bill)

    @property
    def beside_usd_per_hour(self) -> dict[str, float | None]:
        """Hourly cost of a machine's root volume and of the head's address, by the lines that have them; None where it
        is unknown.
        """
        share = {ROOTS_LINE: self.nodes, ADDRESS_LINE: 1}
        return {
            line.name: line.usd and line.usd * 3600 / self._billed_s / share[line.name]
            for line in self.bill
            if line.name in share
        }

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
        return replace(self, pricing="on-demand").at_price(head).without(HEAD_LINE)

    def without(self, name: str) -> Self:
        """Return the offer without a line of its bill."""
        return replace(self, bill=tuple(line for line in self.bill if line.name != name))

    def at_price(self, usd_per_hour: float, *, head: float | None = None) -> Self:
        """Return the offer of machines at another hourly price, the `head` of spot ones at its own: what depends on it
        in the bill changes.
        """
        per_hour = self.usd_per_hour + self.nodes * (usd_per_hour - self.price_usd_per_hour)
        factor = per_hour / self.usd_per_hour if self.usd_per_hour else 1.0
        more = None if head is None else (head - usd_per_hour) * self._billed_s / 3600

        def priced(line: BillLine) -> BillLine:
            if line.name == HEAD_LINE:
                return replace(line, usd=more)
            if line.time_s is not None and not self.usd_per_hour:  # of machines planned at no cost
                return replace(line, usd=per_hour * line.time_s / 3600)
            of_machines = line.time_s is not None or line.name in ("spares", "rounding")
            return replace(line, usd=line.usd * factor) if of_machines and line.usd is not None else line

        bill = [*self.bill]
        if self.is_spot and head is not None and not any(line.name == HEAD_LINE for line in bill):
            bill.append(BillLine(name=HEAD_LINE, time_s=None, usd=more))
        return replace(
            self,
            price_usd_per_hour=usd_per_hour,
            usd_per_hour=per_hour,
            head_usd_per_hour=head,
            bill=tuple(map(priced, bill)),
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
        """Hourly cost of all launched machines, with spares, volumes, and the head's address."""
        return (self.machines - 1) * self.node_usd_per_hour + self.head_machine_usd_per_hour

    @property
    def head_machine_usd_per_hour(self) -> float:
        """Hourly cost of the head, with its volumes and address."""
        own = self.price_usd_per_hour if self.head_usd_per_hour is None else self.head_usd_per_hour
        return (
            self.node_usd_per_hour + own - self.price_usd_per_hour + (self.beside_usd_per_hour.get(ADDRESS_LINE) or 0.0)
        )

    @property
    def node_usd_per_hour(self) -> float:
        """Hourly cost of one machine other than the head, with its volumes."""
        return self.usd_per_hour / self.nodes + (self.beside_usd_per_hour.get(ROOTS_LINE) or 0.0)

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
        return self.machines * (self.node_usd_per_hour + rise) + (self.beside_usd_per_hour.get(ADDRESS_LINE) or 0.0)

    @classmethod
    def of(cls, candidate: Candidate, *, regions: tuple[str, ...], late_s: float) -> Self:
        """Return the offer for a recommendation, its own region first; 95 of 100 whole runs end within `late_s`."""
        head = [line.usd for line in candidate.bill if line.name == HEAD_LINE and line.usd is not None]
        price, whole_s = candidate.price_usd_per_hour, candidate.whole_run_s
        return cls(
            instance_type=candidate.cloud_type,
            regions=tuple(dict.fromkeys((candidate.region, *regions))),
            nodes=candidate.nodes,
            spares=candidate.spares,
            placement_group=candidate.placement_group,
            price_usd_per_hour=price,
            usd_per_hour=candidate.usd_per_hour,
            expected_s=whole_s,
            bill=candidate.bill,
            volumes=VolumeOrder.of(candidate.volumes) if candidate.volumes else None,
            local_disks=added_disks(candidate.instance_type),
            late_s=late_s,
            pricing=candidate.pricing,
            head_usd_per_hour=price + head[0] * 3600 / whole_s if head else None,
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
