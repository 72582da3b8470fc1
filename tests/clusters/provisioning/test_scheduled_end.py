"""Machines on EC2 that AWS itself ends, although cloud-init never ran on any."""

from __future__ import annotations

import json
from contextlib import closing
from dataclasses import replace
from datetime import UTC, date, timedelta, timezone
from pathlib import Path

import boto3
import pytest
from cluster_outcomes import refused
from emulated_ec2 import QUICK, EmulatedEc2, choice, order
from fault_proxy import Answer

from planner.clouds.aws.client import LiveService
from planner.clouds.aws.provider import AwsProvider
from planner.clouds.aws.scheduled_end import finding
from planner.clouds.protocol import Place
from planner.clusters.provisioning.cluster_lifecycle import ProviderSession, begin, down, up
from planner.clusters.provisioning.dry_run import rehearse
from planner.config.settings import load_settings
from planner.errors import BadInputError


def set_role(ec2: EmulatedEc2, role: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Name the role in the settings of this process and of all commands."""
    path = tmp_path / "end-settings.toml"
    path.write_text(f'[aws]\nend_role = "{role}"\n', "utf-8")
    monkeypatch.setenv("PLANNER_SETTINGS", str(path))
    usual = ec2.environment()
    monkeypatch.setattr(ec2, "environment", lambda: usual | {"PLANNER_SETTINGS": str(path)})


def test_aws_ends_the_machines_and_a_teardown_the_schedule(
    ec2: EmulatedEc2, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Emulated machines run no cloud-init, so the schedule alone ends them: not before its time, and then for good."""
    set_role(ec2, ec2.offer_end_role(), tmp_path, monkeypatch)
    session = ProviderSession(provider=ec2.provider(), policy=QUICK, say=lambda _: None)
    asked, directory = begin(order("ends"))
    place = Place(choice=choice(), region=ec2.region, zone=ec2.zones[0])
    up(asked, [place], directory, session)
    assert ec2.left()["end-schedule"] == 4
    ec2.bring(asked.expires_at - timedelta(seconds=2))
    assert ec2.machines() == 4
    ec2.bring(asked.expires_at)
    assert ec2.machines() == 0 and "end-schedule" not in ec2.left(), "it deletes itself"
    down(directory, session)
    assert ec2.left() == {}
    again, directory = begin(order("early"))
    up(again, [place], directory, session)
    down(directory, session)
    assert ec2.left() == {}, "a schedule goes with the run"


def test_a_machine_that_was_lost_before_keeps_no_other_running(
    ec2: EmulatedEc2, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """AWS ended none of a launch, because it no longer knew one of the ids (YelpArchive/clusterman, pull 249)."""
    set_role(ec2, ec2.offer_end_role(), tmp_path, monkeypatch)
    session = ProviderSession(provider=ec2.provider(), policy=QUICK, say=lambda _: None)
    asked, directory = begin(order("loses"))
    cluster = up(asked, [Place(choice=choice(), region=ec2.region, zone=ec2.zones[0])], directory, session)
    session.provider.terminate(cluster.nodes[-1:])
    while ec2.machines() == 4:
        session.provider.nodes(asked.run, region=ec2.region)  # each look brings its end nearer
    ec2.bring(asked.expires_at)
    assert ec2.machines() == 0
    down(directory, session)
    assert ec2.left() == {}


def test_a_sweep_takes_schedules_along(ec2: EmulatedEc2, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    set_role(ec2, ec2.offer_end_role(), tmp_path, monkeypatch)
    assert "end without cloud-init: EventBridge Scheduler" in ec2.planner(*ec2.up).text
    assert ec2.left()["end-schedule"] == 4
    assert ec2.planner(*ec2.sweep).code == 0
    assert ec2.left() == {}


def test_a_role_that_does_not_serve_is_known_beforehand(
    ec2: EmulatedEc2, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    set_role(ec2, ec2.offer_end_role(service="lambda.amazonaws.com"), tmp_path, monkeypatch)
    assert "does not trust scheduler.amazonaws.com" in refused(ec2)


ALLOW = {"Effect": "Allow", "Principal": {"Service": "scheduler.amazonaws.com"}, "Action": "sts:AssumeRole"}


@pytest.mark.parametrize(
    ("statements", "ok"),
    [
        (ALLOW, True),
        ([ALLOW], True),
        ([{**ALLOW, "Action": "sts:TagSession"}], False),
        ([{**ALLOW, "Effect": "Deny"}], False),
        ([ALLOW, {**ALLOW, "Effect": "Deny"}], False),
        ([ALLOW, {**ALLOW, "Effect": "Deny", "Principal": {"Service": "lambda.amazonaws.com"}}], True),
        ([ALLOW, {**ALLOW, "Effect": "Deny", "Condition": {"Bool": {"aws:SecureTransport": "false"}}}], None),
    ],
)
def test_a_denial_in_a_trust_policy_counts(ec2: EmulatedEc2, statements: object, ok: bool | None) -> None:
    role = ec2.offer_end_role()
    with closing(boto3.client("iam", region_name=ec2.region, endpoint_url=f"http://127.0.0.1:{ec2.port}")) as iam:
        document = json.dumps({"Version": "2012-10-17", "Statement": statements})
        iam.update_assume_role_policy(RoleName=role.rpartition("/")[2], PolicyDocument=document)
    assert finding(LiveService("iam", ec2.region, policy=QUICK), role).ok is ok


ANYBODY = ({"AWS": "*"}, "*")


@pytest.mark.parametrize(
    ("statements", "ok"),
    [
        *(([ALLOW, {"Effect": "Deny", "Principal": whom, "Action": "*"}], False) for whom in ANYBODY),
        *(([ALLOW, {"Effect": "Deny", "Principal": whom, "Action": "sts:*"}], False) for whom in ANYBODY),
        ([ALLOW, {**ALLOW, "Effect": "Deny", "Action": "sts:TagSession"}], True),
        (
            [ALLOW, {"Effect": "Deny", "NotPrincipal": {"AWS": "arn:aws:iam::1:root"}, "Action": "sts:AssumeRole"}],
            False,
        ),
        ([ALLOW, {"Effect": "Deny", "NotPrincipal": ALLOW["Principal"], "Action": "sts:AssumeRole"}], True),
        ([ALLOW, {"Effect": "Deny", "Principal": "*", "NotAction": "sts:AssumeRole"}], True),
        ([ALLOW, {"Effect": "Deny", "Principal": "*", "NotAction": "sts:TagSession"}], False),
        ([], False),
    ],
)
def test_a_denial_of_many_counts_for_the_scheduler(statements: object, ok: bool) -> None:
    class Iam:
        def call(self, operation: str, **request: object) -> dict[str, object]:
            assert operation == "get_role"
            return {"Role": {"AssumeRolePolicyDocument": {"Statement": statements}}}

    assert finding(Iam(), "arn:aws:iam::1:role/end").ok is ok  # type: ignore[arg-type]


def test_a_schedule_that_is_refused_ends_the_launch(
    ec2: EmulatedEc2, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As where iam:PassRole is missing, which cannot be checked beforehand."""
    set_role(ec2, ec2.offer_end_role(), tmp_path, monkeypatch)
    headers = {"Content-Type": "application/json", "x-amzn-ErrorType": "AccessDeniedException"}
    denial = Answer(status=403, body='{"Message": "not authorized to perform: iam:PassRole"}', headers=headers)
    ec2.proxy.judge = lambda seen: denial if seen.path.startswith("/schedules/planner-") else None
    ended = ec2.planner(*ec2.up)
    assert ended.code == 4 and "iam:PassRole" in ended.text, ended.text
    assert ec2.left() == {}


def test_a_dry_run_has_the_schedule_and_its_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "settings.toml"
    path.write_text('[aws]\nend_role = "arn:aws:iam::123456789012:role/ends"\n', "utf-8")
    monkeypatch.setenv("PLANNER_SETTINGS", str(path))
    far = order("told").expires_at.astimezone(timezone(timedelta(hours=9)))
    requests = rehearse(replace(order("told"), expires_at=far), AwsProvider(policy=QUICK)).requests
    made = [request.parameters for request in requests if request.operation == "create_schedule"]
    assert {each["ScheduleExpressionTimezone"] for each in made} == {"UTC"}
    assert {each["ScheduleExpression"] for each in made} == {f"at({far.astimezone(UTC):%Y-%m-%dT%H:%M:%S})"}
    assert all(each["FlexibleTimeWindow"] == {"Mode": "OFF"} for each in made), "not a moment later"
    assert {each["Target"]["Arn"] for each in made} == {"arn:aws:scheduler:::aws-sdk:ec2:terminateInstances"}
    assert [len(json.loads(each["Target"]["Input"])["InstanceIds"]) for each in made] == [1] * 4
    deleted = [request.parameters["Name"] for request in requests if request.operation == "delete_schedule"]
    assert sorted(deleted) == sorted(each["Name"] for each in made)
    operations = [request.operation for request in requests]
    assert operations.index("terminate_instances") < operations.index("delete_schedule"), "none is left without an end"


@pytest.mark.parametrize(("cloud", "role"), [("gcp", "arn:aws:iam::123456789012:role/ends"), ("aws", "ends")])
def test_only_aws_has_such_a_role_and_by_its_arn(
    cloud: str, role: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "settings.toml"
    path.write_text(f'[{cloud}]\nend_role = "{role}"\n', "utf-8")
    monkeypatch.setenv("PLANNER_SETTINGS", str(path))
    with pytest.raises(BadInputError) as refusal:
        load_settings(today=date(2026, 11, 27))
    assert refusal.value.field == f"{cloud}.end_role"
