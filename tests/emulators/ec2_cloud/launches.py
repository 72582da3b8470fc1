"""Launches of the emulated EC2: their requirements, such as room and roles, and the states of their machines."""

from __future__ import annotations

import base64
import copy
from datetime import datetime
from typing import Any

from ec2_cloud.world import State, live, quota_of
from moto.core.responses import ActionResult
from moto.ec2.exceptions import EC2ClientError
from moto.ec2.models.instances import InstanceState
from moto.iam import iam_backends
from moto.iam.access_control import IAMRequest

NO_CAPACITY = """<?xml version="1.0" encoding="UTF-8"?>
<Response><Errors><Error><Code>InsufficientInstanceCapacity</Code>
<Message>We currently do not have sufficient {kind} capacity in the Availability Zone you requested ({zone}).</Message>
</Error></Errors><RequestID>0</RequestID></Response>"""
ROOTS_GIB = {"ami-0000000000000abcd": 80}
"""Sizes of images' snapshots; others are smaller than any root."""


class Launches:
    """Methods that replace or complete those of moto; `self` is moto's EC2Response."""

    def run_instances(self: Any, original: Any) -> Any:
        asked = {k: v for k, v in copy.deepcopy(dict(self.params)).items() if k != "ClientToken"}
        key = (self.region, self._get_param("ClientToken"))
        if key[1] and key in State.launches:
            before, answer = State.launches[key]
            if before != asked:
                raise EC2ClientError("IdempotentParameterMismatch", "The token was used with other parameters.")
            return answer
        least, most = int(self._get_param("MinCount")), int(self._get_param("MaxCount"))
        if not 1 <= least <= most:
            raise EC2ClientError("InvalidParameterValue", "MinCount must lie between 1 and MaxCount")
        placement, instance_type = self._get_param("Placement", {}), self._get_param("InstanceType")
        zone, group = placement.get("AvailabilityZone"), placement.get("GroupName")
        if group and (self.region, group) not in State.groups:
            raise EC2ClientError("InvalidPlacementGroup.Unknown", f"The Placement Group '{group}' is unknown.")
        used = sum(vcpus(self.ec2_backend, i.instance_type) for i in live(self.ec2_backend))
        if used + least * vcpus(self.ec2_backend, instance_type) > quota_of(self.region):
            raise EC2ClientError("VcpuLimitExceeded", "You have requested more vCPU capacity than your limit allows.")
        require_root(self)
        take_reserved(self, most, zone, group)
        rooms = rooms_of(self)
        if least > State.tokens():
            raise EC2ClientError("RequestLimitExceeded", "Request limit exceeded.")
        free = min(room.get(zone, most) for room in rooms)
        if free < least or (State.world.offered_in is not None and zone not in State.world.offered_in):
            return 500, {"status": 500}, NO_CAPACITY.format(kind=instance_type, zone=zone)
        count = min(free, most)
        State.spent += count
        self.params["MinCount"] = count
        answer = original(self)
        for room in [room for room in rooms if zone in room]:
            room[zone] -= count
        tags = self._parse_tag_specification().get("network-interface", {})
        for instance in answer.result.instances:
            instance.planner_group = group
            for interface in instance.nics.values():
                interface.add_tags(tags)
            if State.world.end_at_boot > 0:
                State.world.end_at_boot -= 1
                begin(instance, "pending", 0, State.world.starting_polls, "fails")
            else:
                begin(instance, "pending", 0, State.world.starting_polls, "running")
        State.launches[key] = (asked, answer)
        return answer

    def terminate_instances(self: Any, original: Any) -> Any:
        ending = [i for i in live(self.ec2_backend) if i.id in self._get_param("InstanceIds", [])]
        answer = original(self)
        for instance in ending:
            begin(instance, "shutting-down", 32, State.world.ending_polls, "terminated")
        return answer

    def describe_capacity_reservations(self: Any, original: Any) -> Any:
        wanted = self._get_param("CapacityReservationIds", [])
        listed = [held for held in State.world.reservations if held["CapacityReservationId"] in wanted]
        if len(listed) < len(wanted):
            raise EC2ClientError("InvalidCapacityReservationId.NotFound", f"{wanted} does not exist")
        ends = [{"EndDate": datetime.fromisoformat(held["EndDate"])} if "EndDate" in held else {} for held in listed]
        return ActionResult({"CapacityReservations": [held | end for held, end in zip(listed, ends, strict=True)]})

    def get_console_output(self: Any, original: Any) -> Any:
        name = self._get_param("InstanceId")
        instance_type = self.ec2_backend.get_instance(name).instance_type
        shape = next(t for t in self.ec2_backend.instance_types if t["InstanceType"] == instance_type)
        if self._get_param("Latest", False) and shape["Hypervisor"] != "nitro":
            raise EC2ClientError(
                "UnsupportedOperation", "This instance type does not support the latest console output."
            )
        output = base64.b64encode(State.consoles.get(name, "").encode()).decode()
        return ActionResult({"InstanceId": name, "Output": output})


def vcpus(backend: Any, instance_type: str) -> int:
    shape = next(t for t in backend.instance_types if t["InstanceType"] == instance_type)
    return int(shape["VCpuInfo"]["DefaultVCpus"])


def take_reserved(response: Any, machines: int, zone: str, group: str | None) -> None:
    """Take machines from the reservation named by a launch: for its type, in its zone, in its placement group."""
    target = response._get_param("CapacityReservationSpecification", {}).get("CapacityReservationTarget", {})
    if not target:
        return
    named = [held for held in State.world.reservations if held["CapacityReservationId"] in target.values()]
    fitting = (response._get_param("InstanceType"), zone)
    if [(held["InstanceType"], held["AvailabilityZone"]) for held in named] != [fitting]:
        raise EC2ClientError("InvalidParameterValue", f"{target} is not for {fitting}")
    reserved = named[0].get("PlacementGroupArn", "").rpartition("/")[2]
    if named[0]["AvailableInstanceCount"] < machines or reserved not in ("", group):
        raise EC2ClientError("ReservationCapacityExceeded", "The Capacity Reservation has not enough capacity.")
    named[0]["AvailableInstanceCount"] -= machines


def snapshots(image: Any) -> list[dict[str, Any]]:
    """Describe an image's disks: its root, and for one image also a disk under a name that volumes get, and a volume
    that outlives its machine.
    """
    root = {"DeviceName": image.root_device_name, "Ebs": {"VolumeSize": ROOTS_GIB.get(image.id, 8)}}
    kept = {"DeviceName": "/dev/sdj", "Ebs": {"VolumeSize": 50, "DeleteOnTermination": False}}
    return [root, *([{"DeviceName": "/dev/sdf", "VirtualName": "ephemeral0"}, kept] if image.id in ROOTS_GIB else [])]


def require_root(response: Any) -> None:
    """Refuse a launch that leaves out its image's root device: EC2 would add a disk, and leave the root as it is.
    Refuse a root smaller than its snapshot, too.
    """
    (image,) = response.ec2_backend.describe_images(ami_ids=[response._get_param("ImageId")])
    mappings = response._get_param("BlockDeviceMappings", []) or response._get_param("BlockDeviceMapping", [])
    if mappings and image.root_device_name not in [mapping["DeviceName"] for mapping in mappings]:
        raise EC2ClientError("InvalidBlockDeviceMapping", f"The root of {image.id} is {image.root_device_name}.")
    least_gib = ROOTS_GIB.get(image.id, 8)
    if mappings and int(mappings[0]["Ebs"]["VolumeSize"]) < least_gib:
        raise EC2ClientError("InvalidBlockDeviceMapping", f"Volume is smaller than snapshot, expect >= {least_gib}GB")


def rooms_of(response: Any) -> list[dict[str, int]]:
    """Return the places where a launch must find room. Refuse a spot instance that would only stop itself."""
    market = response._get_param("InstanceMarketOptions", {})
    if market.get("MarketType") != "spot":
        return [State.world.capacity]
    if response._get_param("InstanceInitiatedShutdownBehavior") != "terminate":
        raise EC2ClientError(
            "InvalidParameterCombination", "instanceInitiatedShutdownBehavior=stop is not supported for spot instances"
        )
    return [State.world.capacity, State.world.spot_capacity]


def begin(instance: Any, name: str, code: int, polls: int, then: str) -> None:
    instance._state = InstanceState(name, code)
    State.countdown[instance.id] = (polls, then)


def advance(instance: Any) -> None:
    """Bring a machine one look nearer to its next state."""
    if instance.id not in State.countdown:
        return
    polls, then = State.countdown.pop(instance.id)
    if polls > 0:
        State.countdown[instance.id] = (polls - 1, then)
    elif then == "running":
        instance._state = InstanceState("running", 16)
    else:
        if then == "fails":
            instance.terminate()
            code, _, message = State.world.end_reason.partition(": ")
            instance.state_reason.code, instance.state_reason.message = code, f"{code}: {message}"
        instance._state = InstanceState("terminated", 48)


class PassingRole(IAMRequest):
    """A caller who passes a role to a machine."""

    def __init__(self, **asked: Any) -> None:
        super().__init__(**asked)
        self._action = "iam:PassRole"

    def _raise_access_denied(self) -> None:
        raise EC2ClientError("UnauthorizedOperation", "You are not authorized to perform this operation.")


def require_lendable(response: Any) -> None:
    """Refuse a launch whose instance profile does not exist, or whose role the caller may not pass."""
    named = response._get_param("IamInstanceProfile", {})
    if not named:
        return
    profiles = iam_backends[response.current_account][response.partition].instance_profiles.values()
    lent = next((profile for profile in profiles if named in ({"Name": profile.name}, {"Arn": profile.arn})), None)
    if lent is None:
        [(key, value)] = named.items()
        wrong = f"Value ({value}) for parameter iamInstanceProfile.{key.lower()} is invalid."
        raise EC2ClientError("InvalidParameterValue", f"{wrong} Invalid IAM Instance Profile {key.lower()}")
    for role in lent.roles:
        response._authenticate_and_authorize_action(PassingRole, role.arn)
