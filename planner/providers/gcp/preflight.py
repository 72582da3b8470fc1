"""What is looked at on Compute Engine before anything is created."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

from planner.providers.gcp import quota
from planner.providers.gcp.client import Compute
from planner.providers.gcp.permissions import identity_finding, permission_finding
from planner.providers.gcp.resources import zone_of
from planner.providers.order import Choice, Order
from planner.providers.protocol import Finding, Place, Preflight

MOST_PLACED: Final = 1500
"""Machines of one compact placement policy (cloud.google.com/compute/docs/instances/placement-policies-overview)."""
Price = Callable[[dict[str, Any], str, int], float | None]
"""US dollars per hour of a machine type, as machineTypes tells it, in a region, with so many local disks added."""


@dataclass(kw_only=True)
class _Look:
    compute: Compute
    price: Price
    findings: list[Finding] = field(default_factory=list)
    places: list[Place] = field(default_factory=list)
    price_usd_per_hour: dict[tuple[str, str], float] = field(default_factory=dict)
    regions: dict[str, dict[str, Any]] = field(default_factory=dict)

    def note(self, subject: str, ok: bool | None, text: str) -> bool:  # noqa: FBT001
        """Keep a finding and return whether it lets the place stand."""
        self.findings.append(Finding(subject=subject, ok=ok, text=text))
        return ok is not False

    def region(self, name: str) -> dict[str, Any]:
        """Return a region with its quotas, asked for once."""
        if name not in self.regions:
            self.regions[name] = self.compute.get("regions.get", region=name)
        return self.regions[name]


def preflight(order: Order, compute: Compute, *, account: str, price: Price) -> Preflight:
    """Look at credentials and permissions, then at every choice in every region."""
    look = _Look(compute=compute, price=price)
    look.findings.append(permission_finding(compute))
    if order.node_identity:
        look.findings.append(identity_finding(compute, order.node_identity))
    look.note("credentials", True, f"project {compute.project} as {account}")
    look.note("encryption", True, "Google encrypts every disk at rest, and the network between machines")
    if look.findings[0].ok is not False:
        for choice in order.choices:
            _look_at(look, choice)
    return Preflight(
        findings=tuple(look.findings), places=tuple(look.places), price_usd_per_hour=look.price_usd_per_hour
    )


def _look_at(look: _Look, choice: Choice) -> None:
    """Keep the zones where a choice may be tried: offered, small enough for a placement policy, within quota."""
    name = choice.instance_type
    if choice.placement_group and choice.machines > MOST_PLACED:
        look.note(name, False, f"{choice.machines} machines; a compact placement policy takes {MOST_PLACED}")
        return
    offered = {zone_of(kind): kind for kind in look.compute.items("machineTypes.aggregatedList", filter=f"name={name}")}
    for region in choice.regions:
        zones = sorted(zone for zone in offered if zone.rpartition("-")[0] == region)
        text = f"offered in {', '.join(zones)}" if zones else "offered in no zone"
        if look.note(f"{name} in {region}", bool(zones), text):
            _keep(look, choice, region, {zone: offered[zone] for zone in zones})


def _keep(look: _Look, choice: Choice, region: str, zones: dict[str, dict[str, Any]]) -> None:
    kind = next(iter(zones.values()))
    bundled = kind.get("bundledLocalSsds", {}).get("partitionCount", 0)
    found = list(quota.findings(choice, look.region(region), vcpus=int(kind["guestCpus"]), bundled_disks=bundled))
    look.findings += found
    if any(one.ok is False for one in found):
        return
    _price(look, choice, kind, region)
    look.places += [Place(choice=choice, region=region, zone=zone) for zone in zones]


def _price(look: _Look, choice: Choice, kind: dict[str, Any], region: str) -> None:
    now, planned = look.price(kind, region, choice.local_disks), choice.price_usd_per_hour
    subject = f"price of {choice.instance_type} in {region}"
    if now is None:
        look.note(subject, None, f"not known; planned with ${planned:.4f} per hour")
        return
    look.price_usd_per_hour[choice.instance_type, region] = now
    change = f", {now / planned - 1:+.1%} against the plan" if now != planned else ", as planned"
    look.note(subject, True, f"${now:.4f} per hour{change}")
