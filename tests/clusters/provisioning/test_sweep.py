"""A sweep selects the caller's own runs, by the caller's name in the cloud and by the machine that began them."""

from __future__ import annotations

import json
from contextlib import closing
from pathlib import Path

import boto3
import pytest
from cluster_outcomes import went_up
from emulated_cloud import QUICK, EmulatedCloud
from emulated_ec2 import EmulatedEc2, choice, order
from fault_proxy import ProxiedRequest

from planner.clouds.azure.client import LiveArm
from planner.clouds.calls.azure import identity_in
from planner.clouds.calls.gcp import gcloud_account
from planner.clouds.gcp.client import LiveCompute
from planner.clouds.gcp.resources import description
from planner.clouds.protocol import Place, Resource
from planner.clusters.provisioning.cluster_lifecycle import (
    FoundRun,
    ProviderSession,
    begin,
    down,
    remove_swept,
    sweep,
    up,
)
from planner.clusters.provisioning.reconciliation import Reconciliation
from planner.clusters.provisioning.run_directory import RunDirectory
from planner.errors import BadInputError


def found(*, owner: str, origin: str) -> FoundRun:
    vpc = Resource(kind="vpc", id="v", region="r", run="r1", owner=owner, origin=origin)
    return FoundRun(run="r1", resources=(vpc,))


def test_a_run_is_ones_own_by_identity_and_machine() -> None:
    assert found(owner="me", origin="here").belongs_to("me", known=(), origin="here"), "its journal is lost"
    assert found(owner="me", origin="there").belongs_to("me", known=("r1",), origin="here"), (
        "the machine has a new name"
    )
    assert not found(owner="me", origin="there").belongs_to("me", known=(), origin="here"), "of a colleague's machine"
    assert not found(owner="me", origin="").belongs_to("me", known=(), origin="here"), "nobody knows where it began"
    assert not found(owner="you", origin="here").belongs_to("me", known=("r1",), origin="here")


def test_a_run_of_another_machine_is_shown_with_its_cost_and_stays(ec2: EmulatedEc2, tmp_path: Path) -> None:
    """Both machines have the same identity, as in a shared account."""
    assert ec2.planner(*ec2.up).code == 0
    run = ec2.runs()[0]
    ec2.home = tmp_path / "other-machine"
    shown = ec2.planner(*ec2.sweep)
    assert shown.code == 0 and ec2.left() == ec2.whole
    line = " ".join(shown.text.split())
    assert f"run {run} of 123456789012-user-moto: " in line and "4 machines for " in line
    assert "at on-demand prices" in line and "another machine began it; --anyone takes it, too" in line
    assert ec2.planner(*ec2.sweep, "--anyone").code == 0
    assert ec2.left() == {}


def test_people_are_known_by_whom_gcloud_and_az_signed_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("CLOUDSDK_CORE_ACCOUNT", "CLOUDSDK_ACTIVE_CONFIG_NAME", "AZURE_CLIENT_ID"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("CLOUDSDK_CONFIG", str(tmp_path))
    monkeypatch.setenv("AZURE_CONFIG_DIR", str(tmp_path))
    assert (gcloud_account(), identity_in("s-1")) == ("", ""), "nobody signed in"
    (tmp_path / "configurations").mkdir()
    (tmp_path / "configurations" / "config_lab").write_text("[core]\naccount = ada@example.com\n", "utf-8")
    (tmp_path / "active_config").write_text("lab", "utf-8")
    users = [{"id": f"s-{number}", "user": {"name": name}} for number, name in enumerate(("bob", "eve@example.com"))]
    (tmp_path / "azureProfile.json").write_text(json.dumps({"subscriptions": users}), "utf-8-sig")
    assert (gcloud_account(), identity_in("s-1")) == ("ada@example.com", "eve@example.com")
    monkeypatch.setenv("AZURE_CLIENT_ID", "4711")
    assert identity_in("s-1") == "app-4711", "the SDK takes the environment's application first"


def tag_by_hand(cloud: EmulatedCloud, name: str, tags: dict[str, str], *, region: str = "") -> None:
    """Make a network, or a resource group, with tags that somebody else has written."""
    if cloud.cloud == "azure":
        LiveArm(policy=QUICK).create("resource-group", name, body={"location": cloud.region, "tags": tags})
    elif cloud.cloud == "gcp":
        body = {"name": name, "autoCreateSubnetworks": False, "description": description(tags, region=cloud.region)}
        LiveCompute(policy=QUICK).create("networks.insert", body=body, run="by-hand")
    else:
        written = [{"Key": key, "Value": value} for key, value in tags.items()]
        with closing(boto3.client("ec2", region_name=region or cloud.region)) as client:
            client.create_vpc(CidrBlock="10.9.0.0/16", TagSpecifications=[{"ResourceType": "vpc", "Tags": written}])


FIRST, SECOND = "r20200101-0000-bcdfgh", "r20200101-0000-cdfghj"


def up_in(ec2: EmulatedEc2, run: str, region: str) -> tuple[RunDirectory, ProviderSession]:
    """Rent four machines in a region of a run that may use two."""
    session = ProviderSession(provider=ec2.provider(), policy=QUICK, say=lambda _: None)
    wide = choice(regions=(ec2.region, ec2.other_region))
    keyed, directory = begin(order(run, wide))
    up(keyed, [Place(choice=wide, region=region, zone=f"{region}a")], directory, session)
    return directory, session


def test_a_sweep_finds_and_ends_runs_of_all_regions(ec2: EmulatedEc2) -> None:
    """The second run has machines in the second region, and a network in the first."""
    _, session = up_in(ec2, FIRST, ec2.region)
    alone = ec2.left()
    up_in(ec2, SECOND, ec2.other_region)
    tag_by_hand(ec2, "left", {"planner-run": SECOND})
    found = {run.run: run for run in sweep(session, regions=[ec2.region, ec2.other_region]).runs}
    assert {name: len(run.nodes) for name, run in found.items()} == {FIRST: 4, SECOND: 4}
    assert {item.region for item in found[SECOND].resources} == {ec2.region, ec2.other_region}
    remove_swept(SECOND, found[SECOND].resources, session)
    assert ec2.left() == alone
    remove_swept(FIRST, found[FIRST].resources, session)
    assert ec2.left() == {}


def test_a_run_is_seen_and_ended_in_all_its_regions(ec2: EmulatedEc2) -> None:
    """It has machines in one and a network in another, and what shows late, when the first region seemed empty."""
    directory, session = up_in(ec2, "wide", ec2.other_region)
    directory.intend("vpc", name="net", region=ec2.region)
    tag_by_hand(ec2, "left", {"planner-run": "wide"})
    assert directory.regions() == (ec2.other_region, ec2.region)
    seen = Reconciliation.of(directory, provider=session.provider, policy=QUICK).observe(directory)
    assert {item.region for item in seen} == set(directory.regions())
    deleted: list[str] = []

    def judge(request: ProxiedRequest) -> None:
        if request.action == "DeleteVpc":
            deleted.append(request.action)
            if len(deleted) == len(directory.regions()):
                tag_by_hand(ec2, "late", {"planner-run": "wide"}, region=ec2.other_region)

    ec2.proxy.judge = judge
    down(directory, session)
    assert len(deleted) == 3 and ec2.left() == {}


@pytest.mark.parametrize("odd", ["r*", "r????????-????-??????", "../../x", "another's"])
def test_a_tag_that_the_planner_never_writes_ends_no_machine(cloud: EmulatedCloud, odd: str) -> None:
    """EC2 reads `*` and `?` in a filter as patterns: one such tag ended the machines of every run."""
    went_up(cloud)
    tag_by_hand(cloud, "by-hand", {"planner-run": odd, "planner-expires": "20200101t000000z"})
    live = cloud.left()
    careful = [word for word in cloud.sweep if word != "--all"]
    answer = json.loads(cloud.planner(*careful, "--anyone", "--json").text)
    assert answer["removed"] == {} and cloud.left() == live
    assert len(answer["strange"]) == 1 and repr(odd) in answer["strange"][0]
    assert cloud.planner(*cloud.sweep, "--anyone").code == 0
    assert cloud.machines() == 0 and cloud.left(), "what was tagged by hand stays"


@pytest.mark.parametrize(
    "odd", [{"planner-owner": "it's\u009b31m"}, {"planner-expires": "soon"}, {"planner-expires": "2020101t000000z"}]
)
def test_an_owner_or_an_end_of_another_form_is_named_and_stays(ec2: EmulatedEc2, odd: dict[str, str]) -> None:
    tags = {"planner-run": "r20200101-0000-bcdfgh", "planner-owner": "x", "planner-expires": "20200101t000000z"}
    tag_by_hand(ec2, "by-hand", tags | odd)
    ended = ec2.planner(*ec2.sweep, "--anyone")
    assert ended.code == 0 and ec2.left()["vpc"] == 1
    assert "planner never writes" in ended.text and "\u009b" not in ended.text
    tag_by_hand(ec2, "by-hand", tags)
    assert ec2.planner(*ec2.sweep, "--anyone").code == 0
    assert ec2.left() == {}, "the run's exact tag decides once it is known"


def test_no_call_takes_a_pattern_for_a_run(cloud: EmulatedCloud) -> None:
    provider = cloud.provider()
    for name in ("r*", "r?", "r\\*", "R1", "' or tagName ne '", "../x", "r 1", "r1\n"):
        with pytest.raises(BadInputError):
            provider.find(provider.stages[0], region=cloud.region, run=name)
        with pytest.raises(BadInputError):
            provider.nodes(name, region=cloud.region)
        with pytest.raises(BadInputError):
            Reconciliation(provider=provider, run=name, policy=QUICK)
        with pytest.raises(BadInputError):
            RunDirectory.open(name)
    assert cloud.proxy.seen == []


def test_a_key_whose_name_is_a_pattern_stands_for_itself_alone(ec2: EmulatedEc2) -> None:
    """It is looked up by its name after it was asked to end."""
    with closing(boto3.client("ec2", region_name=ec2.region)) as client:
        for name in ("*", "somebody-else's"):
            client.create_key_pair(KeyName=name)
    star = Resource(kind="key-pair", id="*", region=ec2.region, run="r1")
    assert [found.id for found in ec2.provider().look_up([star])] == ["*"]


def test_an_azure_tag_whose_key_differs_in_case_is_no_run(azure: EmulatedCloud) -> None:
    tag_by_hand(azure, "by-hand", {"Planner-Run": "r20200101-0000-bcdfgh"})
    session = ProviderSession(provider=azure.provider(), policy=QUICK, say=lambda _: None)
    swept = sweep(session, regions=[azure.region])
    assert swept.runs == () and [item.id for item in swept.strange] == ["by-hand"]
