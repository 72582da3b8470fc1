"""Launch of a run's machines on Azure, all or none, and their states and ends."""

from __future__ import annotations

import base64
import math
import re
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta
from typing import Any, Final

from planner.clouds.azure.client import Arm, meaning_of
from planner.clouds.azure.network import RunNetwork
from planner.clouds.calls.retry import RetryPolicy
from planner.clouds.cloud_errors import NoCapacityError, NotFoundError, QuotaExceededError, worst_of
from planner.clouds.cloud_init import cloud_config
from planner.clouds.order import ClusterOffer
from planner.clouds.protocol import Node, NodeState, Resource
from planner.errors import BadInputError, PlannerError, ProviderRefusedError

_GROUP_ID: Final = re.compile(
    "/subscriptions/[^/]+/resourceGroups/([^/]+)/providers/Microsoft.Compute/capacityReservationGroups/([^/]+)",
    re.IGNORECASE,
)


def reservations_in(arm: Arm, group: str) -> list[dict[str, Any]]:
    """Return Azure's descriptions of a group's reservations. Raises BadInputError for an invalid id of a group, or for
    a group that does not exist.
    """
    match = _GROUP_ID.fullmatch(group)
    if match is None:
        raise BadInputError(
            f"--reservation {group}: this is not the id of a group of capacity reservations",
            [
                "give /subscriptions/ID/resourceGroups/GROUP/providers/Microsoft.Compute/"
                "capacityReservationGroups/NAME",
                "`az capacity reservation group show --query id` prints it",
            ],
            code="malformed",
        )
    try:
        return list(arm.items("capacity-reservation", match[1], match[2]))
    except NotFoundError as error:
        raise BadInputError(
            f"--reservation {group}: the subscription has no such group", code="no-such-reservation"
        ) from error


def reserved_zones(reservations: Sequence[dict[str, Any]], choice: ClusterOffer, *, region: str) -> list[str]:
    """Return the zones, '' for a region without, in which a reservation has room for all machines of a choice."""
    return [
        zone
        for item in reservations
        if (item["location"], item["sku"]["name"]) == (region, choice.instance_type)
        and _free_machines(item) >= choice.machines
        for zone in item.get("zones") or [""]
    ]


def reserved_text(reservations: Sequence[dict[str, Any]]) -> str:
    """Return a description of a group: sizes, places, and how many machines are free."""
    texts = [
        f"{_free_machines(item)} x {item['sku']['name']} in {'-'.join([item['location'], *(item.get('zones') or [])])}"
        for item in reservations
    ]
    return ", ".join(texts) or "nothing"


def reservation_request(group: str) -> dict[str, Any]:
    """Return the part of a machine's properties that names a group; nothing for ''."""
    return {"capacityReservation": {"capacityReservationGroup": {"id": group}}} if group else {}


def _free_machines(item: dict[str, Any]) -> int:
    return int(item["sku"]["capacity"]) - len(item["properties"].get("virtualMachinesAssociated") or ())


_ROOT_GIB: Final = 30
"""Root of the stock image; a custom image has its own size."""
_NETWORK_VERSION: Final = "2022-11-01"
"""API version of the interfaces that are made with a machine."""
_IMAGE: Final = {"publisher": "Canonical", "offer": "ubuntu-24_04-lts", "version": "latest"}
VOLUME_SKUS: Final = {
    "premium-ssd-p30": "Premium_LRS",
    "standard-ssd": "StandardSSD_LRS",
    "standard-hdd": "Standard_LRS",
}
"""Volumes made with their machine; others have their own performance settings, which a machine cannot request."""
_SPOT: Final = {"priority": "Spot", "evictionPolicy": "Delete", "billingProfile": {"maxPrice": -1.0}}
"""Spot machines are taken back only for capacity, not for price, and then deleted with their disks."""
_POWER: Final[dict[str, NodeState]] = {
    "running": "running",
    "starting": "starting",
    "stopping": "stopped",
    "stopped": "stopped",
}
"""A machine that stopped itself keeps its place, and is billed until it is deallocated or deleted."""
_MAKING: Final = ("Creating", "Updating")
_MOST_ASKED: Final = 20
"""Most machines whose failure is looked up, by one call each."""


def launch(network: RunNetwork, policy: RetryPolicy, *, machines: int, head: bool, round: int) -> None:
    """Launch nodes and the head by parallel calls, and wait until Azure has found room for all of them.

    Raises the worst refusal; machines already made are deleted with the group.
    """
    names = [_name("node", round, number) for number in range(machines - head)]
    names += [_name("head", round, 0)] * head
    for name in names:
        network.journal.intend("instance", name=name, region=network.place.region)
    refusals: list[PlannerError] = []
    able = capabilities(network.arm.size(network.place.choice.instance_type, network.place.region) or {})
    refused: set[str] = set()

    def create(name: str) -> None:
        try:
            network.arm.create("machine", network.group, name, body=_machine(network, name, able))
        except PlannerError as refusal:
            refusals.append(refusal)
            refused.update([name] if isinstance(refusal, ProviderRefusedError) else [])
            return
        try:
            network.arm.schedule(network.group, f"shutdown-computevm-{name}", body=_end(network, name))
        except PlannerError as refusal:
            refusals.append(refusal)

    with ThreadPoolExecutor(network.arm.at_once) as pool:
        list(pool.map(create, names))
    for name in refused:
        network.journal.creation_refused("instance", name=name)
    for name in set(names) - refused:
        made = Resource(
            kind="instance",
            id=f"{network.group}.{name}",
            region=network.place.region,
            run=network.order.run,
            name=name.partition("-")[0],
        )
        network.journal.made(made)
    if refusals or (refusals := _failures(network, policy, names)):
        raise worst_of(refusals)


def _name(role: str, round: int, number: int) -> str:
    """Return a name that no other launch in the group uses, so that nothing is made twice."""
    return f"{role}-{round}-{number:04}"


def _failures(network: RunNetwork, policy: RetryPolicy, names: list[str]) -> list[PlannerError]:
    """Wait until Azure has found room for all machines, or given up on some; return the reasons. Spot machines may be
    taken back while they are created, and are then deleted.
    """
    expected, absent = set(names), set[str]()
    for _ in policy.polls(policy.join_s):
        seen = [item for item in network.arm.items("machine", network.group) if item["name"] in expected]
        missing = sorted(expected - {item["name"] for item in seen})[:_MOST_ASKED]
        before, absent = absent, {name for name in missing if not _exists(network, name)}
        if gone := absent & before:
            return [NoCapacityError(f"{', '.join(sorted(gone))}: taken back while it was created")]
        states = [item["properties"].get("provisioningState") for item in seen]
        if len(seen) < len(expected) or any(state in _MAKING for state in states):
            continue
        failed = [item for item in seen if item["properties"].get("provisioningState") == "Failed"]
        meanings = [_failure(network, item["name"]) for item in failed[:_MOST_ASKED]]
        return [meaning for meaning in meanings if isinstance(meaning, NoCapacityError | QuotaExceededError)]
    return []


def _exists(network: RunNetwork, name: str) -> bool:
    try:
        network.arm.get("machine", network.group, name)
    except NotFoundError:
        return False
    return True


def _failure(network: RunNetwork, name: str) -> PlannerError:
    code, message = _failed_status(network.arm.machine_view(network.group, name))
    return meaning_of(code, message, status=0, what=f"creating machine {name}")


def _failed_status(view: dict[str, Any]) -> tuple[str, str]:
    """Return code and message of a machine's failure, from its instance view."""
    for status in view.get("statuses") or ():
        if str(status.get("code", "")).startswith("ProvisioningState/failed"):
            return str(status["code"]).rpartition("/")[2], str(status.get("message", ""))
    return "Failed", "no reason given"


def capabilities(size: dict[str, Any]) -> dict[str, str]:
    """Return a size's capabilities by name, with values as Azure writes them."""
    return {item["name"]: item.get("value", "") for item in size.get("capabilities") or ()}


def _machine(network: RunNetwork, name: str, able: dict[str, str]) -> dict[str, Any]:
    """Return the request for a machine of a size with capabilities `able`, including its zone, interface and disks."""
    order, place = network.order, network.place
    role = name.partition("-")[0]
    properties: dict[str, Any] = {
        "hardwareProfile": {"vmSize": place.choice.instance_type},
        "storageProfile": _storage(place.choice, able, order.image),
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
            "networkInterfaceConfigurations": [_interface(network, role, able)],
        },
        "securityProfile": {"encryptionAtHost": True},
        "diagnosticsProfile": {"bootDiagnostics": {"enabled": True}},
    }
    if place.choice.is_spot and role == "node":
        properties |= _SPOT
    properties |= reservation_request(order.reservation)
    if place.choice.placement_group:
        near = network.url("Microsoft.Compute/proximityPlacementGroups", "near")
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


def _interface(network: RunNetwork, role: str, able: dict[str, str]) -> dict[str, Any]:
    """Return the network interface. Only the head has a public address, if any machine has. In an existing subnet the
    run's rules are on the interface. Azure refuses accelerated networking for sizes that lack it.
    """
    accelerated = able.get("AcceleratedNetworkingEnabled", "False")
    address: dict[str, Any] = {"primary": True, "subnet": {"id": network.subnet_url(role)}}
    if role == "head" and not network.order.is_private:
        public = {"deleteOption": "Delete", "publicIPAllocationMethod": "Static"}
        address["publicIPAddressConfiguration"] = {"name": "head", "sku": {"name": "Standard"}, "properties": public}
    properties = {
        "primary": True,
        "deleteOption": "Delete",
        "enableAcceleratedNetworking": {"True": True, "False": False}.get(accelerated, accelerated),
        "ipConfigurations": [{"name": "cluster", "properties": address}],
    }
    if network.order.subnet:
        rules = network.url("Microsoft.Network/networkSecurityGroups", "head" if role == "head" else "nodes")
        properties["networkSecurityGroup"] = {"id": rules}
    return {"name": "cluster", "properties": properties}


def volumes_obstacle(choice: ClusterOffer, able: dict[str, str]) -> str:
    """Return why a machine of a size with capabilities `able` cannot be made with its volumes, '' if it can."""
    volumes = choice.volumes
    if volumes is None:
        return ""
    if volumes.volume_type not in VOLUME_SKUS:
        return f"volumes of type {volumes.volume_type} cannot be made with their machine"
    if VOLUME_SKUS[volumes.volume_type].startswith("Premium") and able.get("PremiumIO", "True") != "True":
        return f"it takes no premium disks such as {volumes.volume_type}"
    if volumes.count > (most := float(able.get("MaxDataDiskCount") or math.inf)):
        return f"{volumes.count} volumes on each machine; it takes {most:g}"
    return ""


def _storage(choice: ClusterOffer, able: dict[str, str], image: str | None) -> dict[str, Any]:
    """Return the root and the plan's volumes, deleted with the machine; Azure encrypts them at rest, the host the
    rest.
    """
    volumes = choice.volumes
    if obstacle := volumes_obstacle(choice, able):
        raise ProviderRefusedError(
            f"{choice.instance_type}: {obstacle}; nothing is launched",
            [f"volumes that can: {', '.join(VOLUME_SKUS)}"],
            code="storage-unfit",
        )
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
        "managedDisk": {"storageAccountType": "StandardSSD_LRS"},
        **({} if image else {"diskSizeGB": _ROOT_GIB}),
    }
    stock = _IMAGE | {"sku": _image_sku(choice.instance_type, able)}
    return {"imageReference": {"id": image} if image else stock, "osDisk": root, "dataDisks": disks}


def _image_sku(size: str, able: dict[str, str]) -> str:
    """Return the stock image that boots a size: older sizes support only first-generation virtual hardware."""
    if re.fullmatch(r"Standard_[A-Z]+\d+(-\d+)?[a-z]*p[a-z]*_.*", size):
        return "server-arm64"
    return "server" if "V2" in able.get("HyperVGenerations", "V2") else "server-gen1"


def _end(network: RunNetwork, name: str) -> dict[str, Any]:
    """Return the request for Azure's own shutdown, which deallocates a machine; it has hours and minutes only."""
    end = network.order.expires_at + timedelta(seconds=59)
    properties = {
        "status": "Enabled",
        "taskType": "ComputeVmShutdownTask",
        "dailyRecurrence": {"time": f"{end:%H%M}"},
        "timeZoneId": "UTC",
        "notificationSettings": {"status": "Disabled"},
        "targetResourceId": network.url("Microsoft.Compute/virtualMachines", name),
    }
    return {"location": network.place.region, "tags": network.order.tags, "properties": properties}


def nodes(arm: Arm, group: str, *, run: str, region: str) -> Iterator[Node]:
    """Yield a run's machines in a resource group, with their addresses; none when it is gone.

    The group's listing describes the machines, the subscription's with `status_only` their states: no listing has both
    (tests/clouds/documented_facts.md). The latter writes ids in another case.
    """
    try:
        tagged = ((item.get("tags", {}).get("planner-run"), item) for item in arm.items("machine", group))
        machines = [item for of, item in tagged if of == run]
        statuses = {item["id"].lower(): item for item in arm.items("machine-status", status_only="true")}
        interfaces = list(arm.items("network-interface", group))
        addresses = {item["id"].lower(): item for item in arm.items("public-address", group)}
    except NotFoundError:
        return
    by_machine = {_machine_of(item): _addresses(item, addresses) for item in interfaces}
    for item in machines:
        view = statuses.get(item["id"].lower(), {"properties": {}})["properties"].get("instanceView") or {}
        yield _node(item, view, group, by_machine.get(item["name"], ("", "")), region=region)


def _machine_of(interface: dict[str, Any]) -> str:
    return str(interface["properties"].get("virtualMachine", {}).get("id", "")).rpartition("/")[2]


def _addresses(interface: dict[str, Any], addresses: dict[str, dict[str, Any]]) -> tuple[str, str]:
    """Return the private address and the public one, '' where there is none."""
    first = (interface["properties"].get("ipConfigurations") or [{"properties": {}}])[0]["properties"]
    public = addresses.get(first.get("publicIPAddress", {}).get("id", "").lower(), {})
    return str(first.get("privateIPAddress", "")), str(public.get("properties", {}).get("ipAddress", ""))


def _node(item: dict[str, Any], view: dict[str, Any], group: str, addresses: tuple[str, str], *, region: str) -> Node:
    properties, created = item["properties"], item["properties"].get("timeCreated")
    state = _state(item, view)
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
        reason=": ".join(_failed_status(view)) if state in ("stopped", "ended") else "",
    )


def _state(item: dict[str, Any], view: dict[str, Any]) -> NodeState:
    made = item["properties"].get("provisioningState")
    if made in _MAKING:
        return "starting"
    codes = [str(status.get("code", "")) for status in view.get("statuses") or ()]
    power = [code.rpartition("/")[2] for code in codes if code.startswith("PowerState/")]
    if made == "Deleting":
        return "ended"
    state = _POWER.get(power[0], "ended") if power else "ended" if made == "Failed" else "starting"
    return "stopped" if made == "Failed" and state != "ended" else state
