"""Refusals name the limits that clash and the nearest alternative; a request for that alternative gives the same
figures.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pytest
from approvals import Approve

import planner
from planner.errors import InfeasibleError
from planner.planning.ranking.nearest import ConstrainedTypes
from planner.planning.ranking.refusal import SHOWN, by_missing_facts, conflicts, nearest_types, order, refusal_of
from planner.planning.recommendation import require_best
from planner.planning.request.constraints import Constraint
from planner.schemas.plan import Rejection
from planner.units import format_duration, format_usd
from tests.marks import QUICK_SOAK
from tests.planning.two_constraints import BUDGET, DEADLINE

recommend_by: Any = planner.recommend
recommend = partial(recommend_by, engine="ideal")
"""The sums here are those of the equations alone."""


def asked(*constraints: Constraint) -> ConstrainedTypes:
    """Return a request for types `a`, `b`, ..., with one and two nodes, whose exact figures equal their bounds."""

    def exactly(row: int, column: int) -> dict[str, float]:
        return {constraint.name: float(constraint.measure[row, column]) for constraint in constraints}

    types = {name: np.array([row]) for row, name in enumerate("abcdefg"[: len(constraints[0].measure)])}
    return ConstrainedTypes(
        constraints=constraints,
        types=types,
        cluster_name=lambda row, at: f"{at + 1} x {'abcdefg'[row]}",
        exactly=exactly,
    )


def test_a_clash_names_what_meeting_one_asks_of_the_other(approve: Approve) -> None:
    approve(list(conflicts([asked(DEADLINE, BUDGET)])))


def test_a_constraint_that_nothing_meets_is_named_alone() -> None:
    hopeless = Constraint(name="quota", reason="", measure=np.array([[9.0, 7.0]]), limit=1.0, shown="launches")
    quota = "No cluster meets --max-vcpus 1. The nearest launches 7 vCPUs (2 x a). Try --max-vcpus 7."
    assert list(conflicts([asked(hopeless)])) == [quota]
    assert not list(conflicts([]))
    (beside_one_that_is_met,) = conflicts([asked(replace(DEADLINE, measure=np.array([[9.0, 7.0]])), hopeless)])
    assert beside_one_that_is_met == quota


def test_a_clash_that_one_region_resolves_is_none() -> None:
    resolved = [replace(constraint, measure=np.array([[1.0]])) for constraint in (DEADLINE, BUDGET)]
    assert list(conflicts([asked(DEADLINE, BUDGET)]))
    assert not list(conflicts([asked(DEADLINE, BUDGET), asked(*resolved)]))


def test_what_holds_for_several_types_is_said_once(approve: Approve) -> None:
    plan = recommend("1TB", model="daytona", catalogs=["aws"], nodes=1).plan
    advice, line = refusal_of(plan).details
    assert advice == "Try --nodes 2."
    names, _, why = line.partition(": ")
    assert len(names.split(", ")) == SHOWN
    approve(why)


def test_the_nearest_of_several_regions_is_named(approve: Approve) -> None:
    far, near = (replace(DEADLINE, measure=np.array([[least, 300.0]]), limit=10.0) for least in (200.0, 100.0))
    (text,) = conflicts([asked(far), asked(near), asked(far)])
    approve(text)


def test_what_one_of_three_rules_out_is_named_and_the_rest_is_not() -> None:
    """A quota that every cluster keeps clashes with neither."""
    quota = Constraint(name="quota", reason="", measure=np.zeros((2, 2)), limit=1.0, shown="launches")
    (text,) = conflicts([asked(DEADLINE, BUDGET, quota)])
    assert text.startswith("No cluster meets --deadline 60s and --budget 10.00 together.")


def test_three_of_which_any_two_are_met_are_named_together(approve: Approve) -> None:
    """Each of three clusters misses a different one."""
    three = [
        replace(BUDGET, name=name, measure=np.where(np.eye(3)[row] > 0, 11.0, 9.0)[None])
        for row, name in enumerate(("deadline", "budget", "quota"))
    ]
    (text,) = conflicts([asked(*three)])
    approve(text)


@pytest.mark.parametrize(
    ("limit", "nearest"),
    [
        (
            {"budget_usd": 1.0},
            r"The cheapest costs up to (\$[\d.]+) in 95 of 100 runs \((\d+) x ([\w.-]+)\). Try --budget ([\d.]+)\.$",
        ),
        ({"deadline": 1.0}, r"The fastest takes ([\w ]+) in all \((\d+) x ([\w.-]+)\). Try --deadline (\w+)\."),
        ({"sort_deadline": 1.0}, r"The fastest takes ([\w. ]+) \((\d+) x ([\w.-]+)\). Try --sort-deadline ([\w.]+)\.$"),
    ],
)
@pytest.mark.parametrize(
    "more", [{"engine": "ideal"}, pytest.param({"engine": "ray", "pricing": "spot"}, marks=QUICK_SOAK)]
)
def test_the_nearest_gives_its_figure_when_asked_for_by_itself(
    limit: dict[str, float], nearest: str, more: dict[str, Any]
) -> None:
    """The option it names has an answer, and the same option a percent lower has none."""
    asked: dict[str, Any] = {"data": "10TB", "model": "indy", "instances": "i4i.*large,c6gd.*large", **more}
    (conflict,) = recommend_by(**asked, **limit).plan.conflicts
    match = re.search(nearest, conflict)
    assert match is not None, conflict
    amount, nodes, name, option = match.groups()
    alone = recommend_by(**{**asked, "nodes": int(nodes), "instances": name}).best
    assert alone is not None
    whole_s = alone.time_s.expected + sum(alone.overheads_s.values())
    shown = {
        "budget_usd": format_usd(alone.cost_usd.total_p95),
        "deadline": format_duration(whole_s),
        "sort_deadline": format_duration(alone.time_s.expected),
    }
    (name_of_limit,) = limit
    assert amount == shown[name_of_limit]
    by_option = name_of_limit.removesuffix("_usd")
    assert recommend_by(**asked, **{by_option: option}).best is not None
    exactly = {"budget": alone.cost_usd.total_p95, "deadline": whole_s, "sort_deadline": alone.time_s.expected}
    assert recommend_by(**asked, **{by_option: 0.99 * exactly[by_option]}).best is None


def test_the_types_that_are_named_give_their_figures_too() -> None:
    asked: dict[str, Any] = {"data": "10TB", "model": "indy", "instances": "i4i.*,i8g.*,c6gd.*"}
    with pytest.raises(InfeasibleError) as caught:
        require_best(recommend_by(**asked, budget="5").plan)
    clash, *types = caught.value.details
    assert clash.startswith("No cluster meets --budget 5.00.") and len(types) == 4
    for line in types:
        match = re.match(
            r"([\w.-]+)(?:, [\w.-]+)*: exceeds the budget of \$5.00 "
            r"\(costs up to (\$[\d.]+) in 95 of 100 runs on (\d+) nodes?\)",
            line,
        )
        assert match is not None, line
        alone = recommend_by(**{**asked, "nodes": int(match[3]), "instances": match[1]}).best
        assert alone is not None and format_usd(alone.cost_usd.total_p95) == match[2]


@pytest.mark.parametrize("option", ["nodes", "max_nodes"])
def test_too_few_nodes_are_answered_with_how_many_are_needed(option: str) -> None:
    asked: dict[str, Any] = {"data": "100TB", "model": "indy"}
    with pytest.raises(InfeasibleError) as raised:
        require_best(recommend_by(**asked, **{option: 3}).plan)
    match = re.fullmatch(rf"Try --{option.replace('_', '-')} (\d+)\.", raised.value.details[0])
    assert match is not None, raised.value.details
    assert recommend_by(**asked, **{option: int(match[1])}).best is not None
    assert recommend_by(**asked, **{option: int(match[1]) - 1}).best is None


def test_types_that_hold_no_such_data_are_not_the_answer_to_too_small_a_budget() -> None:
    with pytest.raises(InfeasibleError) as raised:
        require_best(recommend(data="100TB", model="indy", budget_usd=50.0).plan)
    assert not any("hold the data" in line for line in raised.value.details)


def test_a_limit_that_only_the_last_cluster_keeps_is_answered_with_it(make_catalog: Callable[..., str]) -> None:
    """A budget equal to a cluster's cost and a deadline equal to its time leave at least that cluster."""
    catalog = make_catalog({"a": {"read": 1e9, "write": 1e9}, "b": {"read": 1.1e9, "write": 1e9}})
    asked: dict[str, Any] = {"data": "10TB", "model": "indy", "catalogs": (catalog,), "max_nodes": 40}
    for nodes in (14, 20, 30):
        cluster = recommend(**asked, nodes=nodes).best
        assert cluster is not None
        both = {"budget_usd": cluster.cost_usd.total_p95 * 1.00001, "sort_deadline": cluster.time_s.expected * 1.00001}
        assert recommend(**asked, **both).best is not None


def test_the_five_nearest_are_named_the_nearest_first(make_catalog: Callable[..., str]) -> None:
    """Six types, each slower than the one before: the sixth is not mentioned."""
    types = {f"t{number}": {"read": 1e9 / number, "write": 1e9 / number} for number in range(1, 7)}
    with pytest.raises(InfeasibleError) as caught:
        require_best(
            recommend(data="1TB", model="indy", catalogs=(make_catalog(types),), nodes=4, sort_deadline=1.0).plan
        )
    assert [line.partition(":")[0] for line in caught.value.details[1:]] == ["t1", "t2", "t3", "t4", "t5"]


def test_what_is_just_kept_is_no_clash() -> None:
    """Two nodes of a take 60 s and cost $10, exactly the limits."""
    exactly = [replace(limit, measure=np.array([[99.0, limit.limit]])) for limit in (DEADLINE, BUDGET)]
    assert not list(conflicts([asked(*exactly)]))


def test_types_that_lack_facts_are_ordered_by_how_many() -> None:
    wanted = Rejection(instance_type="a", reason="memory unknown", detail="also vcpu, disks, price")
    assert by_missing_facts(wanted) == (False, 3)
    assert by_missing_facts(replace(wanted, detail="")) == (False, 0)
    assert by_missing_facts(replace(wanted, reason="not asked for")) == (True, 3)


def far(name: str, nearness: float | None) -> Rejection:
    return Rejection(instance_type=name, reason="misses", nearness=nearness)


@pytest.mark.parametrize("count", [2, 7])
def test_the_nearest_types_are_evaluated_and_no_others(count: int, approve: Approve) -> None:
    """Types take 120 s, 180 s, ... for a deadline of 60 s: 2, 3, ... times as long. Five are shown."""
    late = replace(DEADLINE, measure=np.array([[60.0 * (place + 2), 900.0] for place in range(count)]))
    rejections = [*(far(name, place + 2.0) for place, name in enumerate("abcdefg"[:count])), far("h", None)]
    worked_out = nearest_types([asked(late)], rejections)
    assert [(row.instance_type, row.nearness) for row in worked_out] == [
        (name, place + 2.0) for place, name in enumerate("abcdefg"[: min(count, SHOWN)])
    ]
    approve(worked_out[0].detail)


def test_a_type_that_is_evaluated_to_be_further_off_makes_room_for_others() -> None:
    """Type a is estimated at 1.5 times too slow and is 10 times too slow; the others are as estimated."""
    late = replace(DEADLINE, measure=np.array([[600.0], *([60.0 * (place + 2)] for place in range(6))]))
    rejections = [far("a", 1.5), *(far(name, place + 2.0) for place, name in enumerate("bcdefg"))]
    worked_out = {row.instance_type: row.nearness for row in nearest_types([asked(late)], rejections)}
    assert worked_out == {"a": 10, "b": 2, "c": 3, "d": 4, "e": 5, "f": 6}


def test_of_two_regions_a_type_is_shown_where_it_comes_nearest(approve: Approve) -> None:
    far_off, near = (replace(DEADLINE, measure=np.array([[seconds]])) for seconds in (180.0, 120.0))
    for regions in ((far_off, near), (near, far_off)):
        (nearest,) = nearest_types([asked(region) for region in regions], [far("a", 1.0)])
        approve((nearest.nearness, nearest.detail))


def test_a_type_that_meets_each_by_itself_says_so(approve: Approve) -> None:
    """One node costs exactly $10, two take exactly 60 s; evidence has no amount."""
    evidence = replace(BUDGET, name="evidence", measure=np.ones((1, 2)), limit=1.0, shown="network: not measured")
    late, dear = (
        replace(DEADLINE, measure=np.array([[90.0, 60.0]])),
        replace(BUDGET, measure=np.array([[10.0, 20.0]])),
    )
    (apart,) = nearest_types([asked(late, dear, evidence)], [far("a", 1.0)])
    approve(apart.reason)
    approve(apart.detail)
    assert apart.nearness == 1
    weak = replace(evidence, measure=np.full((1, 2), 2.0))
    (nearest,) = nearest_types([asked(weak)], [far("a", 1.0)])
    assert (nearest.detail, nearest.nearness) == ("network: not measured", 2)
    assert order(nearest) == (False, 2) and order(far("a", None)) == (False, 0)
