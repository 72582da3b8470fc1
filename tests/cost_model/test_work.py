"""Burstable processors: full speed while credit lasts, the stated share afterwards, no work where none is stated."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from approvals import Approve
from hypothesis import given
from hypothesis import strategies as st

from planner.api.recommend import recommend
from planner.catalog import load_catalog
from planner.cost_model.object_store import choose_object_store
from planner.cost_model.work import on_credit_s
from planner.cost_model.workload import JobContext, cpu_seconds, mean_processor_speed, task_count

FAST = {"read": 1e12, "write": 1e12, "network_baseline_bytes_per_s": 1e12, "price": 1}


def row(**given: Any) -> dict[str, Any]:
    return {"instance_type": "a", "baseline_share": 0.25, "launch_credit_vcpu_s": 0, **given}


def seconds(context: JobContext, nodes: float) -> list[float]:
    """Return the processors' seconds in each phase."""
    count = np.array([nodes])
    works = [(phase, context.works(phase)["cpu"]) for phase in context.model.phases]
    tasks = [task_count(context, phase, count) for phase, _ in works]
    return [
        float(cpu_seconds(context, phase, work, count, tasks=some)[0, 0])
        for (phase, work), some in zip(works, tasks, strict=True)
    ]


def test_without_credit_processors_work_at_their_share(make_context: Callable[..., JobContext]) -> None:
    full = seconds(make_context({"a": FAST}), 10)
    assert seconds(make_context({"a": FAST}, files={"burstable": [row()]}), 10) == pytest.approx([4 * s for s in full])


def test_credit_is_spent_by_the_phases_in_turn(make_context: Callable[..., JobContext]) -> None:
    """16 vCPUs partition a node's 1 TB in 1e12 / 2.5e9 / 16 = 25 s and sort it in 52.08 s. A credit of 480 vCPU-seconds
    is 30 s of all; the first phase spends 25 x 0.75 = 18.75 of them, so 11.25 are left: (52.08 - 11.25) / 0.25.
    """
    context = make_context({"a": FAST}, files={"burstable": [row(launch_credit_vcpu_s=480)]})
    sort_s = 1e12 / 1.2e9 / 16
    assert seconds(context, 10) == pytest.approx([25, (sort_s - 11.25) / 0.25])
    assert mean_processor_speed(context, 10) == pytest.approx((25 + sort_s) / (25 + (sort_s - 11.25) / 0.25))


def test_more_launches_than_the_account_gets_credit_for_have_none(make_context: Callable[..., JobContext]) -> None:
    limited = row(launch_credit_vcpu_s=1e9, credited_nodes_most=10)
    context = make_context({"a": FAST}, files={"burstable": [limited]})
    assert mean_processor_speed(context, 10) == 1
    assert mean_processor_speed(context, 11) == pytest.approx(0.25)


@given(full_s=st.floats(0, 1e6), earlier_s=st.floats(0, 1e6), share=st.floats(0.01, 1), credit_s=st.floats(0, 1e6))
def test_no_faster_than_full_speed_and_no_slower_than_the_share(
    full_s: float, earlier_s: float, share: float, credit_s: float
) -> None:
    values = (np.array([value]) for value in (earlier_s, share, credit_s))
    given_s = dict(zip(("earlier_s", "share", "credit_s"), values, strict=True))
    needed_s = float(on_credit_s(np.array([full_s]), **given_s)[0])
    assert full_s <= needed_s <= full_s / share * (1 + 1e-12)
    more = given_s | {"credit_s": given_s["credit_s"] * 2}
    assert float(on_credit_s(np.array([full_s]), **more)[0]) <= needed_s


def test_a_type_of_unknown_share_is_left_out(make_catalog: Callable[..., str], approve: Approve) -> None:
    path = make_catalog({"a": FAST, "b": FAST}, burstable=[row(baseline_share=None)])
    plan = recommend(data="1TB", model="indy", catalogs=[path], engine="ideal")
    assert {c.instance_type for c in plan.candidates} == {"b"}
    reasons = {rejection.instance_type: rejection.reason for rejection in plan.rejected}
    approve(reasons["a"])


def test_the_plan_says_what_a_burstable_type_sustains(make_catalog: Callable[..., str]) -> None:
    path = make_catalog({"a": FAST}, burstable=[row(launch_credit_vcpu_s=16 * 900)])
    best = recommend(data="1TB", model="indy", catalogs=[path], engine="ideal").best
    assert best is not None
    said = "cpu: a burstable type, planned at full speed for 20 min 0 s on the credit of a new node, then 0.25 of each"
    assert any(text.startswith(said) for text in best.warnings)


def test_requests_to_a_store_have_what_processors_sustain() -> None:
    """Standard_B2pls_v2 sustains 30% of 2 vCPUs, and a vCPU moves 60 MB/s: 36 MB/s, where 120 were planned."""
    catalog = load_catalog("azure")
    row = catalog.instances.index("Standard_B2pls_v2")
    assert choose_object_store(catalog).device.read[row] == pytest.approx(36e6)


def test_burstable_types_are_no_bargain_at_what_they_sustain() -> None:
    """At full speed Azure's smallest types were the cheapest way through an object store."""
    plan = recommend(data="10TB", model="object-store", catalogs=["azure"])
    assert plan.best is not None
    catalog = load_catalog("azure")
    assert catalog.processor_credits.baseline_share[catalog.instances.index(plan.best.instance_type)] == 1
