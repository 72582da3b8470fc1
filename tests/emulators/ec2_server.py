"""EC2 over HTTP for the tests: moto, with what it lacks and what it does wrong put right.

    python ec2_server.py        prints its port, and serves until it is killed

Added: placement groups, tags on the interfaces of a launch, client tokens, all-or-none launches, capacity per zone,
vCPU quotas, dry runs of every call, instance profiles that the caller must be allowed to lend, machines that take time
to start and to end or that end at boot, dependencies between resources, the price list and the quota service. Besides
AWS's services it answers /control: PUT sets the world anew (JSON, see World), POST puts text on machines' consoles,
PATCH brings a moment and what is scheduled until then, GET tells what really exists, whatever its tags.
"""

from __future__ import annotations

import base64
import copy
import faulthandler
import functools
import json
import os
import re
import threading
import time
import traceback
from dataclasses import asdict, dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, ClassVar

os.environ["MOTO_AMIS_PATH"] = str(Path(__file__).parent / "real_rows" / "ec2_images.json")
os.environ["MOTO_EC2_ENABLE_INSTANCE_TYPE_VALIDATION"] = "true"
os.environ["MOTO_ENABLE_AMI_VALIDATION"] = "true"
os.environ["MOTO_ENABLE_KEYPAIR_VALIDATION"] = "true"

import moto_folder
from ec2_instance_profiles import require_lendable
from moto.core.exceptions import ServiceException
from moto.core.responses import ActionResult
from moto.ec2 import ec2_backends
from moto.ec2.exceptions import DryRunClientError, EC2ClientError
from moto.ec2.models import amis, elastic_network_interfaces
from moto.ec2.models.instances import InstanceState
from moto.ec2.responses import EC2Response
from moto.iam import iam_backends
from moto.kms import models as kms
from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app
from moto.scheduler.models import scheduler_backends
from poor_listings import PoorListings
from public_addresses import public_address
from werkzeug.serving import WSGIRequestHandler, make_server
from werkzeug.wrappers import Request, Response

HANGS_S = 30.0
NO_CAPACITY = """<?xml version="1.0" encoding="UTF-8"?>
<Response><Errors><Error><Code>InsufficientInstanceCapacity</Code>
<Message>We currently do not have sufficient {kind} capacity in the Availability Zone you requested ({zone}).</Message>
</Error></Errors><RequestID>0</RequestID></Response>"""


@dataclass
class World:
    """How the cloud is today. Counts of polls are calls of DescribeInstances."""

    capacity: dict[str, int] = field(default_factory=dict)  # machines that a zone still has; others have enough
    spot_capacity: dict[str, int] = field(default_factory=dict)  # of these, spot ones; others have enough
    quota_vcpus: dict[str, float] = field(default_factory=dict)  # per region; 5000 elsewhere
    quota_networks: dict[str, float] = field(default_factory=dict)  # per region, and as many gateways; 5 elsewhere
    price_usd_per_hour: dict[str, float] = field(default_factory=dict)  # per type; others are not listed
    offered_in: list[str] | None = None  # zones; all if None
    starting_polls: int = 0
    ending_polls: int = 0
    end_at_boot: int = 0  # so many of the next machines end instead of running
    ends_only_tagged: bool = False  # the caller may end and delete only what bears a run's tag
    launch_bucket: int = 1000  # instances that may be launched at once; as many a second after them as this says
    launches_per_s: float = 2.0
    reservations: list[dict[str, Any]] = field(default_factory=list)  # of capacity, as AWS describes them
    end_reason: str = "Client.InternalError: Client error on launch"


class State:
    world: ClassVar = World()
    groups: ClassVar[dict[tuple[str, str], dict[str, Any]]] = {}
    launches: ClassVar[dict[tuple[str, str], tuple[dict[str, Any], Any]]] = {}
    countdown: ClassVar[dict[str, tuple[int, str]]] = {}
    consoles: ClassVar[dict[str, str]] = {}
    poor: ClassVar = PoorListings()
    spent: ClassVar[float] = 0.0
    since_s: ClassVar[float] = 0.0

    @classmethod
    def tokens(cls) -> float:
        """Return how many instances may be launched now: the bucket of RunInstances, which fills with time."""
        now_s = time.monotonic()
        cls.spent = max(0.0, cls.spent - (now_s - cls.since_s) * cls.world.launches_per_s)
        cls.since_s = now_s
        return cls.world.launch_bucket - cls.spent


def quota_of(region: str) -> float:
    return State.world.quota_vcpus.get(region, 5000.0)


def live(backend: Any) -> list[Any]:
    return [i for i in backend.all_instances() if i.state != "terminated"]


def vcpus(backend: Any, instance_type: str) -> int:
    shape = next(t for t in backend.instance_types if t["InstanceType"] == instance_type)
    return int(shape["VCpuInfo"]["DefaultVCpus"])


class Additions:
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

    def describe_instances(self: Any, original: Any) -> Any:
        for instance in self.ec2_backend.all_instances():
            advance(instance)
        answer = original(self)
        if lists_runs(self):
            reservations = [(copy.copy(of), of.instances) for of in answer.result["Reservations"]]
            every = [instance for _, instances in reservations for instance in instances]
            shown = State.poor.shown("instances", every, identity=lambda instance: str(instance.id))
            for of, instances in reservations:
                of.instances = [addressed(instance) for instance in instances if instance in shown]
            answer.result["Reservations"] = [of for of, _ in reservations if of.instances]
        return answer

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

    def describe_capacity_reservations(self: Any, original: Any) -> Any:
        wanted = self._get_param("CapacityReservationIds", [])
        listed = [held for held in State.world.reservations if held["CapacityReservationId"] in wanted]
        if len(listed) < len(wanted):
            raise EC2ClientError("InvalidCapacityReservationId.NotFound", f"{wanted} does not exist")
        ends = [{"EndDate": datetime.fromisoformat(held["EndDate"])} if "EndDate" in held else {} for held in listed]
        return ActionResult({"CapacityReservations": [held | end for held, end in zip(listed, ends, strict=True)]})

    def describe_instance_type_offerings(self: Any, original: Any) -> Any:
        answer = original(self)
        zones = State.world.offered_in
        if zones is not None:
            offerings = answer.result["InstanceTypeOfferings"]
            answer.result["InstanceTypeOfferings"] = [o for o in offerings if o["Location"] in zones]
        return answer

    def describe_regions(self: Any, original: Any) -> Any:
        answer = original(self)
        own = [region for region in answer.result["Regions"] if region.name.startswith(("us-east", "us-west", "eu-"))]
        return ActionResult({"Regions": own})

    def create_placement_group(self: Any, original: Any) -> Any:
        name = self._get_param("GroupName")
        if (self.region, name) in State.groups:
            raise EC2ClientError("InvalidPlacementGroup.Duplicate", f"The Placement Group '{name}' already exists.")
        tags = self._parse_tag_specification("placement-group").get("placement-group", {})
        State.groups[self.region, name] = {
            "GroupName": name,
            "State": "available",
            "Strategy": self._get_param("Strategy"),
            "GroupId": f"pg-{len(State.groups):017x}",
            "Tags": [{"Key": key, "Value": value} for key, value in tags.items()],
        }
        return ActionResult({"PlacementGroup": State.groups[self.region, name]})

    def describe_placement_groups(self: Any, original: Any) -> Any:
        filters = self._filters_from_querystring()
        in_region = [group for (region, _), group in State.groups.items() if region == self.region]
        return ActionResult({"PlacementGroups": [group for group in in_region if matches(group, filters)]})

    def describe_vpc_endpoints(self: Any, original: Any) -> Any:
        wanted = self._filters_from_querystring().get("vpc-endpoint-id")
        if wanted is None:
            return original(self)
        return ActionResult({"VpcEndpoints": [e for e in self.ec2_backend.vpc_end_points.values() if e.id in wanted]})

    def delete_placement_group(self: Any, original: Any) -> Any:
        name = self._get_param("GroupName")
        if (self.region, name) not in State.groups:
            raise EC2ClientError("InvalidPlacementGroup.Unknown", f"The Placement Group '{name}' is unknown.")
        if any(getattr(i, "planner_group", None) == name for i in live(self.ec2_backend)):
            raise EC2ClientError("InvalidPlacementGroup.InUse", f"The Placement Group '{name}' is in use.")
        del State.groups[self.region, name]
        return ActionResult({})

    def delete_subnet(self: Any, original: Any) -> Any:
        subnet = self._get_param("SubnetId")
        if any(i.subnet_id == subnet for i in live(self.ec2_backend)):
            raise EC2ClientError("DependencyViolation", f"The subnet '{subnet}' has dependencies.")
        for table in self.ec2_backend.route_tables.values():
            for association in [a for a, of in table._associations.items() if of == subnet]:
                del table._associations[association]
        return original(self)

    def delete_security_group(self: Any, original: Any) -> Any:
        group = self._get_param("GroupId")
        if any(group in [g.id for g in i.dynamic_group_list] for i in live(self.ec2_backend)):
            raise EC2ClientError("DependencyViolation", f"resource {group} has a dependent object")
        return original(self)

    def delete_vpc(self: Any, original: Any) -> Any:
        vpc, backend = self._get_param("VpcId"), self.ec2_backend
        groups = [g for g in backend.groups.get(vpc, {}).values() if g.name != "default"]
        gateways = [g for g in backend.internet_gateways.values() if g.vpc and g.vpc.id == vpc]
        if groups or gateways:
            raise EC2ClientError("DependencyViolation", f"The vpc '{vpc}' has dependencies and cannot be deleted.")
        return original(self)


def take_reserved(response: Any, machines: int, zone: str, group: str | None) -> None:
    """Take machines from the reservation that a launch names: for its type, in its zone, in its placement group."""
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


ROOTS_GIB = {"ami-0000000000000abcd": 80}
"""Sizes of images' snapshots; others are smaller than any root."""


def snapshots(image: Any) -> list[dict[str, Any]]:
    """Describe an image's disks: its root, and for one image also a disk under a name that volumes get."""
    root = {"DeviceName": image.root_device_name, "Ebs": {"VolumeSize": ROOTS_GIB.get(image.id, 8)}}
    return [root, *([{"DeviceName": "/dev/sdf", "VirtualName": "ephemeral0"}] if image.id in ROOTS_GIB else [])]


def require_root(response: Any) -> None:
    """Refuse a launch that leaves out its image's root device: EC2 would add a disk, and leave the root as it is. A
    root smaller than its snapshot is refused, too.
    """
    (image,) = response.ec2_backend.describe_images(ami_ids=[response._get_param("ImageId")])
    mappings = response._get_param("BlockDeviceMappings", []) or response._get_param("BlockDeviceMapping", [])
    if mappings and image.root_device_name not in [mapping["DeviceName"] for mapping in mappings]:
        raise EC2ClientError("InvalidBlockDeviceMapping", f"The root of {image.id} is {image.root_device_name}.")
    least_gib = ROOTS_GIB.get(image.id, 8)
    if mappings and int(mappings[0]["Ebs"]["VolumeSize"]) < least_gib:
        raise EC2ClientError("InvalidBlockDeviceMapping", f"Volume is smaller than snapshot, expect >= {least_gib}GB")


def lists_runs(response: Any) -> bool:
    """Say whether a request lists what runs have, by their tags, and came through the proxy."""
    return "X-Listings" in response.headers and any(
        name in ("tag:planner-run", "tag-key") for name in response._filters_from_querystring()
    )


def poor(name: str, answer: Any) -> Any:
    """Return a listing with something left out of it."""
    for key, items in answer.result.items():
        if isinstance(items, list):
            answer.result[key] = State.poor.shown(name, items, identity=identity_of)
    return answer


def identity_of(item: Any) -> str:
    own = item if isinstance(item, dict) else vars(item)
    return str(next(own[key] for key in ("id", "name", "GroupName") if own.get(key)))


class WithoutAddresses:
    """A machine whose addresses a listing does not show."""

    private_ip_address = public_ip_address = None

    def __init__(self, instance: Any) -> None:
        self.instance = instance

    def __getattr__(self, name: str) -> Any:
        return getattr(self.instance, name)


def addressed(instance: Any) -> Any:
    is_whole = instance.state != "running" or State.poor.has_addresses(instance.id)
    return instance if is_whole else WithoutAddresses(instance)


def rooms_of(response: Any) -> list[dict[str, int]]:
    """Return where a launch must find room. A spot instance that would only stop itself is refused."""
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
    """Bring a machine nearer to its next state, by one look at it."""
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


def matches(description: dict[str, Any], filters: dict[str, Any]) -> bool:
    tags = {tag["Key"]: tag["Value"] for tag in description["Tags"]}
    for name, values in filters.items():
        have = [*tags] if name == "tag-key" else [tags.get(name.removeprefix("tag:"), "")]
        have = [description["GroupName"]] if name == "group-name" else have
        if not set(have) & set(values):
            return False
    return True


def complete(name: str, original: Any) -> Any:
    """Return an EC2 action that knows dry runs and is completed by Additions."""
    addition = getattr(Additions, name, None)

    @functools.wraps(original)
    def action(self: Any) -> Any:
        if name == "run_instances":
            require_lendable(self)
        if State.world.ends_only_tagged and name.partition("_")[0] in ENDING:
            require_tagged(self)
        if self._get_param("DryRun", False):
            raise DryRunClientError
        try:
            answer = addition(self, original) if addition else original(self)
            return poor(name, answer) if lists_runs(self) and name != "describe_instances" else answer
        except ServiceException:
            raise
        except Exception:
            traceback.print_exc()
            raise

    return action


ENDING = {"delete", "terminate", "detach"}
IDENTITY = re.compile(r"(i|vol|vpc|subnet|sg|rtb|igw|eni|vpce)-[0-9a-f]{8,}")


def require_tagged(response: Any) -> None:
    """Refuse what would end something without a run's tag, be it because it does not exist: as a policy's condition on
    aws:ResourceTag does.
    """
    backend, values = response.ec2_backend, list(response.params.values())
    words = [word for value in values for word in (value if isinstance(value, list) else [value])]
    tags = {word: backend.tags.get(word, {}) for word in words if IDENTITY.fullmatch(str(word))}
    if (name := response._get_param("GroupName")) is not None:
        group = State.groups.get((response.region, name), {"Tags": []})
        tags[name] = {tag["Key"]: tag["Value"] for tag in group["Tags"]}
    if (name := response._get_param("KeyName")) is not None:
        keys = [key for key in backend.describe_key_pairs([]) if key.key_name == name]
        tags[name] = {tag["key"]: tag["value"] for key in keys for tag in key.get_tags()}
    if not tags or not all(of.get("planner-run", "").startswith("r") for of in tags.values()):
        raise EC2ClientError("UnauthorizedOperation", "You are not authorized to perform this operation.")


VERBS = {"create", "delete", "run", "terminate", "attach", "detach", "associate", "authorize", "revoke", "import"}
VERBS |= {"describe"}


def install() -> None:
    moto_folder.list_once()
    amis.Ami.block_device_mappings = property(snapshots)  # type: ignore[method-assign,assignment]
    kms.generate_private_key = functools.cache(kms.generate_private_key)  # an RSA key for each empty account takes long
    elastic_network_interfaces.random_public_ip = public_address
    for name in dir(EC2Response):
        verb = name.partition("_")[0]
        if verb in VERBS or name == "get_console_output":
            setattr(EC2Response, name, complete(name, getattr(EC2Response, name)))
    for name in (
        *("create_placement_group", "describe_placement_groups", "delete_placement_group"),
        "describe_capacity_reservations",
    ):
        setattr(EC2Response, name, complete(name, lambda self: None))
        getattr(EC2Response, name).__name__ = name


def everything() -> dict[str, int]:
    """Count what exists in all regions and accounts, by kind; what every new account has is left out."""
    counts: dict[str, int] = {"placement-group": len(State.groups)}
    for account in ec2_backends.values():
        for backend in account.values():
            own = {id_ for id_, vpc in backend.vpcs.items() if vpc.is_default not in (True, "true")}
            kinds = {
                "instance": live(backend),
                "volume": list(backend.volumes),
                "key-pair": backend.describe_key_pairs([]),
                "vpc": own,
                "subnet": [s for zone in backend.subnets.values() for s in zone.values() if s.vpc_id in own],
                "route-table": [t for t in backend.route_tables.values() if t.vpc_id in own],
                "security-group": [g for vpc in own for g in backend.groups.get(vpc, {})],
                "internet-gateway": list(backend.internet_gateways),
                "network-interface": list(backend.enis),
                "vpc-endpoint": [e for e in backend.vpc_end_points.values() if e.state != "deleted"],
            }
            for resource_kind, some in kinds.items():
                counts[resource_kind] = counts.get(resource_kind, 0) + len(some)
    counts["end-schedule"] = sum(len(group.schedules) for group in schedule_groups())
    return {resource_kind: count for resource_kind, count in counts.items() if count}


def schedule_groups() -> list[Any]:
    backends = [backend for account in scheduler_backends.values() for backend in account.values()]
    return [group for backend in backends for group in backend.schedule_groups.values()]


def bring(now: datetime) -> None:
    """Do what EventBridge Scheduler does until a moment: invoke targets as their roles, and delete what is done."""
    for group in schedule_groups():
        for schedule in list(group.schedules.values()):
            at = datetime.fromisoformat(schedule.schedule_expression.removeprefix("at(").rstrip(")"))
            if at <= now:
                invoke(schedule)
                if schedule.action_after_completion == "DELETE":
                    group.delete_schedule(schedule.name)


def invoke(schedule: Any) -> None:
    """Call the one operation that is known here, if the role's trust and policy allow it."""
    _, _, _, region, account, _ = schedule.arn.split(":", 5)
    role = next(r for r in iam_backends[account]["aws"].roles.values() if r.arn == schedule.target["RoleArn"])
    trusted = "scheduler.amazonaws.com" in str(role.assume_role_policy_document)
    allowed = any("ec2:TerminateInstances" in str(policy) for policy in role.policies.values())
    if trusted and allowed and schedule.target["Arn"] == "arn:aws:scheduler:::aws-sdk:ec2:terminateInstances":
        ids = json.loads(schedule.target["Input"])["InstanceIds"]
        ec2_backends[account][region].terminate_instances(ids)


def machines() -> list[dict[str, Any]]:
    """Describe every machine that is there, for whoever gives them a body."""
    return [
        {
            "id": instance.id,
            "private_address": instance.private_ip,
            "public_address": instance.public_ip,
            "public_key": next((k.public_key for k in keys if k.key_name == instance.key_name), ""),
        }
        for account in ec2_backends.values()
        for backend in account.values()
        for keys in [backend.describe_key_pairs([])]
        for instance in live(backend)
    ]


def control(request: Request) -> Response:
    if request.method == "POST":
        State.consoles.update(json.loads(request.get_data()))
    if request.method == "PUT":
        State.world = World(**json.loads(request.get_data() or b"{}"))
        State.spent, State.poor = 0.0, PoorListings()
        for store in (State.groups, State.launches, State.countdown, State.consoles):
            store.clear()
        ec2_backends.reset()
        scheduler_backends.reset()
    if request.method == "PATCH":
        bring(datetime.fromisoformat(json.loads(request.get_data())["now"]))
    told = {"left": everything(), "world": asdict(State.world), "machines": machines()}
    return Response(json.dumps(told), mimetype="application/json")


def json_service(request: Request) -> Response:
    """Answer for the price list and the quotas, which moto does not have; nothing else is asked in this protocol."""
    operation, body = request.headers.get("X-Amz-Target", "").rpartition(".")[2], request.get_data()
    if operation == "GetServiceQuota":
        region = request.headers["Authorization"].split("/")[2]
        is_of_vcpus = json.loads(body)["ServiceCode"] == "ec2"
        value = quota_of(region) if is_of_vcpus else State.world.quota_networks.get(region, 5.0)
        return Response(json.dumps({"Quota": {"Value": value}}), mimetype="application/x-amz-json-1.1")
    if operation == "GetProducts":
        asked = {f["Field"]: f["Value"] for f in json.loads(body)["Filters"]}
        price = State.world.price_usd_per_hour.get(asked["instanceType"])
        dimension = {"unit": "Hrs", "pricePerUnit": {"USD": f"{price}"}}
        product = {"attributes": {name: asked[name] for name in ("instanceType", "regionCode")}}
        offer = {"product": product, "terms": {"OnDemand": {"a": {"priceDimensions": {"b": dimension}}}}}
        offers = [] if price is None else [json.dumps(offer)]
        return Response(json.dumps({"PriceList": offers}), mimetype="application/x-amz-json-1.1")
    return Response(json.dumps({"__type": "UnknownOperationException"}), 400, mimetype="application/x-amz-json-1.1")


def application() -> Any:
    """Return the server: one request after another, because moto's stores may not be changed while they are listed. One
    that hangs tells on standard error where.
    """
    moto, alone = DomainDispatcherApplication(create_backend_app), threading.Lock()

    def serve(environ: Any, start_response: Any) -> Any:
        with alone:
            faulthandler.dump_traceback_later(HANGS_S)
            try:
                return answered(Request(environ))(environ, start_response)
            finally:
                faulthandler.cancel_dump_traceback_later()

    def answered(request: Request) -> Any:
        if request.path == "/control":
            return control(request)
        return json_service(request) if "X-Amz-Target" in request.headers else moto

    return serve


class Quiet(WSGIRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_request(self, *_: Any) -> None:
        """Say nothing."""


if __name__ == "__main__":
    install()
    server = make_server("127.0.0.1", 0, application(), threaded=True, request_handler=Quiet)
    print(server.port, flush=True)
    server.serve_forever()
