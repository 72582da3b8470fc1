"""Cells that contradict other rows of a small catalog, and reviews that accept them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.catalog import load_catalog
from planner.catalog.plausibility import implausible_rows, shapes
from planner.catalog.plausibility.rows import _in_order

HEAD = """title = "A cloud"
cloud = "test"
currency = "USD"
default_region = "here"
prices_as_of = 2026-01-01
hours_per_month = 720
[sources.lab]
title = "The laboratory"
[sources.page]
title = "The page"
[sources.other]
title = "Another page"
"""
SHAPES = (
    "instance_type,family,vcpu,cores,memory_bytes,local_disks,local_disk_bytes,network_baseline_bytes_per_s,"
    "network_peak_bytes_per_s,placement_group,current_generation,evidence,source,as_of"
)
SPECS = "instance_type,baseline_bytes_per_s,evidence,source,as_of"
REVIEWS = "instance_type,file,column,region,pricing,verdict,stated,factor,reason,evidence,source,as_of"
SEEN = "spec,{},2026-01-01"


def line(xlarges: int, **cells: object) -> str:
    """Return a row of instances.csv for family k1, whose sizes are proportional in everything."""
    usual: dict[str, object] = {
        "instance_type": f"k1.{xlarges}xlarge",
        "family": "k1",
        "vcpu": 4 * xlarges,
        "cores": 2 * xlarges,
        "memory_bytes": 16 * 2**30 * xlarges,
        "local_disks": 0,
        "local_disk_bytes": "",
        "network": 10**9 * xlarges,
        "peak": "",
        "placement_group": "yes",
        "current": "yes",
        "seen": SEEN.format("lab"),
    }
    return ",".join(str(value) for value in {**usual, **cells}.values())


@pytest.fixture
def cloud(tmp_path: Path) -> Path:
    (tmp_path / "catalog.toml").write_text(HEAD)
    (tmp_path / "prices.csv").write_text("instance_type,region,pricing,price_usd_per_hour,evidence,source,as_of\n")
    put(tmp_path, "instances", SHAPES, *(line(size) for size in (1, 2, 4, 8)))
    return tmp_path


def put(cloud: Path, file: str, *lines: str) -> None:
    (cloud / f"{file}.csv").write_text("\n".join(lines) + "\n")


def doubted(cloud: Path) -> list[tuple[str, str]]:
    return [(found.instance_type, found.column) for found in implausible_rows(load_catalog(cloud))]


def test_a_family_in_proportion_is_plausible(cloud: Path) -> None:
    assert doubted(cloud) == []


@pytest.mark.parametrize(
    ("cells", "column"),
    [
        ({"vcpu": 32}, "vcpu"),
        ({"memory_bytes": 64 * 2**30 * 1e-6}, "memory_bytes"),
        ({"memory_bytes": 64e9}, "memory_bytes"),
        ({"memory_bytes": 128 * 2**30}, "memory_bytes"),
        ({"network": 4 * 10**8}, "network_baseline_bytes_per_s"),
        ({"network": 32 * 10**9}, "network_baseline_bytes_per_s"),
        ({"peak": 10**9}, "network_baseline_bytes_per_s"),
    ],
)
def test_one_wrong_cell_is_doubted_and_no_other(cloud: Path, cells: dict[str, object], column: str) -> None:
    put(cloud, "instances", SHAPES, *(line(size, **(cells if size == 4 else {})) for size in (1, 2, 4, 8)))
    assert doubted(cloud) == [("k1.4xlarge", column)]


def test_sources_settle_whether_a_total_of_two_cards_is_stated(cloud: Path) -> None:
    stated = [f"k1.8xlarge,{rate},{SEEN.format(source)}" for source, rate in (("page", 4e9), ("other", 4e9))]
    put(cloud, "network_specs", SPECS, stated[0])
    assert [column for _, column in doubted(cloud)] == ["network_baseline_bytes_per_s", "baseline_bytes_per_s"]
    assert np.isnan(load_catalog(cloud).instances.network_baseline_bytes_per_s[3]), "neither counts"
    put(cloud, "network_specs", SPECS, *stated)
    (found,) = implausible_rows(load_catalog(cloud))
    assert (found.file, found.line, found.factor) == ("instances", 5, 2)
    assert "several network cards" in found.reason


def test_the_vendors_list_decides_which_families_are_previous(cloud: Path) -> None:
    put(cloud, "previous_generations", "family,evidence,source,as_of", f"k0,{SEEN.format('page')}")
    assert doubted(cloud) == []
    put(cloud, "previous_generations", "family,evidence,source,as_of", f"k1,{SEEN.format('page')}")
    assert {column for _, column in doubted(cloud)} == {"current_generation"}
    assert len(doubted(cloud)) == 4


@pytest.mark.parametrize(
    ("verdict", "factor", "rate", "accepted"),
    [
        ("accepted", "0.2", 4e8, True),
        ("outvoted", "0.2", 4e8, True),
        ("accepted", "", 4e8, True),
        ("withheld", "0.2", 4e8, False),
        ("accepted", "0.2", 4e7, False),
    ],
)
def test_a_review_accepts_a_cell_as_far_off_as_it_was(
    cloud: Path, verdict: str, factor: str, rate: float, accepted: bool
) -> None:
    put(cloud, "instances", SHAPES, *(line(size, **({"network": rate} if size == 4 else {})) for size in (1, 2, 4, 8)))
    review = f"k1.4xlarge,instances,network_baseline_bytes_per_s,,,{verdict},,{factor},so it is,{SEEN.format('page')}"
    put(cloud, "reviews", REVIEWS, review)
    assert (doubted(cloud) == []) == accepted


def test_names_give_series_and_size() -> None:
    types = shapes(load_catalog("azure")).set_index("instance_type")
    assert types.series["Standard_E16-8ds_v5"] == types.series["Standard_E96ds_v5"]
    assert types.machine_vcpu["Standard_E16-8ds_v5"] == 16
    assert types.named_size["Standard_E16-8ds_v5"] == 16
    assert shapes(load_catalog("gcp")).set_index("instance_type").named_size["c4-standard-288-lssd-metal"] == 288
    assert not shapes(load_catalog("gcp")).instance_type.str.contains("+", regex=False).any()


@given(steps=st.lists(st.floats(0.95, 1.9), min_size=1, max_size=8), which=st.integers(0, 7))
def test_rates_that_rise_with_size_are_in_order_and_a_fall_is_found(steps: list[float], which: int) -> None:
    import numpy as np

    rates = np.cumprod([1.0, *np.maximum(steps, 1)])
    sizes = 2.0 ** np.arange(len(rates))
    assert list(_in_order(rates, sizes=sizes, slack=0.05)) == list(range(len(rates)))
    if len(rates) > 2 and 0 < which < len(rates):
        fallen = rates.copy()
        fallen[which] = 0.5 * rates[0]
        kept = set(_in_order(fallen, sizes=sizes, slack=0.05).tolist())
        assert kept == set(range(len(rates))) - {which}
