"""A cluster in an existing subnet: nothing in it is changed, and only the run's resources are removed at the end."""

from __future__ import annotations

import json
from typing import Any

import emulated_azure
import emulated_ec2
import emulated_gcp
import pytest
from emulated_azure import EmulatedAzure
from emulated_cloud import QUICK, EmulatedCloud
from emulated_ec2 import EmulatedEc2
from emulated_gcp import EmulatedGcp

from planner.clouds.azure.client import LiveArm
from planner.clouds.gcp.client import LiveCompute
from planner.clouds.gcp.permissions import needed_permissions, permissions
from planner.clusters.provisioning.run_directory import RunDirectory


@pytest.fixture
def subnet(ec2: EmulatedEc2) -> str:
    return ec2.make_subnet("10.8.1.0/24", zone=ec2.zones[1])


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
        (("--no-public-address",), 2, "--no-public-address needs --subnet and --ssh-from"),
        (("--jump", "bastion"), 2, "add --no-public-address"),
        (("--subnet", "s", "--no-public-address", "--jump", "-oProxyCommand=x"), 2, "host or user@host"),
    ],
)
def test_what_cannot_be(ec2: EmulatedEc2, words: tuple[str, ...], code: int, message: str) -> None:
    ended = ec2.planner(*ec2.up, *words)
    assert (ended.code, message in ended.text) == (code, True), ended.text
    assert ec2.left() == {} and ec2.runs() == []


def test_a_dry_run_makes_no_network(ec2: EmulatedEc2, subnet: str) -> None:
    ended = ec2.planner(*ec2.up, "--subnet", subnet, "--dry-run", "--json")
    assert ended.code == 0 and subnet in ended.text and "create_vpc" not in ended.text, ended.text


def test_a_subnet_without_room_is_refused_on_aws(ec2: EmulatedEc2) -> None:
    """A /28 has 16 addresses, of which AWS keeps five."""
    subnet = ec2.make_subnet("10.8.2.0/28", zone=ec2.zones[1])
    wanted = emulated_ec2.choice(spares=9)
    looked = ec2.provider().preflight(emulated_ec2.order("looks", wanted, subnet=subnet))
    assert not looked.places and any(finding.text == "11 addresses left; 12 needed" for finding in looked.findings)
    assert ec2.provider().preflight(emulated_ec2.order("looks", emulated_ec2.choice(spares=8), subnet=subnet)).places


@pytest.fixture
def google_subnet(gcp: EmulatedGcp) -> str:
    """Someone's own network on Google, with room for 12 machines: 16 addresses less Google's 4."""
    compute = LiveCompute(policy=QUICK)
    compute.create("networks.insert", body={"name": "theirs", "autoCreateSubnetworks": False}, run="theirs")
    network = f"projects/{compute.project}/global/networks/theirs"
    body = {"name": "small", "network": network, "ipCidrRange": "10.8.1.0/28", "privateIpGoogleAccess": True}
    compute.create("subnetworks.insert", body=body, run="theirs", region=gcp.region)
    return "small"


@pytest.fixture
def azure_subnet(azure: EmulatedAzure) -> str:
    """Someone's own network on Azure, with room for 11 machines: 16 addresses less Azure's 5."""
    arm = LiveArm(policy=QUICK)
    arm.create("resource-group", "theirs", body={"location": azure.region})
    arm.create(
        "virtual-network", "theirs", "net", body=azure_network(azure.region, small="10.8.1.0/28", tiny="10.8.2.0/29")
    )
    scope = "/subscriptions/s/resourceGroups/theirs/providers/Microsoft.Network/virtualNetworks/net"
    return f"{scope}/subnets/small"


def azure_network(region: str, **blocks: str) -> dict[str, Any]:
    subnets = [{"name": name, "properties": {"addressPrefix": block}} for name, block in blocks.items()]
    return {
        "location": region,
        "properties": {"addressSpace": {"addressPrefixes": ["10.8.0.0/16"]}, "subnets": subnets},
    }


PRIVATE = ("--no-public-address", "--jump", "me@bastion")


def made_since(cloud: EmulatedCloud, before: dict[str, int]) -> set[str]:
    return {name for name, count in cloud.left().items() if count != before.get(name, 0)}


def bodies(cloud: EmulatedCloud, action: str) -> list[dict[str, Any]]:
    return [json.loads(seen.body) for seen in cloud.proxy.seen if seen.action == action]


def test_on_google_rules_and_policy_alone_are_made(gcp: EmulatedGcp, google_subnet: str) -> None:
    before = gcp.left()
    ended = gcp.planner(*gcp.up, "--subnet", google_subnet, *PRIVATE)
    assert ended.code == 0, ended.text
    assert made_since(gcp, before) == {"firewalls", "resourcePolicies", "instances", "disks"}
    (run,) = gcp.runs()
    assert not [node for node in gcp.provider().nodes(run, region=gcp.region) if node.public_address]
    rules = [rule for rule in bodies(gcp, "POST firewalls") if rule["network"].endswith("/theirs")]
    assert len(rules) == 5 and all(rule["targetTags"][0].startswith(f"planner-{run}") for rule in rules)
    assert "me@bastion" in ended.text and RunDirectory.open(run).order().jump == "me@bastion"
    assert gcp.planner("cluster", "down", run).code == 0
    assert gcp.left() == before


def test_on_azure_the_interfaces_are_guarded(azure: EmulatedAzure, azure_subnet: str) -> None:
    before = azure.left()
    ended = azure.planner(*azure.up, "--subnet", azure_subnet, *PRIVATE)
    assert ended.code == 0, ended.text
    assert "no service endpoint to Microsoft.Storage" in ended.text
    assert not {"virtualNetworks", "publicIPAddresses"} & made_since(azure, before)
    machines = bodies(azure, "PUT virtualMachines")
    interfaces = [m["properties"]["networkProfile"]["networkInterfaceConfigurations"][0] for m in machines]
    for interface in [interface["properties"] for interface in interfaces]:
        assert interface["networkSecurityGroup"]["id"].rpartition("/")[2] in ("head", "nodes")
        assert interface["ipConfigurations"][0]["properties"]["subnet"]["id"] == azure_subnet
    (run,) = azure.runs()
    assert not [node for node in azure.provider().nodes(run, region=azure.region) if node.public_address]
    assert azure.planner("cluster", "down", run).code == 0
    assert azure.left() == before


@pytest.mark.parametrize(
    ("subnet", "message"),
    [
        ("none", "us-central1 has no such subnet"),
        ("projects/host/regions/r/subnetworks/small", "without a path"),
        ("tiny", "10.9.0.0/30 has 0 addresses; 4 needed"),
        ("shut", "Private Google Access is off"),
    ],
)
def test_what_cannot_be_on_google(gcp: EmulatedGcp, google_subnet: str, subnet: str, message: str) -> None:
    compute, network = LiveCompute(policy=QUICK), "projects/p/global/networks/theirs"
    for name, block in (("tiny", "10.9.0.0/30"), ("shut", "10.9.1.0/24")):
        body = {"name": name, "network": network, "ipCidrRange": block}
        compute.create("subnetworks.insert", body=body, run="theirs", region=gcp.region)
    looked = gcp.provider().preflight(emulated_gcp.order("looks", subnet=subnet, staging=True))
    assert not looked.places
    assert [finding.text for finding in looked.findings if finding.ok is False and message in finding.text]
    assert gcp.provider().preflight(emulated_gcp.order("looks", subnet=google_subnet, staging=True)).places


def test_on_google_nobody_need_be_allowed_to_make_a_network() -> None:
    of_a_network = {f"compute.{scope}.{verb}" for scope in ("networks", "subnetworks") for verb in ("create", "delete")}
    spared = of_a_network | {"compute.subnetworks.useExternalIp"}
    asked = emulated_gcp.order("looks", subnet="theirs", is_private=True)
    assert set(permissions()) - set(needed_permissions(asked)) == spared
    assert needed_permissions(emulated_gcp.order("own")) == permissions()


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("net/subnets/none", "the subscription has no such subnet"),
        ("none/subnets/small", "the subscription has no such subnet"),
        ("net/subnets/small/x", "not the id of a subnet"),
        ("far/subnets/small", "in westus2, not in eastus: --region westus2"),
        ("net/subnets/tiny", "3 addresses left; 4 needed"),
    ],
)
def test_what_cannot_be_on_azure(azure: EmulatedAzure, azure_subnet: str, name: str, message: str) -> None:
    arm = LiveArm(policy=QUICK)
    arm.create("virtual-network", "theirs", "far", body=azure_network("westus2", small="10.8.1.0/28"))
    looked = azure.provider().preflight(
        emulated_azure.order("looks", subnet=azure_subnet.replace("net/subnets/small", name))
    )
    assert not looked.places
    assert [finding.text for finding in looked.findings if finding.ok is False and message in finding.text]
    assert azure.provider().preflight(emulated_azure.order("looks", subnet=azure_subnet)).places


@pytest.mark.parametrize("words", [(), ("--no-public-address",)])
def test_a_dry_run_in_it_asks_nobody(gcp: EmulatedGcp, azure: EmulatedAzure, words: tuple[str, ...]) -> None:
    theirs = "/subscriptions/s/resourceGroups/g/providers/Microsoft.Network/virtualNetworks/v/subnets/theirs"
    for cloud, subnet, own in ((gcp, "theirs", "networks.insert"), (azure, theirs, "create virtual-network")):
        ended = cloud.planner(*cloud.up, "--subnet", subnet, *words, "--dry-run", "--json")
        assert ended.code == 0 and "<addresses of theirs>" in ended.text and own not in ended.text, ended.text
