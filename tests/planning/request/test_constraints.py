"""A request's limits are measured on every cluster, and a clash is reported with the price of meeting it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pytest
from approvals import Approve

from planner import recommend as recommend_by
from planner.cost_model.estimate import estimate
from planner.planning.candidates.candidates import candidate
from planner.planning.request.constraints import constraints, limit_of, missed
from planner.schemas.plan import NodeLimit
from planner.statistics.interruptions import Risk
from tests.planning.two_constraints import BUDGET, DEADLINE

recommend = partial(recommend_by, engine="ideal")
"""The sums here are those of the equations alone."""


def test_a_constraint_is_met_up_to_its_limit() -> None:
    assert DEADLINE.within(1.0).tolist() == [[False, True], [False, False]]


def test_the_first_constraint_that_no_size_meets_is_the_reason(approve: Approve) -> None:
    rejection = missed("b", np.array([1]), [DEADLINE, BUDGET])
    assert (rejection.reason, rejection.nearness) == (DEADLINE.reason, 70 / 60)
    approve(rejection.detail)
    barely = replace(DEADLINE, measure=np.array([[60.012, 61.0]]))
    approve(missed("a", np.array([0]), [barely]).detail)


def test_a_type_that_meets_each_but_not_both_says_so(approve: Approve) -> None:
    rejection = missed("a", np.array([0]), [DEADLINE, BUDGET])
    approve(rejection.reason)
    evidence = replace(BUDGET, name="evidence", measure=np.ones((2, 2)), limit=1.0, shown="network: not measured")
    rejection = missed("a", np.array([0]), [DEADLINE, BUDGET, evidence])
    approve(rejection.reason)
    approve(rejection.detail)
    assert rejection.nearness == 1


def test_what_is_asked_is_measured_on_every_cluster(make_job: Callable[..., Any], approve: Approve) -> None:
    """10 and 20 nodes of 16 vCPUs, one spare each: 176 and 336 vCPUs, and 11 and 21 of at most 15 nodes; a time at 95%
    is later than the expected one, by e^(1.64485 s - s^2 / 2).
    """
    limits = (NodeLimit(nodes=15, instance="a"),)
    asked = {
        "deadline_s": 3000.0,
        "sort_deadline_s": 2000.0,
        "max_vcpus": 200,
        "node_limits": limits,
        "budget_usd": 10.0,
    }
    context, region, request = make_job({"a": {"read": 4e9, "write": 2e9}}, **asked)
    nodes = np.array([5.0, 10.0, 20.0])
    estimates = estimate(context, region.offer, nodes=nodes, budgeted=True)
    measured = {entry.name: entry for entry in constraints(context, estimates, request, region="here")}
    assert set(measured) == {"deadline", "sort's deadline", "budget", "quota", "capacity"}
    assert measured["quota"].measure[0].tolist() == [np.inf, 176, 336]
    assert measured["quota"].within(1.0)[0].tolist() == [False, True, False]
    assert measured["capacity"].measure[0].tolist() == [np.inf, pytest.approx(11 / 15), pytest.approx(21 / 15)]
    assert measured["capacity"].within(1.0)[0].tolist() == [False, True, False]
    assert measured["sort's deadline"].measure[0, 1] == estimates.expected_s[0, 1]
    beside = candidate(context, row=0, nodes=10, offer=region.offer).overheads_s
    assert measured["deadline"].measure[0, 1] == pytest.approx(estimates.expected_s[0, 1] + sum(beside.values()))
    assert {"boot", "install", "screen", "teardown", "generate", "validate"} == set(beside)
    assert measured["budget"].measure[0, 1] == estimates.total_p95_usd[0, 1] > estimates.total_usd[0, 1]
    assert [measured[name].limit for name in ("deadline", "sort's deadline", "budget", "capacity")] == [
        3000,
        2000,
        10,
        1,
    ]
    sure = replace(request, deadline_s=None, confidence=0.95, max_vcpus=None, node_limits=(), budget_usd=None)
    (deadline,) = constraints(context, estimates, sure, region="here")
    sigma = context.overheads.shared_sigma
    later_s = estimates.expected_s[0, 1] * np.exp(1.644854 * sigma - sigma**2 / 2)
    assert deadline.measure[0, 1] == pytest.approx(later_s)
    approve(deadline.reason)


def test_a_network_in_doubt_is_twice_too_weak_for_more_than_one_node(make_job: Callable[..., Any]) -> None:
    """A single node sends nothing, so a network rate that is only stated does no harm."""
    types = {"a": {"read": 4e9, "write": 2e9, "local_disk_bytes": 10**13, "evidence": "spec"}}
    context, region, request = make_job(types, data_bytes=10**12, evidence="measured")
    estimates = estimate(context, region.offer, nodes=np.array([1.0, 2.0, 3.0]), budgeted=False)
    (evidence,) = constraints(context, estimates, request, region="here")
    assert (evidence.name, evidence.limit, evidence.measure[0].tolist()) == ("evidence", 1, [1, 2, 2])
    assert evidence.within(1.0)[0].tolist() == [True, False, False]


def test_amounts_are_shown_in_their_unit(approve: Approve) -> None:
    names = ("deadline", "budget", "quota", "capacity")
    shown = [replace(BUDGET, name=name, shown="x").show(2.4) for name in names]
    approve(shown)


@pytest.mark.parametrize(
    ("name", "amount", "option"),
    [
        ("deadline", 1981.2, "--deadline 1982s"),
        ("sort's deadline", 26.04, "--sort-deadline 26.1s"),
        ("sort's deadline", 0.0301, "--sort-deadline 0.0301s"),
        ("budget", 127.231, "--budget 127.24"),
        ("budget", 0.012341, "--budget 0.0124"),
        ("quota", 96.0, "--max-vcpus 96"),
        ("capacity", 1.5, ""),
    ],
)
def test_the_option_that_has_an_amount_is_rounded_up(name: str, amount: float, option: str) -> None:
    assert replace(BUDGET, name=name).option(amount) == option


def test_how_often_a_job_begins_by_hand() -> None:
    """Twenty nodes, each lost once in 20 hours: an hour of work takes (3,600 + 240) s x (e - 1), in 1 + e - 1 tries."""
    risk = Risk(per_node_s=0.05 / 3600, replacement_s=240, recovery="restart", evidence="assumed")
    expected_s = np.array([3840 * (np.e - 1)])
    assert risk.times_begun(expected_s, nodes=np.array([20.0])) == pytest.approx(np.e)


def test_what_begins_for_ever_is_no_plan(approve: Approve) -> None:
    """With one interruption a node and minute, each one-hour try on ten nodes meets 600; on demand, none."""
    asked: dict[str, Any] = {"data": "1TB", "model": "minutesort", "instances": "i4i.large", "nodes": 200}
    spot: dict[str, Any] = {"pricing": "spot", "interruptions": 60}
    (conflict,) = recommend_by(**asked, **spot).plan.conflicts
    approve(conflict)
    assert conflict.endswith(" times (200 x i4i.large). Try --pricing on-demand.")
    assert recommend_by(**asked).best is not None
    assert recommend_by(**{**asked, "model": "framework"}, **spot).best is not None, "only lost tasks are done again"


@pytest.mark.parametrize(
    ("name", "amount", "option"),
    [
        ("deadline", 0.0, "--deadline 0s"),
        ("deadline", 99.91, "--deadline 100s"),
        ("deadline", 9.991, "--deadline 10s"),
        ("deadline", 0.12341, "--deadline 0.124s"),
        ("sort's deadline", 100.2, "--sort-deadline 101s"),
        ("sort's deadline", 12_345.6, "--sort-deadline 12346s"),
        ("budget", 1.0, "--budget 1.00"),
        ("budget", 1.501, "--budget 1.51"),
        ("budget", 0.9991, "--budget 1"),
        ("budget", 0.012341, "--budget 0.0124"),
        ("quota", 7.2, "--max-vcpus 8"),
        ("limit on restarts", 200.0, "--pricing on-demand"),
        ("capacity", 2.0, ""),
    ],
)
def test_an_option_that_allows_an_amount_is_rounded_up(name: str, amount: float, option: str) -> None:
    assert replace(BUDGET, name=name).option(amount) == option


LIMITS = (NodeLimit(nodes=3, instance="a.*", region="here"), NodeLimit(nodes=9, instance="*", region="there"))


@pytest.mark.parametrize(
    ("region", "instance_type", "nodes"),
    [("here", "a.large", 3), ("here", "b.large", None), ("there", "a.large", 9), ("here", "a.x+4x375GB", 3)],
)
def test_the_first_limit_that_fits_counts(region: str, instance_type: str, nodes: int | None) -> None:
    limit = limit_of(LIMITS, cloud="aws", region=region, instance_type=instance_type)
    assert (limit.nodes if limit else None) == nodes


def test_spares_count_too(make_catalog: Callable[..., str]) -> None:
    """One of 11 nodes is the spare."""
    catalog = make_catalog({"a": {"read": 2e9, "write": 2e9}})
    asked = {"data": "10TB", "model": "indy", "catalogs": (catalog,), "objective": "time"}
    best = recommend(**asked, node_limits=(NodeLimit(instance="a", nodes=11),)).best
    assert best is not None
    assert (best.nodes, best.spares) == (10, 1)


def test_a_type_of_which_there_are_too_few_says_so(make_catalog: Callable[..., str], approve: Approve) -> None:
    catalog = make_catalog({"a": {"read": 2e9, "write": 2e9}, "b": {"read": 1e9, "write": 1e9}})
    asked = {"data": "100TB", "model": "indy", "catalogs": (catalog,)}
    assert recommend(**asked).best.instance_type == "a"  # type: ignore[union-attr]
    plan = recommend(**asked, node_limits=(NodeLimit(instance="a", nodes=7, region="here", cloud="aws", note="seen"),))
    assert plan.best is not None
    assert plan.best.instance_type == "b"
    approve([r.reason for r in plan.rejected])
    approve(plan.plan.warnings)


def test_capacity_and_deadline_that_clash_are_named(make_catalog: Callable[..., str]) -> None:
    catalog = make_catalog({"a": {"read": 2e9, "write": 2e9}})
    asked = {"data": "10TB", "model": "indy", "catalogs": (catalog,), "node_limits": (NodeLimit(nodes=20),)}
    slow = recommend(**asked, objective="time").best
    assert slow is not None
    plan = recommend(**asked, deadline=slow.time_s.expected / 2)
    assert plan.best is None
    assert plan.plan.conflicts[0].startswith("No cluster meets --deadline")
