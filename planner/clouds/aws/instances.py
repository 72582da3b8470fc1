"""Launch of a run's machines on EC2, all or none, and their states and ends."""

from __future__ import annotations

import hashlib
import itertools
import math
import re
from collections.abc import Iterator
from datetime import datetime
from typing import Any, Final

from planner.clouds.aws import resources
from planner.clouds.aws.client import Service
from planner.clouds.aws.network import RunNetwork
from planner.clouds.cloud_errors import NotFoundError
from planner.clouds.cloud_init import cloud_config, host_keys_in
from planner.clouds.order import ClusterOffer, Order, VolumeOrder
from planner.clouds.protocol import Node, NodeState, Place, Resource, require_named
from planner.errors import BadInputError


def described_reservation(ec2: Service, reservation: str) -> dict[str, Any]:
    """Return AWS's description of a capacity reservation. Raises BadInputError where the region lacks it."""
    try:
        listed = ec2.items(
            "describe_capacity_reservations", "CapacityReservations", CapacityReservationIds=[reservation]
        )
        return next(iter(listed))
    except (NotFoundError, StopIteration) as error:
        raise BadInputError(
            f"--reservation {reservation}: {ec2.region} has no such capacity reservation; name its --region",
            code="no-such-reservation",
        ) from error


def reservation_obstacle(described: dict[str, Any], choice: ClusterOffer, *, expires_at: datetime) -> str:
    """Return why a reservation cannot serve a choice until `expires_at`, '' if it can."""
    reserved, free = described["InstanceType"], int(described["AvailableInstanceCount"])
    platform, tenancy = described.get("InstancePlatform", "Linux/UNIX"), described.get("Tenancy", "default")
    ends_at = described.get("EndDate")
    if described["State"] != "active":
        return f"it is {described['State']}"
    if reserved != choice.instance_type:
        return f"it is for {reserved}: --instance {reserved}"
    if (platform, tenancy) != ("Linux/UNIX", "default"):
        return f"it is for {platform}, tenancy {tenancy}; machines here are Linux/UNIX, tenancy default"
    if free < choice.machines:
        return f"{free} machines are free in it; {choice.machines} needed"
    if ends_at is not None and ends_at < expires_at:
        return f"it ends {ends_at:%Y-%m-%d %H:%M} UTC, before the machines do: --max-hours"
    return ""


def reservation_group(described: dict[str, Any]) -> str:
    """Return the placement group in which capacity is reserved, '' for none."""
    return str(described.get("PlacementGroupArn", "")).rpartition("/")[2]


def reservation_request(reservation: str) -> dict[str, Any]:
    """Return the part of a launch that names a reservation, empty for ''. If it is full, the launch fails."""
    target = {"CapacityReservationTarget": {"CapacityReservationId": reservation}}
    return {"CapacityReservationSpecification": target} if reservation else {}


_ROOT_GIB: Final = 30
"""Smallest root volume; a larger image's root has the size of its snapshot."""
_IMAGE_OWNER: Final = "099720109477"
"""Canonical's account, which publishes the stock Ubuntu images."""
_IMAGE_NAME: Final = "ubuntu/images/hvm-ssd-gp3/ubuntu-noble-24.04-{arch}-server-*"
_ROOT_DEVICE: Final = "/dev/sda1"
"""Root device of the stock images, for dry runs without an account."""
MOST_PER_LAUNCH: Final = 500
"""Instances of one RunInstances call. AWS counts each against a bucket of 1,000, refilled at two a second, and advises
smaller calls for faster launches.
"""
_SPOT: Final = {
    "MarketType": "spot",
    "SpotOptions": {"SpotInstanceType": "one-time", "InstanceInterruptionBehavior": "terminate"},
}
"""At most the on-demand price, EC2's default without a maximum."""
_ARCHITECTURES: Final = {"x86_64": "amd64", "arm64": "arm64"}
_STATES: Final[dict[str, NodeState]] = {"pending": "starting", "running": "running"}
_GP3_MIBPS: Final = 125
_GP3_IOPS: Final = 3000
"""IOPS included in every gp3 volume."""
_IO_BYTES: Final = 256 * 1024
"""Most bytes that count as one operation."""
_ON_CREDIT: Final = re.compile(r"t[2-9]")
"""Burstable types that take a credit specification, by name."""
_OF_THE_ACCOUNT: Final = ("Client.InvalidKMSKey", "Client.InvalidSnapshot")
"""First words of codes for ends at boot that have their cause in the account's keys and images, not in a zone."""
_TAGGED: Final = ("instance", "volume", "network-interface")


def image_of(ec2: Service, order: Order, instance_type: str) -> dict[str, Any]:
    """Return AWS's description of the image for an order's machines of a type. Raises BadInputError if none exists."""
    if not order.image:
        return newest_image(ec2, architecture_of(shape_of(ec2, instance_type)))
    described = list(ec2.items("describe_images", "Images", ImageIds=[order.image]))
    if not described:
        raise BadInputError(
            f"{ec2.region} has no image {order.image}; name one of this region with --image", code="no-such-image"
        )
    return described[0]


def newest_image(ec2: Service, architecture: str) -> dict[str, Any]:
    """Return the newest stock image for `x86_64` or `arm64`. Raises BadInputError when there is none."""
    properties = {
        "name": _IMAGE_NAME.format(arch=_ARCHITECTURES[architecture]),
        "architecture": architecture,
        "state": "available",
    }
    filters = [{"Name": name, "Values": [value]} for name, value in properties.items()]
    images = list(ec2.items("describe_images", "Images", Owners=[_IMAGE_OWNER], Filters=filters))
    if not images:
        raise BadInputError(
            f"{ec2.region} has no stock image {properties['name']}; name one with --image", code="no-such-image"
        )
    return max(images, key=lambda image: str(image["CreationDate"]))


def shape_of(ec2: Service, instance_type: str) -> dict[str, Any]:
    """Return AWS's description of an instance type. Raises BadInputError where the region lacks it."""
    described = list(
        ec2.items(
            "describe_instance_types", "InstanceTypes", Filters=[{"Name": "instance-type", "Values": [instance_type]}]
        )
    )
    if not described:
        raise BadInputError(f"{ec2.region} knows no instance type {instance_type}", code="unknown-type")
    return described[0]


def zones_of(ec2: Service, instance_type: str) -> Iterator[str]:
    """Yield the zones of a region that offer an instance type."""
    offerings = ec2.items(
        "describe_instance_type_offerings",
        "InstanceTypeOfferings",
        LocationType="availability-zone",
        Filters=[{"Name": "instance-type", "Values": [instance_type]}],
    )
    yield from (str(offering["Location"]) for offering in offerings)


def architecture_of(shape: dict[str, Any]) -> str:
    """Return `x86_64` or `arm64`, from AWS's description of a type."""
    return next(str(name) for name in shape["ProcessorInfo"]["SupportedArchitectures"] if name in _ARCHITECTURES)


def launch(network: RunNetwork, place: Place, *, machines: int, head: bool, round: int) -> None:
    """Launch nodes, then the head, by calls that each give all or none."""
    common = _common(network, place)
    for role, count in (("node", machines - head), ("head", int(head))):
        for first in range(0, count, MOST_PER_LAUNCH):
            some = min(MOST_PER_LAUNCH, count - first)
            request = common | _interfaces(network, role) | {"MinCount": some, "MaxCount": some}
            if place.choice.is_spot and role == "node":
                request["InstanceMarketOptions"] = _SPOT
            request["TagSpecifications"] = [_tags(network, resource_kind, role) for resource_kind in _TAGGED]
            token = _token(network, place, f"{role} {round} {first}")
            _run_instances(network, request, name=f"{some} x {role}", token=token)


def _token(network: RunNetwork, place: Place, part: str) -> str:
    """Return a token shared by repetitions of one launch and by no other: AWS launches once for each token."""
    launch = f"{network.order.run} {place.zone} {place.choice} {part}"
    return f"{network.order.run}-{hashlib.sha256(launch.encode()).hexdigest()[:24]}"


def _run_instances(network: RunNetwork, request: dict[str, Any], *, name: str, token: str) -> None:
    region = network.ec2.region
    role = name.rpartition(" ")[2]
    network.journal.intend("instance", name=name, region=region)
    answer = network.ec2.call("run_instances", fresh=True, **request, ClientToken=token)
    for instance in answer["Instances"]:
        network.journal.made(
            Resource(kind="instance", id=instance["InstanceId"], region=region, run=network.order.run, name=role)
        )


def _common(network: RunNetwork, place: Place) -> dict[str, Any]:
    """Return the part of a launch that the head and the nodes share."""
    order, choice = network.order, place.choice
    image = image_of(network.ec2, order, choice.instance_type)
    placement = {"AvailabilityZone": place.zone}
    if group := _group(network, place):
        placement["GroupName"] = group
    return {
        "ImageId": image["ImageId"],
        "InstanceType": choice.instance_type,
        "KeyName": network.full_name("key"),
        "Placement": placement,
        "BlockDeviceMappings": list(_block_devices(choice.volumes, image)),
        "InstanceInitiatedShutdownBehavior": "terminate",
        "MetadataOptions": {"HttpTokens": "required", "HttpEndpoint": "enabled", "HttpPutResponseHopLimit": 1},
        "UserData": cloud_config(expires_at=order.expires_at),
        **identity_request(order.node_identity),
        **reservation_request(order.reservation),
        **weighting_request(choice.bandwidth_weighting),
        **credit_request(choice.instance_type),
    }


def credit_request(instance_type: str) -> dict[str, Any]:
    """Return the part of a launch that keeps a burstable type to its credit, as planned; EC2 would let most of them
    continue at full speed, at an unplanned charge. Nothing for other types.
    """
    return {"CreditSpecification": {"CpuCredits": "standard"}} if _ON_CREDIT.match(instance_type) else {}


def weighting_request(weighting: str) -> dict[str, Any]:
    """Return the part of a launch that names a bandwidth weighting; nothing for '', the default of the type."""
    return {"NetworkPerformanceOptions": {"BandwidthWeighting": weighting}} if weighting else {}


def _group(network: RunNetwork, place: Place) -> str:
    """Return the placement group of all machines: the reservation's if it has one, else the run's own; '' for none.

    Capacity reserved in a group is available in that group only.
    """
    if network.order.reservation:
        described = described_reservation(network.ec2, network.order.reservation)
        if group := reservation_group(described):
            return group
    return network.full_name("group") if place.choice.placement_group else ""


def identity_request(name: str) -> dict[str, Any]:
    """Return the part of a launch that names an instance profile, by its name or ARN; nothing for ''."""
    return {"IamInstanceProfile": {"Arn" if name.startswith("arn:") else "Name": name}} if name else {}


def _interfaces(network: RunNetwork, role: str) -> dict[str, Any]:
    """Return the network interfaces. Only the head has a public address, if any machine has, and a door in its security
    group.
    """
    groups = ["cluster", "door"] if role == "head" else ["cluster"]
    interface = {
        "DeviceIndex": 0,
        "SubnetId": network.ids["subnet", "head" if role == "head" else "nodes"],
        "Groups": [network.ids["security-group", name] for name in groups],
        "AssociatePublicIpAddress": role == "head" and not network.order.is_private,
        "DeleteOnTermination": True,
    }
    return {"NetworkInterfaces": [interface]}


def _tags(network: RunNetwork, resource_kind: str, role: str) -> dict[str, Any]:
    specification = network.tags(resource_kind, role)
    return {**specification, "Tags": [*specification["Tags"], {"Key": "planner-role", "Value": role}]}


def _block_devices(volumes: VolumeOrder | None, image: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the root and the plan's volumes, encrypted and deleted with the machine, under names free in the image. The
    image's other volumes stay as they are, but go with the machine, too.
    """
    safe = {"Encrypted": True, "DeleteOnTermination": True}
    mapped = {mapping.get("DeviceName"): mapping.get("Ebs", {}) for mapping in image.get("BlockDeviceMappings", ())}
    root = image.get("RootDeviceName", _ROOT_DEVICE)
    root_gib = max(_ROOT_GIB, mapped.get(root, {}).get("VolumeSize", 0))
    yield {"DeviceName": root, "Ebs": {"VolumeType": "gp3", "VolumeSize": root_gib, **safe}}
    for name, ebs in mapped.items():
        if ebs and name != root:
            yield {"DeviceName": name, "Ebs": {"VolumeSize": ebs["VolumeSize"], "DeleteOnTermination": True}}
    free = (name for name in map(_device, itertools.count()) if name not in mapped)
    if volumes:
        yield from ({"DeviceName": next(free), "Ebs": _ebs(volumes) | safe} for _ in range(volumes.count))


def _ebs(volumes: VolumeOrder) -> dict[str, Any]:
    """Return a volume with the performance that its type sells separately: AWS allows 1 MiB/s per 4 gp3 operations."""
    ebs: dict[str, Any] = {"VolumeType": volumes.volume_type, "VolumeSize": volumes.size_gib}
    if volumes.volume_type == "gp3":
        mibps = max(volumes.mibps_each, _GP3_MIBPS)
        ebs |= {"Throughput": mibps, "Iops": max(4 * mibps, _GP3_IOPS)}
    if volumes.volume_type in ("io1", "io2"):
        ebs |= {"Iops": max(100, math.ceil(volumes.mibps_each * 2**20 / _IO_BYTES))}
    return ebs


def _device(number: int) -> str:
    """Return the name of a volume's device. AWS keeps /dev/sdf to sdp, then /dev/xvdba to xvddz for volumes."""
    letters = "abcdefghijklmnopqrstuvwxyz"
    beyond = number - 11
    return (
        f"/dev/sd{letters[5 + number]}" if beyond < 0 else f"/dev/xvd{letters[1 + beyond // 26]}{letters[beyond % 26]}"
    )


def nodes(ec2: Service, run: str) -> Iterator[Node]:
    """Yield the machines of a run, ended ones included."""
    require_named(run)
    filters = [{"Name": "tag:planner-run", "Values": [run]}]
    for reservation in ec2.items("describe_instances", "Reservations", Filters=filters):
        for instance in reservation["Instances"]:
            if resources.tags_of(instance, "instance").get("planner-run") == run:
                yield _node(instance, region=ec2.region)


def _node(instance: dict[str, Any], *, region: str) -> Node:
    return Node(
        id=instance["InstanceId"],
        region=region,
        zone=instance.get("Placement", {}).get("AvailabilityZone", ""),
        head=resources.tags_of(instance, "instance").get("planner-role") == "head",
        state=_STATES.get(instance["State"]["Name"], "ended"),
        instance_type=instance["InstanceType"],
        private_address=instance.get("PrivateIpAddress", ""),
        public_address=instance.get("PublicIpAddress", ""),
        launched_at=instance.get("LaunchTime"),
        reason=instance.get("StateReason", {}).get("Message", ""),
        ends_all=instance.get("StateReason", {}).get("Code", "").startswith(_OF_THE_ACCOUNT),
    )


def host_keys(ec2: Service, node: Node) -> tuple[str, ...]:
    """Return the public SSH host keys that cloud-init wrote to a machine's console; none until it has.

    Machines on Xen show them some minutes after boot; only those on Nitro give its latest output.
    """
    latest = {"Latest": True} if shape_of(ec2, node.instance_type).get("Hypervisor") == "nitro" else {}
    console = ec2.call("get_console_output", InstanceId=node.id, **latest).get("Output", "")
    return host_keys_in(str(console))
