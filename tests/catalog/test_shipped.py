"""The shipped catalogs are sound, state all sources, and contain the papers' figures."""

from __future__ import annotations

import tomllib
from datetime import date

import numpy as np
import pytest

from planner.catalog import EVIDENCE, catalog_names, check_catalog, facts_on, load_catalog
from planner.config.paths import catalogs_directory

CURRENT = ("aws", "azure", "gcp", "oci")


def test_the_clouds_of_today_and_the_vintages_of_the_papers_are_shipped() -> None:
    vintages = {"aws-2014", "gcp-2014", "aws-2019", "azure-2019", "gcp-2019", "oci-2019", "tritonsort-2011"}
    assert set(catalog_names()) == {*CURRENT, *vintages}


@pytest.mark.parametrize("name", catalog_names())
def test_a_shipped_catalog_has_no_error(name: str) -> None:
    assert not [f.text for f in check_catalog(name, today=date(2026, 11, 21)) if f.severity == "error"]


@pytest.mark.parametrize("name", catalog_names())
def test_every_source_is_used_and_every_row_is_dated_before_the_catalog_was_made(name: str) -> None:
    catalog = load_catalog(name)
    used = {source for table in catalog.tables.values() for source in table["source"].tolist()}
    head = catalog.manifest
    used |= {part.source for part in (head.billing, head.boot, head.placement, head.launched) if part is not None}
    assert used == set(catalog.sources)
    for table in catalog.tables.values():
        assert set(table["evidence"].tolist()) <= set(EVIDENCE)
        assert (table["as_of"] <= np.datetime64("2026-11-21")).all()


@pytest.mark.parametrize("name", catalog_names())
def test_every_fact_of_every_type_can_be_shown(name: str) -> None:
    catalog = load_catalog(name)
    for instance_type in catalog.instances.instance_type.tolist()[:: max(1, len(catalog.instances) // 20)]:
        facts = facts_on(catalog, instance_type)
        assert facts
        assert all(fact.source in catalog.sources for fact in facts)


@pytest.mark.parametrize("name", catalog_names())
def test_the_head_is_plain_toml_with_a_title_for_every_source(name: str) -> None:
    head = tomllib.loads((catalogs_directory() / name / "catalog.toml").read_text())
    assert all(source["title"] for source in head["sources"].values())


# SoCC 2015, Table 2: dollars to sort 100 TB on local storage alone, and the hourly price.
TABLE_2 = {
    "c3.large": (28, 0.105),
    "m3.large": (65, 0.14),
    "m3.medium": (66, 0.07),
    "m1.xlarge": (155, 0.35),
    "i2.4xlarge": (211, 3.41),
    "i2.8xlarge": (218, 6.82),
    "hs1.8xlarge": (248, 4.60),
    "cr1.8xlarge": (2966, 3.50),
}


@pytest.mark.parametrize("instance_type", TABLE_2)
def test_the_rates_and_prices_of_2014_give_the_printed_costs_of_table_2(instance_type: str) -> None:
    """Equation 7 without a network: 2 D / B seconds on one node's storage, at its price."""
    catalog = load_catalog("aws-2014")
    row = catalog.instances.index(instance_type)
    cost_usd, price_usd_per_hour = TABLE_2[instance_type]
    assert catalog.prices().price_usd_per_hour[row] == price_usd_per_hour
    rate = catalog.disk_rates("simultaneous").bytes_per_s[row]
    assert 2 * 100e12 / rate * price_usd_per_hour / 3600 == pytest.approx(cost_usd, abs=0.5)


def test_the_shapes_of_2014_give_the_printed_numbers_of_nodes() -> None:
    """Sections 4.2.1 and 4.2.3: 300 TB on c3.large, i2.8xlarge and hs1.8xlarge; Table 1's memory."""
    types = load_catalog("aws-2014").instances
    assert len(types) == 37
    for instance_type, nodes in {"c3.large": 9375, "i2.8xlarge": 47, "hs1.8xlarge": 7}.items():
        row = types.index(instance_type)
        assert np.ceil(300e12 / (types.local_disks[row] * types.local_disk_bytes[row])) == nodes
    assert types.memory_bytes[types.index("i2.8xlarge")] == 244 * 2**30


def test_the_network_of_i2_8xlarge_in_2014_at_both_sizes_measured() -> None:
    """Sections 4.3.3 (63% of storage with two nodes) and 5.1 (879 MB/s, 81% of that, slowest of 178)."""
    two, many = load_catalog("aws-2014").network_points["i2.8xlarge"]
    assert (two.nodes, two.placement_group, two.aggregate) == (2, True, "mean")
    assert (many.nodes, many.bytes_per_s, many.aggregate, many.evidence) == (178, 879e6, "slowest_of_n", "measured")
    assert many.bytes_per_s / two.bytes_per_s == pytest.approx(0.81, abs=0.005)
    assert two.bytes_per_s / 1738e6 == pytest.approx(0.63, abs=0.005)


def test_volumes_of_2014_cost_what_table_5_follows_from() -> None:
    """Section 5.3: 330 r3.4xlarge with 8 x 135 GiB for 2981 s cost $450.84; three runs were averaged."""
    catalog = load_catalog("aws-2014")
    row = catalog.instances.index("r3.4xlarge")
    volumes = 8 * 135 * catalog.volume_types["gp2"].price_usd_per_gib_month / catalog.hours_per_month
    fee = catalog.surcharges_usd_per_hour("volume_optimized")[row]
    hourly = catalog.prices().price_usd_per_hour[row] + fee + volumes
    assert 330 * hourly * 2981 / 3600 == pytest.approx(450.84, abs=0.1)
    for mode, rate in (("read_only", 243e6), ("write_only", 226e6)):
        rates = catalog.volume_rates("gp2", mode)
        assert rates.bytes_per_s[row] == rate
        assert rates.evidence[row] == "extrapolated"


def test_the_tail_of_c3_4xlarge_belongs_to_it_alone() -> None:
    """Section 5.3, Figure 12."""
    stragglers = load_catalog("aws-2014").stragglers
    assert list(stragglers) == ["c3.4xlarge"]
    assert (stragglers["c3.4xlarge"][0].slow_fraction, stragglers["c3.4xlarge"][0].slow_factor) == (0.05, 3)


def test_the_2019_vintage_holds_the_prices_of_lee_and_fox_table_v() -> None:
    expected = {
        ("aws-2019", "r5.24xlarge"): 6.048,
        ("azure-2019", "Standard_E64s_v3"): 3.629,
        ("gcp-2019", "n1-highmem-96"): 5.6832,
        ("oci-2019", "BM.Standard2.52"): 3.3176,
    }
    for (name, instance_type), price in expected.items():
        catalog = load_catalog(name)
        assert catalog.prices().price_usd_per_hour[catalog.instances.index(instance_type)] == price


def test_the_fio_results_of_lee_and_fox_table_iii_are_iops_times_256_kib() -> None:
    expected = {("aws-2019", "i3.metal"): 60.1e3, ("oci-2019", "BM.DenseIO2.52"): 75.4e3}
    for (name, instance_type), iops in expected.items():
        catalog = load_catalog(name)
        rate = catalog.disk_rates("read_only").bytes_per_s[catalog.instances.index(instance_type)]
        assert rate == pytest.approx(iops * 2**18, rel=1e-3)


def test_operations_and_arithmetic_of_lee_and_fox_are_kept() -> None:
    """Table III: 2048.9 thousand random 4 KiB reads on i3.metal; Figure 3: 917.78 GFLOPS on r5.24xlarge."""
    catalog = load_catalog("aws-2019")
    row = catalog.instances.index
    assert catalog.disk_rates("read_only").operations_per_s[row("i3.metal")] == 2048.9e3
    assert catalog.flop_per_s[row("r5.24xlarge")] == 917.78e9


def test_the_prices_of_socc_2015_table_6_are_kept() -> None:
    catalog = load_catalog("gcp-2014")
    assert catalog.prices().price_usd_per_hour.tolist() == [0.05, 0.40, 1.216, 1.60, 2.016]


def test_ec2_of_today_holds_the_instance_of_the_cloudsort_record() -> None:
    """Exoshuffle-CloudSort (2022): 40 i4i.4xlarge at $1.373 an hour, 465 MB/s per node from store to store."""
    catalog = load_catalog("aws")
    row = catalog.instances.index("i4i.4xlarge")
    assert catalog.prices().price_usd_per_hour[row] == 1.373
    assert catalog.instances.local_disks[row] * catalog.instances.local_disk_bytes[row] == 3.75e12
    assert catalog.object_store_rates("s3-standard", "whole_job").bytes_per_s[row] in (465e6, 497.5e6)


def test_token_buckets_are_the_same_whichever_card_is_met() -> None:
    for buckets in load_catalog("aws").token_buckets.values():
        sizes = [bucket.bucket_bytes for bucket in buckets]
        assert max(sizes) / min(sizes) < 1.02
        assert all(bucket.burst_bytes_per_s > bucket.baseline_bytes_per_s for bucket in buckets)


@pytest.mark.parametrize("name", CURRENT)
def test_todays_rates_and_limits_keep_their_order(name: str) -> None:
    types = load_catalog(name).instances
    for low, high in (
        (types.network_baseline_bytes_per_s, types.network_peak_bytes_per_s),
        (types.volume_bytes_per_s, types.volume_peak_bytes_per_s),
    ):
        assert not (low > high).any()


def test_rates_promised_for_enough_processors_hold_for_those_only() -> None:
    catalog = load_catalog("gcp")
    rates, row = catalog.disk_rates("read_only"), catalog.instances.index
    assert np.isnan(rates.bytes_per_s[row("n2-standard-4+4x375GB")])
    assert rates.evidence[row("n2-standard-32+4x375GB")] == "spec"


def test_added_local_ssds_cost_what_a_bundle_of_them_does() -> None:
    """c3-standard-4-lssd is c3-standard-4 with one local SSD of 375 GB."""
    catalog = load_catalog("gcp")
    prices, row = catalog.prices().price_usd_per_hour, catalog.instances.index
    added = prices[row("n2-standard-8+1x375GB")] - prices[row("n2-standard-8")]
    bundled = prices[row("c3-standard-4-lssd")] - prices[row("c3-standard-4")]
    assert added == pytest.approx(bundled, rel=0.01)
