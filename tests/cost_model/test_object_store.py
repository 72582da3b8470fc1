"""Request limit of one place in an object store, which more nodes do not raise. Sums by hand."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from approvals import Approve

from planner.api.recommend import recommend
from planner.catalog import load_catalog
from planner.cost_model.object_store import choose_object_store
from planner.schemas.plan import Candidate

Make = Callable[..., str]
STORE = {
    "object_store": "store",
    "price_usd_per_gib_month": 0.02,
    "write_usd_per_request": 5e-6,
    "read_usd_per_request": 4e-7,
    "egress_usd_per_gib": 0,
    "bytes_per_s_per_vcpu": 1e9,
    "rate_evidence": "assumed",
}
LIMITS = {"reads_per_s": 5500, "writes_per_s": 3500, "request_evidence": "spec"}
FAST = {"read": 1e11, "write": 1e11, "network_baseline_bytes_per_s": 1e11, "price": 1}


def best_of(path: str, **asked: Any) -> Candidate:
    best = recommend(data="1TB", model="object-store", catalogs=[path], nodes=100, engine="ideal", **asked).best
    assert best is not None
    return best


def test_requests_take_their_time_whatever_the_nodes(make_catalog: Make, approve: Approve) -> None:
    best = best_of(make_catalog({"a": FAST}, object_stores=[STORE | LIMITS]))
    first, second = (phase.resources["object_requests"].equation_s for phase in best.phases)
    assert first == pytest.approx(1e12 / 16_777_216 / 5500)  # 59,605 reads of 16 MiB: 10.84 s
    assert second == pytest.approx(1e12 / 100e6 / 3500)  # 10,000 writes of 100 MB: 2.86 s
    assert [phase.bottleneck for phase in best.phases] == ["object_requests"] * 2
    approve(best.warnings)
    assert any(
        text.startswith("object store: 5,500 reads and 3,500 writes a second over 1 prefix") for text in best.warnings
    )


def test_an_unknown_limit_is_that_of_the_slowest_store(make_catalog: Make, approve: Approve) -> None:
    store = STORE | {"reads_per_s": None, "writes_per_s": None, "request_evidence": None}
    bare = make_catalog({"a": FAST}, object_stores=[store])
    best = best_of(bare)
    assert all("object_requests" in phase.resources for phase in best.phases)
    assert any(text.startswith("object store: 5,000 reads and 1,000 writes a second") for text in best.warnings)
    strict = recommend("10TB", model="object-store", catalogs=[bare], unknown="exclude").plan
    approve([rejection.reason for rejection in strict.rejected])


def test_the_papers_know_no_limit_on_requests(make_catalog: Make) -> None:
    best = best_of(make_catalog({"a": FAST}, object_stores=[STORE | LIMITS]), paper=True)
    assert not any("object_requests" in phase.resources for phase in best.phases)


def test_a_plan_beyond_what_was_observed_says_so(make_catalog: Make, approve: Approve) -> None:
    seen = {"instance_type": "a", "object_store": "store", "mode": "whole_job", "nodes": 40, "bytes_per_s": 1e8}
    path = make_catalog({"a": FAST}, object_stores=[STORE], object_store_rates=[seen])
    # 40 nodes at 100 MB/s each: 4 GB/s
    approve(best_of(path).warnings)


RATED = {
    "object_store": "store", "price_usd_per_gib_month": 0.024, "write_usd_per_request": 5e-6,
    "read_usd_per_request": 4e-7, "egress_usd_per_gib": 0.01, "bytes_per_s_per_vcpu": 25e6, "rate_evidence": "derived",
}  # fmt: skip


def test_a_node_does_so_much_for_each_virtual_cpu(make_catalog: Make) -> None:
    """16 x 25 MB/s; $0.024 a GiB-month of 720 hours; unknown for a type whose number of vCPUs is unknown."""
    store = choose_object_store(load_catalog(make_catalog({"a": {}, "b": {"vcpu": ""}}, object_stores=[RATED])))
    assert store.device.read.tolist() == pytest.approx([4e8, np.nan], nan_ok=True)
    assert store.device.write.tolist() == pytest.approx([4e8, np.nan], nan_ok=True)
    assert store.device.evidence.tolist() == [1, -1]  # derived, unknown
    assert store.usd_per_byte_hour == pytest.approx(0.024 / 2**30 / 720)
    assert (store.name, store.egress_usd_per_gib, store.priced) == ("store", 0.01, True)


def test_rates_seen_on_a_type_count_where_both_directions_are_known(make_catalog: Make) -> None:
    seen = [
        {"instance_type": name, "object_store": "store", "mode": mode, "bytes_per_s": rate, "nodes": 1,
         "evidence": evidence}
        for name, mode, rate, evidence in (
            ("a", "read_only", 1e9, "measured"), ("a", "write_only", 2e9, "spec"), ("b", "read_only", 3e9, "measured"),
        )
    ]  # fmt: skip
    catalog = load_catalog(make_catalog({"a": {}, "b": {}}, object_stores=[RATED], object_store_rates=seen))
    device = choose_object_store(catalog).device
    assert device.read.tolist() == [1e9, 4e8]
    assert device.write.tolist() == [2e9, 4e8]
    assert device.evidence.tolist() == [2, 1]  # the weaker of measured and spec; derived


def test_a_catalog_without_a_store_knows_nothing_of_one(make_catalog: Make) -> None:
    store = choose_object_store(load_catalog(make_catalog({"a": {}})))
    assert (store.name, store.priced, store.device.evidence.tolist()) == ("", False, [-1])
    assert np.isnan(store.device.read).all()
