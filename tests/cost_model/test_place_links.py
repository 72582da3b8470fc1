"""Data of another region or cloud comes at what one machine was measured to reach from there."""

from __future__ import annotations

from typing import Any

import pytest

from planner import recommend
from planner.catalog import load_catalog
from planner.catalog.place_links import area_of, link_between
from planner.schemas.plan import Candidate

ON_AWS: dict[str, Any] = {"cloud": "aws", "region": "us-east-1", "instance": "i4i.32xlarge", "nodes": 8}


def staged_s(**asked: Any) -> float:
    best = recommend("8TB", **(ON_AWS | asked)).best
    assert best is not None
    return best.overheads_s["stage in"]


def test_from_another_cloud_a_node_takes_what_was_measured_and_not_its_whole_link() -> None:
    """1 TB for each node at the median of the pairs between North America's regions; its link has 9.4 GB/s."""
    link = link_between(("gcp", "north-america"), ("aws", "north-america"))
    assert link is not None and link.bytes_per_s == 762.5e6
    assert staged_s(input="gs://a/b", input_region="us-central1") == pytest.approx(1e12 / link.bytes_per_s, rel=1e-6)


def test_another_region_is_slower_than_the_same_and_a_far_one_slowest() -> None:
    same, near, far = (
        staged_s(input="s3://a/b", input_region=of) for of in ("us-east-1", "us-west-2", "ap-southeast-2")
    )
    assert same < near < far


def test_the_range_of_the_link_is_said() -> None:
    best: Candidate | None = recommend("8TB", input="gs://a/b", **ON_AWS).best
    assert best is not None
    (note,) = (text for text in best.warnings if text.startswith("stage in: one machine reached"))
    assert "between such places in 2022" in note and "nine times in ten" in note


def test_the_bill_of_95_in_100_runs_holds_a_slow_link() -> None:
    """With links at the 5% of the measured pairs, all machines are paid for the longer loading."""
    link = link_between(("gcp", "asia-pacific"), ("aws", "north-america"))
    assert link is not None
    far, near = (
        recommend("8TB", **(ON_AWS | {"input": store, "input_region": region})).best
        for store, region in (("gs://a/b", "asia-east1"), ("s3://a/b", "us-east-1"))
    )
    assert far is not None and near is not None
    assert far.time_s == near.time_s, "the link is outside the sort"
    later_h = 1e12 * (1 / link.low_bytes_per_s - 1 / link.bytes_per_s) / 3600
    beyond = [of.cost_usd.total_p95 - of.cost_usd.total for of in (near, far)]
    assert beyond[1] - beyond[0] == pytest.approx(far.usd_per_hour * later_h, rel=0.05)
    assert far.late_staging_s == pytest.approx(later_h * 3600, rel=1e-6) and near.late_staging_s == 0
    assert far.late_run_s == far.time_s.p95 + sum(far.overheads_s.values()) + far.late_staging_s
    (note,) = (line.note for line in far.bill if line.name == "stage in")
    assert "in 95 of 100 runs within" in note and "95 of 100" not in str([line.note for line in near.bill])


@pytest.mark.parametrize("cloud", ["aws", "gcp", "azure"])
def test_every_region_that_has_prices_lies_in_an_area(cloud: str) -> None:
    regions = {region for region in load_catalog(cloud).regions() if "gov" not in region}
    assert {region for region in regions if not area_of(region)} <= {"global"}


@pytest.mark.parametrize(
    ("region", "area"),
    [
        ("us-east-1", "north-america"), ("brazilsouth", "south-america"), ("southindia", "asia-pacific"),
        ("centralus", "north-america"), ("southcentralus", "north-america"), ("uksouth", "europe"),
        ("southafricanorth", "africa"), ("me-central1", "middle-east"), ("northeurope", "europe"), ("x", ""),
    ],
)  # fmt: skip
def test_areas_follow_from_the_names_of_regions(region: str, area: str) -> None:
    assert area_of(region) == area
