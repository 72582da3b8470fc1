"""Faults specific to EC2; test_faults has those common to all clouds."""

from __future__ import annotations

import json
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import boto3
import pytest
import refusals
from cluster_outcomes import refused, went_down, went_up
from emulated_cloud import volumes
from emulated_ec2 import QUICK, EmulatedEc2, choice, order
from fault_proxy import Answer, Fault, ProxiedRequest, ec2_error
from host_keys import ED25519

from planner.clouds.aws.provider import AwsProvider
from planner.clouds.order import Order
from planner.clouds.protocol import Place
from planner.clusters.provisioning.cluster_lifecycle import ProviderSession, begin, down, up
from planner.clusters.provisioning.launch import Cluster, _Joining
from planner.clusters.provisioning.run_directory import RunDirectory
from planner.clusters.runs.cloud import reopen_run
from planner.errors import InterruptedRunError, LeftBehindError, ProviderRefusedError
from tests.marks import quick_soak

XMLNS = 'xmlns="http://ec2.amazonaws.com/doc/2016-11-15/"'


def test_the_network_serves_in_every_zone(ec2: EmulatedEc2) -> None:
    ec2.world(capacity={"us-east-1a": 2})
    went_up(ec2)
    assert ec2.proxy.actions().count("CreateVpc") == 2, "once for real and once in preflight"
    went_down(ec2)


@pytest.mark.parametrize(
    ("code", "call"),
    [
        ("TagPolicyViolation", "RunInstances"),
        ("TagPolicyViolation", "CreateVpc"),
        ("OperationNotPermitted", "RunInstances"),
        ("UnsupportedOperation", "RunInstances"),
        ("Unsupported", "RunInstances"),
        ("VolumeLimitExceeded", "RunInstances"),
        ("VpcLimitExceeded", "CreateVpc"),
        ("InvalidAMIID.NotFound", "RunInstances"),
        ("InvalidKeyPair.Format", "RunInstances"),
        ("Unheard", "CreateSecurityGroup"),
    ],
)
def test_what_a_dry_run_refuses_is_known_before_anything_is_made(ec2: EmulatedEc2, code: str, call: str) -> None:
    """For another reason than a missing permission, which counted as an allowed action."""
    ec2.proxy.judge = lambda seen: ec2_error(code, "so it is") if seen.action == call else None
    text = refused(ec2)
    assert code in text and "ok  permissions" not in text
    assert not [seen.action for seen in ec2.proxy.seen if seen.action == "CreateVpc" and ec2.is_meant(seen)]


def test_a_dry_run_that_names_what_is_not_made_yet_is_allowed(ec2: EmulatedEc2) -> None:
    codes = {"CreateSubnet": "InvalidVpcID.NotFound", "RunInstances": "InvalidSubnetID.NotFound"}
    codes |= {"CreateRoute": "InvalidRouteTableID.NotFound", "DeleteVpc": "InvalidVpcID.NotFound"}

    def judge(seen: ProxiedRequest) -> Fault:
        return ec2_error(codes[seen.action], "so it is") if seen.action in codes and "DryRun" in seen.params else None

    ec2.proxy.judge = judge
    assert "ok  permissions" in went_up(ec2)
    went_down(ec2)


def test_a_dry_run_refused_in_one_zone_leaves_the_others(ec2: EmulatedEc2) -> None:
    def judge(seen: ProxiedRequest) -> Fault:
        is_there = seen.params.get("Placement.AvailabilityZone") == "us-east-1a"
        return ec2_error("Unsupported", "so it is") if seen.action == "RunInstances" and is_there else None

    ec2.proxy.judge = judge
    went_up(ec2)
    assert ec2.launches()[-1] == "us-east-1b"
    went_down(ec2)


def test_an_end_that_a_dry_run_refuses_is_not_known(ec2: EmulatedEc2) -> None:
    """A made-up resource may be refused for a reason that a run's own is not."""

    def judge(seen: ProxiedRequest) -> Fault:
        return ec2_error("Unheard", "so it is") if seen.action == "DeleteVpc" and "DryRun" in seen.params else None

    ec2.proxy.judge = judge
    assert "?   permissions" in went_up(ec2)
    went_down(ec2)


@quick_soak
def test_the_next_zone_follows_one_that_is_closed_to_new_subnets(ec2: EmulatedEc2) -> None:
    """EC2 offers machines in the closed zone all the same."""
    closed = ec2_error("InvalidParameterValue", "Value (us-east-1a) for parameter availabilityZone is invalid.")

    def judge(seen: ProxiedRequest) -> Fault:
        is_there = seen.action == "CreateSubnet" and seen.params.get("AvailabilityZone") == "us-east-1a"
        return closed if is_there and ec2.is_meant(seen) else None

    ec2.proxy.judge = judge
    went_up(ec2)
    assert set(ec2.launches()) == {"us-east-1b"}
    went_down(ec2)


def test_a_cluster_is_found_again_as_the_choice_that_came_up(ec2: EmulatedEc2) -> None:
    """Of two choices of one type, the second, with fewer machines, was mistaken for the first, with more."""
    more, fewer = choice(nodes=3, spares=0), choice(nodes=2, spares=0)
    keyed, directory = begin(order("again", more, fewer))
    place = Place(choice=replace(fewer, price_usd_per_hour=0.2), region="us-east-1", zone="us-east-1b")
    came_up = up(keyed, [place], directory, session())
    again = reopen_run(directory, session()).cluster
    assert again.place == place
    assert {node.id for node in again.nodes} == {node.id for node in came_up.nodes}
    down(directory, session())
    assert ec2.left() == {}


def test_an_account_that_may_not_have_spot_machines_gets_on_demand_ones(ec2: EmulatedEc2) -> None:
    """Nobody has used spot machines there yet, and the caller may not make their role; the launch ended with that."""
    refusal = ec2_error("AuthFailure.ServiceLinkedRoleCreationNotPermitted", status=403)

    def judge(seen: ProxiedRequest) -> Fault:
        return refusal if seen.params.get("InstanceMarketOptions.MarketType") == "spot" else None

    ec2.proxy.judge = judge
    spot = choice(pricing="spot", head_usd_per_hour=0.2)
    keyed, directory = begin(order("roleless", spot, spot.on_demand))
    places = [Place(choice=each, region="us-east-1", zone="us-east-1a") for each in keyed.choices]
    assert up(keyed, places, directory, session()).place.choice.pricing == "on-demand"
    down(directory, session())
    assert ec2.left() == {}


def test_a_spare_that_ended_at_boot_and_has_no_quota_is_done_without(ec2: EmulatedEc2) -> None:
    """Machines that are ending count towards the quota: their replacement was refused, and the launch was abandoned."""
    ec2.world(end_at_boot=1)
    launches: list[int] = []

    def judge(seen: ProxiedRequest) -> Fault:
        if seen.action == "RunInstances" and ec2.is_meant(seen):
            launches.append(seen.number)
        return ec2_error("VcpuLimitExceeded") if len(launches) > 2 and seen.number == launches[-1] else None

    ec2.proxy.judge = judge
    cluster, directory = launched(order("boot", choice(nodes=3, spares=1)))
    assert len(cluster.nodes) == 3 and len(launches) == 3
    ec2.proxy.judge = lambda _: None
    down(directory, session())
    assert ec2.left() == {}


def test_permission_denied_is_seen_beforehand(ec2: EmulatedEc2) -> None:
    denial = ec2_error("UnauthorizedOperation", status=403)
    ec2.proxy.judge = lambda seen: denial if seen.action == "CreatePlacementGroup" else None
    assert "ec2:CreatePlacementGroup" in refused(ec2)
    assert "CreateVpc" not in [seen.action for seen in ec2.proxy.seen if ec2.is_meant(seen)]


def test_whatever_is_new_is_not_found_at_first(ec2: EmulatedEc2) -> None:
    """For every new resource, the first call that names it is answered with not found."""
    met: set[str] = set()

    def judge(seen: ProxiedRequest) -> Fault:
        if seen.action.startswith(("Describe", "Delete", "Terminate", "Detach")) or not ec2.is_meant(seen):
            return None
        new = {value for name, value in seen.params.items() if name.endswith("Id") and "-" in value} - met
        met.update(new)
        return ec2_error("InvalidVpcID.NotFound") if new else None

    ec2.proxy.judge = judge
    went_up(ec2)
    went_down(ec2)
    assert len(met) > 5


def session() -> ProviderSession:
    return ProviderSession(provider=AwsProvider(policy=QUICK), policy=QUICK, say=lambda _: None)


def launched(asked: Order) -> tuple[Cluster, RunDirectory]:
    keyed, directory = begin(asked)
    place = Place(choice=keyed.choices[0], region="us-east-1", zone="us-east-1a")
    return up(keyed, [place], directory, session()), directory


def test_an_interface_in_use_is_waited_for(ec2: EmulatedEc2) -> None:
    """EC2 reports it with the code for an invalid value, and only the message shows the cause."""
    went_up(ec2)
    tags = [{"Key": "planner-run", "Value": ec2.runs()[0]}]
    with closing(boto3.client("ec2", region_name="us-east-1")) as client:
        subnet = client.describe_subnets(Filters=[{"Name": "tag:planner-run", "Values": [tags[0]["Value"]]}])
        name = subnet["Subnets"][0]["SubnetId"]
        client.create_network_interface(
            SubnetId=name, TagSpecifications=[{"ResourceType": "network-interface", "Tags": tags}]
        )
    busy = ec2_error("InvalidParameterValue", "Network interface 'eni-1' is currently in use.")
    asked: list[ProxiedRequest] = []

    def judge(seen: ProxiedRequest) -> Fault:
        asked.extend([seen] * (seen.action == "DeleteNetworkInterface"))
        return busy if asked and asked[-1] is seen and len(asked) < 4 else None

    ec2.proxy.judge = judge
    went_down(ec2)
    assert len(asked) == 4


def test_older_machines_show_their_console_late_and_are_not_asked_for_the_latest(ec2: EmulatedEc2) -> None:
    """i3 is on Xen, i4i on Nitro."""
    keys = f"-----BEGIN SSH HOST KEY KEYS-----\n{ED25519} root\n-----END SSH HOST KEY KEYS-----\n"
    for instance_type, latest in (("i3.large", None), ("i4i.large", "true")):
        cluster, directory = launched(order(instance_type.replace(".", "-"), choice(instance_type=instance_type)))
        ec2.show(cluster.head.id, keys)
        assert AwsProvider(policy=QUICK).host_keys(cluster.head) == (ED25519,)
        asked = [seen for seen in ec2.proxy.seen if seen.action == "GetConsoleOutput"]
        assert asked[-1].params.get("Latest") == latest
        down(directory, session())


def test_an_image_keeps_its_own_disks(ec2: EmulatedEc2) -> None:
    """Its root has another name and 80 GiB; the name of its second disk is not given to a volume. Its third would
    outlive the machine, and cost on (ray-project/ray pull request 28707).
    """
    image = "ami-0000000000000abcd"
    _, directory = launched(order("rooted", choice(volumes=volumes("gp3")), image=image))
    launches = [seen.params for seen in ec2.proxy.seen if seen.action == "RunInstances"]
    names = {tuple(params[f"BlockDeviceMapping.{number}.DeviceName"] for number in (1, 2, 3, 4)) for params in launches}
    assert names == {("/dev/xvda", "/dev/sdj", "/dev/sdg", "/dev/sdh")}
    assert {params["BlockDeviceMapping.2.Ebs.DeleteOnTermination"] for params in launches} == {"true"}
    assert {params["BlockDeviceMapping.1.Ebs.VolumeSize"] for params in launches} == {"80"}
    down(directory, session())


def test_types_with_older_disks_and_clusters_beyond_the_bucket_are_refused_beforehand(ec2: EmulatedEc2) -> None:
    older, huge = choice(instance_type="d2.xlarge"), choice(nodes=1000, spares=20)
    seen = AwsProvider(policy=QUICK).preflight(order("old", older, huge))
    against = [finding.text for finding in seen.findings if finding.ok is False]
    assert seen.places == ()
    assert "no NVMe disks" in against[0] and "1020 machines; AWS launches 1000 at once" in against[1]


def test_an_empty_bucket_that_does_not_fill_is_given_up(ec2: EmulatedEc2) -> None:
    """Three of four machines can be launched; they are removed when the fourth cannot."""
    ec2.world(launch_bucket=3, launches_per_s=0.0)
    text = refused(ec2, code=6, policy=replace(QUICK, give_up_s=1.0))
    assert "gave up after" in text and "RequestLimitExceeded" in text
    assert ec2.launches().count("us-east-1a") > 2


def test_a_bucket_that_fills_is_waited_for(ec2: EmulatedEc2) -> None:
    ec2.world(launch_bucket=3, launches_per_s=2.0)
    went_up(ec2)
    went_down(ec2)


def test_what_a_service_put_into_the_network_is_left_and_named(ec2: EmulatedEc2) -> None:
    """GuardDuty puts a security group into every network. It is not the run's, so it is only named; the rest goes."""
    told: list[str] = []
    watched = replace(session(), say=told.append)
    keyed, directory = begin(order("guarded"))
    up(keyed, [Place(choice=choice(), region="us-east-1", zone="us-east-1a")], directory, watched)
    url = f"http://127.0.0.1:{ec2.port}"
    keys = {"aws_access_key_id": "AKIAEXAMPLE", "aws_secret_access_key": "the-secret-of-the-account"}
    with closing(boto3.client("ec2", region_name="us-east-1", endpoint_url=url, **keys)) as service:
        made = service.create_security_group(GroupName="GuardDuty", Description="managed", VpcId=network_of(directory))
    down(directory, watched)
    assert f"  aws ec2 delete-security-group --group-id {made['GroupId']} --region us-east-1" in told
    assert set(ec2.left()) == {"vpc", "security-group", "route-table"}, "its network, with what every network has"


def test_a_key_that_cannot_be_used_ends_the_tries_after_one_zone(ec2: EmulatedEc2) -> None:
    reason = "Client.InvalidKMSKey.InvalidState: The KMS key provided is in an incorrect state"
    ec2.world(end_at_boot=10_000, end_reason=reason)
    assert refused(ec2, code=4).splitlines()[-1].endswith(reason)
    assert set(ec2.launches()) == {"us-east-1a"}
    assert ec2.left() == {}


@pytest.mark.parametrize(
    ("world", "said"),
    [
        ({"public_access": "block-bidirectional"}, "NO  public access in us-east-1: block-bidirectional"),
        ({"volume_key": "arn:aws:kms:us-east-1:1:key/k"}, "?   key of volumes in us-east-1: arn:aws:kms:us-east-1:1"),
        ({"has_applied_quotas": False}, "ok  quota of networks in us-east-1: 1 needed"),
    ],
)
def test_the_account_s_own_settings_are_looked_at(ec2: EmulatedEc2, world: dict[str, Any], said: str) -> None:
    ec2.world(**world)
    ended = ec2.planner(*ec2.up)
    assert said in ended.text
    assert ended.code == (4 if "NO" in said else 0)


def put_into(service: Any, network: str, what: str) -> str:
    """Create something of another owner in a run's network, and return the command that removes it."""
    where = "--region us-east-1"
    if what == "route table":
        table = service.create_route_table(VpcId=network)["RouteTable"]["RouteTableId"]
        return f"delete-route-table --route-table-id {table} {where}"
    if what == "list of rules":
        rules = service.create_network_acl(VpcId=network)["NetworkAcl"]["NetworkAclId"]
        return f"delete-network-acl --network-acl-id {rules} {where}"
    if what == "subnet":
        made = service.create_subnet(VpcId=network, CidrBlock="10.77.200.0/24")
        return f"delete-subnet --subnet-id {made['Subnet']['SubnetId']} {where}"
    subnet = service.describe_subnets(Filters=[{"Name": "vpc-id", "Values": [network]}])["Subnets"][0]["SubnetId"]
    made = service.run_instances(
        ImageId="ami-00000000000000002", MinCount=1, MaxCount=1, InstanceType="t3.micro", SubnetId=subnet,
        BlockDeviceMappings=[{"DeviceName": "/dev/sda1", "Ebs": {"VolumeSize": 30}}],
    )  # fmt: skip
    return f"terminate-instances --instance-ids {made['Instances'][0]['InstanceId']} {where}"


@pytest.mark.parametrize(
    ("what", "kept"),
    [
        ("route table", "DeleteVpc"),
        ("list of rules", "DeleteVpc"),
        ("subnet", "DeleteVpc"),
        ("machine", "DeleteSubnet"),
    ],
)
def test_whatever_another_owner_put_into_the_network_is_named_at_once(ec2: EmulatedEc2, what: str, kept: str) -> None:
    """EC2 keeps what something is inside; the emulation does not look at all of it (terraform-provider-aws#46747)."""
    told: list[str] = []
    watched = replace(session(), say=told.append, policy=replace(QUICK, gone_s=20.0))
    keyed, directory = begin(order("guarded"))
    up(keyed, [Place(choice=choice(), region="us-east-1", zone="us-east-1a")], directory, watched)
    url = f"http://127.0.0.1:{ec2.port}"
    keys = {"aws_access_key_id": "AKIAEXAMPLE", "aws_secret_access_key": "the-secret-of-the-account"}
    with closing(boto3.client("ec2", region_name="us-east-1", endpoint_url=url, **keys)) as service:
        command = put_into(service, network_of(directory), what)
    in_use = ec2_error("DependencyViolation", "it has dependencies and cannot be deleted")
    ec2.proxy.judge = lambda seen: in_use if seen.action == kept else None
    down(directory, watched)
    assert f"  aws ec2 {command}" in told
    assert ec2.machines() == (1 if what == "machine" else 0), "the run's own have ended"
    assert any("guarded) stays with it, free of charge" in text for text in told) == (what == "machine")


def test_a_machine_that_somebody_protected_is_named_and_the_others_end(ec2: EmulatedEc2) -> None:
    cluster, directory = launched(order("kept", choice(nodes=3, spares=0)))
    protected = min(node.id for node in cluster.nodes)
    url = f"http://127.0.0.1:{ec2.port}"
    keys = {"aws_access_key_id": "AKIAEXAMPLE", "aws_secret_access_key": "the-secret-of-the-account"}
    with closing(boto3.client("ec2", region_name="us-east-1", endpoint_url=url, **keys)) as service:
        service.modify_instance_attribute(InstanceId=protected, DisableApiTermination={"Value": True})
        hurried = replace(QUICK, gone_s=2.0)
        with pytest.raises(LeftBehindError) as raised:
            down(directory, replace(session(), policy=hurried))
        assert protected in str(raised.value) and "disableApiTermination" in str(raised.value)
        assert ec2.machines() == 1
        service.modify_instance_attribute(InstanceId=protected, DisableApiTermination={"Value": False})
    down(directory, session())
    assert ec2.left() == {}


def network_of(directory: RunDirectory) -> str:
    return next(resource.id for resource in directory.ordered() if resource.kind == "vpc")


def test_an_interrupt_after_the_launch_ends_machines_that_no_answer_shows(
    ec2: EmulatedEc2, monkeypatch: pytest.MonkeyPatch
) -> None:
    """For three answers EC2 did not know the machines, neither by tag nor by id; the journal had their ids."""
    empty = Answer(status=200, body=f"<DescribeInstancesResponse {XMLNS}><reservationSet/></DescribeInstancesResponse>")
    hidden = iter([empty] * 3)
    policy = replace(QUICK, settle_s=1.0)
    keyed, directory = begin(order("early"))

    def interrupted(_: object) -> Cluster:
        ec2.proxy.judge = lambda seen: next(hidden, None) if seen.action == "DescribeInstances" else None
        raise KeyboardInterrupt

    monkeypatch.setattr(_Joining, "cluster", interrupted)
    patient = ProviderSession(provider=AwsProvider(policy=policy), policy=policy, say=str)
    with refusals.refused("interrupted", kind=InterruptedRunError):
        up(keyed, [Place(choice=choice(), region="us-east-1", zone="us-east-1a")], directory, patient)
    assert next(hidden, None) is None
    assert ec2.left() == {}


def test_a_policy_on_what_is_launched_lets_pass_what_it_allows(ec2: EmulatedEc2) -> None:
    """The dry run matches the launch: type, tags, disks, IMDSv2. Denials by a policy are named."""
    said = "User is not authorized to perform: ec2:RunInstances with an explicit deny in a service control policy"

    def judge(seen: ProxiedRequest) -> Fault:
        wanted = {"MetadataOptions.HttpTokens": "required", "InstanceType": "i4i.large"}
        wanted |= {"BlockDeviceMapping.1.Ebs.Encrypted": "true", "TagSpecification.2.ResourceType": "volume"}
        wanted |= {"InstanceInitiatedShutdownBehavior": "terminate"}
        is_other = any(seen.params.get(name) != value for name, value in wanted.items())
        return (
            ec2_error("UnauthorizedOperation", said, status=403) if seen.action == "RunInstances" and is_other else None
        )

    ec2.proxy.judge = judge
    went_up(ec2)
    went_down(ec2)
    asked = [seen.params for seen in ec2.proxy.seen if seen.action == "RunInstances"]
    made_up = ("DryRun", "ClientToken", "SecurityGroupId", "SubnetId", "KeyName", "planner-", "UserData")
    dry, real = (
        {
            tuple(
                (name, value) for name, value in params.items() if not any(word in f"{name}{value}" for word in made_up)
            )
            for params in asked
            if ("DryRun" in params) is is_dry
        }
        for is_dry in (True, False)
    )
    assert dry >= real
    ec2.proxy.judge = lambda seen: (
        ec2_error("UnauthorizedOperation", said, status=403) if seen.action == "RunInstances" else None
    )
    assert f"ec2:RunInstances ({said})" in " ".join(refused(ec2).split())


def test_all_that_is_against_a_launch_is_said_at_once(ec2: EmulatedEc2) -> None:
    """A full region, a denied call whose reason AWS encodes, and too few vCPUs."""
    ec2.world(quota_networks={"us-east-1": 1}, quota_vcpus={"us-east-1": 2})
    said = "You are not authorized to perform this operation. Encoded authorization failure message: a1b2"
    decoded = {
        "matchedStatements": {
            "items": [{"statementId": "Costs", "conditions": {"items": [{"key": "aws:RequestTag/cost"}]}}]
        }
    }
    answer = f"<DecodedMessage>{json.dumps(decoded)}</DecodedMessage>"
    told = f"<R><DecodeAuthorizationMessageResult>{answer}</DecodeAuthorizationMessageResult></R>"

    def judge(seen: ProxiedRequest) -> Fault:
        if seen.action == "DecodeAuthorizationMessage":
            return Answer(status=200, body=told)
        return ec2_error("UnauthorizedOperation", said, status=403) if seen.action == "CreateVpc" else None

    ec2.proxy.judge = judge
    text = refused(ec2)
    assert "lacks ec2:CreateVpc (Costs on aws:RequestTag/cost)" in text
    assert "quota of networks in us-east-1: 1 needed, 0 of 1 free" in text
    assert "vCPUs needed, 2 of 2 free" in text


def test_no_further_place_is_tried_when_the_time_left_is_too_short(ec2: EmulatedEc2) -> None:
    """The first zone has no room, and half an hour is left for a run of an hour."""
    ec2.world(capacity={"us-east-1a": 0})
    asked = choice(expected_s=3600.0)
    keyed, directory = begin(order("late", asked, expires_at=datetime.now(UTC) + timedelta(minutes=30)))
    places = [Place(choice=asked, region="us-east-1", zone=f"us-east-1{letter}") for letter in "ab"]
    with refusals.refused("no-place", kind=ProviderRefusedError) as refusal:
        up(keyed, places, directory, session())
    assert "the run is expected to take 1 h 0 min" in refusal.value.details[1]
    assert set(ec2.launches()) == {"us-east-1a"} and ec2.left() == {}


@pytest.mark.parametrize(("others", "is_refused"), [(499, False), (500, True)])
def test_placement_groups_have_a_quota(ec2: EmulatedEc2, others: int, is_refused: bool) -> None:
    """An account may have 500 in a region; groups made there by others count."""
    items = "".join(f"<item><groupName>theirs-{number}</groupName></item>" for number in range(others))
    listed = f"<R {XMLNS}><placementGroupSet>{items}</placementGroupSet></R>"
    ec2.proxy.judge = lambda seen: (
        Answer(status=200, body=listed) if seen.action == "DescribePlacementGroups" and ec2.is_meant(seen) else None
    )
    seen = ec2.provider().preflight(order("full"))
    [finding] = [finding for finding in seen.findings if finding.subject == "quota of placement groups in us-east-1"]
    assert (finding.ok, finding.text) == (not is_refused, f"1 needed, {500 - others} of 500 free")
    assert bool(seen.places) != is_refused
