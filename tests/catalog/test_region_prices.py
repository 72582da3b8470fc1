"""Prices of further regions, against single cells of the lists they come from."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from approvals import Approve
from refusals import refused

from planner.api.recommend import recommend
from planner.catalog import check_catalog, facts_on, load_catalog
from planner.catalog.catalog import Catalog
from planner.catalog.region_prices import listed_regions, problems
from planner.errors import BadInputError
from planner.schemas.plan import Plan

Make = Callable[..., str]


def price_of(catalog: str, instance_type: str, region: str, pricing: str = "on-demand") -> float:
    loaded = load_catalog(catalog)
    return float(loaded.prices(region, pricing).price_usd_per_hour[loaded.instances.index(instance_type)])


def further(make: Make) -> Catalog:
    rows = [{"instance_type": "a", "north": 2.5, "south": ""}, {"instance_type": "b", "north": "", "south": 4}]
    both = {name: {"price": 1.0, "read": 1e9, "write": 1e9} for name in ("a", "b")}
    return load_catalog(make(both, region_prices=rows))


@pytest.mark.parametrize(
    ("catalog", "instance_type", "region", "usd"),
    [
        ("gcp", "z3-highmem-8-highlssd", "europe-west1", 1.40711),
        ("gcp", "n2-standard-8", "asia-northeast1", 0.498352),
        ("azure", "Standard_L8s_v3", "westeurope", 0.832),
        ("azure", "Standard_D2as_v5", "australiaeast", 0.108),
    ],
)
def test_prices_of_the_lists(catalog: str, instance_type: str, region: str, usd: float) -> None:
    assert price_of(catalog, instance_type, region) == pytest.approx(usd, rel=1e-4)


def test_spot_prices_of_google_are_by_region_too() -> None:
    spot, full = (price_of("gcp", "n2-standard-8", "europe-west1", pricing) for pricing in ("spot", "on-demand"))
    assert 0 < spot < full
    with refused("no-price", "catalog gcp"):
        load_catalog("gcp").prices("mars-1", "spot")


def test_forty_three_and_fifty_seven_regions() -> None:
    assert len(load_catalog("gcp").regions()) == len(load_catalog("gcp").regions("spot")) == 43
    assert len(load_catalog("azure").regions()) == 57
    assert load_catalog("azure").main_regions() == ["eastus", "westus2"]


def test_no_price_of_the_amd_families_has_the_windows_licence() -> None:
    """Sizes of one family cost the same per vCPU of the machine; the licence is $0.046 on top of $0.03 to $0.12."""
    azure = load_catalog("azure")
    of_family = np.flatnonzero(azure.instances.family == "DADSv5")
    for region in listed_regions(azure.path, "on-demand"):
        per_vcpu = azure.prices(region).price_usd_per_hour[of_family] / azure.instances.vcpu[of_family]
        known = per_vcpu[~np.isnan(per_vcpu)]
        assert known.max(initial=0) <= known.min(initial=np.inf) * 1.02, region


@pytest.mark.parametrize("name", ["gcp", "azure"])
def test_the_shipped_files_are_sound(name: str) -> None:
    catalog = load_catalog(name)
    assert problems(catalog.path) == []
    for pricing in ("on-demand", "spot"):
        for region in listed_regions(catalog.path, pricing):
            rows = catalog.price_rows(region, pricing)
            assert set(rows["source"].tolist()) <= set(catalog.sources)
            assert len(set(rows["instance_type"].tolist())) == len(rows)


def test_a_region_of_the_wide_file_is_priced_and_prices_csv_comes_first(make_catalog: Make) -> None:
    catalog = further(make_catalog)
    assert catalog.regions() == ["here", "north", "south"]
    assert catalog.prices("north").price_usd_per_hour == pytest.approx([2.5, np.nan], nan_ok=True)
    assert catalog.prices("here").price_usd_per_hour.tolist() == [1.0, 1.0]
    assert not catalog.is_further("here", "on-demand")
    assert catalog.is_further("south", "on-demand")
    fields = [fact.field for fact in facts_on(catalog, "b", region="south") if fact.kind == "prices"]
    assert fields == ["price_usd_per_hour [here, on-demand]", "price_usd_per_hour [south, on-demand]"]


def test_a_type_that_a_region_does_not_sell_is_left_out_with_that_reason(make_catalog: Make, approve: Approve) -> None:
    catalog = further(make_catalog)
    plan = recommend("1TB", model="indy", catalogs=[str(catalog.path)], region="north").plan
    assert plan.best is not None
    assert (plan.best.instance_type, plan.best.price_usd_per_hour) == ("a", 2.5)
    approve([(r.instance_type, r.reason) for r in plan.rejected])


def test_a_plan_in_europe_pays_europes_prices() -> None:
    plan = recommend("10TB", cloud="gcp", region="europe-west1", top=3).plan
    assert isinstance(plan, Plan)
    assert {cluster.region for cluster in plan.candidates} == {"europe-west1"}
    for cluster in plan.candidates:
        assert cluster.price_usd_per_hour == price_of("gcp", cluster.instance_type, "europe-west1")
        assert cluster.price_as_of == "2026-08-03"
    reasons = Counter(rejection.reason for rejection in plan.rejected)
    assert reasons["not sold in europe-west1"] > 50
    assert reasons["price of local disks to add unknown in europe-west1"] > 100


def test_a_damaged_file_is_named_with_all_that_is_wrong(make_catalog: Make) -> None:
    path = further(make_catalog).path
    rows = [{"instance_type": "a", "evidence": "guess"}, {"instance_type": "c", "evidence": "spec"}]
    _write(path / "region_prices.csv", rows)
    with pytest.raises(
        BadInputError, match=r"(?s)region_prices\.csv:2, column evidence: 'guess'.*:3, column north: '-1'"
    ):
        load_catalog(path).prices("north")
    found = check_catalog(path, today=load_catalog(path).prices_as_of)
    assert len([finding for finding in found if finding.severity == "error"]) == 3


def test_a_type_that_the_catalog_does_not_have_is_named(make_catalog: Make) -> None:
    path = further(make_catalog).path
    _write(path / "region_prices.csv", [{"instance_type": "c", "north": 1}])
    with refused("unknown-type", "region_prices.csv", "instances.csv"):
        load_catalog(path).prices("north")


def _write(path: Path, rows: list[dict[str, Any]]) -> None:
    usual = {"evidence": "spec", "source": "lab", "as_of": "2026-01-01", "north": -1}
    path.write_text("\n".join(["instance_type,evidence,source,as_of,north", *_lines(rows, usual)]) + "\n")


def _lines(rows: list[dict[str, Any]], usual: dict[str, Any]) -> Iterator[str]:
    for row in rows:
        whole = usual | row
        yield ",".join(str(whole[name]) for name in ("instance_type", "evidence", "source", "as_of", "north"))
