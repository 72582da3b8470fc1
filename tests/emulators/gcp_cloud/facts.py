"""Facts of the emulated Compute Engine: places, machine types, prices, and the permission that each method needs."""

from __future__ import annotations

from typing import Any

REGIONS = ("us-central1", "us-east4")
ZONES = tuple(f"{region}-{letter}" for region in REGIONS for letter in "abc")

MACHINE_TYPES: dict[str, dict[str, Any]] = {
    name: {"name": name, "guestCpus": vcpus, "memoryMb": memory_mib, "architecture": "X86_64", **bundled}
    for name, vcpus, memory_mib, bundled in (
        ("n2-standard-4", 4, 16384, {}),
        ("n2-standard-32", 32, 131072, {}),
        ("c3-standard-8-lssd", 8, 32768, {"bundledLocalSsds": {"defaultInterface": "NVME", "partitionCount": 2}}),
    )
}

_LISTED = {
    "N2 Instance Core running in Americas": ("h", 0.031611),
    "N2 Instance Ram running in Americas": ("GiBy.h", 0.004237),
    "C3 Instance Core running in Americas": ("h", 0.03465),
    "C3 Instance Ram running in Americas": ("GiBy.h", 0.003938),
    "SSD backed Local Storage": ("GiBy.mo", 0.08),
}
"""US dollars of a part, on demand, and its unit."""

PERMISSIONS = {
    "disks.aggregatedList": ("compute.disks.list",),
    "disks.get": ("compute.disks.get",),
    "disks.delete": ("compute.disks.delete",),
    "firewalls.get": ("compute.firewalls.get",),
    "firewalls.delete": ("compute.firewalls.delete", "compute.networks.updatePolicy"),
    "firewalls.insert": ("compute.firewalls.create", "compute.networks.updatePolicy"),
    "firewalls.list": ("compute.firewalls.list",),
    "globalOperations.aggregatedList": ("compute.globalOperations.list",),
    "globalOperations.wait": ("compute.globalOperations.get",),
    "instances.aggregatedList": ("compute.instances.list",),
    "instances.bulkInsert": ("compute.instances.create", "compute.disks.create", "compute.subnetworks.use"),
    "instances.get": ("compute.instances.get",),
    "instances.delete": ("compute.instances.delete",),
    "instances.getSerialPortOutput": ("compute.instances.getSerialPortOutput",),
    "machineTypes.aggregatedList": ("compute.machineTypes.list",),
    "networks.get": ("compute.networks.get",),
    "networks.delete": ("compute.networks.delete",),
    "networks.insert": ("compute.networks.create",),
    "networks.list": ("compute.networks.list",),
    "projects.get": ("compute.projects.get",),
    "regionOperations.wait": ("compute.regionOperations.get",),
    "regions.get": ("compute.regions.get",),
    "regions.list": ("compute.regions.list",),
    "reservations.aggregatedList": ("compute.reservations.list",),
    "resourcePolicies.get": ("compute.resourcePolicies.get",),
    "resourcePolicies.delete": ("compute.resourcePolicies.delete",),
    "resourcePolicies.insert": ("compute.resourcePolicies.create",),
    "resourcePolicies.list": ("compute.resourcePolicies.list",),
    "subnetworks.get": ("compute.subnetworks.get",),
    "subnetworks.delete": ("compute.subnetworks.delete",),
    "subnetworks.insert": ("compute.subnetworks.create", "compute.networks.updatePolicy"),
    "subnetworks.list": ("compute.subnetworks.list",),
    "zoneOperations.wait": ("compute.zoneOperations.get",),
}
"""Named as in each method's reference (cloud.google.com/compute/docs/reference/rest/v1)."""


def price_list(factor: float) -> dict[str, Any]:
    """Return the price list in the Cloud Billing catalog's form, all prices times a factor."""
    return {"skus": [_sku(text, unit, usd * factor) for text, (unit, usd) in _LISTED.items()]}


def _sku(text: str, unit: str, usd: float) -> dict[str, Any]:
    price = {"currencyCode": "USD", "units": str(int(usd)), "nanos": round(usd % 1 * 1e9)}
    terms = {"usageUnit": unit, "tieredRates": [{"startUsageAmount": 0, "unitPrice": price}]}
    category = {"resourceFamily": "Compute", "usageType": "OnDemand"}
    return {
        "description": text,
        "category": category,
        "serviceRegions": list(REGIONS),
        "pricingInfo": [{"pricingExpression": terms}],
    }


def vcpus_of(machine: dict[str, Any]) -> int:
    return int(MACHINE_TYPES[machine["machineType"].rpartition("/")[2]]["guestCpus"])
