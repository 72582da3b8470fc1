"""What is looked at on AWS before anything is created."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from planner.errors import BadInputError
from planner.providers.aws import prices
from planner.providers.aws.client import Connect
from planner.providers.aws.instances import shape_of
from planner.providers.aws.permissions import identity_finding, permission_finding
from planner.providers.aws.quota import quota_vcpus, used_vcpus
from planner.providers.order import Choice, Order
from planner.providers.protocol import Finding, Place, Preflight


@dataclass(kw_only=True)
class _Look:
    findings: list[Finding] = field(default_factory=list)
    places: list[Place] = field(default_factory=list)
    price_usd_per_hour: dict[tuple[str, str], float] = field(default_factory=dict)

    def note(self, subject: str, ok: bool | None, text: str) -> bool:  # noqa: FBT001
        """Keep a finding and return whether it lets the place stand."""
        self.findings.append(Finding(subject=subject, ok=ok, text=text))
        return ok is not False


def preflight(order: Order, connect: Connect) -> Preflight:
    """Look at credentials and permissions, then at every choice in every region."""
    look = _Look()
    account = connect("sts", order.choices[0].regions[0]).call("get_caller_identity")
    look.note("credentials", True, f"account {account['Account']} as {account['Arn']}")
    regions = list(dict.fromkeys(region for choice in order.choices for region in choice.regions))
    allowed = [region for region in regions if _allowed(look, order, connect, region)]
    if order.node_identity and allowed and not _may_lend(look, order, connect, allowed[0]):
        allowed = []
    for choice in order.choices:
        for region in choice.regions:
            if region in allowed:
                look.places += _places(look, choice, connect, region)
    return Preflight(
        findings=tuple(look.findings), places=tuple(look.places), price_usd_per_hour=look.price_usd_per_hour
    )


def _allowed(look: _Look, order: Order, connect: Connect, region: str) -> bool:
    look.findings.append(permission_finding(connect("ec2", region), staging=order.staging))
    return look.findings[-1].ok is not False


def _may_lend(look: _Look, order: Order, connect: Connect, region: str) -> bool:
    """Instance profiles are the same in all regions: one is asked."""
    look.findings.append(identity_finding(connect("ec2", region), order))
    return look.findings[-1].ok is not False


def _places(look: _Look, choice: Choice, connect: Connect, region: str) -> list[Place]:
    """Return the zones of a region where a choice may be tried; look at it once for each type and region."""
    name = choice.instance_type
    if not (_fits(look, choice, connect, region) and _within_quota(look, choice, connect, region)):
        return []
    _price(look, choice, connect, region)
    zones = sorted(_zones(connect, name, region))
    look.note(f"{name} in {region}", bool(zones), f"offered in {', '.join(zones)}" if zones else "offered in no zone")
    return [Place(choice=choice, region=region, zone=zone) for zone in zones]


def _fits(look: _Look, choice: Choice, connect: Connect, region: str) -> bool:
    subject = f"{choice.instance_type} in {region}"
    try:
        shape = shape_of(connect("ec2", region), choice.instance_type)
    except BadInputError as error:
        return look.note(subject, False, str(error))
    strategies = shape.get("PlacementGroupInfo", {}).get("SupportedStrategies", [])
    if choice.placement_group and "cluster" not in strategies:
        return look.note(subject, False, "cannot stand in a cluster placement group")
    return True


def _within_quota(look: _Look, choice: Choice, connect: Connect, region: str) -> bool:
    ec2, name = connect("ec2", region), choice.instance_type
    needed = choice.machines * int(shape_of(ec2, name)["VCpuInfo"]["DefaultVCpus"])
    quota = quota_vcpus(connect("service-quotas", region), name)
    subject = f"quota for {name} in {region}"
    if quota is None:
        return look.note(subject, None, f"not known; {needed} vCPUs needed")
    free = quota - used_vcpus(ec2, name)
    return look.note(subject, needed <= free, f"{needed} vCPUs needed, {free:g} of {quota:g} free")


def _price(look: _Look, choice: Choice, connect: Connect, region: str) -> None:
    name, planned = choice.instance_type, choice.price_usd_per_hour
    now = prices.price_now(connect("pricing", prices.REGION), instance_type=name, region=region)
    subject = f"price of {name} in {region}"
    if now is None:
        look.note(subject, None, f"not known; planned with ${planned:.4f} per hour")
        return
    look.price_usd_per_hour[name, region] = now
    change = f", {now / planned - 1:+.1%} against the plan" if now != planned else ", as planned"
    look.note(subject, True, f"${now:.4f} per hour{change}")


def _zones(connect: Connect, instance_type: str, region: str) -> Iterator[str]:
    offered = [{"Name": "instance-type", "Values": [instance_type]}]
    ec2 = connect("ec2", region)
    for offering in ec2.items(
        "describe_instance_type_offerings",
        "InstanceTypeOfferings",
        LocationType="availability-zone",
        Filters=offered,
    ):
        yield offering["Location"]
