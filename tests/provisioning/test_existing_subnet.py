"""A cluster in a subnet that exists: nothing of it is changed, and nothing but the run's own goes in the end."""

from __future__ import annotations

from typing import Any

import boto3
import pytest
from emulated_ec2 import EmulatedEc2

from planner.provisioning.run_directory import RunDirectory


@pytest.fixture
def subnet(ec2: EmulatedEc2) -> str:
    """A network of somebody's own, with one subnet in the second zone."""
    client: Any = boto3.client("ec2", region_name=ec2.region, endpoint_url=f"http://127.0.0.1:{ec2.port}")
    vpc = client.create_vpc(CidrBlock="10.8.0.0/16")["Vpc"]["VpcId"]
    made = client.create_subnet(VpcId=vpc, CidrBlock="10.8.1.0/24", AvailabilityZone=ec2.zones[1])
    return str(made["Subnet"]["SubnetId"])


def test_machines_stand_in_it_and_it_stays(ec2: EmulatedEc2, subnet: str) -> None:
    before = ec2.left()
    ended = ec2.planner(*ec2.up, "--subnet", subnet, "--no-public-address")
    assert ended.code == 0, ended.text
    assert f"subnet {subnet} in us-east-1: in {ec2.zones[1]}" in ended.text
    assert ec2.launches() == [ec2.zones[1]] * 2
    made = {name: count - before.get(name, 0) for name, count in ec2.left().items() if count != before.get(name, 0)}
    assert set(made) == {"instance", "volume", "network-interface", "security-group", "key-pair", "placement-group"}
    nodes = ec2.provider().nodes(ec2.runs()[0], region=ec2.region)
    assert not [node for node in nodes if node.public_address]
    head = next(node for node in nodes if node.head)
    assert head.private_address.startswith("10.8.1.") and f"ubuntu@{head.private_address}" in ended.text
    assert RunDirectory.open(ec2.runs()[0]).order().subnet == subnet
    assert ec2.planner("cluster", "down", ec2.runs()[0]).code == 0
    assert ec2.left() == before


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (("--subnet", "subnet-00000000000000000"), 4, "has no such subnet"),
        (("--no-public-address",), 2, "say where the head is reached"),
        (("--subnet", "subnet-1", "--cloud", "gcp"), 2, "only on AWS yet"),
    ],
)
def test_what_cannot_be(ec2: EmulatedEc2, words: tuple[str, ...], code: int, message: str) -> None:
    ended = ec2.planner(*ec2.up, *words)
    assert (ended.code, message in ended.text) == (code, True), ended.text
    assert ec2.left() == {} and ec2.runs() == []


def test_a_dry_run_makes_no_network(ec2: EmulatedEc2, subnet: str) -> None:
    ended = ec2.planner(*ec2.up, "--subnet", subnet, "--dry-run", "--json")
    assert ended.code == 0 and subnet in ended.text and "create_vpc" not in ended.text, ended.text
