"""Contents of the emulated EC2: its state, and its real resources."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Any, ClassVar

from moto.ec2 import ec2_backends
from poor_listings import PoorListings


@dataclass
class World:
    """State of the cloud. Counts of polls are calls of DescribeInstances."""

    capacity: dict[str, int] = field(default_factory=dict)  # machines that a zone can still start; others have enough
    spot_capacity: dict[str, int] = field(default_factory=dict)  # of these, spot ones; others have enough
    quota_vcpus: dict[str, float] = field(default_factory=dict)  # per region; 5000 elsewhere
    quota_networks: dict[str, float] = field(default_factory=dict)  # per region, and also of gateways; 5 elsewhere
    price_usd_per_hour: dict[str, float] = field(default_factory=dict)  # per type; others are not listed
    offered_in: list[str] | None = None  # zones; all if None
    starting_polls: int = 0
    ending_polls: int = 0
    end_at_boot: int = 0  # this number of the next machines end instead of running
    ends_only_tagged: bool = False  # the caller may end and delete only resources with a run's tag
    launch_bucket: int = 1000  # instances that may be launched at once; then `launches_per_s` a second
    launches_per_s: float = 2.0
    reservations: list[dict[str, Any]] = field(default_factory=list)  # of capacity, as AWS describes them
    end_reason: str = "Client.InternalError: Client error on launch"
    public_access: str = "off"  # VPC Block Public Access
    volume_key: str = "alias/aws/ebs"
    has_applied_quotas: bool = True  # Service Quotas has applied values of changed quotas only


class State:
    world: ClassVar = World()
    groups: ClassVar[dict[tuple[str, str], dict[str, Any]]] = {}
    launches: ClassVar[dict[tuple[str, str], tuple[dict[str, Any], Any]]] = {}
    countdown: ClassVar[dict[str, tuple[int, str]]] = {}
    consoles: ClassVar[dict[str, str]] = {}
    poor: ClassVar = PoorListings()
    spent: ClassVar[float] = 0.0
    since_s: ClassVar[float] = 0.0

    @classmethod
    def begin(cls, world: World) -> None:
        """Empty everything."""
        cls.world, cls.spent, cls.poor = world, 0.0, PoorListings()
        for store in (cls.groups, cls.launches, cls.countdown, cls.consoles):
            store.clear()
        ec2_backends.reset()

    @classmethod
    def tokens(cls) -> float:
        """Return the number of instances that may be launched now: RunInstances' bucket, which fills with time."""
        now_s = time.monotonic()
        cls.spent = max(0.0, cls.spent - (now_s - cls.since_s) * cls.world.launches_per_s)
        cls.since_s = now_s
        return cls.world.launch_bucket - cls.spent


def quota_of(region: str) -> float:
    return State.world.quota_vcpus.get(region, 5000.0)


def live(backend: Any) -> list[Any]:
    return [i for i in backend.all_instances() if i.state != "terminated"]


def everything() -> dict[str, int]:
    """Count everything in all regions and accounts, by kind; resources that every new account has are left out."""
    counts: dict[str, int] = {"placement-group": len(State.groups)}
    for account in ec2_backends.values():
        for backend in account.values():
            own = {id_ for id_, vpc in backend.vpcs.items() if vpc.is_default not in (True, "true")}
            kinds = {
                "instance": live(backend),
                "volume": list(backend.volumes),
                "key-pair": backend.describe_key_pairs([]),
                "vpc": own,
                "subnet": [s for zone in backend.subnets.values() for s in zone.values() if s.vpc_id in own],
                "route-table": [t for t in backend.route_tables.values() if t.vpc_id in own],
                "security-group": [g for vpc in own for g in backend.groups.get(vpc, {})],
                "internet-gateway": list(backend.internet_gateways),
                "network-interface": list(backend.enis),
                "vpc-endpoint": [e for e in backend.vpc_end_points.values() if e.state != "deleted"],
            }
            for resource_kind, some in kinds.items():
                counts[resource_kind] = counts.get(resource_kind, 0) + len(some)
    return {resource_kind: count for resource_kind, count in counts.items() if count}


def machines() -> list[dict[str, Any]]:
    """Describe every existing machine, for the code that gives it a body."""
    return [
        {
            "id": instance.id,
            "private_address": instance.private_ip,
            "public_address": instance.public_ip,
            "public_key": next((k.public_key for k in keys if k.key_name == instance.key_name), ""),
        }
        for account in ec2_backends.values()
        for backend in account.values()
        for keys in [backend.describe_key_pairs([])]
        for instance in live(backend)
    ]
