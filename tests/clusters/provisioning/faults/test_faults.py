"""Faults common to all clouds: for each fault, the way the command must end, with nothing left behind.

Faults specific to one cloud are in test_ec2_faults, test_gcp_faults and test_azure_faults.
"""

from __future__ import annotations

import json
import shutil
from collections import Counter
from dataclasses import dataclass, field, replace
from typing import Any

import pytest
import refusals
from cluster_outcomes import always, once_each, refused, went_down, went_up
from emulated_cloud import QUICK, EmulatedCloud
from fault_proxy import Answer, Fault, Lose, ProxiedRequest

from planner.clusters.provisioning.observed_capacity import observed_limits
from planner.clusters.provisioning.reconciliation import Reconciliation
from planner.clusters.provisioning.run_directory import JOURNAL


@dataclass(frozen=True, kw_only=True)
class Words:
    """A cloud's version of the common faults: worlds for its emulator, and its codes with their HTTP status."""

    small_quota: dict[str, Any]
    short_of_quota: str
    quota_code: str
    quota_met: dict[str, Any] = field(default_factory=dict)  # a world, where the proxy cannot cause it
    denied: tuple[str, int]
    closed: tuple[str, int]
    throttled: tuple[str, int]
    away: tuple[str, int]
    fails_later: dict[str, Any]
    failed: str
    ends_at_boot: dict[str, Any]
    will_not_attach: dict[str, Any]
    in_use: tuple[str, int]
    last_to_go: tuple[str, str]  # the action that removes it, and its name when it stays
    not_found: tuple[str, int]
    asked_while_starting: str


WORDS = {
    "aws": Words(
        small_quota={"quota_vcpus": {"us-east-1": 7}},
        short_of_quota="8 vCPUs needed, 7 of 7 free",
        quota_code="VcpuLimitExceeded",
        denied=("UnauthorizedOperation", 403),
        closed=("PendingVerification", 400),
        throttled=("RequestLimitExceeded", 503),
        away=("InternalError", 500),
        fails_later={"end_at_boot": 10_000, "end_reason": "Server.InternalError: so it is"},
        failed="Server.InternalError: so it is",
        ends_at_boot={"end_at_boot": 2},
        will_not_attach={"end_at_boot": 12, "end_reason": "Client.VolumeLimitExceeded: Volume limit exceeded"},
        in_use=("DependencyViolation", 400),
        last_to_go=("DeleteSubnet", "subnet subnet-"),
        not_found=("InvalidVpcID.NotFound", 400),
        asked_while_starting="DescribeInstances",
    ),
    "gcp": Words(
        small_quota={"quota": {"us-central1": {"N2_CPUS": 15}}},
        short_of_quota="quota N2_CPUS for n2-standard-4 in us-central1: 16 needed, 15 of 15 free",
        quota_code="QUOTA_EXCEEDED",
        quota_met={"fail_operations": [["instances.bulkInsert", "QUOTA_EXCEEDED"]]},
        denied=("forbidden", 403),
        closed=("conditionNotMet", 412),
        throttled=("rateLimitExceeded", 403),
        away=("backendError", 503),
        fails_later={"fail_operations": [["instances.bulkInsert", "PERMISSIONS_ERROR"]], "operation_polls": 2},
        failed="instances.bulkInsert in us-central1-a: it was not to be (PERMISSIONS_ERROR)",
        ends_at_boot={"end_at_boot": 2},
        will_not_attach={"fail_operations": [["instances.bulkInsert", "UNSUPPORTED_OPERATION"]], "operation_polls": 2},
        in_use=("resourceInUseByAnotherResource", 400),
        last_to_go=("DELETE subnetworks", "subnetwork planner-"),
        not_found=("notFound", 404),
        asked_while_starting="GET instances",
    ),
    "azure": Words(
        small_quota={"quota_vcpus": {"eastus": 31}},
        short_of_quota="quota standardLSv3Family for Standard_L8s_v3 in eastus: 32 needed, 31 of 31 free",
        quota_code="QuotaExceeded",
        denied=("AuthorizationFailed", 403),
        closed=("RequestDisallowedByAzure", 403),
        throttled=("TooManyRequests", 429),
        away=("InternalServerError", 500),
        fails_later={"fail_machines": [["OSProvisioningInternalError", "so it is"]] * 10_000},
        failed="so it is",
        ends_at_boot={"fail_machines": [["OSProvisioningTimedOut", "the guest has failed"]] * 2},
        will_not_attach={"fail_machines": [["AttachDiskWhileBeingDetached", "it could not be attached"]] * 12},
        in_use=("ScopeLocked", 409),
        last_to_go=("DELETE resourceGroups", "resource-group planner-"),
        not_found=("ResourceGroupNotFound", 404),
        asked_while_starting="GET virtualMachines",
    ),
}


@pytest.fixture
def words(cloud: EmulatedCloud) -> Words:
    return WORDS[cloud.cloud]


def answer(cloud: EmulatedCloud, word: tuple[str, int]) -> Answer:
    code, status = word
    return cloud.refusal(code, status=status)


def test_no_capacity_in_one_zone(cloud: EmulatedCloud) -> None:
    cloud.world(capacity={cloud.zones[0]: 2}, starting_polls=1)
    went_up(cloud)
    went_down(cloud)
    full, free = [cloud.zones[0]] * cloud.calls_refused_at_once, [cloud.zones[1]] * cloud.calls_of_a_launch
    assert cloud.launches() == full + free


def test_no_capacity_anywhere(cloud: EmulatedCloud, monkeypatch: pytest.MonkeyPatch) -> None:
    cloud.world(capacity=dict.fromkeys(cloud.zones, 0))
    text = refused(cloud)
    assert all(zone in text for zone in cloud.zones)
    assert Counter(cloud.launches()) == dict.fromkeys(cloud.zones, cloud.calls_refused_at_once), "one attempt per zone"
    monkeypatch.setenv("PLANNER_RUNS", str(cloud.home))
    assert [(seen.region, seen.nodes) for seen in observed_limits()] == [(cloud.region, 3)], "four were refused"


def test_half_a_launch_is_taken_back(cloud: EmulatedCloud) -> None:
    """Three machines fit into the first zone, the fourth does not."""
    cloud.world(capacity={cloud.zones[0]: 3}, starting_polls=1)
    went_up(cloud)
    went_down(cloud)
    assert Counter(cloud.launches()) == dict.fromkeys(cloud.zones[:2], cloud.calls_of_a_launch)


@pytest.mark.soak
@pytest.mark.quick
def test_next_region_when_the_first_is_full(cloud: EmulatedCloud) -> None:
    """Nothing is left in the first."""
    cloud.world(capacity=dict.fromkeys(cloud.zones, 0))
    went_up(cloud, "--region", cloud.other_region)
    assert cloud.launches()[-1].startswith(cloud.other_region)
    went_down(cloud)


def test_next_region_when_the_first_is_closed_to_the_account(cloud: EmulatedCloud, words: Words) -> None:
    closed = answer(cloud, words.closed)
    closed = replace(closed, body=closed.body.replace("so it is", "it violates constraints/gcp.resourceLocations"))

    def judge(seen: ProxiedRequest) -> Fault:
        is_launch = seen.action == cloud.launching and cloud.is_meant(seen)
        return closed if is_launch and cloud.zone_of(seen).startswith(cloud.region) else None

    cloud.proxy.judge = judge
    went_up(cloud, "--region", cloud.other_region)
    assert cloud.launches()[-1].startswith(cloud.other_region)
    went_down(cloud)


def test_quota_known_beforehand(cloud: EmulatedCloud, words: Words) -> None:
    cloud.world(**words.small_quota)
    assert words.short_of_quota in refused(cloud)
    assert cloud.launches() == []


def test_quota_met_only_on_launch(cloud: EmulatedCloud, words: Words) -> None:
    if words.quota_met:
        cloud.world(**words.quota_met)
    else:
        cloud.proxy.judge = always(cloud, cloud.launching, cloud.refusal(words.quota_code))
    assert words.quota_code in refused(cloud)
    assert set(cloud.launches()) == {cloud.zones[0]}, "a quota is of the region: no other zone helps"


def test_permission_denied_at_launch(cloud: EmulatedCloud, words: Words) -> None:
    cloud.proxy.judge = always(cloud, cloud.launching, answer(cloud, words.denied))
    assert words.denied[0].upper() in refused(cloud).upper()
    assert set(cloud.launches()) == {cloud.zones[0]}


@pytest.mark.parametrize("refusal", ["throttled", "away"])
def test_refused_once_at_every_call(cloud: EmulatedCloud, words: Words, refusal: str) -> None:
    """Too many requests, and an internal error of the cloud."""
    met: set[str] = set()
    cloud.proxy.judge = once_each(cloud, answer(cloud, getattr(words, refusal)), met)
    went_up(cloud)
    went_down(cloud)
    assert met >= cloud.writes


def test_throttled_for_ever(cloud: EmulatedCloud, words: Words) -> None:
    cloud.proxy.judge = always(cloud, cloud.launching, answer(cloud, words.throttled))
    assert "gave up after" in refused(cloud, code=6, policy=replace(QUICK, give_up_s=1.0))


@pytest.mark.parametrize("carried_out", [True, False], ids=["carried_out", "not_carried_out"])
def test_connection_lost_at_every_call(cloud: EmulatedCloud, carried_out: bool) -> None:
    """The idempotency test: nothing is made twice, whether the lost request was carried out or not."""
    met: set[str] = set()
    cloud.proxy.judge = once_each(cloud, Lose(carried_out=carried_out), met)
    went_up(cloud)
    went_down(cloud)
    assert met >= cloud.writes


@pytest.mark.soak
@pytest.mark.quick
def test_accepted_and_failed_later(cloud: EmulatedCloud, words: Words) -> None:
    """The launch is accepted and fails, in every place and at every attempt."""
    cloud.world(**words.fails_later)
    assert words.failed in refused(cloud)


def test_a_volume_that_will_not_attach_sends_the_cluster_elsewhere(cloud: EmulatedCloud, words: Words) -> None:
    """It ends every machine of the first zone, including the replacements."""
    cloud.world(**words.will_not_attach)
    went_up(cloud)
    went_down(cloud)
    assert list(dict.fromkeys(cloud.launches())) == list(cloud.zones[:2])


def test_machines_that_end_at_boot_are_replaced(cloud: EmulatedCloud, words: Words) -> None:
    """Where a cloud keeps ended machines, they are removed with the rest."""
    cloud.world(starting_polls=1, **words.ends_at_boot)
    went_up(cloud, beside=2)
    went_down(cloud)


def test_machines_that_never_run_are_given_up(cloud: EmulatedCloud) -> None:
    cloud.world(starting_polls=100_000)
    assert "0 of 4 machines run" in refused(cloud, policy=replace(QUICK, join_s=0.5))


def test_still_in_use(cloud: EmulatedCloud, words: Words) -> None:
    """Machines end slowly, and the resources they used cannot be deleted at first."""
    cloud.world(ending_polls=5)
    asked = Counter[str]()
    busy = answer(cloud, words.in_use)

    def judge(seen: ProxiedRequest) -> Fault:
        asked[seen.action] += cloud.is_meant(seen)
        deleting = seen.action == words.last_to_go[0] and cloud.is_meant(seen)
        return busy if deleting and asked[seen.action] < 4 else None

    cloud.proxy.judge = judge
    went_up(cloud)
    went_down(cloud)
    assert asked[words.last_to_go[0]] >= 4


def test_not_found_right_after_create(cloud: EmulatedCloud, words: Words) -> None:
    """Eventual consistency: the first call of each kind that uses something new is answered that it does not exist."""
    met: set[str] = set()
    judge = once_each(cloud, answer(cloud, words.not_found), met)
    cloud.proxy.judge = lambda seen: judge(seen) if seen.action in cloud.building else None
    went_up(cloud)
    went_down(cloud)
    assert met == cloud.building


def test_something_that_will_not_go_is_named(cloud: EmulatedCloud, words: Words) -> None:
    went_up(cloud)
    action, name = words.last_to_go
    cloud.proxy.judge = always(cloud, action, answer(cloud, words.in_use))
    ended = cloud.planner("cluster", "down", cloud.runs()[0], policy=replace(QUICK, give_up_s=1.0, gone_s=2.0))
    assert ended.code == 7
    assert name in ended.text
    cloud.proxy.judge = lambda _: None
    went_down(cloud)


def test_a_run_of_another_account_is_neither_gone_nor_taken_down(cloud: EmulatedCloud) -> None:
    """Nothing of it shows there: `down` forgot a cluster that ran on (skypilot-org/skypilot issue 511)."""
    went_up(cloud)
    run, before = cloud.runs()[0], cloud.left()
    cloud.extra.update(GOOGLE_CLOUD_PROJECT="another", AZURE_SUBSCRIPTION_ID="another")
    caller = "<Arn>arn:aws:iam::another:user/me</Arn><Account>another</Account>"
    body = f"<R><GetCallerIdentityResult>{caller}</GetCallerIdentityResult></R>"
    cloud.proxy.judge = always(cloud, "GetCallerIdentity", Answer(status=200, body=body))
    for command in ("status", "down"):
        ended = cloud.planner("cluster", command, run)
        assert ended.code == 2 and f"run {run} is in" in ended.text and "another" in ended.text
    assert cloud.left() == before
    cloud.extra.clear()
    cloud.proxy.judge = lambda _: None
    went_down(cloud)


def test_interrupted_going_up(cloud: EmulatedCloud, words: Words) -> None:
    """SIGTERM arrives while machines start: everything is taken down before the command ends with 130."""
    cloud.world(starting_polls=100_000)
    ended = cloud.planner(*cloud.up, signal_at=words.asked_while_starting)
    assert ended.code == 130, ended.text
    assert cloud.left() == {}


def test_only_expired_runs_are_swept_unless_all_are_asked_for(cloud: EmulatedCloud) -> None:
    went_up(cloud)
    careful = [word for word in cloud.sweep if word != "--all"]
    assert json.loads(cloud.planner(*careful, "--json").text)["removed"] == {}
    assert cloud.left() == cloud.whole
    assert cloud.planner(*cloud.sweep).code == 0
    assert cloud.left() == {}


def test_two_runs_never_touch_each_other(cloud: EmulatedCloud) -> None:
    went_up(cloud)
    assert cloud.planner(*cloud.up).code == 0
    ended_run, other_run = cloud.runs()
    assert cloud.planner("cluster", "down", ended_run).code == 0
    assert cloud.left() == cloud.whole
    assert cloud.planner("cluster", "down", other_run).code == 0
    assert cloud.left() == {}


def test_a_sweep_for_everyone_spares_runs_that_have_not_expired(
    cloud: EmulatedCloud, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither others' runs nor the caller's own are removed while they live, whatever else the region holds."""
    went_up(cloud)
    monkeypatch.setitem(cloud.extra, "LOGNAME", "somebody-else")
    assert cloud.planner(*cloud.up).code == 0
    twice = cloud.left()
    careful = [word for word in cloud.sweep if word != "--all"]
    assert json.loads(cloud.planner(*careful, "--anyone", "--json").text)["removed"] == {}
    assert cloud.left() == twice
    assert cloud.planner(*cloud.sweep, "--anyone").code == 0
    assert cloud.left() == {}


def test_a_run_without_a_name_is_nobodys(cloud: EmulatedCloud) -> None:
    """An empty run would match all runs: no listing and no teardown accepts it."""
    provider, policy = cloud.provider(), QUICK
    with refusals.refused("unnamed-run"):
        provider.find(provider.stages[0], region=cloud.region, run="")
    with refusals.refused("unnamed-run"):
        provider.nodes("", region=cloud.region)
    with refusals.refused("unnamed-run"):
        Reconciliation(provider=provider, run="", policy=policy)
    assert cloud.proxy.seen == []


def lose_at_launch(cloud: EmulatedCloud, then: Fault = None, *, at: str = "") -> None:
    """Delete all runs' directories when machines are launched; answer every action `at` with a fault `then`."""

    def judge(seen: ProxiedRequest) -> Fault:
        if seen.action == cloud.launching and cloud.is_meant(seen):
            shutil.rmtree(cloud.home, ignore_errors=True)
        return then if seen.action == at and cloud.is_meant(seen) else None

    cloud.proxy.judge = judge


def test_a_launch_whose_directory_is_deleted_leaves_nothing(cloud: EmulatedCloud) -> None:
    """The take-down knows the run from memory, and its resources from their tags."""
    lose_at_launch(cloud)
    assert JOURNAL in refused(cloud, code=6), "the disk that failed is named"


def test_what_is_left_without_a_directory_is_named(cloud: EmulatedCloud, words: Words) -> None:
    action, name = words.last_to_go
    lose_at_launch(cloud, answer(cloud, words.in_use), at=action)
    ended = cloud.planner(*cloud.up, policy=replace(QUICK, give_up_s=1.0, gone_s=2.0))
    assert ended.code == 7 and name in ended.text
    assert cloud.machines() == 0 or cloud.cloud == "azure", "there the group is the last to go, with all in it"


def test_a_journal_that_was_cut_and_a_lock_that_cannot_be_taken_keep_nothing_running(cloud: EmulatedCloud) -> None:
    """What was noted after the order is lost, so that no line names a region."""
    went_up(cloud)
    journal, lock = cloud.home / cloud.runs()[0] / JOURNAL, cloud.home / cloud.runs()[0] / "lock"
    text = journal.read_bytes()
    journal.write_bytes(text[: text.index(b'"intent"')])
    lock.unlink()
    lock.mkdir()
    went_down(cloud)
