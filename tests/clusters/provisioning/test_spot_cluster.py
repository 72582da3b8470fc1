"""Clusters of spot machines on every cloud: all but the head may be taken back."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from emulated_cloud import EmulatedCloud

from planner.clusters.provisioning.run_directory import RunDirectory
from planner.schemas.plan import Candidate, Plan


@pytest.fixture
def spot_plan(cloud: EmulatedCloud, tmp_path: Path) -> Path:
    """The cloud's usual plan of four nodes, at a third of the price."""
    plan = Plan.from_json(cloud.plan.read_text("utf-8"))
    made = replace(
        plan,
        best=plan.best and on_spot(plan.best),
        candidates=tuple(on_spot(candidate) for candidate in plan.candidates),
        request=replace(plan.request, pricing="spot"),
    )
    path = tmp_path / "spot.json"
    path.write_text(made.to_json(), "utf-8")
    return path


def on_spot(candidate: Candidate) -> Candidate:
    price, usd = candidate.price_usd_per_hour / 3, candidate.usd_per_hour / 3
    return replace(candidate, pricing="spot", price_usd_per_hour=price, usd_per_hour=usd)


def up(cloud: EmulatedCloud, plan: Path) -> tuple[str, ...]:
    return tuple(str(plan) if word == str(cloud.plan) else word for word in cloud.up)


def spot_machines(cloud: EmulatedCloud) -> tuple[int, int]:
    """Return the numbers of machines requested as spot and as others."""
    spot = other = 0
    for seen in [seen for seen in cloud.proxy.seen if seen.action == cloud.launching and cloud.is_meant(seen)]:
        if cloud.cloud == "aws":
            count, is_spot = int(seen.params["MinCount"]), seen.params.get("InstanceMarketOptions.MarketType") == "spot"
            if is_spot:
                assert seen.params["InstanceMarketOptions.SpotOptions.InstanceInterruptionBehavior"] == "terminate"
        elif cloud.cloud == "gcp":
            body = json.loads(seen.body)
            scheduling = body["instanceProperties"]["scheduling"]
            count, is_spot = int(body["count"]), scheduling.get("provisioningModel") == "SPOT"
            assert scheduling["instanceTerminationAction"] == "DELETE"
        else:
            properties = json.loads(seen.body)["properties"]
            count, is_spot = 1, properties.get("priority") == "Spot"
            assert properties.get("evictionPolicy") == ("Delete" if is_spot else None)
        spot, other = spot + count * is_spot, other + count * (not is_spot)
    return spot, other


def test_the_head_is_on_demand_and_the_others_are_not(cloud: EmulatedCloud, spot_plan: Path) -> None:
    ended = cloud.planner(*up(cloud, spot_plan), "--pricing", "spot")
    assert ended.code == 0, ended.text
    assert "(spot, the head on demand)" in ended.text and "spot price of" in ended.text
    assert spot_machines(cloud) == (3, 1)
    directory = RunDirectory.open(cloud.runs()[0])
    choice = directory.order().choices[0]
    assert choice.is_spot and choice.head_usd_per_hour is not None
    assert choice.head_usd_per_hour > choice.price_usd_per_hour
    place = next(event for event in directory.events() if event.what == "place").details
    assert place["head_usd_per_hour"] == pytest.approx(choice.head_machine_usd_per_hour, rel=1e-4), (
        "whatever the spot ones cost now"
    )
    assert cloud.planner("cluster", "down", cloud.runs()[0]).code == 0
    assert cloud.left() == {}


@pytest.mark.soak
@pytest.mark.quick
def test_without_room_for_spot_machines_in_a_zone_the_next_is_tried(cloud: EmulatedCloud, spot_plan: Path) -> None:
    cloud.world(spot_capacity={cloud.zones[0]: 2})
    ended = cloud.planner(*up(cloud, spot_plan))
    assert ended.code == 0, ended.text
    assert cloud.launches()[0] == cloud.zones[0] != cloud.launches()[-1]
    assert cloud.planner("cluster", "down", cloud.runs()[0]).code == 0
    assert cloud.left() == {}


def test_a_plan_for_other_machines_is_refused(cloud: EmulatedCloud) -> None:
    ended = cloud.planner(*cloud.up, "--pricing", "spot")
    assert ended.code == 2 and "for on-demand machines" in ended.text
    assert cloud.planner(*cloud.up, "--pricing", "reserved").code == 2
    assert cloud.left() == {} and cloud.runs() == []
