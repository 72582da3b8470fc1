"""Launching the machines of a run on Azure, all or none, and saying what became of them."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta
from typing import Any, Final

from planner.errors import PlannerError
from planner.providers.azure.client import Arm
from planner.providers.azure.cloud_errors import NotFoundError, meaning_of
from planner.providers.azure.network import Site
from planner.providers.cloud_init import cloud_config
from planner.providers.order import VolumeOrder
from planner.providers.protocol import (
    NoCapacityError,
    Node,
    NodeState,
    PermissionDeniedError,
    QuotaExceededError,
    Resource,
)
from planner.providers.retry import Pace

ROOT_GIB: Final = 30
_NETWORK_VERSION: Final = "2022-11-01"
"""Of the interfaces that are made with a machine."""
_IMAGE: Final = {"publisher": "Canonical", "offer": "ubuntu-24_04-lts", "version": "latest"}
VOLUME_SKUS: Final = {
    "premium-ssd-p30": "Premium_LRS",
    "standard-ssd": "StandardSSD_LRS",
    "standard-hdd": "Standard_LRS",
}
"""Volumes that are made with their machine; others have a performance of their own, which a machine cannot ask for."""
_POWER: Final[dict[str, NodeState]] = {"running": "running", "starting": "starting"}
_MAKING: Final = ("Creating", "Updating")


def launch(site: Site, pace: Pace, *, machines: int, head: bool, round: int) -> None:
    """Launch nodes and the head, several calls at once, and wait until Azure has found room for all of them.

    Raises the worst of what was refused; what was made besides goes with the group.
    """
    names = [_name("node", round, number) for number in range(machines - head)]
    names += [_name("head", round, 0)] * head
    for name in names:
        site.journal.intend("instance", name=name, region=site.place.region)
    refusals: list[PlannerError] = []

    def one(name: str) -> None:
        try:
            site.arm.create("machine", site.group, name, body=_machine(site, name))
            site.arm.schedule(site.group, f"shutdown-computevm-{name}", body=_end(site, name))
        except PlannerError as refusal:
            refusals.append(refusal)

    with ThreadPoolExecutor(site.arm.at_once) as pool:
        list(pool.map(one, names))
    for name in names:
        made = Resource(kind="instance", id=f"{site.group}.{name}", region=site.place.region, run=site.order.run)
        site.journal.made(made)
    if refusals or (refusals := _failures(site, pace, names)):
        raise _worst(refusals)


def _name(role: str, round: int, number: int) -> str:
    """A name that no other launch gives in the group: with it, nothing can be made twice."""
    return f"{role}-{round}-{number:04}"


def _failures(site: Site, pace: Pace, names: list[str]) -> list[PlannerError]:
    """Wait until Azure has found room for all machines, or given up on some; return why it has."""
    wanted = set(names)
    for _ in pace.polls(pace.join_s):
        seen = [item for item in site.arm.items("machine", site.group, expand="instanceView") if item["name"] in wanted]
        states = [item["properties"].get("provisioningState") for item in seen]
        if len(seen) < len(wanted) or any(state in _MAKING for state in states):
            continue
        failed = [item for item in seen if item["properties"].get("provisioningState") == "Failed"]
        meanings = [_failure(item) for item in failed]
        return [each for each in meanings if isinstance(each, NoCapacityError | QuotaExceededError)]
    return []


def _failure(item: dict[str, Any]) -> PlannerError:
    code, message = _failed_status(item)
    return meaning_of(code, message, status=0, what=f"creating machine {item['name']}")


def _failed_status(item: dict[str, Any]) -> tuple[str, str]:
    """Return code and message of what went wrong with a machine."""
    for status in _statuses(item):
        if str(status.get("code", "")).startswith("ProvisioningState/failed"):
            return str(status["code"]).rpartition("/")[2], str(status.get("message", ""))
    return "Failed", "no reason given"


def _worst(refusals: list[PlannerError]) -> PlannerError:
    """Return what counts most: a denial before a quota before no capacity, and these before the rest."""
    kinds = (PermissionDeniedError, QuotaExceededError, NoCapacityError)
    return next((one for kind in kinds for one in refusals if isinstance(one, kind)), refusals[0])


def _machine(site: Site, name: str) -> dict[str, Any]:
    """Return the request for a machine; its zone, interface and disks are made, and go, with it."""
    order, place = site.order, site.place
    role = name.partition("-")[0]
    properties: dict[str, Any] = {
        "hardwareProfile": {"vmSize": place.choice.instance_type},
        "storageProfile": _storage(place.choice.instance_type, place.choice.volumes, order.image),
        "osProfile": {
            "computerName": name,
            "adminUsername": "ubuntu",
            "customData": base64.b64encode(cloud_config(expires_at=order.expires_at).encode()).decode("ascii"),
            "linuxConfiguration": {
                "disablePasswordAuthentication": True,
                "ssh": {"publicKeys": [{"path": "/home/ubuntu/.ssh/authorized_keys", "keyData": order.ssh_public_key}]},
            },
        },
        "networkProfile": {
            "networkApiVersion": _NETWORK_VERSION,
            "networkInterfaceConfigurations": [_interface(site, role)],
        },
        "securityProfile": {"encryptionAtHost": True},
        "diagnosticsProfile": {"bootDiagnostics": {"enabled": False}},
    }
    if place.choice.placement_group:
        near = site.url("Microsoft.Compute/proximityPlacementGroups", "near")
        properties["proximityPlacementGroup"] = {"id": near}
    zone = place.zone.removeprefix(place.region).lstrip("-")
    zones = {"zones": [zone]} if zone else {}
    assigned = {"type": "UserAssigned", "userAssignedIdentities": {order.node_identity: {}}}
    return {
        "location": place.region,
        "tags": {**order.tags, "planner-role": role},
        **({"identity": assigned} if order.node_identity else {}),
        **zones,
        "properties": properties,
    }


def _interface(site: Site, role: str) -> dict[str, Any]:
    """The head alone has a public address."""
    network = site.url("Microsoft.Network/virtualNetworks", "network")
    subnet = {"id": f"{network}/subnets/{'head' if role == 'head' else 'nodes'}"}
    address: dict[str, Any] = {"primary": True, "subnet": subnet}
    if role == "head":
        public = {"deleteOption": "Delete", "publicIPAllocationMethod": "Static"}
        address["publicIPAddressConfiguration"] = {
            "name": "head",
            "sku": {"name": "Standard"},
            "properties": public,
        }
    properties = {
        "primary": True,
        "deleteOption": "Delete",
        "enableAcceleratedNetworking": True,
        "ipConfigurations": [{"name": "cluster", "properties": address}],
    }
    return {"name": "cluster", "properties": properties}


def _storage(size: str, volumes: VolumeOrder | None, image: str | None) -> dict[str, Any]:
    """The root and the plan's volumes, gone with the machine; Azure encrypts them at rest, and the host the rest."""
    arm = re.fullmatch(r"Standard_[A-Z]+\d+(-\d+)?[a-z]*p[a-z]*_.*", size)
    usual = _IMAGE | {"sku": "server-arm64" if arm else "server"}
    disks = [
        {
            "lun": number,
            "createOption": "Empty",
            "diskSizeGB": volumes.size_gib,
            "deleteOption": "Delete",
            "managedDisk": {"storageAccountType": VOLUME_SKUS[volumes.volume_type]},
        }
        for number in range(volumes.count if volumes else 0)
        if volumes
    ]
    root = {
        "createOption": "FromImage",
        "deleteOption": "Delete",
        "diskSizeGB": ROOT_GIB,
        "managedDisk": {"storageAccountType": "StandardSSD_LRS"},
    }
    return {"imageReference": {"id": image} if image else usual, "osDisk": root, "dataDisks": disks}


def _end(site: Site, name: str) -> dict[str, Any]:
    """Return the request for Azure's own shutdown, which frees a machine; it knows hours and minutes only."""
    end = site.order.expires_at + timedelta(seconds=59)
    properties = {
        "status": "Enabled",
        "taskType": "ComputeVmShutdownTask",
        "dailyRecurrence": {"time": f"{end:%H%M}"},
        "timeZoneId": "UTC",
        "notificationSettings": {"status": "Disabled"},
        "targetResourceId": site.url("Microsoft.Compute/virtualMachines", name),
    }
    return {"location": site.place.region, "tags": site.order.tags, "properties": properties}


def nodes(arm: Arm, group: str, *, region: str) -> Iterator[Node]:
    """Yield the machines of a resource group, with their addresses; none when it is gone."""
    try:
        machines = list(arm.items("machine", group, expand="instanceView"))
        interfaces = list(arm.items("network-interface", group))
        addresses = {item["id"].lower(): item for item in arm.items("public-address", group)}
    except NotFoundError:
        return
    by_machine = {_machine_of(item): _addresses(item, addresses) for item in interfaces}
    for item in machines:
        yield _node(item, group, by_machine.get(item["name"], ("", "")), region=region)


def _machine_of(interface: dict[str, Any]) -> str:
    return str(interface["properties"].get("virtualMachine", {}).get("id", "")).rpartition("/")[2]


def _addresses(interface: dict[str, Any], addresses: dict[str, dict[str, Any]]) -> tuple[str, str]:
    """Return the private address and the public one, '' where there is none."""
    first = (interface["properties"].get("ipConfigurations") or [{"properties": {}}])[0]["properties"]
    public = addresses.get(first.get("publicIPAddress", {}).get("id", "").lower(), {})
    return str(first.get("privateIPAddress", "")), str(public.get("properties", {}).get("ipAddress", ""))


def _node(item: dict[str, Any], group: str, addresses: tuple[str, str], *, region: str) -> Node:
    properties, created = item["properties"], item["properties"].get("timeCreated")
    state = _state(item)
    return Node(
        id=f"{group}.{item['name']}",
        region=region,
        zone="-".join([region, *item["zones"]]) if item.get("zones") else "",
        head=item.get("tags", {}).get("planner-role") == "head",
        state=state,
        instance_type=properties["hardwareProfile"]["vmSize"],
        private_address=addresses[0],
        public_address=addresses[1],
        launched_at=datetime.fromisoformat(created) if created else None,
        reason=": ".join(_failed_status(item)) if state == "ended" else "",
    )


def _state(item: dict[str, Any]) -> NodeState:
    made = item["properties"].get("provisioningState")
    if made in _MAKING:
        return "starting"
    power = [str(s["code"]).rpartition("/")[2] for s in _statuses(item) if str(s.get("code")).startswith("PowerState/")]
    if made in ("Failed", "Deleting") or not power:
        return "ended" if made in ("Failed", "Deleting") else "starting"
    return _POWER.get(power[0], "ended")


def _statuses(item: dict[str, Any]) -> list[dict[str, Any]]:
    return list(item["properties"].get("instanceView", {}).get("statuses") or ())
