"""Launching the machines of a run on Compute Engine, all or none, and saying what became of them."""

from __future__ import annotations

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
    """Return Google's description of a reservation. Raises BadInputError when the region has none such."""
    for item in compute.items("reservations.aggregatedList", filter=f"name={name}"):
        if not zone_of(item) or zone_of(item).rpartition("-")[0] == region:
            return item
    raise BadInputError(f"--reservation {name}: {region} has no such reservation; name its region with --region")


def reservation_obstacle(described: dict[str, Any], choice: ClusterOffer, *, expires_at: datetime) -> str:
    """Return why a reservation does not serve a choice until `expires_at`, '' when it does."""
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
    """Return the names of the placement policies with which capacity is reserved: machines must have the same."""
    return [str(url).rpartition("/")[2] for url in described.get("resourcePolicies", {}).values()]


def reservation_request(name: str) -> dict[str, Any]:
    """Return the part of a machine's properties that names a reservation; nothing for ''."""
    affinity = {"consumeReservationType": "SPECIFIC_RESERVATION", "key": _RESERVATION_KEY, "values": [name]}
    return {"reservationAffinity": affinity} if name else {}


ROOT_GB: Final = 30
"""Of the stock image; one's own has a root of its own size."""
MOST_PER_CALL: Final = 1000
"""Machines that one bulkInsert makes."""
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
"""Taken back, such a machine is deleted, as when its time is over: `instanceTerminationAction` says so."""
_STORE_SCOPE: Final = "https://www.googleapis.com/auth/devstorage.read_write"
_HYPERDISK_MIBPS: Final = 140
_HYPERDISK_IOPS: Final = 3000
"""What every balanced Hyperdisk has; one MiB/s takes four operations of 256 KiB."""
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
    """Return a name that no other launch of the run gives, so that nothing is made twice."""
    return f"planner-{network.order.run}-{role}-{round}-{number:04}"


def _bulk_insert(network: RunNetwork, place: Place, role: str, names: list[str]) -> None:
    body = {
        "count": str(len(names)),
        "minCount": str(len(names)),
        "perInstanceProperties": {name: {} for name in names},
        "instanceProperties": properties(network, place, role),
    }
    network.journal.intend("instance", name=f"{len(names)} x {role}", region=network.region)
    with suppress(DuplicateError):  # an earlier call, whose answer was lost, has made them
        network.compute.create("instances.bulkInsert", zone=place.zone, body=body, run=network.order.run)
    for name in names:
        made = Resource(
            kind="instance", id=f"{place.zone}.{name}", region=network.region, run=network.order.run, name=role
        )
        network.journal.made(made)


def properties(network: RunNetwork, place: Place, role: str) -> dict[str, Any]:
    """Return what is asked of every machine of a role."""
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
    """Return the placement policies of all machines: in a reservation its own, or none."""
    if name := network.order.reservation:
        described = described_reservation(network.compute, name, region=network.region)
        return reservation_policies(described)
    return [network.full_name("group")] if place.choice.placement_group else []


def _scheduling(order: Order) -> dict[str, Any]:
    """A machine is deleted when its run expires, whoever may still be there; it never moves and never starts again."""
    left_s = max(60, round((order.expires_at - datetime.now(UTC)).total_seconds()))
    return {
        "maxRunDuration": {"seconds": str(left_s)},
        "instanceTerminationAction": "DELETE",
        "onHostMaintenance": "TERMINATE",
        "automaticRestart": False,
    }


def _interface(network: RunNetwork, role: str) -> dict[str, Any]:
    """The head alone has a public address, if any has."""
    interface: dict[str, Any] = {"subnetwork": network.subnet_url, "nicType": "GVNIC"}
    if role == "head" and not network.order.is_private:
        interface["accessConfigs"] = [{"type": "ONE_TO_ONE_NAT", "name": "caller"}]
    return interface


def _metadata(order: Order) -> dict[str, str]:
    """No keys of the project, no serial console: the run's own key alone opens a machine."""
    store = {name: OBJECT_STORE.partition("/")[0] for name in _STORE_HOSTS} if order.staging else {}
    return {
        "user-data": cloud_config(expires_at=order.expires_at, hosts=store),
        "ssh-keys": f"ubuntu:{order.ssh_public_key}",
        "block-project-ssh-keys": "TRUE",
        "enable-oslogin": "FALSE",
        "serial-port-enable": "FALSE",
    }


def _disks(place: Place, labels: dict[str, str], image: str | None) -> Iterator[dict[str, Any]]:
    """The root, local disks that the type does not bring, and the plan's volumes: all gone with the machine.

    Google encrypts every disk at rest; there is nothing to ask for.
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
    """A volume, with what its type lets one buy besides its size."""
    volume: dict[str, Any] = {"diskType": volumes.volume_type, "diskSizeGb": str(volumes.size_gib)}
    mibps = max(volumes.mibps_each, _HYPERDISK_MIBPS)
    if volumes.volume_type == "hyperdisk-balanced":
        volume |= {"provisionedThroughput": str(mibps), "provisionedIops": str(max(4 * mibps, _HYPERDISK_IOPS))}
    if volumes.volume_type == "hyperdisk-throughput":
        volume |= {"provisionedThroughput": str(volumes.mibps_each)}
    return volume


def nodes(compute: Compute, run: str, *, region: str) -> Iterator[Node]:
    """Yield the machines of a run; deleted ones are not known any more."""
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
