"""What is looked at on Compute Engine before anything is created."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from ipaddress import ip_network
from typing import Any, Final

from planner.clouds.gcp import quota
from planner.clouds.gcp.client import Compute
from planner.clouds.gcp.network import described_subnet
from planner.clouds.gcp.permissions import identity_finding, permission_finding
from planner.clouds.gcp.reservation import described_reservation, obstacle, policies_of
from planner.clouds.gcp.resources import zone_of
from planner.clouds.order import Choice, Order
from planner.clouds.preflight import PreflightLog
from planner.clouds.protocol import Preflight
from planner.errors import BadInputError

TAKEN_ADDRESSES: Final = 4
"""Of every subnet, by Google (cloud.google.com/vpc/docs/subnets, unusable addresses)."""
MOST_PLACED: Final = 1500
"""Machines of one compact placement policy (cloud.google.com/compute/docs/instances/placement-policies-overview)."""
Price = Callable[[dict[str, Any], str, int, str], float | None]
"""US dollars per hour of a machine type, as machineTypes describes it, in a region, with so many local disks added, on
demand or spot.
"""


def preflight(order: Order, compute: Compute, *, account: str, price: Price) -> Preflight:
    """Look at credentials and permissions, then at every choice in every region."""
    checks = _Checks(order=order, compute=compute, price=price)
    log = checks.log
    is_permitted = log.add(permission_finding(compute, order))
    if order.node_identity:
        log.add(identity_finding(compute, order.node_identity))
    log.note("credentials", True, f"project {compute.project} as {account}")
    log.note("encryption", True, "Google encrypts every disk at rest, and the network between machines")
    if is_permitted:
        for choice in order.choices:
            checks.look_at(choice)
    return log.result()


@dataclass(frozen=True, kw_only=True)
class _Checks:
    """The checks of one preflight; `log` collects what they find out, `regions` and `project` what Google
    says of them.
    """

    order: Order
    compute: Compute
    price: Price
    log: PreflightLog = field(default_factory=PreflightLog)
    regions: dict[str, dict[str, Any]] = field(default_factory=dict)
    project: dict[str, Any] = field(default_factory=dict)

    def look_at(self, choice: Choice) -> None:
        """Add the zones where a choice may be tried: offered, small enough for a placement policy, within quota."""
        name = choice.instance_type
        if choice.placement_group and choice.machines > MOST_PLACED:
            text = f"{choice.machines} machines; a compact placement policy takes {MOST_PLACED}"
            self.log.note(name, False, text)
            return
        listed = self.compute.items("machineTypes.aggregatedList", filter=f"name={name}")
        offered = {zone_of(machine_type): machine_type for machine_type in listed}
        for region in choice.regions:
            zones = sorted(zone for zone in offered if zone.rpartition("-")[0] == region)
            if self.order.reservation:
                zones = self._within_reservation(choice, zones, region)
            text = f"offered in {', '.join(zones)}" if zones else "offered in no zone"
            if self.log.note(f"{name} in {region}", bool(zones), text) and self._has_subnet(choice, region):
                self._look_at_region(choice, region, offered[zones[0]], zones)

    def _within_reservation(self, choice: Choice, zones: list[str], region: str) -> list[str]:
        """Return the zone of the order's reservation, if it serves a choice and the zone is among these."""
        subject = f"reservation {self.order.reservation} in {region}"
        try:
            described = described_reservation(self.compute, self.order.reservation, region=region)
        except BadInputError as error:
            self.log.note(subject, False, error.message)
            return []
        zone, against = zone_of(described), obstacle(described, choice, expires_at=self.order.expires_at)
        policies = ", ".join(policies_of(described)) or "none"
        text = against or f"in {zone}, placement policy {policies}, with room for all machines"
        return [zone] if self.log.note(subject, not against, text) and zone in zones else []

    def _has_subnet(self, choice: Choice, region: str) -> bool:
        """Say whether the order's subnet, if it names one, is there and has room; who else is in it is not known."""
        if not self.order.subnet:
            return True
        subject = f"subnet {self.order.subnet} in {region}"
        try:
            subnet = described_subnet(self.compute, self.order.subnet, region=region)
        except BadInputError as error:
            return self.log.note(subject, False, error.message)
        block = ip_network(subnet["ipCidrRange"])
        usable = block.num_addresses - TAKEN_ADDRESSES
        if usable < choice.machines:
            return self.log.note(subject, False, f"{block} has {usable} addresses; {choice.machines} needed")
        if self.order.staging and not subnet.get("privateIpGoogleAccess"):
            return self.log.note(subject, False, "Private Google Access is off: its machines reach no object store")
        text = f"{block}; its routes and firewall rules stay, and hold for the machines, too"
        return self.log.note(subject, True, text)

    def _look_at_region(self, choice: Choice, region: str, machine_type: dict[str, Any], zones: list[str]) -> None:
        if region not in self.regions:
            self.regions[region] = self.compute.get("regions.get", region=region)
        vcpus = int(machine_type["guestCpus"])
        if not self.project:
            self.project.update(self.compute.get("projects.get"))
        bundled = machine_type.get("bundledLocalSsds", {}).get("partitionCount", 0)
        findings = [quota.finding_everywhere(choice, self.project, vcpus=vcpus)]
        findings += list(quota.findings(choice, self.regions[region], vcpus=vcpus, bundled_disks=bundled))
        self.log.findings += findings
        if all(finding.ok is not False for finding in findings):
            self.log.note_prices(
                choice, region, lambda pricing: self.price(machine_type, region, choice.local_disks, pricing)
            )
            self.log.add_places(choice, region, zones)
