"""The test cloud of EC2: the emulator in a process of its own, a fault proxy before it, and `planner` run on both."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, ClassVar

import boto3
import emulated_cloud
from emulated_cloud import QUICK, EmulatedCloud, Ended, served, write_plan
from fault_proxy import Answer, ProxiedRequest, ec2_error

from planner.api.recommend import recommend
from planner.clouds.aws.permissions import action_of, all_writes
from planner.clouds.order import ClusterOffer, Order, VolumeOrder

LEFTOVERS_ONLY = {"DeleteVolume", "DeleteNetworkInterface"}
"""Calls of a run only for leftovers of a machine that should have gone with it."""
FIRST = {"CreateVpc", "CreatePlacementGroup", "CreateInternetGateway", "ImportKeyPair"}
"""Created before any other resource."""

__all__ = ["QUICK", "EmulatedEc2", "Ended", "choice", "emulated_ec2", "order", "volumes"]


class EmulatedEc2(EmulatedCloud):
    """An EC2 whose state and failures a test can set."""

    cloud = "aws"
    region, other_region = "us-east-1", "us-west-2"
    zones = tuple(f"us-east-1{letter}" for letter in "abcdef")
    launching, ending = "RunInstances", "TerminateInstances"
    calls_of_a_launch, calls_refused_at_once = 2, 1
    whole: ClassVar = {
        "vpc": 1,
        "subnet": 2,
        "security-group": 3,
        "placement-group": 1,
        "key-pair": 1,
        "internet-gateway": 1,
        "route-table": 2,
        "vpc-endpoint": 1,
        "instance": 4,
        "volume": 4,
        "network-interface": 4,
    }
    writes = frozenset(action_of(name).removeprefix("ec2:") for name in all_writes()) - LEFTOVERS_ONLY
    building = frozenset(name for name in writes if not name.startswith(("Delete", "Detach", "Terminate"))) - FIRST

    def environment(self) -> dict[str, str]:
        """Return the variables that direct the SDK to this emulator."""
        return {
            "AWS_ENDPOINT_URL": self.proxy.url,
            "AWS_ACCESS_KEY_ID": "AKIAEXAMPLE",
            "AWS_SECRET_ACCESS_KEY": "the-secret-of-the-account",
            "AWS_CONFIG_FILE": os.devnull,
            "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
            "AWS_EC2_METADATA_DISABLED": "true",
            **self.usual_environment(),
        }

    def offer_profile(self, name: str) -> str:
        """Make an instance profile with a role of the same name, and return the role's ARN."""
        url = f"http://127.0.0.1:{self.port}"
        keys = {"aws_access_key_id": "AKIAEXAMPLE", "aws_secret_access_key": "the-secret-of-the-account"}
        authority = boto3.client("iam", region_name=self.region, endpoint_url=url, **keys)
        with closing(authority):
            role = authority.create_role(RoleName=name, AssumeRolePolicyDocument="{}")["Role"]
            authority.create_instance_profile(InstanceProfileName=name)
            authority.add_role_to_instance_profile(InstanceProfileName=name, RoleName=name)
        return str(role["Arn"])

    def make_subnet(self, block: str, *, zone: str) -> str:
        """Make a third party's network, 10.8.0.0/16, with one subnet, and return its id."""
        keys = {"aws_access_key_id": "AKIAEXAMPLE", "aws_secret_access_key": "the-secret-of-the-account"}
        client = boto3.client("ec2", region_name=self.region, endpoint_url=f"http://127.0.0.1:{self.port}", **keys)
        with closing(client):
            vpc = client.create_vpc(CidrBlock="10.8.0.0/16")["Vpc"]["VpcId"]
            made = client.create_subnet(VpcId=vpc, CidrBlock=block, AvailabilityZone=zone)
        return str(made["Subnet"]["SubnetId"])

    def refusal(self, code: str, *, status: int = 400) -> Answer:
        """Return a refusal by EC2."""
        return ec2_error(code, status=status)

    def zone_of(self, launch: ProxiedRequest) -> str:
        return launch.params["Placement.AvailabilityZone"]

    def is_meant(self, seen: ProxiedRequest) -> bool:
        """Return whether a request is for EC2, and not a dry run."""
        return bool(seen.params) and "DryRun" not in seen.params


@contextmanager
def emulated_ec2(home: Path) -> Iterator[EmulatedEc2]:
    """Start the emulator and its proxy, and end both."""
    plan = home.with_name(f"{home.name}-plan.json")
    write_plan(plan, recommend(data="100GB", model="indy", instances=["i4i.large"], nodes=4).plan)
    with served("ec2_server.py") as proxy:
        yield EmulatedEc2(port=proxy.upstream, proxy=proxy, home=home, plan=plan)


def choice(**changes: Any) -> ClusterOffer:
    """Return three i4i.large and a spare in one placement group."""
    changes = {"bill": emulated_cloud.bill(changes.pop("total_usd", 0.7))} | changes
    usual: dict[str, Any] = {
        "instance_type": "i4i.large",
        "regions": ("us-east-1",),
        "nodes": 3,
        "spares": 1,
        "placement_group": True,
        "price_usd_per_hour": 0.172,
        "usd_per_hour": 0.516,
        "expected_s": 3600.0,
        "volumes": None,
    }
    return ClusterOffer(**(usual | changes))


def volumes(count: int = 2) -> VolumeOrder:
    return emulated_cloud.volumes("gp3", count=count)


def order(run: str, *choices: ClusterOffer, **changes: Any) -> Order:
    """Return an order without a key."""
    return emulated_cloud.order(run, *(choices or (choice(),)), **changes)
