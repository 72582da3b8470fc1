"""Checks on Compute Engine before anything is created."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from ipaddress import ip_network
from typing import Any, Final

from planner.clouds import price_lists as refresh
from planner.clouds.gcp.client import Access, Compute
from planner.clouds.gcp.instances import (
    ROOT_GB,
    described_reservation,
    reservation_obstacle,
    reservation_policies,
    series_of,
)
from planner.clouds.gcp.network import described_subnet
from planner.clouds.gcp.permissions import identity_finding, permission_finding, policy_findings
from planner.clouds.gcp.resources import zone_of
from planner.clouds.order import ClusterOffer, Order
from planner.clouds.preflight import AnswerCache, PreflightLog
from planner.clouds.price_lists.gcp import UnitPrices, hourly_usd, price_list
from planner.clouds.protocol import Finding, Preflight
from planner.errors import BadInputError, PlannerError

TAKEN_ADDRESSES: Final = 4
"""Addresses that Google keeps in every subnet (cloud.google.com/vpc/docs/subnets, unusable addresses)."""
MOST_PLACED: Final = 1500
"""Most machines of one compact placement policy
(cloud.google.com/compute/docs/instances/placement-policies-overview).
"""
Price = Callable[[dict[str, Any], str, int, str], float | None]
"""Function that returns US dollars per hour of a machine type, as machineTypes describes it, in a region, with a number
of local disks added, on demand or spot.
"""


def preflight(order: Order, compute: Compute, *, account: str, price: Price) -> Preflight:
    """Check permissions, policies and every choice in every region in parallel."""
    checks = _Checks(order=order, compute=compute, price=price)
    log = checks.log
    log.note("credentials", True, f"project {compute.project} as {account}")
    log.note("encryption", True, "Google encrypts every disk at rest, and the network between machines")
    is_permitted, is_in_policy, is_lent, *_ = log.run_at_once(
        [
            lambda its: its.add(permission_finding(compute, order)),
            lambda its: its.add_all(policy_findings(compute, order)),
            lambda its: its.add(identity_finding(compute, order.node_identity)) if order.node_identity else True,
            *(partial(checks.check_choice, choice) for choice in order.choices),
        ]
    )
    if not (is_permitted and is_in_policy and is_lent):
        log.places.clear()
    return log.result()


@dataclass(frozen=True, kw_only=True)
class _Checks:
    """The checks of one preflight; `log` collects their findings, `once` caches Google's answers on regions and the
    project.
    """

    order: Order
    compute: Compute
    price: Price
    log: PreflightLog = field(default_factory=PreflightLog)
    once: AnswerCache = field(default_factory=AnswerCache)

    def check_choice(self, choice: ClusterOffer, log: PreflightLog) -> None:
        """Check a choice with its own log; Google's refusals become findings."""
        with log.noting_refusals(choice.instance_type):
            replace(self, log=log).add_zones(choice)

    def add_zones(self, choice: ClusterOffer) -> None:
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
                self._check_region(choice, region, offered[zones[0]], zones)

    def _within_reservation(self, choice: ClusterOffer, zones: list[str], region: str) -> list[str]:
        """Return the zone of the order's reservation, if it serves a choice and is among these zones."""
        subject = f"reservation {self.order.reservation} in {region}"
        try:
            described = described_reservation(self.compute, self.order.reservation, region=region)
        except BadInputError as error:
            self.log.note(subject, False, error.message)
            return []
        zone, against = zone_of(described), reservation_obstacle(described, choice, expires_at=self.order.expires_at)
        policies = ", ".join(reservation_policies(described)) or "none"
        text = against or f"in {zone}, placement policy {policies}, with room for all machines"
        return [zone] if self.log.note(subject, not against, text) and zone in zones else []

    def _has_subnet(self, choice: ClusterOffer, region: str) -> bool:
        """Return whether the order's subnet, if any, exists and has room; its other users are unknown."""
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

    def _check_region(self, choice: ClusterOffer, region: str, machine_type: dict[str, Any], zones: list[str]) -> None:
        described, project = self.log.run_at_once(
            [
                lambda _: self.once(region, lambda: self.compute.get("regions.get", region=region)),
                lambda _: self.once("", lambda: self.compute.get("projects.get")),
            ]
        )
        vcpus = int(machine_type["guestCpus"])
        bundled = machine_type.get("bundledLocalSsds", {}).get("partitionCount", 0)
        findings = [quota_finding_everywhere(choice, project, vcpus=vcpus)]
        findings += network_findings(self.order, project)
        findings += list(quota_findings(choice, described, vcpus=vcpus, bundled_disks=bundled))
        suffices = self.log.add_all(findings)
        self.log.note_prices(
            choice, region, lambda pricing: self.price(machine_type, region, choice.local_disks, pricing)
        )
        if suffices:
            self.log.add_places(choice, region, zones)


class Prices:
    """Current price list, read on first use; without it, every price is unknown."""

    def __init__(self, *, access: Access, regions: Sequence[str]) -> None:
        self._access, self._regions = access, tuple(regions)
        self._once = AnswerCache()

    def of(self, description: dict[str, Any], region: str, added_disks: int, pricing: str) -> float | None:
        """Return US dollars per hour of a machine type, as machineTypes describes it, with local disks added; `pricing`
        is on demand or spot.
        """
        from google.cloud import compute_v1

        units = self._once("units", self._units)
        if units is None:
            return None
        machine_type = compute_v1.MachineType.from_json(json.dumps(description), ignore_unknown_fields=True)
        return hourly_usd(machine_type, units, region=region, added_disks=added_disks, pricing=pricing)

    def _units(self) -> UnitPrices | None:
        access = refresh.Access(
            account=self._access.project, credentials=self._access.credentials, prices_url=self._access.prices_url
        )
        try:
            return price_list(self._regions, access=access, watch=lambda _what, _count: None)
        except PlannerError:
            return None


_OWN_SERIES: Final = frozenset({"a2", "c2", "c2d", "c3", "e2", "m1", "m2", "m3", "n2", "n2a", "n2d", "t2a", "t2d"})
"""Series with their own quota in regions.get; n1 shares CPUS, newer ones are counted elsewhere."""
_LOCAL_GB: Final = 375
_EVERYWHERE: Final = "CPUS_ALL_REGIONS"
_SPOT_CPUS: Final = "PREEMPTIBLE_CPUS"
"""Quota for spot machines in projects that requested it; otherwise they count towards the other quotas."""
_RULES: Final = 5.0
"""Most firewall rules of a run."""
_SPOT_OF: Final = {"LOCAL_SSD_TOTAL_GB": "PREEMPTIBLE_LOCAL_SSD_GB"}
_SOLID_STATE: Final = frozenset({"pd-balanced", "pd-ssd"})


def quota_needs(choice: ClusterOffer, *, vcpus: int, bundled_disks: int) -> dict[str, float]:
    """Return a choice's needs by Google's name of the quota. `vcpus` and `bundled_disks` are of one machine."""
    series, machines = series_of(choice.instance_type), choice.machines
    metric = f"{series.upper()}_CPUS" if series in _OWN_SERIES - {"e2"} else "CPUS"
    volumes = choice.volumes
    solid_gb = volumes.count * volumes.size_gib if volumes and volumes.volume_type in _SOLID_STATE else 0
    amounts = {
        metric: vcpus * machines,
        "INSTANCES": machines,
        "IN_USE_ADDRESSES": 1,
        "LOCAL_SSD_TOTAL_GB": (choice.local_disks + bundled_disks) * _LOCAL_GB * machines,
        "SSD_TOTAL_GB": (ROOT_GB + solid_gb) * machines,
    }
    if series not in _OWN_SERIES | {"n1", "e2", "f1", "g1"}:
        for name in (metric, "LOCAL_SSD_TOTAL_GB"):  # another service counts these for each series
            del amounts[name]
    return {name: float(amount) for name, amount in amounts.items() if amount}


def quota_finding_everywhere(choice: ClusterOffer, project: dict[str, Any], *, vcpus: int) -> Finding:
    """Return a finding on whether the quota for all regions together (as in projects.get) has enough left."""
    subject, needed = f"quota {_EVERYWHERE} for {choice.instance_type}", float(vcpus * choice.machines)
    quota = next((quota for quota in project.get("quotas", ()) if quota["metric"] == _EVERYWHERE), None)
    return _finding(subject, quota, needed)


def network_findings(order: Order, project: dict[str, Any]) -> Iterator[Finding]:
    """Yield whether the project, as in projects.get, may have a run's network in addition to its own."""
    quotas = {quota["metric"]: quota for quota in project.get("quotas", ())}
    own = {} if order.subnet else {"NETWORKS": 1.0, "SUBNETWORKS": 1.0}
    for metric, amount in (own | {"FIREWALLS": _RULES}).items():
        if metric in quotas:
            yield _finding(f"quota {metric}", quotas[metric], amount)


def quota_findings(
    choice: ClusterOffer, region: dict[str, Any], *, vcpus: int, bundled_disks: int
) -> Iterator[Finding]:
    """Yield, for each quota, whether a region (as in regions.get) has enough left."""
    quotas = {quota["metric"]: quota for quota in region.get("quotas", ())}
    amounts = quota_needs(choice, vcpus=vcpus, bundled_disks=bundled_disks)
    if choice.is_spot and quotas.get(_SPOT_CPUS, {}).get("limit"):
        amounts = _by_quota(amounts, spot=choice.machines - 1, machines=choice.machines)
    where = f"for {choice.instance_type} in {region['name']}"
    for metric, amount in amounts.items():
        yield _finding(f"quota {metric} {where}", quotas.get(metric), amount)
    if not any(name.endswith("CPUS") for name in amounts):
        text = f"not stated by Compute Engine; {vcpus * choice.machines} vCPUs needed"
        yield Finding(subject=f"quota of vCPUs {where}", ok=None, text=text)


def _by_quota(amounts: dict[str, float], *, spot: int, machines: int) -> dict[str, float]:
    """Return the amounts with spot machines' vCPUs and local disks under their own quotas where these exist."""
    own = {}
    for name, amount in amounts.items():
        spot_name = _SPOT_CPUS if name.endswith("CPUS") else _SPOT_OF.get(name)
        if spot_name:
            own[spot_name] = amount * spot / machines
        own[name] = amount * (machines - spot) / machines if spot_name else amount
    return own


def _finding(subject: str, quota: dict[str, Any] | None, amount: float) -> Finding:
    if quota is None or "limit" not in quota:
        return Finding(subject=subject, ok=None, text=f"not stated; {amount:g} needed")
    limit, free = quota["limit"], quota["limit"] - quota.get("usage", 0.0)
    return Finding(subject=subject, ok=amount <= free, text=f"{amount:g} needed, {free:g} of {limit:g} free")
