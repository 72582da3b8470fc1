"""A cluster's life on EC2 when nothing goes wrong: every request is safe, announced, tagged, and undone."""

from __future__ import annotations

import json
import subprocess
from base64 import b64decode
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from emulated_ec2 import QUICK, EmulatedEc2, choice, order, volumes
from fault_proxy import ProxiedRequest

from planner.clouds.aws.provider import AwsProvider
from planner.clouds.calls.retry import RetryPolicy
from planner.clouds.order import Order
from planner.clouds.protocol import Place, Resource
from planner.clusters.provisioning.cluster_lifecycle import ProviderSession, begin, down, up
from planner.clusters.provisioning.dry_run import rehearse
from planner.clusters.provisioning.launch import Cluster
from planner.clusters.provisioning.run_directory import RunDirectory
from planner.errors import IoFailureError

CREATES = ("Create", "Run", "Import")


def place(at: Order) -> Place:
    return Place(choice=at.choices[0], region="us-east-1", zone="us-east-1a")


def launched(asked: Order, policy: RetryPolicy = QUICK) -> tuple[Cluster, RunDirectory]:
    keyed, directory = begin(asked)
    return up(keyed, [place(keyed)], directory, session(policy)), directory


def session(policy: RetryPolicy = QUICK) -> ProviderSession:
    return ProviderSession(provider=AwsProvider(policy=policy), policy=policy, say=lambda _: None)


def requests(ec2: EmulatedEc2, action: str) -> list[ProxiedRequest]:
    return [seen for seen in ec2.proxy.seen if seen.action == action and "DryRun" not in seen.params]


def test_machines_are_what_was_ordered(ec2: EmulatedEc2) -> None:
    cluster, directory = launched(order("life", choice(volumes=volumes(2))))
    assert len(cluster.nodes) == 4
    assert cluster.head.head and cluster.head.public_address
    assert all(node.private_address.startswith("10.77.") for node in cluster.nodes)
    assert ec2.left()["volume"] == 4 * 3, "a root and two volumes each"
    assert down(directory, session()) > 10
    assert ec2.left() == {}
    assert not directory.key.exists()


def test_every_launch_is_safe(ec2: EmulatedEc2) -> None:
    asked = order("safe", choice(volumes=volumes(2)))
    _, directory = launched(asked)
    runs = requests(ec2, "RunInstances")
    assert [run.params["MinCount"] for run in runs] == [run.params["MaxCount"] for run in runs] == ["3", "1"]
    for run, public in zip(runs, ("false", "true"), strict=True):
        assert run.params["MetadataOptions.HttpTokens"] == "required"
        assert run.params["NetworkInterface.1.AssociatePublicIpAddress"] == public
        assert run.params["InstanceInitiatedShutdownBehavior"] == "terminate"
        assert run.params["ClientToken"]
        first_boot = b64decode(run.params["UserData"]).decode("utf-8")
        assert f"OnCalendar={asked.expires_at:%Y-%m-%d %H:%M:%S} UTC" in first_boot, "it ends without its caller"
        assert "Persistent=true" in first_boot and "[systemctl, enable, --now, planner-end.timer]" in first_boot
        disks = [value for name, value in run.params.items() if name.endswith("Ebs.Encrypted")]
        gone = [value for name, value in run.params.items() if name.endswith("Ebs.DeleteOnTermination")]
        assert disks == gone == ["true"] * 3
    down(directory, session())


def test_a_run_that_an_earlier_version_gave_schedules_is_taken_down(ec2: EmulatedEc2) -> None:
    """Its journal names resources of a kind that no longer exists here; AWS deletes them at the run's end."""
    cluster, directory = launched(order("earlier"))
    name = f"planner-earlier-0-{cluster.head.id}"
    directory.intend("end-schedule", name=name, region="us-east-1")
    directory.made(Resource(kind="end-schedule", id=name, region="us-east-1", run="earlier"))
    assert "earlier" in ec2.planner("cluster", "status", "earlier").text
    assert down(directory, session()) > 10
    assert ec2.left() == {}


def test_that_cloud_init_alone_ends_a_machine_is_said_beforehand(ec2: EmulatedEc2) -> None:
    assert "end without cloud-init: none" in ec2.planner(*ec2.up).text
    assert ec2.planner(*ec2.sweep).code == 0
    assert ec2.left() == {}


def test_only_the_caller_gets_in_and_nothing_out(ec2: EmulatedEc2) -> None:
    _, directory = launched(order("shut", ssh_from="198.51.100.4/32"))
    inward = requests(ec2, "AuthorizeSecurityGroupIngress")
    ranges = {v for seen in inward for n, v in seen.params.items() if n.endswith("CidrIp")}
    assert ranges == {"198.51.100.4/32"}
    outward = requests(ec2, "AuthorizeSecurityGroupEgress")
    assert not [name for seen in outward for name in seen.params if name.endswith("CidrIp")]
    assert len(requests(ec2, "RevokeSecurityGroupEgress")) == 2
    down(directory, session())


def test_every_create_call_is_tagged_and_announced(ec2: EmulatedEc2) -> None:
    """The journal on disk announces every create call before it arrives."""
    asked = order("told", staging=True)
    announced: list[str] = []

    def judge(seen: ProxiedRequest) -> None:
        if seen.action.startswith(CREATES) and seen.action != "CreateRoute":
            events = RunDirectory.open("told").events()
            last = [event for event in events if event.what in ("intent", "made")][-1]
            announced.append(last.what if last.what == "intent" else f"{seen.action} not announced")
            values = set(seen.params.values())
            assert values >= set(asked.tags.values()), f"{seen.action} without tags"

    ec2.proxy.judge = judge
    _, directory = launched(asked)
    assert announced == ["intent"] * 12
    down(directory, session())


def test_no_secret_in_state_requests_or_process_list(ec2: EmulatedEc2) -> None:
    seen_processes: list[str] = []

    def judge(seen: ProxiedRequest) -> None:
        if seen.action == "RunInstances":
            seen_processes.append(
                subprocess.run(["ps", "-eww", "-o", "args"], capture_output=True, text=True, check=True).stdout
            )

    ec2.proxy.judge = judge
    _, directory = launched(order("hush"))
    private = directory.key.read_text("utf-8")
    secrets = ["the-secret-of-the-account", private.splitlines()[1], "PRIVATE KEY"]
    elsewhere = [path for path in directory.path.rglob("*") if path.is_file() and path != directory.key]
    texts = [path.read_text("utf-8") for path in elsewhere] + seen_processes
    texts += [seen.body.decode("latin-1") for seen in ec2.proxy.seen]
    assert len(seen_processes) == 2 and len(elsewhere) >= 2
    assert not [secret for secret in secrets for text in texts if secret in text]
    assert directory.key.stat().st_mode & 0o077 == 0
    assert directory.key.parent.stat().st_mode & 0o077 == 0
    down(directory, session())


def test_the_dry_run_is_what_is_done(ec2: EmulatedEc2) -> None:
    """The rehearsal without credentials and the real run make the same writes in the same order."""
    asked = order("same", staging=True)
    with pytest.MonkeyPatch.context() as without:
        for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
            without.delenv(name)
        rehearsed = rehearse(asked, AwsProvider(policy=QUICK)).requests
    assert ec2.proxy.seen == [], "a dry run asks nothing"
    _, directory = launched(asked)
    down(directory, session())
    done = [seen.action for seen in ec2.proxy.seen if not seen.action.startswith(("Describe", "Get"))]
    planned = ["".join(word.title() for word in call.operation.split("_")) for call in rehearsed]
    assert [call for call in planned if not call.startswith(("Describe", "Get"))] == done


def test_machines_are_launched_with_the_planned_bandwidth_weighting(ec2: EmulatedEc2) -> None:
    for weighting in ("", "vpc-1"):
        ec2.proxy.seen.clear()
        _, directory = launched(order(f"weighed{weighting}", choice(bandwidth_weighting=weighting)))
        launches = [seen.params for seen in ec2.proxy.seen if seen.action == "RunInstances" and ec2.is_meant(seen)]
        asked = [params.get("NetworkPerformanceOptions.BandwidthWeighting", "") for params in launches]
        assert asked == [weighting] * 2, "nodes and head"
        down(directory, session())


def test_a_burstable_type_is_kept_to_its_credit(ec2: EmulatedEc2) -> None:
    """As planned: unlimited, EC2's default for t3, would bill usage beyond the credit."""
    _, directory = launched(order("credit", choice(instance_type="t3.large", placement_group=False)))
    launches = [seen.params for seen in ec2.proxy.seen if seen.action == "RunInstances" and ec2.is_meant(seen)]
    assert [params["CreditSpecification.CpuCredits"] for params in launches] == ["standard"] * 2
    down(directory, session())


def test_status_tells_cost_and_what_is_there(ec2: EmulatedEc2) -> None:
    assert ec2.planner(*ec2.up).code == 0
    run = ec2.runs()[0]
    seen = json.loads(ec2.planner("cluster", "status", run, "--json").text)["runs"][0]
    assert seen["state"] == "up" and seen["machines"] == 4
    assert 0 < seen["cost_usd"] < 1
    assert len(seen["resources"]) == 14 + 4 + 4, "with the machines' volumes and interfaces"
    assert sum(line["usd"] for line in seen["bill"]) == pytest.approx(seen["cost_usd"])
    ec2.provider().terminate(ec2.provider().nodes(run, region=ec2.region))  # by somebody else
    ended = json.loads(ec2.planner("cluster", "status", run, "--json").text)["runs"][0]
    assert (ended["state"], ended["machines"]) == ("ended", 0)
    assert ec2.planner("cluster", "down", run).code == 0
    after = json.loads(ec2.planner("cluster", "status", run, "--json").text)["runs"][0]
    assert (after["state"], after["machines"], after["resources"]) == ("down", 0, [])


def test_nobody_to_ask_is_a_no(ec2: EmulatedEc2) -> None:
    ended = ec2.planner(*[word for word in ec2.up if word != "--yes"])
    assert ended.code == 2
    assert "--yes" in ended.text
    assert ec2.left() == {} and ec2.runs() == []


def test_too_dear_is_refused(ec2: EmulatedEc2) -> None:
    ec2.world(price_usd_per_hour={"i4i.large": 900.0})
    ended = ec2.planner(*ec2.up, "--max-cost", "50")
    assert ended.code == 4
    assert "over --max-cost" in ended.text
    assert ec2.left() == {} and ec2.runs() == []


def test_one_process_at_a_time(ec2: EmulatedEc2) -> None:
    _, directory = launched(order("held"))
    with directory.lock():
        ended = ec2.planner("cluster", "down", "held")
    assert ended.code == 2 and "another process" in ended.text
    down(directory, session())


def test_wrong_credentials_and_none(ec2: EmulatedEc2, monkeypatch: pytest.MonkeyPatch) -> None:
    usual = ec2.environment()
    monkeypatch.setattr(ec2, "environment", lambda: usual | {"AWS_ACCESS_KEY_ID": "", "AWS_SECRET_ACCESS_KEY": ""})
    ended = ec2.planner(*ec2.up)
    assert ended.code == 4
    assert "AWS_PROFILE" in ended.text
    assert ec2.left() == {}


@pytest.mark.parametrize(
    ("end", "code", "text"),
    [
        ("2020-01-01T00:00:00Z", 4, "AWS: the credentials have expired"),
        ("2099-01-01T00:00:00Z", 0, "ok  credentials' end: 2099-01-01 00:00 UTC"),
        ("", 0, "?   credentials' end: not stated"),
        ("2099-01-01T00:00:00", 2, "not a moment such as 2026-11-24T01:00:00Z"),
    ],
)
def test_temporary_credentials_must_outlive_the_run(
    ec2: EmulatedEc2, monkeypatch: pytest.MonkeyPatch, end: str, code: int, text: str
) -> None:
    usual = ec2.environment()
    session = {"AWS_SESSION_TOKEN": "a-token", "AWS_CREDENTIAL_EXPIRATION": end}
    monkeypatch.setattr(ec2, "environment", lambda: usual | session)
    ended = ec2.planner(*ec2.up)
    assert (ended.code, text in ended.text) == (code, True), ended.text


def test_temporary_credentials_that_end_before_the_run(ec2: EmulatedEc2, monkeypatch: pytest.MonkeyPatch) -> None:
    end = datetime.now(UTC) + timedelta(minutes=25)
    session = {"AWS_SESSION_TOKEN": "a-token", "AWS_CREDENTIAL_EXPIRATION": f"{end:%Y-%m-%dT%H:%M:%SZ}"}
    usual = ec2.environment()
    monkeypatch.setattr(ec2, "environment", lambda: usual | session)
    ended = ec2.planner(*ec2.up)
    assert (ended.code, f"NO  credentials' end: {end:%Y-%m-%d %H:%M} UTC" in ended.text) == (4, True), ended.text


def test_a_run_nobody_knows(ec2: EmulatedEc2) -> None:
    ended = ec2.planner("cluster", "down", "r20260101-0000-aaaaaa")
    assert ended.code == 2
    assert "sweep" in ended.text


def test_a_full_disk_after_the_launch_leaves_nothing(ec2: EmulatedEc2, monkeypatch: pytest.MonkeyPatch) -> None:
    """It used to leave three machines, because the journal could not be written before anything was ended."""
    keyed, directory = begin(order("full"))
    note = RunDirectory.note

    def refuse(self: RunDirectory, what: str, **details: Any) -> None:
        if what == "made" and details["kind"] == "instance":
            monkeypatch.setattr(RunDirectory, "note", fail)
        note(self, what, **details)

    def fail(self: RunDirectory, what: str, **details: Any) -> None:
        raise IoFailureError("No space left on device")

    monkeypatch.setattr(RunDirectory, "note", refuse)
    with pytest.raises(IoFailureError) as raised:
        up(keyed, [Place(choice=choice(), region=ec2.region, zone=ec2.zones[0])], directory, session())
    assert ec2.left() == {} and any("No space left" in line for line in raised.value.details)
    monkeypatch.setattr(RunDirectory, "note", note)
    down(directory, session())
    assert [event.what for event in directory.events()][-1] == "down"
