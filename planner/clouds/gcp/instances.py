"""Launch of a run's machines on Compute Engine, all or none, and their states and ends."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any, Final

from planner.clouds.cloud_errors import DuplicateError
from planner.clouds.cloud_init import cloud_config
from planner.clouds.gcp import resources
from planner.clouds.gcp.client import Compute
from planner.clouds.gcp.network import OBJECT_STORE, RunNetwork
from planner.clouds.gcp.resources import zone_of
from planner.clouds.order import ClusterOffer, Order, VolumeOrder
from planner.clouds.protocol import Node, NodeState, Place, Resource
from planner.errors import BadInputError

_RESERVATION_KEY: Final = "compute.googleapis.com/reservation-name"


def described_reservation(compute: Compute, name: str, *, region: str) -> dict[str, Any]:
    """Return Google's description of a reservation. Raises BadInputError when the region lacks it."""
    for item in compute.items("reservations.aggregatedList", filter=f"name={name}"):
        is_here = not zone_of(item) or zone_of(item).rpartition("-")[0] == region
        if is_here and item.get("name", name) == name:  # a dry run has neither
            return item
    raise BadInputError(
        f"--reservation {name}: {region} has no such reservation; name its region with --region",
        code="no-such-reservation",
    )


def reservation_obstacle(described: dict[str, Any], choice: ClusterOffer, *, expires_at: datetime) -> str:
    """Return why a reservation cannot serve a choice until `expires_at`, '' if it can."""
    specific = described.get("specificReservation", {})
    properties = specific.get("instanceProperties", {})
    reserved, disks = properties.get("machineType", "no one type"), len(properties.get("localSsds", ()))
    free = int(specific.get("count", 0)) - int(specific.get("inUseCount", 0))
    ends = described.get("deleteAtTime", "")
    if described.get("status") != "READY":
        return f"it is {described.get('status')}"
    if not described.get("specificReservationRequired"):
        return "machines cannot name it: it was made for any, without --require-specific-reservation"
    if reserved != choice.instance_type:
        return f"it is for {reserved}: --instance {reserved}"
    if choice.local_disks and disks != choice.local_disks:
        return f"it is for machines with {disks} local disks; {choice.local_disks} needed"
    if free < choice.machines:
        return f"{free} machines are free in it; {choice.machines} needed"
    if ends and datetime.fromisoformat(ends) < expires_at:
        return f"it is deleted {ends}, before the machines end: --max-hours"
    return ""


def reservation_policies(described: dict[str, Any]) -> list[str]:
    """Return the names of a reservation's placement policies: machines must have the same."""
    return [str(url).rpartition("/")[2] for url in described.get("resourcePolicies", {}).values()]


def reservation_request(name: str) -> dict[str, Any]:
    """Return the part of a machine's properties that names a reservation; nothing for ''."""
    affinity = {"consumeReservationType": "SPECIFIC_RESERVATION", "key": _RESERVATION_KEY, "values": [name]}
    return {"reservationAffinity": affinity} if name else {}


ROOT_GB: Final = 30
"""Root of the stock image; a custom image has its own size."""
MOST_PER_CALL: Final = 1000
"""Most machines of one bulkInsert."""
_IMAGE: Final = "projects/ubuntu-os-cloud/global/images/family/ubuntu-2404-lts-{arch}"
_ARM_SERIES: Final = frozenset({"t2a", "c4a", "n4a"})
_HYPERDISK_SERIES: Final = frozenset({"c4", "c4a", "c4d", "n4", "n4a", "n4d", "m4", "x4", "a4", "h4d"})
"""Machine series that take no Persistent Disk (cloud.google.com/compute/docs/disks/hyperdisks)."""
_STATES: Final[dict[str, NodeState]] = {
    "PROVISIONING": "starting",
    "STAGING": "starting",
    "PENDING": "starting",
    "RUNNING": "running",
}
_SPOT: Final = {"provisioningModel": "SPOT"}
"""A spot machine taken back is deleted, as when its time is over: `instanceTerminationAction` sets that."""
_STORE_SCOPE: Final = "https://www.googleapis.com/auth/devstorage.read_write"
_HYPERDISK_MIBPS: Final = 140
_HYPERDISK_IOPS: Final = 3000
"""IOPS included in every balanced Hyperdisk; one MiB/s takes four operations of 256 KiB."""
_STORE_HOSTS: Final = ("storage.googleapis.com", "www.googleapis.com", "oauth2.googleapis.com")


def series_of(machine_type: str) -> str:
    """Return the series of a machine type: n2 of n2-standard-32."""
    return machine_type.partition("-")[0]


def launch(network: RunNetwork, place: Place, *, machines: int, head: bool, round: int) -> None:
    """Launch nodes, then the head; Google makes all machines of a call or none."""
    for role, count in (("node", machines - head), ("head", int(head))):
        for start in range(0, count, MOST_PER_CALL):
            names = [_name(network, role, round, number) for number in range(start, min(count, start + MOST_PER_CALL))]
            _bulk_insert(network, place, role, names)


def _name(network: RunNetwork, role: str, round: int, number: int) -> str:
    """Return a name that no other launch of the run uses, so that nothing is made twice."""
    return f"planner-{network.order.run}-{role}-{round}-{number:04}"


def _bulk_insert(network: RunNetwork, place: Place, role: str, names: list[str]) -> None:
    body = {
        "count": str(len(names)),
        "minCount": str(len(names)),
        "perInstanceProperties": {name: {} for name in names},
        "instanceProperties": properties(network, place, role),
    }
    network.journal.intend("instance", name=f"{len(names)} x {role}", region=network.region)
    with suppress(DuplicateError):  # an earlier call, whose answer was lost, made them
        network.compute.create("instances.bulkInsert", zone=place.zone, body=body, run=network.order.run)
    for name in names:
        made = Resource(
            kind="instance", id=f"{place.zone}.{name}", region=network.region, run=network.order.run, name=role
        )
        network.journal.made(made)


def properties(network: RunNetwork, place: Place, role: str) -> dict[str, Any]:
    """Return the properties requested for every machine of a role."""
    order, choice = network.order, place.choice
    labels = {**order.tags, "planner-role": role}
    request: dict[str, Any] = {
        "machineType": choice.instance_type,
        "labels": labels,
        "tags": {"items": network.target_tags(head=role == "head")},
        "disks": list(_disks(place, labels, order.image)),
        "networkInterfaces": [_interface(network, role)],
        "scheduling": _scheduling(order) | (_SPOT if choice.is_spot and role == "node" else {}),
        "shieldedInstanceConfig": {"enableSecureBoot": True, "enableVtpm": True, "enableIntegrityMonitoring": True},
        "metadata": {"items": [{"key": key, "value": value} for key, value in _metadata(order).items()]},
    }
    if order.node_identity:
        request["serviceAccounts"] = [{"email": order.node_identity, "scopes": [_STORE_SCOPE]}]
    if policies := _policies(network, place):
        request["resourcePolicies"] = policies
    return request | reservation_request(order.reservation)


def _policies(network: RunNetwork, place: Place) -> list[str]:
    """Return the placement policies of all machines: a reservation's own, if any, when there is a reservation."""
    if name := network.order.reservation:
        described = described_reservation(network.compute, name, region=network.region)
        return reservation_policies(described)
    return [network.full_name("group")] if place.choice.placement_group else []


def _scheduling(order: Order) -> dict[str, Any]:
    """Return the scheduling: a machine is deleted when its run expires, even if in use; it never moves or restarts."""
    left_s = max(60, round((order.expires_at - datetime.now(UTC)).total_seconds()))
    return {
        "maxRunDuration": {"seconds": str(left_s)},
        "instanceTerminationAction": "DELETE",
        "onHostMaintenance": "TERMINATE",
        "automaticRestart": False,
    }


def _interface(network: RunNetwork, role: str) -> dict[str, Any]:
    """Return the network interface. Only the head has a public address, if any machine has."""
    interface: dict[str, Any] = {"subnetwork": network.subnet_url, "nicType": "GVNIC"}
    if role == "head" and not network.order.is_private:
        interface["accessConfigs"] = [{"type": "ONE_TO_ONE_NAT", "name": "caller"}]
    return interface


def _metadata(order: Order) -> dict[str, str]:
    """Return the metadata: no keys of the project and no serial console, so only the run's own key opens a machine."""
    store = {name: OBJECT_STORE.partition("/")[0] for name in _STORE_HOSTS} if order.staging else {}
    return {
        "user-data": cloud_config(expires_at=order.expires_at, hosts=store),
        "ssh-keys": f"ubuntu:{order.ssh_public_key}",
        "block-project-ssh-keys": "TRUE",
        "enable-oslogin": "FALSE",
        "serial-port-enable": "FALSE",
    }


def _disks(place: Place, labels: dict[str, str], image: str | None) -> Iterator[dict[str, Any]]:
    """Return the root, local disks that the type does not include, and the plan's volumes, all deleted with the
    machine.

    Google encrypts every disk at rest without being asked.
    """
    choice, series = place.choice, series_of(place.choice.instance_type)
    root = {
        "sourceImage": image or _IMAGE.format(arch="arm64" if series in _ARM_SERIES else "amd64"),
        "diskType": "hyperdisk-balanced" if series in _HYPERDISK_SERIES else "pd-balanced",
        "labels": labels,
        **({} if image else {"diskSizeGb": str(ROOT_GB)}),
    }
    yield {"boot": True, "autoDelete": True, "initializeParams": root}
    for _ in range(choice.local_disks):
        yield {
            "type": "SCRATCH",
            "interface": "NVME",
            "autoDelete": True,
            "initializeParams": {"diskType": "local-ssd"},
        }
    for _ in range(choice.volumes.count if choice.volumes else 0):
        if choice.volumes:
            yield {"autoDelete": True, "initializeParams": _volume(choice.volumes) | {"labels": labels}}


def _volume(volumes: VolumeOrder) -> dict[str, Any]:
    """Return a volume with the performance that its type sells separately."""
    volume: dict[str, Any] = {"diskType": volumes.volume_type, "diskSizeGb": str(volumes.size_gib)}
    mibps = max(volumes.mibps_each, _HYPERDISK_MIBPS)
    if volumes.volume_type == "hyperdisk-balanced":
        volume |= {"provisionedThroughput": str(mibps), "provisionedIops": str(max(4 * mibps, _HYPERDISK_IOPS))}
    if volumes.volume_type == "hyperdisk-throughput":
        volume |= {"provisionedThroughput": str(_throughput_mibps(volumes))}
    return volume


def _throughput_mibps(volumes: VolumeOrder) -> int:
    """Return what to provision for a Hyperdisk Throughput: at least 20 MiB/s and 10 a TiB, at most 90 a TiB."""
    least, most = max(20, math.ceil(10 * volumes.size_gib / 1024)), 90 * volumes.size_gib // 1024
    return max(least, min(volumes.mibps_each, most))


def nodes(compute: Compute, run: str, *, region: str) -> Iterator[Node]:
    """Yield the machines of a run; deleted ones are no longer known."""
    for resource, item in resources.find(compute, "instance", region=region, run=run):
        yield _node(resource, item)


def _node(resource: Resource, item: dict[str, Any]) -> Node:
    interface = (item.get("networkInterfaces") or [{}])[0]
    access = (interface.get("accessConfigs") or [{}])[0]
    return Node(
        id=resource.id,
        region=resource.region,
        zone=resources.zone_of(item),
        head=resources.tags_of(item, "instance").get("planner-role") == "head",
        state=_STATES.get(item["status"], "ended"),
        instance_type=item["machineType"].rpartition("/")[2],
        private_address=interface.get("networkIP", ""),
        public_address=access.get("natIP", ""),
        launched_at=datetime.fromisoformat(item["creationTimestamp"]) if item.get("creationTimestamp") else None,
        reason=item.get("statusMessage", ""),
    )
