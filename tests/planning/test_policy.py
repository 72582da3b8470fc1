"""A policy's limits, each of which a plan can break."""

from __future__ import annotations

from dataclasses import replace
from datetime import date, timedelta
from functools import cache
from typing import Any

import pytest
from approvals import Approve
from hypothesis import given
from hypothesis import strategies as st
from refusals import refused

import planner
from planner.errors import BadInputError
from planner.planning.policy import Policy, breaches, policy_of, with_limits
from planner.schemas.plan import Candidate, Plan


@cache
def plan() -> Plan:
    return planner.recommend("10TB").plan


def best() -> Candidate:
    found = plan().best
    assert found is not None
    return found


def day() -> date:
    return date.fromisoformat(best().price_as_of)


def broken(**limits: Any) -> list[str]:
    return [breach.limit for breach in breaches(plan(), Policy(**limits), today=day() + timedelta(days=9))]


def run_s() -> float:
    return best().time_s.expected + sum(best().overheads_s.values())


@pytest.mark.parametrize(
    ("limit", "kept", "not_kept"),
    [
        ("max_cost_usd", lambda: best().cost_usd.total, lambda: best().cost_usd.total - 0.01),
        ("deadline_s", run_s, lambda: run_s() - 1),
        ("max_nodes", lambda: best().nodes + best().spares, lambda: best().nodes + best().spares - 1),
        ("max_price_age_days", lambda: 9, lambda: 8),
        ("evidence", lambda: "spec", lambda: "measured"),
        ("clouds", lambda: ("gcp", "aws"), lambda: ("gcp",)),
        ("regions", lambda: ("us-east-1",), lambda: ("eu-central-1",)),
        ("pricings", lambda: ("on-demand",), lambda: ("spot",)),
        ("instances", lambda: ("m5.*", "i8g.*"), lambda: ("m5.*",)),
        ("not_instances", lambda: ("m5.*",), lambda: ("m5.*", "i8g.*")),
    ],
)
def test_a_limit_is_kept_or_broken(limit: str, kept: Any, not_kept: Any) -> None:
    assert broken(**{limit: kept()}) == []
    assert [name.removesuffix("_s").removesuffix("_usd") for name in broken(**{limit: not_kept()})] == [
        limit.removesuffix("_s").removesuffix("_usd")
    ]


def test_with_p95_the_late_and_dear_runs_count() -> None:
    between = (best().cost_usd.total + best().cost_usd.total_p95) / 2
    assert broken(max_cost_usd=between) == []
    assert broken(max_cost_usd=between, p95=True) == ["max_cost"]


def test_a_bill_that_lacks_a_price_keeps_no_limit() -> None:
    lower_bound = replace(plan(), best=replace(best(), cost_usd=replace(best().cost_usd, at_least=True)))
    (breach,) = breaches(lower_bound, Policy(max_cost_usd=1e9), today=day())
    assert breach.found.startswith("at least ")


def test_nothing_feasible_keeps_nothing() -> None:
    assert [breach.limit for breach in breaches(replace(plan(), best=None), Policy(), today=day())] == ["feasible"]


def test_a_file_says_all_limits_and_what_is_wrong_in_it(approve: Approve) -> None:
    written = {"max_cost": 100, "deadline": "1h", "p95": True, "max_nodes": 8, "evidence": "spec", "clouds": ["aws"]}
    assert policy_of(written, source="limits.toml") == Policy(
        max_cost_usd=100.0, deadline_s=3600.0, p95=True, max_nodes=8, evidence="spec", clouds=("aws",)
    )
    loose = {"max-nodes": 8, "clouds": "aws", "not-instances": "i8g.*"}
    assert policy_of(loose, source="f") == Policy(max_nodes=8, clouds=("aws",), not_instances=("i8g.*",))
    with refused("unknown-argument", "limits.toml", field="max_costs") as caught:
        policy_of({"max_costs": 1, "max_nodes": "8", "deadline": "soon", "clouds": 1}, source="limits.toml")
    approve(caught.value.details)
    named = {line.partition(":")[0] for line in caught.value.details}
    assert named == {"max_costs", "max_nodes", "deadline", "clouds"}


@given(
    st.dictionaries(
        st.text(max_size=9), st.none() | st.booleans() | st.integers() | st.text() | st.lists(st.text()), min_size=1
    )
)
def test_any_file_is_a_policy_or_refused(table: dict[str, Any]) -> None:
    try:
        assert isinstance(policy_of(table, source="f"), Policy)
    except BadInputError as error:
        assert "f is no policy" in str(error)


def test_an_option_comes_before_the_file() -> None:
    policy = with_limits(Policy(max_cost_usd=1, max_nodes=2), max_cost_usd=3.0, deadline_s=None, p95=False)
    assert policy == Policy(max_cost_usd=3.0, max_nodes=2)
