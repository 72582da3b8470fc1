"""A laptop that moves: the head is opened to its new address and closed to the old one, on every cloud."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from emulated_cloud import QUICK, EmulatedCloud
from emulated_ec2 import EmulatedEc2

from planner.clouds.gcp.network import DOORS, RunNetwork, rule_called
from planner.clusters.provisioning.cluster_lifecycle import ProviderSession
from planner.clusters.provisioning.run_directory import RunDirectory
from planner.clusters.runs.cloud import open_access, reopen_run


def on_aws(provider: Any, directory: RunDirectory) -> set[str]:
    (door,) = (item.id for item in directory.ordered() if (item.kind, item.name) == ("security-group", "door"))
    groups = provider._connect("ec2", "us-east-1").items("describe_security_groups", "SecurityGroups", GroupIds=[door])
    return {block["CidrIp"] for group in groups for rule in group["IpPermissions"] for block in rule["IpRanges"]}


def on_gcp(provider: Any, directory: RunDirectory) -> set[str]:
    run_network = RunNetwork(
        order=directory.order(), compute=provider._compute, journal=directory, region="us-central1", existing=set()
    )
    rules = [rule for name in DOORS if (rule := rule_called(name, run_network))]
    return {block for rule in rules for block in rule["sourceRanges"]}


def on_azure(provider: Any, directory: RunDirectory) -> set[str]:
    (group,) = (item.id for item in directory.ordered() if item.kind == "resource-group")
    rules = provider._arm.get("network-security-group", group, "head")["properties"]["securityRules"]
    return {rule["properties"]["sourceAddressPrefix"] for rule in rules if rule["name"] == "caller"}


OPEN_TO: dict[str, Callable[[Any, RunDirectory], set[str]]] = {"aws": on_aws, "gcp": on_gcp, "azure": on_azure}


def test_the_head_takes_ssh_from_the_newest_address_alone(cloud: EmulatedCloud) -> None:
    assert cloud.planner(*cloud.up).code == 0
    directory = RunDirectory.open(cloud.runs()[0])
    session = ProviderSession(provider=cloud.provider(), policy=QUICK, say=str)
    for network in ("198.51.100.9/32", "198.51.100.9/32", "203.0.113.7/32", "192.0.2.0/24"):
        open_access(reopen_run(directory, session), ssh_from=network)
        assert OPEN_TO[cloud.cloud](session.provider, directory) == {network}
        assert directory.order().ssh_from == network
    assert cloud.planner("cluster", "down", directory.path.name).code == 0
    assert cloud.left() == {}


def test_behind_a_jump_machine_there_is_nothing_to_open(ec2: EmulatedEc2) -> None:
    subnet = ec2.make_subnet("10.8.1.0/24", zone=ec2.zones[1])
    assert ec2.planner(*ec2.up, "--subnet", subnet, "--no-public-address", "--jump", "bastion").code == 0
    run, before = ec2.runs()[0], len(ec2.proxy.seen)
    ended = ec2.planner("cluster", "open", run)
    assert ended.code == 0 and "nothing to open: bastion reaches the head" in " ".join(ended.text.split())
    changes = {seen.action for seen in ec2.proxy.seen[before:] if not seen.action.startswith(("Describe", "Get"))}
    assert changes == set()
    assert ec2.planner("cluster", "down", run).code == 0
