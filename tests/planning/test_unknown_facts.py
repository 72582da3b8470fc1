"""Each fact of machine types, stated of none, one or all of them: a type is planned or left out with a reason."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Final

import pytest

from planner.api.recommend import recommend
from planner.config.paths import model_names
from planner.errors import PlannerError
from planner.schemas.plan import Candidate, Plan

VOLUME: Final = {
    "volume_type": "ssd", "price_usd_per_gib_month": 0.1, "free_bytes_per_s": 5e8, "free_iops": 20000,
    "read_bytes_per_s_max": 5e8, "write_bytes_per_s_max": 5e8, "iops_max": 20000, "iops_per_gib": 50,
    "size_bytes_min": 2**30, "size_bytes_max": 2**44, "price_evidence": "spec", "limit_evidence": "spec",
}  # fmt: skip
STORE: Final = {
    "object_store": "store", "price_usd_per_gib_month": 0.023, "write_usd_per_request": 5e-6,
    "read_usd_per_request": 4e-7, "egress_usd_per_gib": 0, "bytes_per_s_per_vcpu": 6e7, "rate_evidence": "assumed",
    "reads_per_s": 5500, "writes_per_s": 3500, "request_evidence": "spec",
}  # fmt: skip
TYPE: Final[dict[str, Any]] = {
    "arch": "arm64", "price": 2.0, "read": 4e9, "write": 2e9, "both": 1.5e9, "volume_iops": 20000, "cores": 16,
}  # fmt: skip
FACTS: Final = (
    "arch", "vcpu", "cores", "memory_bytes", "local_disks", "local_disk_bytes", "local_disk_kind",
    "network_baseline_bytes_per_s", "volume_bytes_per_s", "volume_iops", "volumes_max", "volume_link",
    "placement_group", "current_generation", "price", "read", "write", "both",
)  # fmt: skip
OTHER: Final = "other"
"""The type that states everything; SHY leaves a fact out."""
SHY: Final = "shy"


def planned(make_catalog: Callable[..., str], model: str, shy: tuple[str, ...], fact: str, **asked: Any) -> Plan:
    """Plan on both types, of which the `shy` ones do not state a fact."""
    types = {name: TYPE | ({fact: None if fact in TYPE else ""} if name in shy else {}) for name in (OTHER, SHY)}
    cloud = make_catalog(types, volumes=[VOLUME], object_stores=[STORE])
    return recommend("2TB", model=model, catalogs=[cloud], nodes=80, **asked).plan


def figures(of: Candidate) -> tuple[float, ...]:
    return of.nodes, of.time_s.expected, of.cost_usd.total


def clusters(plan: Plan) -> dict[str, Candidate]:
    return {candidate.instance_type: candidate for candidate in plan.candidates}


@pytest.mark.parametrize("unknown", ["assume", "exclude", None])
@pytest.mark.parametrize("fact", FACTS)
@pytest.mark.parametrize("model", model_names())
def test_a_fact_that_is_not_stated(
    make_catalog: Callable[..., str], model: str, fact: str, unknown: str | None
) -> None:
    whole = clusters(planned(make_catalog, model, (), fact, unknown=unknown))
    assert whole.keys() == {OTHER, SHY}
    for shy in ((SHY,), (OTHER, SHY))[: 1 if fact == "price" else 2]:  # without a price there is no region
        try:
            plan = planned(make_catalog, model, shy, fact, unknown=unknown)
        except PlannerError as error:
            assert f"column {fact}: blank" in str(error)
            continue
        found, rejected = clusters(plan), {each.instance_type: each for each in plan.rejected}
        assert found.keys() | rejected.keys() >= {OTHER, SHY}
        for name in (OTHER, SHY):
            if name not in found:
                assert rejected[name].reason
                continue
            of = found[name]
            assert math.isfinite(of.time_s.expected) and 0 < of.time_s.expected <= of.time_s.p95
            assert math.isfinite(of.cost_usd.total) and of.cost_usd.total > 0
            if name not in shy:
                assert figures(of) == pytest.approx(figures(whole[name])), "another type's gap changes nothing"
            elif figures(of) != pytest.approx(figures(whole[name])):
                assert of.warnings, "an assumption is said"
                assert of.time_s.p95 > 1.1 * of.time_s.expected
