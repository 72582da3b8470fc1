"""Reasons why a type cannot do the job: the missing fact, or the number of nodes, by hand."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from approvals import Approve

from planner.planning.candidates.feasibility import fits_capacity, nodes_needed, with_all_facts

Make = Callable[..., Any]
NODE = {"read": 4e9, "write": 2e9}


def reasons(
    make_job: Make, node: dict[str, Any], *, networked: bool = True, powered: bool = False, **asked: Any
) -> str:
    """Return the reason against a type planned together with one that has every fact."""
    context, region, _ = make_job({"good": NODE | {"power_w": 100}, "bad": NODE | node}, **asked)
    fit, rejected = with_all_facts(context, region.offer, networked=networked, powered=powered)
    assert fit[context.layouts.type_row == 0].any()
    assert {rejection.instance_type for rejection in rejected} <= {"bad"}
    assert fit[context.layouts.type_row == 1].any() == (not rejected)
    return rejected[0].reason if rejected else ""


@pytest.mark.parametrize(
    ("node", "reason"),
    [
        ({}, ""),
        ({"local_disks": ""}, "number of local disks unknown"),
        ({"local_disks": 0, "local_disk_bytes": ""}, "no local disks"),
        ({"read": None}, "local disk rate unknown"),
        ({"local_disk_bytes": ""}, "local disk capacity unknown"),
        ({"memory_bytes": ""}, "memory unknown"),
        ({"network_baseline_bytes_per_s": ""}, "network rate unknown"),
        ({"vcpu": ""}, "number of vCPUs unknown"),
        ({"price": None}, "on-demand price unknown in here"),
    ],
    ids=str,
)
def test_the_fact_that_is_lacking_is_named(make_job: Make, node: dict[str, Any], reason: str) -> None:
    assert reasons(make_job, node) == reason


def test_facts_count_where_they_are_needed(make_job: Make) -> None:
    """A single node has no network; only energy needs the power; the papers' model ignores CPU, memory and charges."""
    assert reasons(make_job, {"network_baseline_bytes_per_s": ""}, networked=False) == ""
    assert reasons(make_job, {}, powered=True) == "power unknown"
    assert reasons(make_job, {"power_w": 50}, powered=True) == ""
    assert reasons(make_job, {"vcpu": ""}, paper=True) == ""
    assert reasons(make_job, {"memory_bytes": ""}, paper=True) == ""
    assert reasons(make_job, {"volume_bytes_per_s": ""}) == ""


VOLUME = {"volume_type": "v", "price_usd_per_gib_month": 0.1, "size_bytes_max": 1e13, "free_bytes_per_s": 5e8,
          "read_bytes_per_s_max": 5e8, "write_bytes_per_s_max": 5e8, "price_evidence": "spec",
          "limit_evidence": "spec"}  # fmt: skip


def test_who_keeps_all_data_on_volumes_need_not_know_of_local_disks(make_job: Make, approve: Approve) -> None:
    unknown, files = {"local_disks": ""}, {"volumes": [VOLUME]}
    assert reasons(make_job, unknown, model="framework-volumes", files=files) == ""
    approve(reasons(make_job, unknown, model="framework", files=files))


def test_volumes_need_a_rate(make_job: Make, approve: Approve) -> None:
    files = {"volumes": [VOLUME]}
    approve(reasons(make_job, {"volume_bytes_per_s": ""}, model="cloudsort", files=files))
    assert reasons(make_job, {}, model="cloudsort", files=files) == ""


STORE = {
    "object_store": "store", "price_usd_per_gib_month": 0.02, "write_usd_per_request": 5e-6,
    "read_usd_per_request": 4e-7, "egress_usd_per_gib": 0, "bytes_per_s_per_vcpu": 25e6, "rate_evidence": "measured",
}  # fmt: skip


@pytest.mark.parametrize(
    ("asked", "reason"),
    [
        ({"model": "object-store"}, "object store rate unknown"),
        ({"input": "s3://b/i"}, "object store rate unknown"),
        ({"output": "s3://b/o"}, "object store rate unknown"),
        ({"input": "gs://b/i"}, "number of vCPUs unknown"),  # another cloud's store is reached at the NIC's rate
    ],
    ids=str,
)
def test_the_store_needs_a_rate_where_it_is_used(make_job: Make, asked: dict[str, str], reason: str) -> None:
    """The store's rate depends on the number of virtual CPUs, which is unknown."""
    assert reasons(make_job, {"vcpu": ""}, files={"object_stores": [STORE]}, **asked) == reason


@pytest.mark.parametrize(
    ("asked", "fits", "detail"),
    [
        ({"nodes": 9}, True, ""),
        ({"nodes": 8}, False, "needs 9 nodes to hold the data"),
        ({"max_nodes": 10}, True, ""),
        ({"max_nodes": 9}, False, "needs 9 nodes and 1 spare to hold the data"),
        (
            {"model": "daytona", "nodes": 1, "data_bytes": 10**9},
            False,
            "keeps a copy on another node: it needs 2 nodes",
        ),
    ],
    ids=str,
)
def test_too_few_nodes_are_told_with_how_many_it_takes(
    make_job: Make, asked: dict[str, Any], fits: bool, detail: str
) -> None:
    """30 TB at 3.8 TB a node take 7.9 nodes, and room for one lost node's share."""
    context, _, request = make_job({"a": NODE | {"memory_bytes": 10**10}}, **asked)
    large, rejected = fits_capacity(context, request)
    assert large.any() == fits
    assert [rejection.detail.endswith(detail) for rejection in rejected] == ([] if fits else [True])
    if not fits:
        allowed = request.nodes or request.max_nodes
        option = f"--nodes {allowed}" if request.nodes else f"--max-nodes {allowed}"
        assert rejected[0].reason.endswith(f"within {option}")
        least = 2 if request.model == "daytona" else 9 if request.nodes else 10  # with a spare
        assert rejected[0].nearness == pytest.approx(least / allowed)
        assert nodes_needed(rejected[0], request) == least
        assert nodes_needed(replace(rejected[0], reason="too slow"), request) is None


def test_only_layouts_that_hold_the_data_stay(make_job: Make) -> None:
    """Nine nodes hold the data on disks; intermediate data in memory would take 1,887 nodes of 10 GB."""
    context, _, request = make_job({"a": NODE | {"memory_bytes": 10**10}}, nodes=9)
    large, rejected = fits_capacity(context, request)
    assert large.tolist() == [True, False]
    assert rejected == []
    assert np.flatnonzero(large).tolist() == [0]


def test_disks_that_only_kept_up_with_volumes_cannot_hold_all_data(make_job: Make, approve: Approve) -> None:
    """A disk with only a lower bound has an unknown rate when used alone."""
    rows = [
        {"instance_type": name, "mode": f"{way}_only", "bytes_per_s": 1e8, "aggregate": aggregate, "method": "seen"}
        for name, aggregate in (("good", "mean"), ("bad", "at_least"))
        for way in ("read", "write")
    ]
    files = {"disks": rows, "volumes": [VOLUME]}
    approve(reasons(make_job, {}, model="indy", files=files))
    assert reasons(make_job, {}, model="cloudsort", files=files) == ""
