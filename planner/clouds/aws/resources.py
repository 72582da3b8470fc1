"""Types of resources that a run may have on AWS, with the calls that list and delete each.

A run's resources are found by their tag, which the creating call includes. Stages are deleted in order.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

from planner.clouds.aws.client import Service
from planner.clouds.calls.facts import facts_of, table_of
from planner.clouds.cloud_errors import NotFoundError, PermissionDeniedError, StillInUseError
from planner.clouds.protocol import Resource, delete_each, require_named

MOST_PER_CALL: Final = 1000
"""Most instances in one TerminateInstances call."""

_MOST_VALUES: Final = 200
"""Most values in one filter."""
_LIVE_INSTANCES: Final = ["pending", "running", "stopping", "stopped", "shutting-down"]
_ENDING: Final = frozenset({"shutting-down", "deleting"})
_GONE: Final = frozenset({"terminated", "deleted"})


@dataclass(frozen=True, kw_only=True)
class ResourceType:
    """The call that lists a type, the key of its answer, the key of an item's id, and the call that deletes one.

    `state` and `tags` are the keys of an item's state, '' for a type without, and of its tags; `prefix` begins an id.
    """

    listing: str
    list_key: str
    id: str
    deletion: str
    state: str = ""
    tags: str = "Tags"
    prefix: str = ""

    def deletion_of(self, id: str) -> dict[str, Any]:
        """Return the parameters of the call that deletes the resource with an id: some calls take several."""
        return {f"{self.id}s": [id]} if self.deletion.endswith("s") else {self.id: id}


@cache
def resource_types() -> Mapping[str, ResourceType]:
    """Return the types of resources that a run may have, by the planner's name."""
    return table_of("aws", "resource_types", ResourceType)


def _type_of(resource_kind: str) -> ResourceType:
    """Return a type, also one that only others put into a run's network."""
    return resource_types().get(resource_kind) or table_of("aws", "other_types", ResourceType)[resource_kind]


def find(ec2: Service, resource_kind: str, *, run: str | None) -> Iterator[tuple[Resource, dict[str, Any]]]:
    """Yield resources of a kind with the tag of this run, or of any run, each with AWS's own description."""
    require_named(run)
    tagged = {"Name": "tag:planner-run", "Values": [run]} if run else {"Name": "tag-key", "Values": ["planner-run"]}
    for resource, description in _described(ec2, resource_kind, tagged):
        if run in (None, resource.run):
            yield resource, description


def look_up(ec2: Service, resources: Sequence[Resource]) -> Iterator[Resource]:
    """Yield those of some resources of one kind that exist, looked up by id. AWS reads a key named `*` as a pattern."""
    resource_kind, ids = resources[0].kind, {resource.id for resource in resources}
    by_id = _hyphenated(_type_of(resource_kind).id)
    for start in range(0, len(resources), _MOST_VALUES):
        named = {"Name": by_id, "Values": [resource.id for resource in resources[start : start + _MOST_VALUES]]}
        yield from (found for found, _ in _described(ec2, resource_kind, named) if found.id in ids)


def _hyphenated(name: str) -> str:
    return re.sub("(?<!^)(?=[A-Z])", "-", name).lower()


def _described(ec2: Service, resource_kind: str, chosen: dict[str, Any]) -> Iterator[tuple[Resource, dict[str, Any]]]:
    live = [{"Name": "instance-state-name", "Values": _LIVE_INSTANCES}] if resource_kind == "instance" else []
    resource_type = _type_of(resource_kind)
    filters = {"Filter" if resource_kind == "nat-gateway" else "Filters": [chosen, *live]}
    for item in ec2.items(resource_type.listing, resource_type.list_key, **filters):
        for description in item["Instances"] if resource_kind == "instance" else [item]:
            state = _state(description, resource_type)
            if state not in _GONE:
                resource = Resource.from_tags(
                    tags_of(description, resource_kind),
                    resource_kind=resource_kind,
                    id=description[resource_type.id],
                    region=ec2.region,
                    ending=state in _ENDING,
                )
                yield resource, description


def holders(ec2: Service, resources: Sequence[Resource]) -> Iterator[str]:
    """Yield what is not of the run and keeps some of its resources in use, each as the command that deletes it, or that
    shows it where a service of AWS must.
    """
    for resource in resources:
        filters = facts_of("aws")["holders"].get(resource.kind, {})
        for filter_name, resource_kind in [(name, kind) for name, kinds in filters.items() for kind in kinds]:
            within = {"Name": filter_name, "Values": [resource.id]}
            with suppress(PermissionDeniedError):  # the least policy may be older
                for found, description in _described(ec2, resource_kind, within):
                    if found.run != resource.run and not _goes_with_another(resource_kind, description):
                        yield _command(resource_kind, found.id, description, region=ec2.region)


def _goes_with_another(resource_kind: str, description: dict[str, Any]) -> bool:
    """Return whether a resource is a network's own, or goes with the machine that it belongs to."""
    if resource_kind == "security-group":
        return bool(description.get("GroupName") == "default")
    if resource_kind == "route-table":
        return any(association.get("Main") for association in description.get("Associations", ()))
    if resource_kind == "network-interface":
        attachment = description.get("Attachment") or {}
        return bool(attachment.get("InstanceId") and attachment.get("DeleteOnTermination"))
    return resource_kind == "network-acl" and bool(description.get("IsDefault"))


def _command(resource_kind: str, id: str, description: dict[str, Any], *, region: str) -> str:
    """Return the command that deletes a resource, or shows whose it is if a service of AWS has made it."""
    resource_type = _type_of(resource_kind)
    is_managed = resource_kind in ("network-interface", "vpc-endpoint") and description.get("RequesterManaged")
    operation = resource_type.listing if is_managed else resource_type.deletion
    option = _hyphenated(resource_type.id) + "s" * operation.endswith("s")
    return f"aws ec2 {operation.replace('_', '-')} --{option} {id} --region {region}"


def tags_of(description: dict[str, Any], resource_kind: str) -> dict[str, str]:
    """Return the tags in AWS's description of a resource of a kind."""
    return {tag["Key"]: tag["Value"] for tag in description.get(_type_of(resource_kind).tags, [])}


def delete(ec2: Service, resources: Sequence[Resource]) -> None:
    """Delete resources of one kind. Raises as `delete_each` does."""
    if resources[0].kind == "instance":
        terminate(ec2, [resource.id for resource in resources if not resource.ending])
    else:
        delete_each(resources, lambda resource: _delete_one(ec2, resource))


def _state(description: dict[str, Any], resource_type: ResourceType) -> str:
    state = description.get(resource_type.state, "") if resource_type.state else ""
    return str(state.get("Name", "") if isinstance(state, dict) else state).lower()


def terminate(ec2: Service, ids: list[str]) -> None:
    """End instances, as many per call as AWS takes. Raises StillInUseError, once all others are asked to end, when
    some are protected from termination.
    """
    errors = [_terminate(ec2, ids[start : start + MOST_PER_CALL]) for start in range(0, len(ids), MOST_PER_CALL)]
    if protected := next(filter(None, errors), None):
        raise protected


def _terminate(ec2: Service, ids: list[str]) -> StillInUseError | None:
    """End instances and return why one of them may not be ended, None if all may. An unknown or protected one fails its
    whole call, which is then split in half.
    """
    try:
        ec2.call("terminate_instances", InstanceIds=ids)
    except (NotFoundError, StillInUseError) as error:
        if len(ids) == 1:
            return error if isinstance(error, StillInUseError) else None
        first, second = _terminate(ec2, ids[: len(ids) // 2]), _terminate(ec2, ids[len(ids) // 2 :])
        return first or second
    return None


def _delete_one(ec2: Service, resource: Resource) -> None:
    resource_type = _type_of(resource.kind)
    if resource.kind == "internet-gateway":
        _detach(ec2, resource.id)
    ec2.call(resource_type.deletion, **resource_type.deletion_of(resource.id))


def _detach(ec2: Service, gateway: str) -> None:
    described = ec2.call("describe_internet_gateways", InternetGatewayIds=[gateway])["InternetGateways"]
    for attachment in described[0].get("Attachments", []) if described else []:
        try:
            ec2.call("detach_internet_gateway", InternetGatewayId=gateway, VpcId=attachment["VpcId"])
        except NotFoundError:
            continue
