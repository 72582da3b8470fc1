"""A cluster in reserved capacity: it is checked beforehand, and machines launch in it or nowhere."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import boto3
import emulated_azure
import emulated_ec2
import emulated_gcp
import pytest
from emulated_azure import EmulatedAzure
from emulated_cloud import EmulatedCloud
from emulated_ec2 import EmulatedEc2
from emulated_gcp import EmulatedGcp

from planner.clouds.order import Order

NAME = "cr-0123456789abcdef0"
SOON = (datetime.now(UTC) + timedelta(minutes=20)).isoformat()
GROUP = "/subscriptions/s/resourceGroups/theirs/providers/Microsoft.Compute/capacityReservationGroups/held"


def on_ec2(**changes: Any) -> dict[str, Any]:
    usual = {"InstanceType": "i4i.large", "AvailabilityZone": "us-east-1c", "AvailableInstanceCount": 4}
    return {"CapacityReservationId": NAME, "State": "active", **usual, **changes}


def on_google(*, count: int = 4, machine_type: str = "n2-standard-4", disks: int = 2, **changes: Any) -> dict[str, Any]:
    """Return a reservation for the machines of the emulator's plan: two local disks each."""
    properties = {"machineType": machine_type, "localSsds": [{"interface": "NVME", "diskSizeGb": "375"}] * disks}
    specific = {"count": str(count), "inUseCount": "0", "instanceProperties": properties}
    place = "https://www.googleapis.com/compute/v1/projects/p/zones/us-central1-b"
    usual = {"name": "held", "zone": place, "status": "READY", "specificReservationRequired": True}
    return {**usual, "specificReservation": specific, **changes}


def on_azure(*, capacity: int = 4, size: str = "Standard_L8s_v3", region: str = "eastus") -> dict[str, Any]:
    sku = {"name": size, "capacity": capacity}
    return {"name": "one", "location": region, "zones": ["2"], "sku": sku, "properties": {}}


def bodies(cloud: EmulatedCloud, action: str) -> list[dict[str, Any]]:
    return [json.loads(seen.body) for seen in cloud.proxy.seen if seen.action == action]


def refusals(cloud: EmulatedCloud, order: Order) -> list[str]:
    """Return the reasons why nothing can be launched; none if something can."""
    looked = cloud.provider().preflight(order)
    against = [finding.text for finding in looked.findings if finding.ok is False]
    assert bool(looked.places) != bool(against), looked
    return against


def test_on_ec2_machines_stand_in_it_and_in_its_placement_group(ec2: EmulatedEc2) -> None:
    """The reservation has exactly the cluster's number of machines, so all of them come from it."""
    theirs = "arn:aws:ec2:us-east-1:123456789012:placement-group/theirs"
    ec2.world(reservations=[on_ec2(PlacementGroupArn=theirs)])
    client: Any = boto3.client("ec2", region_name=ec2.region, endpoint_url=f"http://127.0.0.1:{ec2.port}")
    client.create_placement_group(GroupName="theirs", Strategy="cluster")
    ended = ec2.planner(*ec2.up, "--reservation", NAME)
    assert ended.code == 0, ended.text
    assert f"reservation {NAME} in us-east-1: in us-east-1c, in placement group theirs" in ended.text
    launches = [seen.params for seen in ec2.proxy.seen if seen.action == "RunInstances" and ec2.is_meant(seen)]
    target = "CapacityReservationSpecification.CapacityReservationTarget.CapacityReservationId"
    assert [(asked[target], asked["Placement.GroupName"]) for asked in launches] == [(NAME, "theirs")] * 2
    assert ec2.planner("cluster", "down", *ec2.runs()).code == 0
    assert ec2.left() == {"placement-group": 1}, "theirs stays"


def test_on_google_machines_stand_in_it_with_its_policy_or_none(gcp: EmulatedGcp) -> None:
    gcp.world(reservations=[on_google()])
    ended = gcp.planner(*gcp.up, "--reservation", "held")
    assert ended.code == 0, ended.text
    assert "in us-central1-b, placement policy none, with room for all machines" in ended.text
    for launch in bodies(gcp, "POST instances/bulkInsert"):
        affinity = launch["instanceProperties"]["reservationAffinity"]
        assert (affinity["consumeReservationType"], affinity["values"]) == ("SPECIFIC_RESERVATION", ["held"])
        assert "resourcePolicies" not in launch["instanceProperties"]
    assert gcp.planner("cluster", "down", *gcp.runs()).code == 0
    assert gcp.left() == {}


def test_on_azure_machines_stand_in_it_without_a_proximity_group(azure: EmulatedAzure) -> None:
    azure.world(reservations={"held": [on_azure()]})
    ended = azure.planner(*azure.up, "--reservation", GROUP)
    assert ended.code == 0, ended.text
    assert "free: 4 x Standard_L8s_v3 in eastus-2" in ended.text and "proximityPlacementGroups" not in azure.left()
    machines = bodies(azure, "PUT virtualMachines")
    assert {m["properties"]["capacityReservation"]["capacityReservationGroup"]["id"] for m in machines} == {GROUP}
    assert {tuple(m["zones"]) for m in machines} == {("2",)}
    assert azure.planner("cluster", "down", *azure.runs()).code == 0
    assert azure.left() == {}


@pytest.mark.parametrize(
    ("held", "message"),
    [
        ([], "us-east-1 has no such capacity reservation"),
        ([on_ec2(State="cancelled")], "it is cancelled"),
        ([on_ec2(InstanceType="i4i.xlarge")], "it is for i4i.xlarge: --instance i4i.xlarge"),
        ([on_ec2(InstancePlatform="Windows")], "it is for Windows, tenancy default"),
        ([on_ec2(AvailableInstanceCount=3)], "3 machines are free in it; 4 needed"),
        ([on_ec2(EndDate=SOON)], "before the machines do: --max-hours"),
    ],
)
def test_what_does_not_serve_on_ec2(ec2: EmulatedEc2, held: list[dict[str, Any]], message: str) -> None:
    ec2.world(reservations=held)
    assert [text for text in refusals(ec2, emulated_ec2.order("looks", reservation=NAME)) if message in text]


@pytest.mark.parametrize(
    ("held", "message"),
    [
        ([], "us-central1 has no such reservation"),
        ([on_google(status="CREATING")], "it is CREATING"),
        ([on_google(specificReservationRequired=False)], "without --require-specific-reservation"),
        ([on_google(machine_type="n2-standard-32")], "--instance n2-standard-32"),
        ([on_google(disks=1)], "with 1 local disks; 2 needed"),
        ([on_google(count=3)], "3 machines are free in it; 4 needed"),
        ([on_google(deleteAtTime=SOON)], "before the machines end"),
    ],
)
def test_what_does_not_serve_on_google(gcp: EmulatedGcp, held: list[dict[str, Any]], message: str) -> None:
    gcp.world(reservations=held)
    asked = emulated_gcp.order("looks", emulated_gcp.choice(placement_group=False), reservation="held")
    assert [text for text in refusals(gcp, asked) if message in text]


@pytest.mark.parametrize(
    ("held", "group", "message"),
    [
        ({}, GROUP, "the subscription has no such group"),
        ({}, "held", "not the id of a group"),
        ({"held": []}, GROUP, "free: nothing; 4 x Standard_L8s_v3 needed at one place in eastus"),
        ({"held": [on_azure(capacity=3)]}, GROUP, "free: 3 x Standard_L8s_v3 in eastus-2; 4 x"),
        ({"held": [on_azure(size="Standard_L16s_v3")]}, GROUP, "free: 4 x Standard_L16s_v3"),
        ({"held": [on_azure(region="westus2")]}, GROUP, "free: 4 x Standard_L8s_v3 in westus2-2"),
    ],
)
def test_what_does_not_serve_on_azure(azure: EmulatedAzure, held: dict[str, Any], group: str, message: str) -> None:
    azure.world(reservations=held)
    asked = emulated_azure.order("looks", emulated_azure.choice(placement_group=False), reservation=group)
    assert [text for text in refusals(azure, asked) if message in text]


def test_spot_machines_come_from_no_reservation(ec2: EmulatedEc2) -> None:
    ended = ec2.planner(*ec2.up, "--reservation", NAME, "--pricing", "spot")
    assert (ended.code, "no cloud takes spot machines from one" in ended.text) == (2, True), ended.text
