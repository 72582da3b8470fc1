"""The policy of docs/aws-policy.json permits all that the planner does on EC2, and no part of it can be removed."""

from __future__ import annotations

import copy
import json
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import boto3
import pytest
from emulated_ec2 import EmulatedEc2, Ended, order

from planner.clouds.aws.permissions import action_of, permission_finding, writes_of

POLICY = Path(__file__).resolve().parents[3] / "docs" / "aws-policy.json"
NOT_ENFORCED = {
    "ec2:CreateTags",
    "ec2:DescribeNatGateways",
    "ec2:DescribeNetworkAcls",
    "ec2:DescribeSpotPriceHistory",
    "ec2:DescribeVpcBlockPublicAccessOptions",
    "ec2:GetEbsDefaultKmsKeyId",
    "iam:GetRole",
    "pricing:GetProducts",
    "servicequotas:GetAWSDefaultServiceQuota",
    "servicequotas:GetServiceQuota",
    "sts:DecodeAuthorizationMessage",
}
"""Not enforced by the emulator, but by AWS, or done without: all but the first only tell of prices, quotas, settings,
reasons, and of what others put into a network.
"""
ROLE = "arn:aws:iam::123456789012:role/sorter"
"""The role of the existing instance profile."""
Enforce = Callable[[dict[str, Any]], None]


def actions(policy: dict[str, Any]) -> list[str]:
    return [action for statement in policy["Statement"] for action in statement["Action"]]


def without(policy: dict[str, Any], action: str) -> dict[str, Any]:
    less = copy.deepcopy(policy)
    for statement in less["Statement"]:
        statement["Action"] = [allowed for allowed in statement["Action"] if allowed != action]
    return less


@pytest.fixture
def policy() -> dict[str, Any]:
    return dict(json.loads(POLICY.read_text("utf-8")))


@pytest.fixture
def enforce(ec2: EmulatedEc2, monkeypatch: pytest.MonkeyPatch) -> Iterator[Enforce]:
    """Start from an empty account, and make every later call as a user with only the given policy."""
    authority = boto3.client("iam", region_name="us-east-1", endpoint_url=f"http://127.0.0.1:{ec2.port}")
    usual = ec2.environment()

    def put(policy: dict[str, Any]) -> None:
        demand(ec2, "inf")
        ec2.world()
        authority.create_user(UserName="runner")
        assert ec2.offer_profile("sorter") == ROLE
        key = authority.create_access_key(UserName="runner")["AccessKey"]
        authority.put_user_policy(UserName="runner", PolicyName="planner", PolicyDocument=json.dumps(policy))
        theirs = {"AWS_ACCESS_KEY_ID": key["AccessKeyId"], "AWS_SECRET_ACCESS_KEY": key["SecretAccessKey"]}
        monkeypatch.setattr(ec2, "environment", lambda: usual | theirs)
        demand(ec2, "0")

    yield put
    demand(ec2, "inf")


def demand(ec2: EmulatedEc2, after: str) -> None:
    """Check permissions after the given number of calls."""
    url = f"http://127.0.0.1:{ec2.port}/moto-api/reset-auth"
    plain = {"Content-Type": "text/plain"}
    urllib.request.urlopen(urllib.request.Request(url, data=after.encode(), headers=plain), timeout=60).close()


def lending(policy: dict[str, Any], role: str) -> dict[str, Any]:
    """Return the policy, extended so that one role may be passed to machines."""
    passing = {"Effect": "Allow", "Action": ["iam:PassRole"], "Resource": role}
    return {**policy, "Statement": [*policy["Statement"], passing]}


@pytest.mark.soak
@pytest.mark.quick
def test_an_instance_profile_is_lent_by_whom_may_pass_its_role(
    ec2: EmulatedEc2, enforce: Enforce, policy: dict[str, Any]
) -> None:
    """Without the right, the refusal comes before anything is made, as it does for a profile that does not exist."""
    up = (*ec2.up, "--node-identity", "sorter")
    enforce(policy)
    ended = ec2.planner(*up)
    assert ended.code == 4 and "lacks iam:PassRole" in ended.text, ended.text
    missing = ec2.planner(*ec2.up, "--node-identity", "nobody")
    assert missing.code == 4 and "Invalid IAM Instance Profile name" in missing.text, missing.text
    assert ec2.launches() == [] and ec2.left() == {} and ec2.runs() == []
    enforce(lending(policy, ROLE))
    ended = ec2.planner(*up)
    assert ended.code == 0, ended.text
    lent = [seen.params.get("IamInstanceProfile.Name") for seen in ec2.proxy.seen if seen.action == ec2.launching]
    assert lent[-2:] == ["sorter"] * 2 and "machines may be launched with it" in ended.text
    assert ec2.planner("cluster", "down", ec2.runs()[0]).code == 0 and ec2.left() == {}


def whole_life(ec2: EmulatedEc2) -> Iterator[Ended]:
    """Go up, be opened to another network, go down, then up again and be swept from all regions."""
    yield ec2.planner(*ec2.up)
    yield ec2.planner("cluster", "open", ec2.runs()[-1], "--ssh-from", "198.51.100.0/24")
    yield ec2.planner("cluster", "down", ec2.runs()[-1])
    yield ec2.planner(*ec2.up)
    yield ec2.planner("cluster", "sweep", "--all", "--anyone", "--yes")


@pytest.mark.soak
@pytest.mark.quick
def test_the_policy_is_enough(ec2: EmulatedEc2, enforce: Enforce, policy: dict[str, Any]) -> None:
    """The emulator also enforces the condition on tags, which moto ignores."""
    ec2.world(ends_only_tagged=True)
    enforce(policy)
    for ended in whole_life(ec2):
        assert ended.code == 0, ended.text
    assert ec2.left() == {}


def test_what_has_no_runs_tag_is_not_ended(ec2: EmulatedEc2, policy: dict[str, Any]) -> None:
    ending = next(statement for statement in policy["Statement"] if statement["Sid"] == "TakeDown")
    assert ending["Condition"] == {"StringLike": {"aws:ResourceTag/planner-run": "r*"}}
    assert {action.partition(":")[2][:6] for action in ending["Action"]} == {"Delete", "Detach", "Termin"}
    ec2.world(ends_only_tagged=True)
    client = boto3.client("ec2", region_name="us-east-1", endpoint_url=f"http://127.0.0.1:{ec2.port}")
    vpc = client.create_vpc(CidrBlock="10.9.0.0/16")["Vpc"]["VpcId"]
    with pytest.raises(client.exceptions.ClientError, match="UnauthorizedOperation"):
        client.delete_vpc(VpcId=vpc)


def test_a_dry_run_cannot_tell_whether_what_has_the_tag_may_be_ended(ec2: EmulatedEc2) -> None:
    ec2.world(ends_only_tagged=True)
    connect = ec2.provider()._connect  # type: ignore[attr-defined]
    finding = permission_finding(connect("ec2", "us-east-1"), order("looks", staging=True))
    assert finding.ok is None and "a run's tag" in finding.text


@pytest.mark.soak
@pytest.mark.quick
def test_where_the_network_exists_nobody_need_be_allowed_to_make_one(
    ec2: EmulatedEc2, enforce: Enforce, policy: dict[str, Any]
) -> None:
    spared = writes_of(order("own", staging=True)).keys() - writes_of(order("theirs", subnet="s", staging=True)).keys()
    assert {"create_vpc", "delete_vpc", "create_internet_gateway", "create_vpc_endpoint"} <= spared
    less = policy
    for operation in spared:
        less = without(less, action_of(operation))
    enforce(less)
    demand(ec2, "inf")
    subnet = ec2.make_subnet("10.8.1.0/24", zone=ec2.zones[0])
    demand(ec2, "0")
    before = ec2.left()
    assert ec2.planner(*ec2.up).code == 4, "a network of its own cannot be made"
    ended = ec2.planner(*ec2.up, "--subnet", subnet)
    assert ended.code == 0, ended.text
    assert ec2.planner("cluster", "down", *ec2.runs()).code == 0
    assert ec2.left() == before


def missed(ec2: EmulatedEc2, enforce: Enforce, policy: dict[str, Any], action: str) -> bool:
    """Return whether something fails without an action."""
    enforce(without(policy, action))
    return any(ended.code != 0 and action.partition(":")[2] in ended.text for ended in whole_life(ec2))


@pytest.mark.parametrize("action", ["ec2:DeleteVolume", "ec2:DescribeVolumes"])
def test_of_the_policy_nothing_can_go(ec2: EmulatedEc2, enforce: Enforce, policy: dict[str, Any], action: str) -> None:
    assert missed(ec2, enforce, policy, action)


@pytest.mark.soak
def test_of_the_policy_nothing_at_all_can_go(ec2: EmulatedEc2, enforce: Enforce, policy: dict[str, Any]) -> None:
    needed = [action for action in actions(policy) if action not in NOT_ENFORCED]
    spare = [action for action in needed if not missed(ec2, enforce, policy, action)]
    assert not spare
