"""The kinds of resources a run may have on AWS: how to list and how to delete each.

Every kind is found by its tag, which is part of the call that creates it. The order of `STAGES` is that in which they
can be deleted.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from planner.providers.aws.client import Service
from planner.providers.aws.cloud_errors import NotFoundError
from planner.providers.order import parse_stamp
from planner.providers.protocol import Resource, StillInUseError

STAGES: Final = (
    ("instance",),
    ("volume", "network-interface", "vpc-endpoint"),
    ("placement-group", "key-pair", "subnet"),
    ("route-table", "security-group"),
    ("internet-gateway",),
    ("vpc",),
)
MOST_PER_CALL: Final = 1000
"""Instances that one TerminateInstances call takes."""

_LIVE_INSTANCES: Final = ["pending", "running", "stopping", "stopped", "shutting-down"]
_ENDING: Final = frozenset({"shutting-down", "terminated", "deleting", "deleted"})


@dataclass(frozen=True, kw_only=True)
class Kind:
    """How one kind is listed (`listing`, `under`), named (`id`) and deleted (`deletion`)."""

    listing: str
    under: str
    id: str
    deletion: str


KINDS: Final = {
    "instance": Kind(
        listing="describe_instances", under="Reservations", id="InstanceId", deletion="terminate_instances"
    ),
    "volume": Kind(listing="describe_volumes", under="Volumes", id="VolumeId", deletion="delete_volume"),
    "network-interface": Kind(
        listing="describe_network_interfaces",
        under="NetworkInterfaces",
        id="NetworkInterfaceId",
        deletion="delete_network_interface",
    ),
    "vpc-endpoint": Kind(
        listing="describe_vpc_endpoints", under="VpcEndpoints", id="VpcEndpointId", deletion="delete_vpc_endpoints"
    ),
    "placement-group": Kind(
        listing="describe_placement_groups",
        under="PlacementGroups",
        id="GroupName",
        deletion="delete_placement_group",
    ),
    "key-pair": Kind(listing="describe_key_pairs", under="KeyPairs", id="KeyName", deletion="delete_key_pair"),
    "subnet": Kind(listing="describe_subnets", under="Subnets", id="SubnetId", deletion="delete_subnet"),
    "route-table": Kind(
        listing="describe_route_tables", under="RouteTables", id="RouteTableId", deletion="delete_route_table"
    ),
    "security-group": Kind(
        listing="describe_security_groups", under="SecurityGroups", id="GroupId", deletion="delete_security_group"
    ),
    "internet-gateway": Kind(
        listing="describe_internet_gateways",
        under="InternetGateways",
        id="InternetGatewayId",
        deletion="delete_internet_gateway",
    ),
    "vpc": Kind(listing="describe_vpcs", under="Vpcs", id="VpcId", deletion="delete_vpc"),
}


def find(ec2: Service, kind: str, *, run: str | None) -> Iterator[tuple[Resource, dict[str, Any]]]:
    """Yield what of a kind carries the tag of this run, or of any, each with AWS's own description."""
    tagged = {"Name": "tag:planner-run", "Values": [run]} if run else {"Name": "tag-key", "Values": ["planner-run"]}
    live = [{"Name": "instance-state-name", "Values": _LIVE_INSTANCES}] if kind == "instance" else []
    how = KINDS[kind]
    for item in ec2.items(how.listing, how.under, Filters=[tagged, *live]):
        for each in item["Instances"] if kind == "instance" else [item]:
            if _state(each) not in ("deleted", "terminated"):
                yield _resource(kind, each[how.id], each, region=ec2.region), each


def tags_of(description: dict[str, Any]) -> dict[str, str]:
    """Return the tags in AWS's description of a resource."""
    return {tag["Key"]: tag["Value"] for tag in description.get("Tags", [])}


def delete(ec2: Service, resources: Sequence[Resource]) -> None:
    """Delete resources of one kind; what is gone is well. Raises StillInUseError when some must wait."""
    waiting = []
    if resources[0].kind == "instance":
        terminate(ec2, [resource.id for resource in resources if not resource.ending])
        return
    for resource in resources:
        try:
            _delete_one(ec2, resource)
        except NotFoundError:
            pass
        except StillInUseError as error:
            waiting.append(str(error))
    if waiting:
        raise StillInUseError(f"{len(waiting)} of {len(resources)} still in use", waiting)


def _resource(kind: str, name: str, description: dict[str, Any], *, region: str) -> Resource:
    tags = tags_of(description)
    try:
        expires_at = parse_stamp(tags.get("planner-expires", ""))
    except ValueError:
        expires_at = None
    return Resource(
        kind=kind,
        id=name,
        region=region,
        run=tags.get("planner-run", ""),
        owner=tags.get("planner-owner", ""),
        expires_at=expires_at,
        ending=_state(description) in _ENDING,
    )


def _state(description: dict[str, Any]) -> str:
    state = description.get("State", "")
    return str(state.get("Name", "") if isinstance(state, dict) else state).lower()


def terminate(ec2: Service, ids: list[str]) -> None:
    """End instances, as many per call as AWS takes. One unknown id fails a call as a whole: it is then halved."""
    for start in range(0, len(ids), MOST_PER_CALL):
        some = ids[start : start + MOST_PER_CALL]
        try:
            ec2.call("terminate_instances", InstanceIds=some)
        except NotFoundError:
            if len(some) > 1:
                terminate(ec2, some[: len(some) // 2])
                terminate(ec2, some[len(some) // 2 :])


def _delete_one(ec2: Service, resource: Resource) -> None:
    how = KINDS[resource.kind]
    if resource.ending:
        return
    if resource.kind == "internet-gateway":
        _detach(ec2, resource.id)
    if resource.kind == "vpc-endpoint":
        ec2.call(how.deletion, VpcEndpointIds=[resource.id])
        return
    named: dict[str, Any] = {how.id: resource.id}
    ec2.call(how.deletion, **named)


def _detach(ec2: Service, gateway: str) -> None:
    found = ec2.call("describe_internet_gateways", InternetGatewayIds=[gateway])["InternetGateways"]
    for attachment in found[0].get("Attachments", []) if found else []:
        try:
            ec2.call("detach_internet_gateway", InternetGatewayId=gateway, VpcId=attachment["VpcId"])
        except NotFoundError:
            continue
