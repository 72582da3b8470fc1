"""Values returned by providers."""

from __future__ import annotations

from datetime import UTC, datetime
from ipaddress import ip_network

import pytest
from emulated_ec2 import choice

from planner.clouds.cloud_errors import NotFoundError, PermissionDeniedError, RefusedCallError, StillInUseError
from planner.clouds.protocol import HEAD_SUBNET, NETWORK, NODES_SUBNET, Place, Resource, delete_each
from planner.errors import PlannerError


def test_tags_name_run_owner_and_end() -> None:
    tags = {"planner-run": "r1", "planner-owner": "me", "planner-expires": "20261121t164500z"}
    resource = Resource.from_tags(tags, resource_kind="vpc", id="vpc-1", region="us-east-1", ending=False)
    assert (resource.run, resource.owner) == ("r1", "me")
    assert resource.expires_at == datetime(2026, 11, 21, 16, 45, tzinfo=UTC)
    assert resource.text == "vpc vpc-1 in us-east-1 (run r1)"


@pytest.mark.parametrize("expires", [{}, {"planner-expires": "soon"}])
def test_a_missing_or_unreadable_end_is_none(expires: dict[str, str]) -> None:
    resource = Resource.from_tags(
        {"planner-run": "r1", **expires}, resource_kind="vpc", id="v", region="r", ending=True
    )
    assert resource.expires_at is None and resource.ending


@pytest.mark.parametrize(("zone", "where"), [("us-east-1b", "us-east-1b"), ("", "us-east-1")])
def test_a_place_names_its_zone_or_its_region(zone: str, where: str) -> None:
    assert Place(choice=choice(), region="us-east-1", zone=zone).text == f"4 x i4i.large in {where}"


def test_the_subnets_lie_apart_within_the_network() -> None:
    network, nodes, head = map(ip_network, (NETWORK, NODES_SUBNET, HEAD_SUBNET))
    assert nodes.subnet_of(network) and head.subnet_of(network)  # type: ignore[arg-type]
    assert not nodes.overlaps(head)
    assert network.is_private and nodes.num_addresses > 32_000


def resource(name: str, *, ending: bool = False) -> Resource:
    return Resource(kind="volume", id=name, region="r", run="x", ending=ending)


@pytest.mark.parametrize("at_once", [1, 3])
def test_all_are_asked_for_and_those_that_wait_are_named(at_once: int) -> None:
    asked: list[str] = []

    def delete(doomed: Resource) -> None:
        asked.append(doomed.id)
        if doomed.id == "gone":
            raise NotFoundError("no such volume", cloud_code="InvalidVolume.NotFound")
        if doomed.id == "used":
            raise StillInUseError("used by i-1")

    resources = [resource("used"), resource("gone"), resource("ending", ending=True), resource("free")]
    with pytest.raises(StillInUseError, match="1 of 4 still in use") as raised:
        delete_each(resources, delete, at_once=at_once)
    assert sorted(asked) == ["free", "gone", "used"]
    assert raised.value.details == ("used by i-1",)


@pytest.mark.parametrize("at_once", [1, 3])
@pytest.mark.parametrize(
    "refusal", [RefusedCallError("protected against deletion", cloud_code="x"), PermissionDeniedError("not yours")]
)
def test_one_that_is_refused_keeps_no_other_running(at_once: int, refusal: PlannerError) -> None:
    """A machine with deletion protection: hashicorp/terraform-provider-google pull request 1211."""
    asked: list[str] = []

    def delete(doomed: Resource) -> None:
        asked.append(doomed.id)
        if doomed.id == "protected":
            raise refusal
        if doomed.id == "used":
            raise StillInUseError("used by i-1")

    names = ["protected", "used", *(f"free-{n}" for n in range(30))]
    with pytest.raises(type(refusal), match=str(refusal)):
        delete_each([resource(name) for name in names], delete, at_once=at_once)
    assert sorted(asked) == sorted(names)
