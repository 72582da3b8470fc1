"""What can go wrong on EC2: each fault, how the command must end, and that nothing stays behind."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable

import pytest
from bed import HASTY, QUICK
from ec2_bed import Ec2Bed
from fault_proxy import Fault, Lose, Seen, ec2_error

from planner.cluster.capacity_seen import capacity_seen
from planner.providers.aws.permissions import STAGING_WRITES, WRITES, action_of
from planner.providers.pace import Pace

Judge = Callable[[Seen], Fault]
LEFTOVERS_ONLY = {"DeleteVolume", "DeleteNetworkInterface"}
"""What a run does only when a machine left something behind that should have gone with it."""
EVERY_WRITE = {action_of(name).removeprefix("ec2:") for name in WRITES | STAGING_WRITES} - LEFTOVERS_ONLY
ZONES = [f"us-east-1{letter}" for letter in "abcdef"]


def once_each(fault: Fault, met: set[str]) -> Judge:
    """Fail the first request of every action, which `met` then holds."""

    def judge(seen: Seen) -> Fault:
        if seen.params and "DryRun" not in seen.params and seen.action not in met:
            met.add(seen.action)
            return fault
        return None

    return judge


def always(action: str, fault: Fault) -> Judge:
    return lambda seen: fault if seen.action == action and "DryRun" not in seen.params else None


def zones_tried(ec2: Ec2Bed) -> list[str]:
    runs = [seen for seen in ec2.proxy.seen if seen.action == "RunInstances" and "DryRun" not in seen.params]
    return [seen.params["Placement.AvailabilityZone"] for seen in runs]


def went_up_and_down(ec2: Ec2Bed, *, machines: int = 4) -> None:
    ended = ec2.planner(*ec2.up)
    assert ended.code == 0, ended.text
    assert ec2.left()["instance"] == machines
    assert {kind: n for kind, n in ec2.left().items() if kind in ("vpc", "subnet", "placement-group", "key-pair")} == {
        "vpc": 1,
        "subnet": 2,
        "placement-group": 1,
        "key-pair": 1,
    }, "something was made twice"
    assert ec2.planner("cluster", "down", ec2.runs()[0]).code == 0
    assert ec2.left() == {}


def refused(ec2: Ec2Bed, *, code: int = 4, pace: Pace = QUICK) -> str:
    ended = ec2.planner(*ec2.up, pace=pace)
    assert ended.code == code, ended.text
    assert ec2.left() == {}
    return ended.text


def test_no_capacity_in_one_zone(ec2: Ec2Bed) -> None:
    ec2.world(capacity={"us-east-1a": 2})
    went_up_and_down(ec2)
    assert zones_tried(ec2) == ["us-east-1a", "us-east-1b", "us-east-1b"]
    assert ec2.proxy.actions().count("CreateVpc") == 2, "the network, once for real and once in preflight"


def test_no_capacity_anywhere(ec2: Ec2Bed, monkeypatch: pytest.MonkeyPatch) -> None:
    ec2.world(capacity=dict.fromkeys(ZONES, 0))
    text = refused(ec2)
    assert zones_tried(ec2) == ZONES, "one attempt per zone"
    assert all(zone in text for zone in ZONES)
    monkeypatch.setenv("PLANNER_RUNS", str(ec2.home))
    assert [(seen.region, seen.nodes) for seen in capacity_seen()] == [("us-east-1", 3)], "four were refused"


def test_half_a_launch_is_taken_back(ec2: Ec2Bed) -> None:
    """Three nodes fit into the first zone, the head does not."""
    ec2.world(capacity={"us-east-1a": 3})
    went_up_and_down(ec2)
    assert zones_tried(ec2) == ["us-east-1a", "us-east-1a", "us-east-1b", "us-east-1b"]


def test_next_region_when_the_first_is_full(ec2: Ec2Bed) -> None:
    ec2.world(capacity=dict.fromkeys(ZONES, 0))
    ended = ec2.planner(*ec2.up, "--region", "us-west-2")
    assert ended.code == 0, ended.text
    assert zones_tried(ec2)[-1].startswith("us-west-2")
    assert ec2.planner("cluster", "down", ec2.runs()[0]).code == 0
    assert ec2.left() == {}


def test_quota_known_beforehand(ec2: Ec2Bed) -> None:
    ec2.world(quota_vcpus={"us-east-1": 7})
    assert "8 vCPUs needed, 7 of 7 free" in refused(ec2)
    assert zones_tried(ec2) == []


def test_quota_met_only_on_launch(ec2: Ec2Bed) -> None:
    ec2.proxy.judge = always("RunInstances", ec2_error("VcpuLimitExceeded"))
    assert "VcpuLimitExceeded" in refused(ec2)
    assert len(zones_tried(ec2)) == 1, "a quota is of the region: no other zone helps"


def test_permission_denied_is_seen_beforehand(ec2: Ec2Bed) -> None:
    denial = ec2_error("UnauthorizedOperation", status=403)
    ec2.proxy.judge = lambda seen: denial if seen.action == "CreatePlacementGroup" else None
    assert "ec2:CreatePlacementGroup" in refused(ec2)
    assert "CreateVpc" not in [seen.action for seen in ec2.proxy.seen if "DryRun" not in seen.params]


def test_permission_denied_on_the_way(ec2: Ec2Bed) -> None:
    ec2.proxy.judge = always("RunInstances", ec2_error("UnauthorizedOperation", status=403))
    assert "UnauthorizedOperation" in refused(ec2)
    assert len(zones_tried(ec2)) == 1


def test_throttled_at_every_call(ec2: Ec2Bed) -> None:
    met: set[str] = set()
    ec2.proxy.judge = once_each(ec2_error("RequestLimitExceeded", status=503), met)
    went_up_and_down(ec2)
    assert met >= EVERY_WRITE


def test_throttled_for_ever(ec2: Ec2Bed) -> None:
    ec2.proxy.judge = always("CreateSubnet", ec2_error("RequestLimitExceeded", status=503))
    assert "gave up after" in refused(ec2, code=6, pace=HASTY)


@pytest.mark.parametrize("carried_out", [True, False])
def test_connection_lost_at_every_call(ec2: Ec2Bed, carried_out: bool) -> None:
    """The idempotency test: nothing is made twice, whether the lost request was carried out or not."""
    met: set[str] = set()
    ec2.proxy.judge = once_each(Lose(carried_out=carried_out), met)
    went_up_and_down(ec2)
    assert met >= EVERY_WRITE


def test_machines_that_end_at_boot_are_replaced(ec2: Ec2Bed) -> None:
    ec2.world(end_at_boot=2, starting_polls=1)
    went_up_and_down(ec2)
    assert len(zones_tried(ec2)) == 3


def test_a_volume_that_will_not_attach_ends_the_machine(ec2: Ec2Bed) -> None:
    """EC2 says so after the launch: the machine ends with a reason. Every machine of the first zone does."""
    ec2.world(end_at_boot=12, end_reason="Client.VolumeLimitExceeded: Volume limit exceeded")
    ended = ec2.planner(*ec2.up)
    assert ended.code == 0, ended.text
    assert "Volume limit exceeded" in ended.text
    assert set(zones_tried(ec2)) == {"us-east-1a", "us-east-1b"}
    assert ec2.planner("cluster", "down", ec2.runs()[0]).code == 0
    assert ec2.left() == {}


def test_machines_that_never_run_are_given_up(ec2: Ec2Bed) -> None:
    ec2.world(starting_polls=10_000)
    assert "0 of 4 machines run" in refused(ec2, pace=HASTY)


def test_group_still_in_use(ec2: Ec2Bed) -> None:
    ec2.world(ending_polls=5)
    busy = iter(range(3))

    def judge(seen: Seen) -> Fault:
        deleting = seen.action == "DeleteSecurityGroup" and "DryRun" not in seen.params
        return ec2_error("DependencyViolation") if deleting and next(busy, None) is not None else None

    ec2.proxy.judge = judge
    went_up_and_down(ec2)


def test_not_found_right_after_create(ec2: Ec2Bed) -> None:
    """Eventual consistency: the first call that names something new is told that it does not exist."""
    met: set[str] = set()

    def judge(seen: Seen) -> Fault:
        if seen.action.startswith(("Describe", "Delete", "Terminate", "Detach")) or "DryRun" in seen.params:
            return None
        named = {name: value for name, value in seen.params.items() if name.endswith("Id") and "-" in value}
        new = set(named.values()) - met
        met.update(new)
        return ec2_error("InvalidVpcID.NotFound") if new else None

    ec2.proxy.judge = judge
    went_up_and_down(ec2)
    assert len(met) > 5


def test_something_that_will_not_go_is_named(ec2: Ec2Bed) -> None:
    assert ec2.planner(*ec2.up).code == 0
    run = ec2.runs()[0]
    ec2.proxy.judge = always("DeleteSubnet", ec2_error("DependencyViolation"))
    ended = ec2.planner("cluster", "down", run, pace=HASTY)
    assert ended.code == 7
    assert "subnet subnet-" in ended.text
    ec2.proxy.judge = lambda _: None
    assert ec2.planner("cluster", "down", run).code == 0
    assert ec2.left() == {}


def test_interrupted_going_up(ec2: Ec2Bed) -> None:
    """SIGTERM arrives while machines start: all is taken down before the command ends with 130."""
    ec2.world(starting_polls=10_000)
    ended = ec2.planner(*ec2.up, signal_at="DescribeInstances")
    assert ended.code == 130, ended.text
    assert ec2.left() == {}


def test_expired_runs_are_swept_and_others_are_not(ec2: Ec2Bed) -> None:
    assert ec2.planner(*ec2.up).code == 0
    ended = ec2.planner("cluster", "sweep", "--region", "us-east-1", "--yes", "--json")
    assert json.loads(ended.text)["removed"] == {}
    assert ec2.left()["instance"] == 4


def test_two_runs_never_touch_each_other(ec2: Ec2Bed) -> None:
    assert ec2.planner(*ec2.up).code == 0
    first = Counter(ec2.left())
    assert ec2.planner(*ec2.up).code == 0
    one, other = ec2.runs()
    assert ec2.planner("cluster", "down", one).code == 0
    assert Counter(ec2.left()) == first
    assert ec2.planner("cluster", "down", other).code == 0
    assert ec2.left() == {}
