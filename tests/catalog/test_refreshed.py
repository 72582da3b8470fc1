"""A refreshed catalog applied over the shipped one, and the differences between two states of a catalog."""

from __future__ import annotations

import csv
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from planner.catalog import changes_between, check_catalog, load_catalog
from planner.catalog.checking import staleness_days
from planner.errors import BadInputError

HEAD = """title = "t"
cloud = "aws"
currency = "USD"
default_region = "us-east-1"
prices_as_of = 2026-11-21
hours_per_month = 720
[sources.new]
title = "read anew"
"""
SEEN = {"evidence": "spec", "source": "new", "as_of": "2026-11-21"}
TODAY = date(2026, 11, 21)


def shape(name: str, **cells: Any) -> dict[str, Any]:
    return {"instance_type": name, "family": "f", "placement_group": "no", "current_generation": "yes", **cells, **SEEN}


def price(name: str, usd: float, *, region: str = "us-east-1") -> dict[str, Any]:
    return {"instance_type": name, "region": region, "pricing": "on-demand", "price_usd_per_hour": usd, **SEEN}


def write(path: Path, rows: list[dict[str, Any]]) -> None:
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(dict.fromkeys(name for row in rows for name in row)))
        writer.writeheader()
        writer.writerows(rows)


@pytest.fixture
def version(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the version of `aws` in use, with two types and their prices."""
    monkeypatch.setenv("PLANNER_CATALOGS", str(tmp_path))
    directory = tmp_path / "aws" / "2026-11-21-0"
    directory.mkdir(parents=True)
    (directory / "catalog.toml").write_text(HEAD)
    write(directory / "instances.csv", [shape("i3.large", vcpu=3), shape("new.large", vcpu=2, local_disks=0)])
    write(directory / "prices.csv", [price("i3.large", 0.5), price("new.large", 0.1)])
    (tmp_path / "aws" / "current").symlink_to(directory.name)
    return directory


def test_prices_of_a_region_are_wholly_the_new_ones(version: Path) -> None:
    catalog = load_catalog("aws")
    prices = dict(zip(catalog.instances.instance_type.tolist(), catalog.prices().price_usd_per_hour, strict=True))
    assert {name: usd for name, usd in prices.items() if not np.isnan(usd)} == {"i3.large": 0.5, "new.large": 0.1}


def test_blank_cells_are_the_shipped_ones_with_the_weaker_evidence(version: Path) -> None:
    catalog = load_catalog("aws")
    row = catalog.instances.index("i3.large")
    assert catalog.instances.vcpu[row] == 3
    assert catalog.instances.network_baseline_bytes_per_s[row] > 0
    assert catalog.instances.evidence[row] == "spec"
    assert catalog.instances.source[row] == "new"
    new = catalog.instances.index("new.large")
    assert np.isnan(catalog.instances.network_baseline_bytes_per_s[new])


def test_what_the_new_one_does_not_have_stays_known(version: Path) -> None:
    catalog = load_catalog("aws")
    assert "i4i.4xlarge" in catalog.instances.rows
    assert catalog.sources["new"].title == "read anew"
    assert "ec2-api" in catalog.sources


def test_staleness_is_of_the_region_in_use(version: Path) -> None:
    write(version / "prices.csv", [price("i3.large", 0.5, region="eu-west-1")])
    catalog = load_catalog("aws")
    assert staleness_days(catalog, today=TODAY, region="eu-west-1") is None
    assert staleness_days(catalog, today=TODAY, region="us-east-1") == (TODAY - date(2026, 7, 20)).days


def test_other_catalogs_are_not_touched(version: Path) -> None:
    assert load_catalog("gcp").refreshed_on is None
    assert load_catalog("aws-2014").refreshed_on is None


@pytest.mark.parametrize(
    ("name", "text", "complaint"),
    [
        ("prices.csv", "instance_type,region\n", "required and missing"),
        ("instances.csv", "", "required and missing"),
        ("catalog.toml", "title = 3", "column title"),
        ("catalog.toml", "]", "cannot be read as TOML"),
    ],
)
def test_a_damaged_version_is_named_with_all_that_is_wrong(version: Path, name: str, text: str, complaint: str) -> None:
    (version / name).write_text(text)
    with pytest.raises(BadInputError) as caught:
        load_catalog("aws")
    assert any(complaint in line and str(version / name) in line for line in caught.value.details)
    assert "planner catalog refresh" in caught.value.message
    assert [f for f in check_catalog("aws", today=TODAY) if f.severity == "error"]


def test_a_price_of_a_type_without_a_shape_is_an_error(version: Path) -> None:
    write(version / "prices.csv", [price("made.up", 0.5)])
    with pytest.raises(BadInputError) as caught:
        load_catalog("aws")
    assert "made.up" in caught.value.details[0]


def test_changes(version: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    after = load_catalog("aws")
    monkeypatch.setenv("PLANNER_CATALOGS", str(tmp_path / "none"))
    changes = changes_between(load_catalog("aws"), after)
    assert changes.added == ("new.large",)
    assert "i4i.4xlarge" in changes.removed
    assert [(c.column, c.before, c.after) for c in changes.shapes if c.column == "vcpu"] == [("vcpu", 2.0, 3.0)]
    assert [(p.instance_type, p.ratio) for p in changes.up] == [("i3.large", pytest.approx(0.5 / 0.156))]
    assert not changes.down
    assert [p.instance_type for p in changes.priced] == ["new.large"]
    gone = {p.instance_type for p in changes.unpriced if p.pricing == "on-demand"}
    assert gone == set(changes.removed)
    assert not changes_between(after, after).prices


def test_the_vendors_list_says_which_types_are_current_also_after_a_refresh(version: Path) -> None:
    rows = [shape("m5.large", family="m5", current_generation="no"), shape("m4.large", family="m4")]
    write(version / "instances.csv", rows)
    write(version / "prices.csv", [price("m5.large", 0.096)])
    types = load_catalog("aws").instances
    current = {name: bool(types.current_generation[types.index(name)]) for name in ("m5.large", "m4.large", "i3.large")}
    assert current == {"m5.large": True, "m4.large": False, "i3.large": True}
