"""The kinds of resources a run may have on Compute Engine: how to list and how to delete each.

Machines and disks carry the run's tags as labels. Networks, subnets, firewall rules and placement policies cannot be
labelled there: theirs are in the description, which is part of the create call as well. What is global belongs to the
region for which it was made, and its name says so.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Final

from planner.providers.gcp.client import Compute, run_mark
from planner.providers.gcp.cloud_errors import NotFoundError
from planner.providers.order import parse_stamp
from planner.providers.protocol import Resource, StillInUseError

STAGES: Final = (
    ("operation", "instance"),
    ("disk",),
    ("placement-policy", "firewall", "subnetwork"),
    ("network",),
)
_REGION: Final = "planner-region"
_ENDING: Final = frozenset({"STOPPING", "DEPROVISIONING", "PENDING_STOP", "DELETING"})


@dataclass(frozen=True, kw_only=True)
class Kind:
    """Under which collection a kind is found, by which word a call names one, and where it lies."""

    collection: str
    word: str
    scope: str


KINDS: Final = {
    "instance": Kind(collection="instances", word="instance", scope="zone"),
    "disk": Kind(collection="disks", word="disk", scope="zone"),
    "placement-policy": Kind(collection="resourcePolicies", word="resource_policy", scope="region"),
    "subnetwork": Kind(collection="subnetworks", word="subnetwork", scope="region"),
    "firewall": Kind(collection="firewalls", word="firewall", scope="global"),
    "network": Kind(collection="networks", word="network", scope="global"),
}


def description(tags: dict[str, str], *, region: str) -> str:
    """Return tags, and the region, as a description holds them."""
    return " ".join(f"{key}={value}" for key, value in {**tags, _REGION: region}.items())


def find(compute: Compute, kind: str, *, region: str, run: str | None) -> Iterator[tuple[Resource, dict[str, Any]]]:
    """Yield what of a kind carries the tag of this run, or of any, each with Google's own description."""
    if kind == "operation":
        yield from _unfinished(compute, region=region, run=run)
        return
    for item in _listed(compute, KINDS[kind], region=region, run=run):
        tags = tags_of(item)
        here = region in (_region_of(item), tags.get(_REGION))
        if here and "planner-run" in tags and run in (None, tags["planner-run"]):
            yield _resource(kind, item, tags, region=region), item


def tags_of(item: dict[str, Any]) -> dict[str, str]:
    """Return the tags of a resource, from its labels or its description."""
    if item.get("labels"):
        return dict(item["labels"])
    words = (word.partition("=") for word in item.get("description", "").split())
    return {key: value for key, mark, value in words if mark and key.startswith("planner-")}


def zone_of(item: dict[str, Any]) -> str:
    """Return the zone of a resource, '' where it has none."""
    return str(item.get("zone", "")).rpartition("/")[2]


def delete(compute: Compute, resources: Sequence[Resource]) -> None:
    """Delete resources of one kind; what is gone is well. Raises StillInUseError when some must wait.

    Machines and disks go each by a call of its own, several at once, and are not waited for: a listing shows them go.
    """
    how = KINDS.get(resources[0].kind)
    if how is None:
        return  # an operation ends by itself
    waiting: list[str] = []

    def one(resource: Resource) -> None:
        try:
            _delete_one(compute, how, resource)
        except NotFoundError:
            pass
        except StillInUseError as error:
            waiting.append(str(error))

    with ThreadPoolExecutor(compute.at_once if how.scope == "zone" else 1) as pool:
        list(pool.map(one, [resource for resource in resources if not resource.ending]))
    if waiting:
        raise StillInUseError(f"{len(waiting)} of {len(resources)} still in use", waiting)


def _delete_one(compute: Compute, how: Kind, resource: Resource) -> None:
    zone, _, name = resource.id.rpartition(".")
    where = {"zone": {"zone": zone}, "region": {"region": resource.region}}.get(how.scope, {})
    act = compute.begin if how.scope == "zone" else compute.finish
    act(f"{how.collection}.delete", **where, **{how.word: name})


def _listed(compute: Compute, how: Kind, *, region: str, run: str | None) -> Iterator[dict[str, Any]]:
    if how.scope == "zone":
        wanted = f"labels.planner-run={run}" if run else "labels.planner-run:*"
        yield from compute.items(f"{how.collection}.aggregatedList", filter=wanted)
    elif how.scope == "region":
        yield from compute.items(f"{how.collection}.list", region=region)
    else:
        yield from compute.items(f"{how.collection}.list")


def _region_of(item: dict[str, Any]) -> str:
    return zone_of(item).rpartition("-")[0] or str(item.get("region", "")).rpartition("/")[2]


def _resource(kind: str, item: dict[str, Any], tags: dict[str, str], *, region: str) -> Resource:
    try:
        expires_at = parse_stamp(tags.get("planner-expires", ""))
    except ValueError:
        expires_at = None
    return Resource(
        kind=kind,
        id=".".join(part for part in (zone_of(item), item["name"]) if part),
        region=region,
        run=tags["planner-run"],
        owner=tags.get("planner-owner", ""),
        expires_at=expires_at,
        ending=item.get("status") in _ENDING,
    )


def _unfinished(compute: Compute, *, region: str, run: str | None) -> Iterator[tuple[Resource, dict[str, Any]]]:
    """Yield create operations of a run that Google is still at: what they make may not be listed yet.

    An operation has no tags; it is known by its request id. So it is only found when the run is known.
    """
    if run is None:
        return
    for item in compute.items("globalOperations.aggregatedList", filter="status!=DONE"):
        here = _region_of(item) in ("", region)
        if here and item["status"] != "DONE" and item.get("clientOperationId", "").startswith(run_mark(run)):
            yield Resource(kind="operation", id=item["name"], region=region, run=run, ending=True), item
