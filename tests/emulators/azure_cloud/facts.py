"""Offers of the emulated Azure: its sizes with their prices, and the kinds of its resources, by the SDK's models."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from azure.mgmt.compute import models as compute
from azure.mgmt.network import models as network
from azure.mgmt.resource.resources import models as resources
from azure_cloud.requests import able_to

FAMILY = "standardLSv3Family"
SKUS = json.loads((Path(__file__).parents[1] / "real_rows" / "azure_skus.json").read_text("utf-8"))
"""Rows of Azure's listing, odd ones among them: sizes with fewer capabilities, and rows that are not machines."""
SIZES = {sku["name"]: int(able_to(sku).get("vCPUs", 2)) for sku in SKUS if sku["resourceType"] == "virtualMachines"}
PRICES = {"Standard_L8s_v3": 0.696, "Standard_L16s_v3": 1.392}
ANSWERS = {
    "": resources.ResourceGroup,
    "capacityReservations": compute.CapacityReservation,
    "disks": compute.Disk,
    "instanceView": compute.VirtualMachineInstanceView,
    "retrieveBootDiagnosticsData": compute.RetrieveBootDiagnosticsDataResult,
    "networkInterfaces": network.NetworkInterface,
    "publicIPAddresses": network.PublicIPAddress,
    "skus": compute.ResourceSku,
    "subnets": network.Subnet,
    "usages": compute.Usage,
}
MODELS = {
    "networkSecurityGroups": network.NetworkSecurityGroup,
    "virtualNetworks": network.VirtualNetwork,
    "proximityPlacementGroups": compute.ProximityPlacementGroup,
    "virtualMachines": compute.VirtualMachine,
    "schedules": resources.GenericResource,
}
PROVIDER = {
    "networkSecurityGroups": "Microsoft.Network",
    "virtualNetworks": "Microsoft.Network",
    "networkInterfaces": "Microsoft.Network",
    "publicIPAddresses": "Microsoft.Network",
    "proximityPlacementGroups": "Microsoft.Compute",
    "virtualMachines": "Microsoft.Compute",
    "disks": "Microsoft.Compute",
    "schedules": "Microsoft.DevTestLab",
}


def price_item(name: str, factor: float) -> dict[str, Any]:
    return {
        "armSkuName": name,
        "productName": "Virtual Machines LSv3 Series",
        "skuName": name,
        "unitOfMeasure": "1 Hour",
        "retailPrice": PRICES[name] * factor,
        "currencyCode": "USD",
        "type": "Consumption",
        "isPrimaryMeterRegion": True,
    }
