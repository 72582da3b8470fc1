"""Types of resources that a run may have on Compute Engine, with the calls that list and delete each.

Machines and disks carry the run's tags as labels. Networks, subnets, firewall rules and placement policies cannot be
labelled there: they carry the tags in the description, which the create call includes as well. A global resource
belongs to the region it was made for, which its name includes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any, Final

from planner.clouds.cloud_errors import NotFoundError
from planner.clouds.gcp.client import Compute, run_mark
from planner.clouds.protocol import Resource, delete_each, require_named

STAGES: Final = (("operation", "instance"), ("disk",), ("placement-policy", "firewall", "subnetwork"), ("network",))
_REGION: Final = "planner-region"
_ENDING: Final = frozenset({"STOPPING", "DEPROVISIONING", "PENDING_STOP", "DELETING"})


@dataclass(frozen=True, kw_only=True)
class ResourceType:
    """The collection of a type, the call parameter that names a resource, and its scope: zone, region or global."""

    collection: str
    parameter: str
    scope: str


RESOURCE_TYPES: Final = {
    "instance": ResourceType(collection="instances", parameter="instance", scope="zone"),
    "disk": ResourceType(collection="disks", parameter="disk", scope="zone"),
    "placement-policy": ResourceType(collection="resourcePolicies", parameter="resource_policy", scope="region"),
    "subnetwork": ResourceType(collection="subnetworks", parameter="subnetwork", scope="region"),
    "firewall": ResourceType(collection="firewalls", parameter="firewall", scope="global"),
    "network": ResourceType(collection="networks", parameter="network", scope="global"),
}


def description(tags: dict[str, str], *, region: str) -> str:
    """Return the planner's own tags, and the region, as a description, which has 2,048 characters at most."""
    own = {key: value for key, value in tags.items() if key.startswith("planner-")}
    return " ".join(f"{key}={value}" for key, value in {**own, _REGION: region}.items())


def find(
    compute: Compute, resource_kind: str, *, region: str, run: str | None
) -> Iterator[tuple[Resource, dict[str, Any]]]:
    """Yield resources of a kind with the tag of this run, or of any run, each with Google's own description."""
    require_named(run)
    if resource_kind == "operation":
        yield from _unfinished_creations(compute, region=region, run=run)
        return
    resource_type = RESOURCE_TYPES[resource_kind]
    is_zonal = resource_type.scope == "zone"
    for item in _list_of_run(compute, resource_type, region=region, run=run):
        tags = tags_of(item, resource_kind)
        in_region = region in (_region_of(item, resource_type.scope), tags.get(_REGION))
        if in_region and "planner-run" in tags and run in (None, tags["planner-run"]):
            resource = Resource.from_tags(
                tags,
                resource_kind=resource_kind,
                id=f"{zone_of(item)}.{item['name']}" if is_zonal else item["name"],
                region=region,
                ending=is_zonal and item.get("status") in _ENDING,
            )
            yield resource, item


def tags_of(item: dict[str, Any], resource_kind: str) -> dict[str, str]:
    """Return a resource's tags, from its labels where its kind has them, else from its description."""
    if RESOURCE_TYPES[resource_kind].scope == "zone":
        return dict(item.get("labels", {}))
    words = (word.partition("=") for word in item.get("description", "").split())
    return {key: value for key, mark, value in words if mark and key.startswith("planner-")}


def zone_of(item: dict[str, Any]) -> str:
    """Return the zone of a resource, '' where it has none."""
    return str(item.get("zone", "")).rpartition("/")[2]


def delete(compute: Compute, resources: Sequence[Resource]) -> None:
    """Delete resources of one kind. Raises as `delete_each` does.

    Each machine and disk takes its own call, several in parallel. Nothing waits for them: listings show their end.
    """
    resource_type = RESOURCE_TYPES.get(resources[0].kind)
    if resource_type is None:
        return  # an operation ends automatically
    at_once = compute.at_once if resource_type.scope == "zone" else 1
    delete_each(resources, lambda resource: _delete_one(compute, resource_type, resource), at_once=at_once)


def _delete_one(compute: Compute, resource_type: ResourceType, resource: Resource) -> None:
    act = compute.begin if resource_type.scope == "zone" else compute.finish
    act(f"{resource_type.collection}.delete", **_named(resource_type, resource))


def _named(resource_type: ResourceType, resource: Resource) -> dict[str, str]:
    """Return the parameters of a call that name a resource."""
    zone, _, name = resource.id.rpartition(".")
    where = {"zone": {"zone": zone}, "region": {"region": resource.region}}.get(resource_type.scope, {})
    return {**where, resource_type.parameter: name}


def look_up(compute: Compute, resources: Sequence[Resource]) -> tuple[Resource, ...]:
    """Return those of some resources of one kind that exist. An operation exists as long as a listing shows it."""
    resource_type = RESOURCE_TYPES.get(resources[0].kind)
    if resource_type is None:
        return ()

    def found(resource: Resource) -> Resource | None:
        try:
            item = compute.get(f"{resource_type.collection}.get", **_named(resource_type, resource))
        except NotFoundError:
            return None
        return replace(resource, ending=resource_type.scope == "zone" and item.get("status") in _ENDING)

    with ThreadPoolExecutor(compute.at_once) as pool:
        return tuple(resource for resource in pool.map(found, resources) if resource is not None)


def _list_of_run(
    compute: Compute, resource_type: ResourceType, *, region: str, run: str | None
) -> Iterator[dict[str, Any]]:
    if resource_type.scope == "zone":
        labelled = f"labels.planner-run={run}" if run else "labels.planner-run:*"
        yield from compute.items(f"{resource_type.collection}.aggregatedList", filter=labelled)
    elif resource_type.scope == "region":
        yield from compute.items(f"{resource_type.collection}.list", region=region)
    else:
        yield from compute.items(f"{resource_type.collection}.list")


def _region_of(item: dict[str, Any], scope: str) -> str:
    """Return the region of an item of a scope, '' for a global one."""
    if scope == "zone":
        return zone_of(item).rpartition("-")[0]
    return str(item.get("region", "")).rpartition("/")[2] if scope == "region" else ""


def _unfinished_creations(
    compute: Compute, *, region: str, run: str | None
) -> Iterator[tuple[Resource, dict[str, Any]]]:
    """Yield unfinished create operations of a run: their resources may not be listed yet.

    An operation has no tags, only a request id, so it is found only when the run is known.
    """
    if run is None:
        return
    for item in compute.items("globalOperations.aggregatedList", filter="status!=DONE"):
        in_region = (_region_of(item, "zone") or _region_of(item, "region")) in ("", region)
        if in_region and item["status"] != "DONE" and item.get("clientOperationId", "").startswith(run_mark(run)):
            yield Resource(kind="operation", id=item["name"], region=region, run=run, ending=True), item
