"""Faults specific to Compute Engine; test_faults has those common to all clouds."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest
from cluster_outcomes import refused, went_down, went_up
from emulated_cloud import QUICK
from emulated_gcp import EmulatedGcp
from fault_proxy import Fault, ProxiedRequest

from planner.clouds.cloud_errors import NotFoundError
from planner.clouds.gcp.client import LiveCompute
from planner.errors import IoFailureError


def test_the_network_serves_in_every_zone(gcp: EmulatedGcp) -> None:
    gcp.world(capacity={"us-central1-a": 2}, operation_polls=1)
    went_up(gcp)
    assert gcp.proxy.actions().count("POST networks") == 1
    went_down(gcp)


@pytest.mark.parametrize(
    ("metric", "limit", "message"),
    [
        ("LOCAL_SSD_TOTAL_GB", 2250, "3000 needed, 2250 of 2250 free"),
        ("SSD_TOTAL_GB", 100, "120 needed, 100 of 100 free"),
    ],
)
def test_quotas_of_disks(gcp: EmulatedGcp, metric: str, limit: float, message: str) -> None:
    gcp.world(quota={"us-central1": {metric: limit}})
    assert f"quota {metric} for n2-standard-4 in us-central1: {message}" in refused(gcp)
    assert gcp.launches() == [] and gcp.runs() == []


def test_operations_are_throttled_after_they_were_accepted(gcp: EmulatedGcp) -> None:
    methods = ["networks.insert", "firewalls.insert", "instances.bulkInsert", "networks.delete"]
    gcp.world(fail_operations=[[method, "RATE_LIMIT_EXCEEDED"] for method in methods], operation_polls=1)
    went_up(gcp)
    went_down(gcp)
    assert len(gcp.launches()) == 3


def test_policy_and_network_still_in_use(gcp: EmulatedGcp) -> None:
    gcp.world(ending_polls=5)
    busy = Counter[str]()

    def judge(seen: ProxiedRequest) -> Fault:
        busy[seen.action] += 1
        deleting = seen.action in ("DELETE resourcePolicies", "DELETE networks", "DELETE subnetworks")
        return gcp.refusal("resourceInUseByAnotherResource") if deleting and busy[seen.action] < 4 else None

    gcp.proxy.judge = judge
    went_up(gcp)
    went_down(gcp)


def test_not_ready_right_after_create(gcp: EmulatedGcp) -> None:
    """A request that names something new gets the answer that it does not exist, then that it is not ready."""
    met = Counter[str]()
    faults = {1: gcp.refusal("notFound", status=404), 2: gcp.refusal("resourceNotReady")}

    def judge(seen: ProxiedRequest) -> Fault:
        met[seen.action] += seen.action in gcp.building
        return faults.get(met[seen.action])

    gcp.proxy.judge = judge
    went_up(gcp)
    went_down(gcp)
    assert all(met[action] > 2 for action in gcp.building)


def test_what_no_run_makes_and_google_does_not_find_is_asked_for_once(gcp: EmulatedGcp) -> None:
    """It never appears, unlike what a run has just made."""
    compute, calls = LiveCompute(policy=replace(QUICK, give_up_s=2.0)), Counter[str]()
    body = {"name": "planner-r1-sub", "network": "projects/p/global/networks/theirs", "ipCidrRange": "10.0.0.0/16"}

    def judge(seen: ProxiedRequest) -> Fault:
        calls[seen.action] += 1
        return None

    gcp.proxy.judge = judge
    with pytest.raises(NotFoundError, match="networks/theirs"):
        compute.create("subnetworks.insert", body=body, run="r1", region="us-central1")
    assert calls["POST subnetworks"] == 1
    with pytest.raises(IoFailureError, match="gave up"):
        own = {**body, "network": "projects/p/global/networks/planner-r1-us-central1-net"}
        compute.create("subnetworks.insert", body=own, run="r1", region="us-central1")
    assert calls["POST subnetworks"] > 2


def test_the_quota_of_all_regions_together_is_known_beforehand(gcp: EmulatedGcp) -> None:
    gcp.world(quota={"everywhere": {"CPUS_ALL_REGIONS": 15}})
    assert "quota CPUS_ALL_REGIONS for n2-standard-4: 16 needed, 15 of 15 free" in refused(gcp)
    assert gcp.launches() == []


def test_what_an_organisation_denies_and_a_full_project_are_known_beforehand(gcp: EmulatedGcp) -> None:
    gcp.world(
        policies={
            "compute.requireOsLogin": {"booleanPolicy": {"enforced": True}},
            "compute.vmExternalIpAccess": {"listPolicy": {"allValues": "DENY"}},
        },
        quota={"everywhere": {"NETWORKS": 0}},
    )
    text = refused(gcp)
    assert "policy compute.requireOsLogin: the organisation denies it" in text
    assert "policy compute.vmExternalIpAccess" in text and "--no-public-address" in text
    assert "quota NETWORKS: 1 needed, 0 of 0 free" in text
