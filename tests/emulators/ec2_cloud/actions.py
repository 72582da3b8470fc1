"""Actions of the emulated EC2: moto's, with its gaps filled, and refused as a role's policy would."""

from __future__ import annotations

import copy
import functools
import re
import traceback
from typing import Any

import moto_folder
from ec2_cloud.launches import Launches, advance, require_lendable, snapshots
from ec2_cloud.world import State, live
from moto.core.exceptions import ServiceException
from moto.core.responses import ActionResult
from moto.ec2.exceptions import DryRunClientError, EC2ClientError
from moto.ec2.models import amis, elastic_network_interfaces
from moto.ec2.responses import EC2Response
from moto.kms import models as kms
from public_addresses import public_address

ENDING = {"delete", "terminate", "detach"}
IDENTITY = re.compile(r"(i|vol|vpc|subnet|sg|rtb|igw|eni|vpce)-[0-9a-f]{8,}")
VERBS = {"create", "delete", "run", "terminate", "attach", "detach", "associate", "authorize", "revoke", "import"}
VERBS |= {"describe"}


class Additions(Launches):
    """Methods that replace or complete those of moto; `self` is moto's EC2Response."""

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

    def delete_vpc_endpoints(self: Any, original: Any) -> Any:
        """An endpoint outlives its route tables, which moto would look for."""
        for endpoint in self.ec2_backend.vpc_end_points.values():
            there = [table for table in endpoint.route_table_ids or () if table in self.ec2_backend.route_tables]
            endpoint.route_table_ids = there
        return original(self)

    def describe_vpc_block_public_access_options(self: Any, original: Any) -> Any:
        options = {"AwsRegion": self.region, "InternetGatewayBlockMode": State.world.public_access}
        return ActionResult({"VpcBlockPublicAccessOptions": options})

    def get_ebs_default_kms_key_id(self: Any, original: Any) -> Any:
        return ActionResult({"KmsKeyId": State.world.volume_key})

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


def matches(description: dict[str, Any], filters: dict[str, Any]) -> bool:
    tags = {tag["Key"]: tag["Value"] for tag in description["Tags"]}
    for name, values in filters.items():
        have = [*tags] if name == "tag-key" else [tags.get(name.removeprefix("tag:"), "")]
        have = [description["GroupName"]] if name == "group-name" else have
        if not set(have) & set(values):
            return False
    return True


def lists_runs(response: Any) -> bool:
    """Return whether a request lists a run's resources, by their tags, and came through the proxy."""
    return "X-Listings" in response.headers and any(
        name in ("tag:planner-run", "tag-key") for name in response._filters_from_querystring()
    )


def poor(name: str, answer: Any) -> Any:
    """Return a listing with part of it left out."""
    for key, items in answer.result.items():
        if isinstance(items, list):
            answer.result[key] = State.poor.shown(name, items, identity=identity_of)
    return answer


def identity_of(item: Any) -> str:
    own = item if isinstance(item, dict) else vars(item)
    return str(next(own[key] for key in ("id", "name", "GroupName") if own.get(key)))


class WithoutAddresses:
    """A machine listed without its addresses."""

    private_ip_address = public_ip_address = None

    def __init__(self, instance: Any) -> None:
        self.instance = instance

    def __getattr__(self, name: str) -> Any:
        return getattr(self.instance, name)


def addressed(instance: Any) -> Any:
    is_whole = instance.state != "running" or State.poor.has_addresses(instance.id)
    return instance if is_whole else WithoutAddresses(instance)


def complete(name: str, original: Any) -> Any:
    """Return an EC2 action that supports dry runs and is completed by Additions."""
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


def require_tagged(response: Any) -> None:
    """Refuse to end resources that lack a run's tag, or do not exist, as a policy's condition on aws:ResourceTag would
    refuse.
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
        "describe_vpc_block_public_access_options",
        "get_ebs_default_kms_key_id",
    ):
        setattr(EC2Response, name, complete(name, lambda self: None))
        getattr(EC2Response, name).__name__ = name
