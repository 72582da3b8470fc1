"""What can go wrong on Compute Engine: each fault, how the command must end, and that nothing stays behind."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable

import pytest
from bed import HASTY, QUICK
from fault_proxy import Fault, Lose, Seen
from gcp_bed import GcpBed

from planner.providers.pace import Pace

Judge = Callable[[Seen], Fault]
CREATES = ("networks", "subnetworks", "firewalls", "resourcePolicies", "instances/bulkInsert")
WRITES = {f"POST {name}" for name in CREATES} | {
    f"DELETE {name}" for name in ("instances", "resourcePolicies", "firewalls", "subnetworks", "networks")
}
ONE_OF_EACH = {"networks": 1, "subnetworks": 1, "firewalls": 5, "resourcePolicies": 1}


def once_each(fault: Fault, met: set[str]) -> Judge:
    """Fail the first request of every action, which `met` then holds."""

    def judge(seen: Seen) -> Fault:
        if seen.action not in met:
            met.add(seen.action)
            return fault
        return None

    return judge


def always(action: str, fault: Fault) -> Judge:
    return lambda seen: fault if seen.action == action else None


def zones_tried(gcp: GcpBed) -> list[str]:
    launches = [seen.path for seen in gcp.proxy.seen if seen.action == gcp.launching]
    return [match[1] for match in (re.search(r"/zones/([^/]+)/", path) for path in launches) if match]


def went_up_and_down(gcp: GcpBed) -> None:
    ended = gcp.planner(*gcp.up)
    assert ended.code == 0, ended.text
    assert gcp.left() == ONE_OF_EACH | {"instances": 4, "disks": 4}, "something was made twice, or not at all"
    assert gcp.planner("cluster", "down", gcp.runs()[0]).code == 0
    assert gcp.left() == {}


def refused(gcp: GcpBed, *, code: int = 4, pace: Pace = QUICK) -> str:
    ended = gcp.planner(*gcp.up, pace=pace)
    assert ended.code == code, ended.text
    assert gcp.left() == {}
    return ended.text


def test_no_capacity_in_one_zone(gcp: GcpBed) -> None:
    gcp.world(capacity={"us-central1-a": 2}, operation_polls=1)
    went_up_and_down(gcp)
    assert zones_tried(gcp) == ["us-central1-a", "us-central1-b", "us-central1-b"]
    assert gcp.proxy.actions().count("POST networks") == 1, "the network serves in every zone"


def test_no_capacity_anywhere(gcp: GcpBed) -> None:
    gcp.world(capacity=dict.fromkeys(gcp.zones, 0))
    text = refused(gcp)
    assert zones_tried(gcp) == list(gcp.zones), "one attempt per zone"
    assert "ZONE_RESOURCE_POOL_EXHAUSTED" in text and all(zone in text for zone in gcp.zones)


@pytest.mark.soak
def test_half_a_launch_is_taken_back(gcp: GcpBed) -> None:
    """Three nodes fit into the first zone, the head does not."""
    gcp.world(capacity={"us-central1-a": 3})
    went_up_and_down(gcp)
    assert zones_tried(gcp) == ["us-central1-a", "us-central1-a", "us-central1-b", "us-central1-b"]


@pytest.mark.soak
def test_next_region_when_the_first_is_full(gcp: GcpBed) -> None:
    gcp.world(capacity=dict.fromkeys(gcp.zones, 0))
    ended = gcp.planner(*gcp.up, "--region", "us-east4")
    assert ended.code == 0, ended.text
    assert zones_tried(gcp)[-1].startswith("us-east4")
    assert gcp.left() == ONE_OF_EACH | {"instances": 4, "disks": 4}, "nothing stays in the first region"
    assert gcp.planner("cluster", "down", gcp.runs()[0]).code == 0
    assert gcp.left() == {}


@pytest.mark.parametrize(
    ("metric", "limit", "said"),
    [
        ("N2_CPUS", 15, "16 needed, 15 of 15 free"),
        pytest.param("LOCAL_SSD_TOTAL_GB", 2250, "3000 needed, 2250 of 2250 free", marks=pytest.mark.soak),
        pytest.param("SSD_TOTAL_GB", 100, "120 needed, 100 of 100 free", marks=pytest.mark.soak),
    ],
)
def test_quota_known_beforehand(gcp: GcpBed, metric: str, limit: float, said: str) -> None:
    gcp.world(quota={"us-central1": {metric: limit}})
    text = refused(gcp)
    assert f"quota {metric} for n2-standard-4 in us-central1: {said}" in text
    assert zones_tried(gcp) == [] and gcp.runs() == []


def test_quota_met_only_on_launch(gcp: GcpBed) -> None:
    gcp.world(fail_operations=[["instances.bulkInsert", "QUOTA_EXCEEDED"]])
    assert "QUOTA_EXCEEDED" in refused(gcp)
    assert len(zones_tried(gcp)) == 1, "a quota is of the region: no other zone helps"


@pytest.mark.soak
def test_permission_denied_on_the_way(gcp: GcpBed) -> None:
    gcp.proxy.judge = always(gcp.launching, gcp.refusal("forbidden", status=403))
    assert "FORBIDDEN" in refused(gcp)
    assert len(zones_tried(gcp)) == 1


@pytest.mark.parametrize(
    ("code", "status"), [("rateLimitExceeded", 403), pytest.param("backendError", 503, marks=pytest.mark.soak)]
)
def test_throttled_at_every_call(gcp: GcpBed, code: str, status: int) -> None:
    met: set[str] = set()
    gcp.proxy.judge = once_each(gcp.refusal(code, status=status), met)
    went_up_and_down(gcp)
    assert met >= WRITES


@pytest.mark.soak
def test_throttled_for_ever(gcp: GcpBed) -> None:
    gcp.proxy.judge = always("POST subnetworks", gcp.refusal("rateLimitExceeded", status=403))
    assert "gave up after" in refused(gcp, code=6, pace=HASTY)


@pytest.mark.parametrize("carried_out", [True, pytest.param(False, marks=pytest.mark.soak)])
def test_connection_lost_at_every_call(gcp: GcpBed, carried_out: bool) -> None:
    """The idempotency test: nothing is made twice, whether the lost request was carried out or not."""
    met: set[str] = set()
    gcp.proxy.judge = once_each(Lose(carried_out=carried_out), met)
    went_up_and_down(gcp)
    assert met >= WRITES


def test_operations_are_throttled_after_they_were_accepted(gcp: GcpBed) -> None:
    methods = ["networks.insert", "firewalls.insert", "instances.bulkInsert", "networks.delete"]
    gcp.world(fail_operations=[[method, "RATE_LIMIT_EXCEEDED"] for method in methods], operation_polls=1)
    went_up_and_down(gcp)
    assert gcp.proxy.actions().count(gcp.launching) == 3


@pytest.mark.soak
def test_an_operation_that_fails_for_good(gcp: GcpBed) -> None:
    """A launch that was accepted and fails later, for a reason that no waiting mends."""
    gcp.world(fail_operations=[["instances.bulkInsert", "PERMISSIONS_ERROR"]], operation_polls=2)
    assert "instances.bulkInsert in us-central1-a: it was not to be (PERMISSIONS_ERROR)" in refused(gcp)


def test_a_volume_that_will_not_attach_sends_the_cluster_elsewhere(gcp: GcpBed) -> None:
    gcp.world(fail_operations=[["instances.bulkInsert", "UNSUPPORTED_OPERATION"]], operation_polls=2)
    went_up_and_down(gcp)
    assert zones_tried(gcp)[0] == "us-central1-a" and zones_tried(gcp)[-1] == "us-central1-b"


def test_machines_that_end_at_boot_are_replaced(gcp: GcpBed) -> None:
    gcp.world(end_at_boot=2, starting_polls=1)
    ended = gcp.planner(*gcp.up)
    assert ended.code == 0, ended.text
    assert "the guest has failed" in ended.text
    assert len(zones_tried(gcp)) == 3
    assert gcp.left()["instances"] == 6, "the two that ended are stopped, and go with the rest"
    assert gcp.planner("cluster", "down", gcp.runs()[0]).code == 0
    assert gcp.left() == {}


@pytest.mark.soak
def test_machines_that_never_run_are_given_up(gcp: GcpBed) -> None:
    gcp.world(starting_polls=10_000)
    assert "0 of 4 machines run" in refused(gcp, pace=HASTY)


def test_policy_and_network_still_in_use(gcp: GcpBed) -> None:
    gcp.world(ending_polls=5)
    busy = Counter[str]()

    def judge(seen: Seen) -> Fault:
        busy[seen.action] += 1
        deleting = seen.action in ("DELETE resourcePolicies", "DELETE networks", "DELETE subnetworks")
        return gcp.refusal("resourceInUseByAnotherResource") if deleting and busy[seen.action] < 4 else None

    gcp.proxy.judge = judge
    went_up_and_down(gcp)


def test_not_found_right_after_create(gcp: GcpBed) -> None:
    """Eventual consistency: who names something new is told that it does not exist, then that it is not ready."""
    met = Counter[str]()

    def judge(seen: Seen) -> Fault:
        if seen.action in ("POST subnetworks", "POST firewalls", gcp.launching):
            met[seen.action] += 1
            faults = {1: gcp.refusal("notFound", status=404), 2: gcp.refusal("resourceNotReady")}
            return faults.get(met[seen.action])
        return None

    gcp.proxy.judge = judge
    went_up_and_down(gcp)
    assert len(met) == 3


def test_something_that_will_not_go_is_named(gcp: GcpBed) -> None:
    assert gcp.planner(*gcp.up).code == 0
    run = gcp.runs()[0]
    gcp.proxy.judge = always("DELETE subnetworks", gcp.refusal("resourceInUseByAnotherResource"))
    ended = gcp.planner("cluster", "down", run, pace=HASTY)
    assert ended.code == 7
    assert f"subnetwork planner-{run}-us-central1-nodes" in ended.text
    gcp.proxy.judge = lambda _: None
    assert gcp.planner("cluster", "down", run).code == 0
    assert gcp.left() == {}


@pytest.mark.soak
def test_interrupted_going_up(gcp: GcpBed) -> None:
    """SIGTERM arrives while machines start: all is taken down before the command ends with 130."""
    gcp.world(starting_polls=10_000)
    ended = gcp.planner(*gcp.up, signal_at="GET instances")
    assert ended.code == 130, ended.text
    assert gcp.left() == {}


def test_expired_runs_are_swept_and_others_are_not(gcp: GcpBed) -> None:
    assert gcp.planner(*gcp.up).code == 0
    sweep = ("cluster", "sweep", "--cloud", "gcp", "--yes", "--json")
    assert json.loads(gcp.planner(*sweep).text)["removed"] == {}
    assert gcp.left()["instances"] == 4


def test_two_runs_never_touch_each_other(gcp: GcpBed) -> None:
    assert gcp.planner(*gcp.up).code == 0
    first = Counter(gcp.left())
    assert gcp.planner(*gcp.up).code == 0
    one, other = gcp.runs()
    assert gcp.planner("cluster", "down", one).code == 0
    assert Counter(gcp.left()) == first
    assert gcp.planner("cluster", "down", other).code == 0
    assert gcp.left() == {}
