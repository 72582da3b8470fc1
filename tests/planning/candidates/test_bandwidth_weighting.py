"""The planner's choice of a bandwidth weighting: more network or more volumes, whichever the phases wait for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from typing import Any

import pytest

from planner.api.recommend import recommend
from planner.clouds.aws.instances import weighting_request
from planner.clouds.order import ClusterOffer
from planner.report.clusters import cluster_name
from planner.schemas.plan import Candidate, Plan

Make = Callable[..., str]
NODE = {"read": 1e10, "write": 1e10, "price": 1, "network_baseline_bytes_per_s": 1e9, "volume_bytes_per_s": 1e9}
VOLUME = {"volume_type": "v", "price_usd_per_gib_month": 0.1, "size_bytes_max": 1e13, "free_bytes_per_s": 1e10,
          "read_bytes_per_s_max": 1e10, "write_bytes_per_s_max": 1e10, "price_evidence": "spec",
          "limit_evidence": "spec"}  # fmt: skip
WEIGHTINGS = [
    {"instance_type": "a", "weighting": name, "network_baseline_bytes_per_s": network, "volume_bytes_per_s": volumes}
    for name, network, volumes in (("vpc-1", 1.25e9, 7.5e8), ("ebs-1", 7.5e8, 1.25e9))
]


def plan_of(make_catalog: Make, *, files: dict[str, Any] | None = None, **asked: Any) -> Plan:
    path = make_catalog({"a": NODE}, **{"bandwidth_weightings": WEIGHTINGS, "volumes": [VOLUME], **(files or {})})
    answer = recommend(**{"data": "1TB", "nodes": 10, "engine": "ideal", "catalogs": [path], **asked})
    return answer.plan


def best_of(make_catalog: Make, **asked: Any) -> Candidate:
    best = plan_of(make_catalog, **asked).best
    assert best is not None
    return best


def test_a_job_that_waits_for_its_network_has_more_of_it(make_catalog: Make) -> None:
    best = best_of(make_catalog, model="indy")
    assert (best.instance_type, best.cloud_type, best.bandwidth_weighting) == ("a", "a", "vpc-1")
    assert best.phases[0].equation_s == pytest.approx(0.9 * 1e11 / 1.25e9)  # nine tenths are sent, on ten nodes
    assert cluster_name(best) == "10 x a (vpc-1)"
    assert any("bandwidth weighting vpc-1" in warning for warning in best.warnings)


def test_a_job_that_waits_for_its_volumes_has_more_of_them(make_catalog: Make) -> None:
    """Volumes deliver a node's 1e11 bytes in 80 s; its 9e10 through a 750 MB/s link would take longer: 120 s."""
    assert best_of(make_catalog, model="cloudsort", assume={"network": 1e10}).bandwidth_weighting == "ebs-1"


def test_the_default_stays_where_no_phase_gains(make_catalog: Make) -> None:
    best = best_of(make_catalog, model="indy", nodes=1)
    assert best.bandwidth_weighting == ""
    assert cluster_name(best) == "1 x a"


def test_the_papers_and_measured_networks_know_no_weighting(make_catalog: Make) -> None:
    point = {"instance_type": "a", "nodes": 10, "placement_group": "yes", "bytes_per_s": 9e8, "aggregate": "mean",
             "method": "seen"}  # fmt: skip
    assert best_of(make_catalog, model="indy", paper=True).bandwidth_weighting == ""
    assert best_of(make_catalog, model="indy", files={"networks": [point]}).bandwidth_weighting == ""


def test_each_type_is_listed_once_and_none_is_left_out_for_a_weighting(make_catalog: Make) -> None:
    plan = plan_of(make_catalog, model="indy")
    assert [candidate.instance_type for candidate in plan.candidates] == ["a"]
    assert not plan.rejected
    refused = plan_of(make_catalog, model="indy", instances=["a"], min_memory_bytes=10**15)
    assert [rejection.instance_type for rejection in refused.rejected] == ["a"]


def test_the_choice_reaches_the_plan_file_the_order_and_the_request(make_catalog: Make) -> None:
    plan = plan_of(make_catalog, model="indy")
    best = Plan.from_json(plan.to_json()).best
    assert best == plan.best
    assert best is not None
    offer = ClusterOffer.of(best, regions=(), late_s=1.0)
    assert ClusterOffer.from_dict(asdict(offer)).bandwidth_weighting == "vpc-1"
    assert weighting_request(offer.bandwidth_weighting) == {
        "NetworkPerformanceOptions": {"BandwidthWeighting": "vpc-1"}
    }
    assert weighting_request("") == {}
