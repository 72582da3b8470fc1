"""Requests that one place of an object store takes: a limit that more nodes do not lift. Sums by hand."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from planner.api import recommend
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
    best = recommend(data="1TB", model="object-store", catalogs=[path], nodes=100, **asked).best
    assert best is not None
    return best


def test_requests_take_their_time_whatever_the_nodes(make_catalog: Make) -> None:
    best = best_of(make_catalog({"a": FAST}, object_stores=[STORE | LIMITS]))
    first, second = (phase.resources["object_requests"].time_s for phase in best.phases)
    assert first == pytest.approx(1e12 / 16_777_216 / 5500)  # 59,605 reads of 16 MiB: 10.84 s
    assert second == pytest.approx(1e12 / 100e6 / 3500)  # 10,000 writes of 100 MB: 2.86 s
    assert [phase.bottleneck for phase in best.phases] == ["object_requests"] * 2
    assert "object requests: stated by the cloud, not measured" in best.warnings
    assert any(text.startswith("object store: one place takes 5,500 reads and 3,500") for text in best.warnings)


@pytest.mark.parametrize("unlimited", [{}, {"paper": True}], ids=["unknown", "paper"])
def test_an_unknown_limit_is_none_and_the_papers_know_none(make_catalog: Make, unlimited: dict[str, Any]) -> None:
    store = STORE | (LIMITS if unlimited else {})
    best = best_of(make_catalog({"a": FAST}, object_stores=[store]), **unlimited)
    assert not any("object_requests" in phase.resources for phase in best.phases)


def test_a_plan_beyond_what_was_observed_says_so(make_catalog: Make) -> None:
    seen = {"instance_type": "a", "object_store": "store", "mode": "whole_job", "nodes": 40, "bytes_per_s": 1e8}
    path = make_catalog({"a": FAST}, object_stores=[STORE], object_store_rates=[seen])
    # 40 nodes at 100 MB/s each: 4 GB/s
    assert any(text.endswith("the most observed is 4 GB/s") for text in best_of(path).warnings)
