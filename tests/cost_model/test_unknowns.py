"""One rule for unknown values, and its table in the documentation."""

from __future__ import annotations

import math
import random
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from approvals import Approve
from refusals import refused

from planner.api.recommend import recommend
from planner.catalog import load_catalog
from planner.catalog.cloud_regions import REGIONS
from planner.catalog.loading import OutsideCharges, outside_charges
from planner.catalog.tables import read_table
from planner.catalog.transfer_prices import transfer_between
from planner.config.paths import catalogs_directory
from planner.cost_model import evidence
from planner.cost_model.evidence import KINDS, assumed_range, assumed_transfer, assumptions, is_assumed
from planner.schemas.request import CODECS

PAGE = Path(__file__).parents[2] / "docs" / "equations.md"


def test_the_page_lists_every_kind_and_what_is_done_by_default() -> None:
    rows = re.findall(
        r"^\| `(\w+)` \| .* \| (exclude|assume) \| (.*) \|$", PAGE.read_text(encoding="utf-8"), re.MULTILINE
    )
    assert {name: default for name, default, _ in rows} == {
        name: default or "exclude" for name, default in KINDS.items()
    }
    assert {name for name, _, assumed in rows if assumed.startswith("nothing")} == {
        name for name, default in KINDS.items() if not default
    }


@pytest.mark.parametrize("name", KINDS)
def test_the_option_decides_of_every_kind(name: str) -> None:
    assert not is_assumed(name, "exclude")
    assert is_assumed(name, "assume") == bool(KINDS[name])
    assert is_assumed(name, None) == (KINDS[name] == "assume")


def test_another_word_is_refused() -> None:
    with refused("unknown-word", "exclude", "assume", field="unknown"):
        recommend("1TB", model="indy", unknown="guess")


def test_every_assumption_has_its_evidence_and_source() -> None:
    assert all(table["evidence"] == "assumed" and table["source"] for table in assumptions().values())
    assumed = assumed_range("interruptions_per_node_hour")
    assert assumed.low < assumed.middle < assumed.high
    assert {"none", *(name for name, of in assumptions()["compression"].items() if isinstance(of, dict))} == set(CODECS)


def test_an_unknown_rate_takes_part_where_it_is_to_be_assumed(make_catalog: Callable[..., str]) -> None:
    known = {"read": 2e9, "write": 2e9, "vcpu": 16}
    cloud = make_catalog({"known": known, "unknown": {"vcpu": 8, "local_disks": 4, "local_disk_bytes": 4e12}})
    strict, assumed = (recommend("1TB", model="indy", catalogs=[cloud], unknown=word) for word in (None, "assume"))
    assert {candidate.instance_type for candidate in strict.candidates} == {"known"}
    assert {candidate.instance_type for candidate in assumed.candidates} == {"known", "unknown"}
    filled = next(candidate for candidate in assumed.candidates if candidate.instance_type == "unknown")
    assert any(text.startswith(("local disks: assumed", "data disks: assumed")) for text in filled.warnings)
    assert filled.time_s.p95 > 1.3 * filled.time_s.equation


def test_spot_nodes_of_unknown_evictions_keep_no_deadline_for_sure(approve: Approve) -> None:
    asked = {"model": "indy", "cloud": "gcp", "pricing": "spot", "instance": "c3-standard-8-lssd", "nodes": 50}
    assumed, calm = (
        recommend("10TB", deadline="1h", **asked, **more).best  # type: ignore[arg-type]
        for more in ({}, {"interruptions": 0.0002})
    )
    assert assumed is not None and calm is not None
    assert assumed.deadline_kept is not None and calm.deadline_kept is not None
    assert assumed.deadline_kept < calm.deadline_kept
    strict = recommend("10TB", deadline="1h", unknown="exclude", **asked).plan  # type: ignore[arg-type]
    assert strict.best is None
    approve({r.reason for r in strict.rejected})


def test_the_range_of_decoding_widens_the_95_percent_where_processors_decide() -> None:
    asked = {"model": "object-store", "instance": "c6in.xlarge", "nodes": 30, "format": "parquet"}
    asked |= {"compression": "none", "input": "s3://b/in", "output": "s3://b/out"}
    fast = {"object_read": "99Gbit/s", "object_write": "99Gbit/s", "network": "99Gbit/s"}
    assumed, known = (recommend("3TB", **asked, assume=fast, compute=rate).best for rate in (None, "125MB/s"))  # type: ignore[arg-type]
    assert assumed is not None and known is not None
    assert assumed.time_s.p95 / assumed.time_s.p50 > 1.03 * known.time_s.p95 / known.time_s.p50


def test_prices_of_another_region_widen_the_95_percent_of_the_bill(approve: Approve) -> None:
    asked = {"cloud": "gcp", "model": "cloudsort", "nodes": 10, "instance": "n2-standard-16"}
    at_home, elsewhere = (recommend("3TB", region=region, **asked).best for region in ("us-central1", "europe-west4"))  # type: ignore[arg-type]
    assert at_home is not None and elsewhere is not None
    wider = [of.cost_usd.total_p95 / of.cost_usd.total for of in (at_home, elsewhere)]
    assert at_home.time_s == elsewhere.time_s and wider[1] > 1.02 * wider[0]
    approve(elsewhere.warnings)
    within, beyond = (elsewhere.cost_usd.total_p95 * share for share in (1.01, 0.99))
    assert recommend("3TB", region="europe-west4", budget=within, **asked).best is not None  # type: ignore[arg-type]
    assert recommend("3TB", region="europe-west4", budget=beyond, **asked).best is None  # type: ignore[arg-type]


STORE = {
    "object_store": "store", "price_usd_per_gib_month": 0.02,
    "write_usd_per_request": 5e-6, "read_usd_per_request": 4e-7,
    "egress_usd_per_gib": 0.01, "bytes_per_s_per_vcpu": 25e6, "rate_evidence": "measured", "reads_per_s": 5000,
    "writes_per_s": 3000, "request_evidence": "spec",
}  # fmt: skip
KINDS_OF_TRAFFIC = {
    "zone": {"zones": 2},
    "internet": {"output": "gs://b/out"},
    "between regions": {"input": "s3://b/in", "input_region": "us-east-1"},
}
STORE_FACTS = ("write_usd_per_request", "read_usd_per_request", "egress_usd_per_gib", "reads_per_s", "writes_per_s")
IN_STORE: Mapping[str, Any] = {"input": "s3://b/in", "output": "s3://b/out"}


def _stated_by(monkeypatch: pytest.MonkeyPatch, fact: str, clouds: tuple[str, ...]) -> None:
    """Let only some clouds state a fact of a store, or, under another name, any price of traffic."""

    def charges(cloud: str) -> OutsideCharges:
        stated = outside_charges(cloud)
        unstated: dict[str, Any] = {fact: math.nan} if fact in STORE_FACTS else {"transfers": {}}
        return stated if cloud in clouds else replace(stated, **unstated)

    monkeypatch.setattr(evidence, "outside_charges", charges)


@pytest.mark.parametrize("clouds", [(), ("aws",), ("aws", "gcp", "azure", "oci")], ids=("none", "one", "all"))
@pytest.mark.parametrize("fact", [*KINDS_OF_TRAFFIC, *STORE_FACTS])
def test_an_unknown_charge_or_limit_ends_in_a_range_or_in_an_exclusion(
    make_catalog: Callable[..., str], monkeypatch: pytest.MonkeyPatch, fact: str, clouds: tuple[str, ...]
) -> None:
    _stated_by(monkeypatch, fact, clouds)
    path = make_catalog(
        {"a": {"read": 2e9, "write": 2e9}}, object_stores=[STORE | ({fact: None} if fact in STORE else {})]
    )
    asked = KINDS_OF_TRAFFIC.get(fact, IN_STORE)
    plan = recommend("1TB", model="indy", catalogs=[path], region="here", **asked).plan
    if not clouds:
        assert plan.best is None and any("unknown" in rejection.reason for rejection in plan.rejected)
        return
    best = plan.best
    assert best is not None and not best.cost_usd.at_least and math.isfinite(best.cost_usd.total_p95)
    assert any(re.search("assumed|at one place|one place takes", text) for text in (*best.warnings, *_notes(best.bill)))
    assert all(line.usd is not None and math.isfinite(line.usd) for line in best.bill)
    strict = recommend("1TB", model="indy", catalogs=[path], region="here", unknown="exclude", **asked).plan
    assert strict.best is None


def _notes(bill: Any) -> list[str]:
    return [line.note for line in bill]


@pytest.mark.parametrize("known", [0, 1, 2], ids=("none", "one", "all"))
@pytest.mark.parametrize("fact", ["disks", "network", "vcpu"])
def test_an_unknown_rate_ends_in_a_plan_or_in_an_exclusion(
    make_catalog: Callable[..., str], fact: str, known: int
) -> None:
    unknown = {"disks": {"read": None, "write": None}, "network": {"network_baseline_bytes_per_s": ""}}
    whole = {"read": 2e9, "write": 2e9}
    types = {name: whole | (unknown.get(fact, {"vcpu": ""}) if at >= known else {}) for at, name in enumerate("ab")}
    plan = recommend("1TB", model="indy", catalogs=[make_catalog(types)], unknown="assume").plan
    planned = {candidate.instance_type for candidate in plan.candidates}
    assert len(planned) == (known if fact == "vcpu" else 2 if known else 0)
    assert {rejection.instance_type for rejection in plan.rejected} == set("ab") - planned
    assert all(math.isfinite(candidate.time_s.p95) for candidate in plan.candidates)


def _regions(cloud: str) -> list[str]:
    rows = read_table(catalogs_directory() / "regions.csv", REGIONS).rows()
    return [row["region"] for row in rows if row["cloud"] == cloud]


@pytest.mark.parametrize("cloud", ["aws", "gcp", "azure"])
def test_traffic_between_any_two_regions_has_a_price_or_a_range(cloud: str) -> None:
    moved, catalog = np.array([1e3]), load_catalog(cloud)
    assert len(_regions(cloud)) > 20
    for transfer in {transfer_between(cloud, one, other) for one in _regions(cloud) for other in _regions(cloud)}:
        usd = catalog.transfer_price(transfer).usd(moved)
        middle, high, basis = assumed_transfer(transfer, moved)
        assert usd[0] > 0 or (0 < middle[0] < high[0] < math.inf and basis)


@pytest.mark.parametrize("cloud", ["aws", "gcp", "azure"])
def test_data_of_any_region_can_be_planned(cloud: str) -> None:
    """At home, as AWS's other regions have no prices; no cloud states most prices between regions."""
    scheme, home = {"aws": "s3", "gcp": "gs", "azure": "az"}[cloud], load_catalog(cloud).default_region
    others = [region for region in _regions(cloud) if not transfer_between(cloud, home, region)]
    for name, other in zip(("input", "output") * 2, random.Random(1).sample(others, 4), strict=True):
        asked: dict[str, Any] = {name: f"{scheme}://b/a", f"{name}_region": other}
        best = recommend("1TB", cloud=cloud, region=home, model="indy", max_nodes=9, top=1, **asked).best
        assert best is not None
        line = next(line for line in best.bill if "between regions" in line.name)
        assert line.usd is not None and line.usd > 0
        assert best.cost_usd.total_p95 > best.cost_usd.total + line.usd / 2
