"""Lookups in a catalog: aligned prices and rates, the best of several rows, unknowns that stay unknown."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from refusals import refused

from planner.catalog import facts_on, load_catalog
from planner.errors import BadInputError


def test_prices_are_aligned_with_the_types_and_unknown_where_unlisted(cloud: Path) -> None:
    prices = load_catalog(cloud).prices()
    assert prices.region == "here"
    np.testing.assert_array_equal(prices.price_usd_per_hour, [0.5, 4, np.nan])
    assert prices.evidence.tolist() == ["spec", "spec", ""]
    assert np.isnat(prices.as_of[2])


def test_regions_and_kinds_of_price_are_kept_apart(cloud: Path) -> None:
    catalog = load_catalog(cloud)
    assert catalog.regions() == ["here", "there"]
    assert catalog.regions("spot") == ["here"]
    np.testing.assert_array_equal(catalog.prices("there").price_usd_per_hour, [np.nan, 5, np.nan])
    np.testing.assert_array_equal(catalog.prices(pricing="spot").price_usd_per_hour, [0.2, np.nan, np.nan])


def test_an_unpriced_region_names_the_priced_ones(cloud: Path) -> None:
    catalog = load_catalog(cloud)
    with pytest.raises(BadInputError, match=r"region .her. .* Priced: here, there"):
        catalog.prices("her")
    with refused("no-price", "'there'", "Priced: here"):
        catalog.prices("there", "spot")


def test_the_strongest_evidence_wins_and_the_slowest_of_n_comes_last(cloud: Path) -> None:
    catalog = load_catalog(cloud)
    assert catalog.disk_rates("read_only").bytes_per_s.tolist()[2] == 4e9
    assert catalog.disk_rates("write_only").bytes_per_s.tolist()[2] == 1e9
    assert catalog.disk_rates("simultaneous").bytes_per_s.tolist()[2] == 9e8
    assert catalog.disk_rates("simultaneous").evidence.tolist() == ["", "", "derived"]
    assert catalog.disk_rates("simultaneous", aggregate="slowest_of_n").bytes_per_s.tolist()[2] == 7e8
    assert np.isnan(catalog.disk_rates("read_only").bytes_per_s[:2]).all()


def test_operations_per_s_are_unknown_where_no_row_states_them(cloud: Path) -> None:
    assert np.isnan(load_catalog(cloud).disk_rates("read_only").operations_per_s).all()
    assert np.isnan(load_catalog(cloud).flop_per_s).all()


def test_an_unknown_mode_or_type_is_bad_input(cloud: Path) -> None:
    catalog = load_catalog(cloud)
    with refused("unknown-word", "simultaneous, read_only, write_only"):
        catalog.disk_rates("sideways")
    with refused("unknown-type", "'smal.1'", "small.1"):
        catalog.instances.index("smal.1")


def test_kinds_of_fact_that_a_catalog_lacks_are_empty_and_not_an_error(cloud: Path) -> None:
    catalog = load_catalog(cloud)
    assert not catalog.network_points
    assert not catalog.volume_types
    assert not catalog.token_buckets
    assert np.isnan(catalog.volume_rates("gp2", "read_only").bytes_per_s).all()
    assert catalog.surcharges_usd_per_hour("volume_optimized").tolist() == [0, 0, 0]


def test_facts_on_a_type_carry_their_circumstances_and_provenance(cloud: Path) -> None:
    facts = {fact.field: fact for fact in facts_on(load_catalog(cloud), "large")}
    assert facts["local_disk_bytes"].value == 1e12
    assert facts["local_disk_bytes"].unit == "bytes"
    measured = facts["bytes_per_s [read_only, mean]"]
    assert (measured.value, measured.source, measured.note) == (4e9, "lab", "fio")
    assert not any(name.startswith("price") for name in facts), "a type without a price has no price fact"
    with pytest.raises(BadInputError):
        facts_on(load_catalog(cloud), "larg")


def test_loading_again_sees_a_changed_file(cloud: Path) -> None:
    assert load_catalog(cloud) is load_catalog(cloud)
    prices = cloud / "prices.csv"
    prices.write_text(prices.read_text().replace(",4,spec", ",40,spec"))
    assert load_catalog(cloud).prices().price_usd_per_hour[1] == 40


OPTIONS = """family,vcpu_least,vcpu_most,disks,disk_bytes,local_disk_kind,region,price_usd_per_hour,read_bytes_per_s,\
write_bytes_per_s,price_evidence,rate_evidence,evidence,source,as_of
small,2,4,1,375e9,nvme,here,0.25,6e8,3e8,derived,measured,recalled,lab,2026-01-01
small,2,,2,375e9,nvme,here,0.5,1.2e9,,derived,spec,recalled,lab,2026-01-01
large,1,,8,375e9,nvme,here,9,1e9,1e9,derived,spec,recalled,lab,2026-01-01
"""


def test_disks_bought_separately_make_types_with_the_sum_of_both_prices(cloud: Path) -> None:
    (cloud / "local_disk_options.csv").write_text(OPTIONS)
    catalog = load_catalog(cloud)
    types = catalog.instances
    added = ["small.1+1x375GB", "small.1+2x375GB", "small.8+2x375GB"]
    assert types.instance_type.tolist() == ["small.1", "small.8", "large", *added], "large has disks of its own"
    assert types.cloud_type.tolist()[3:] == ["small.1", "small.1", "small.8"]
    assert (types.local_disks * types.local_disk_bytes).tolist()[3:] == [375e9, 750e9, 750e9]
    assert set(types.evidence.tolist()[3:]) == {"recalled"}
    np.testing.assert_array_equal(catalog.prices().price_usd_per_hour[3:], [0.75, 1, 4.5])
    assert catalog.prices().evidence.tolist()[3:] == ["spec"] * 3
    assert np.isnan(catalog.prices(pricing="spot").price_usd_per_hour[3:]).all(), "the option's spot price is unknown"
    np.testing.assert_array_equal(catalog.disk_rates("read_only").bytes_per_s[3:], [6e8, 1.2e9, 1.2e9])
    np.testing.assert_array_equal(catalog.disk_rates("write_only").bytes_per_s[3:], [3e8, np.nan, np.nan])
    assert catalog.disk_rates("read_only").evidence.tolist()[3:] == ["measured", "spec", "spec"]
