"""Faults specific to Compute Engine; test_faults has those common to all clouds."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

import pytest
from cluster_outcomes import refused, went_down, went_up
from emulated_cloud import QUICK
from emulated_gcp import EmulatedGcp, choice, order
from fault_proxy import Fault, ProxiedRequest

from planner.clouds.cloud_errors import NotFoundError
from planner.clouds.gcp.client import LiveCompute
from planner.clouds.gcp.permissions import policy_findings
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


SOME = "projects/some-project"
COMPUTE = ["compute.googleapis.com"]
DENIED: list[tuple[str, dict[str, Any]]] = [
    ("compute.disableInstanceDataAccessApis", {"booleanPolicy": {"enforced": True}}),
    ("compute.restrictNonConfidentialComputing", {"listPolicy": {"deniedValues": ["is:compute.googleapis.com"]}}),
    ("gcp.restrictNonCmekServices", {"listPolicy": {"deniedValues": COMPUTE}}),
    ("gcp.restrictServiceUsage", {"listPolicy": {"allowedValues": ["storage.googleapis.com"]}}),
    ("compute.vmExternalIpAccess", {"listPolicy": {"allowedValues": [f"{SOME}/zones/z/instances/door"]}}),
    ("compute.requireVpcFlowLogs", {"listPolicy": {"allowedValues": ["COMPREHENSIVE"]}}),
    ("compute.trustedImageProjects", {"listPolicy": {"allowedValues": ["projects/debian-cloud"]}}),
    ("compute.trustedImageProjects", {"listPolicy": {"deniedValues": ["projects/ubuntu-os-cloud"]}}),
    ("compute.storageResourceUseRestrictions", {"listPolicy": {"allowedValues": [SOME]}}),
    ("gcp.resourceLocations", {"listPolicy": {"allowedValues": ["europe-west1", "is:europe-west4"]}}),
]
UNKNOWN: list[tuple[str, dict[str, Any]]] = [
    ("compute.storageResourceUseRestrictions", {"listPolicy": {"allowedValues": ["under:organizations/1"]}}),
    ("gcp.resourceLocations", {"listPolicy": {"allowedValues": ["in:us-locations"]}}),
    ("gcp.resourceLocations", {"listPolicy": {"allowedValues": ["us-central1-a", "europe-west1"]}}),
]
HARMLESS: list[tuple[str, dict[str, Any]]] = [
    ("compute.requireOsLogin", {"booleanPolicy": {}}),
    ("compute.vmExternalIpAccess", {"listPolicy": {"allValues": "ALLOW"}}),
    ("compute.trustedImageProjects", {"listPolicy": {"allowedValues": ["is:projects/ubuntu-os-cloud"]}}),
    ("gcp.restrictServiceUsage", {"listPolicy": {"allowedValues": COMPUTE}}),
    ("gcp.restrictNonCmekServices", {"listPolicy": {"deniedValues": ["bigquery.googleapis.com"]}}),
    ("gcp.resourceLocations", {"listPolicy": {"allowedValues": ["in:us-central1-locations"]}}),
]


@pytest.fixture
def compute(gcp: EmulatedGcp, monkeypatch: pytest.MonkeyPatch) -> LiveCompute:
    for name, value in gcp.environment().items():
        monkeypatch.setenv(name, value)
    return LiveCompute(policy=QUICK)


@pytest.mark.parametrize(("ok", "name", "policy"), [
    *((False, *case) for case in DENIED), *((None, *case) for case in UNKNOWN), *((True, *case) for case in HARMLESS),
])  # fmt: skip
def test_policies_that_a_launch_violates(
    ok: bool | None, name: str, policy: dict[str, Any], gcp: EmulatedGcp, compute: LiveCompute
) -> None:
    """What is not denied for sure is not known: no policy is said to be kept."""
    gcp.world(policies={name: policy})
    found = list(policy_findings(compute, order("policies")))
    assert [finding.ok for finding in found] == ([False, None] if ok is False else [None])
    assert any(name in finding.subject + finding.text for finding in found) == (ok is not True)


def test_a_launch_goes_where_a_region_is_open(gcp: EmulatedGcp, compute: LiveCompute) -> None:
    gcp.world(policies={"gcp.resourceLocations": {"listPolicy": {"deniedValues": [gcp.region]}}})
    both = replace(choice(), regions=(gcp.region, gcp.other_region))
    assert [finding.ok for finding in policy_findings(compute, order("policies", both))] == [None, None]


def test_a_private_launch_from_its_own_image_violates_less(gcp: EmulatedGcp, compute: LiveCompute) -> None:
    """It makes no network, and takes no address and no image of others."""
    names = {"compute.vmExternalIpAccess", "compute.requireVpcFlowLogs", "compute.trustedImageProjects"}
    gcp.world(policies={name: {"listPolicy": {"allowedValues": ["none"]}} for name in names})
    private = replace(order("policies"), subnet="ours", is_private=True, image=f"{SOME}/global/images/one")
    assert [finding.ok for finding in policy_findings(compute, private)] == [None]
