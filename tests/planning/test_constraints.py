"""What a request asks is measured on every cluster, and what clashes is named with the price of meeting it."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from planner import recommend as recommend_by
from planner.errors import InfeasibleError
from planner.planning.constraints import Asked, Constraint, conflicts, missed
from planner.planning.recommendation import require_best

recommend = partial(recommend_by, engine="ideal")
"""The sums here are those of the equations alone."""

DEADLINE = Constraint(
    name="deadline",
    reason="misses the deadline of 60 s",
    measure=np.array([[120.0, 50.0], [90.0, 70.0]]),
    limit=60.0,
    shown="takes",
)
BUDGET = Constraint(
    name="budget",
    reason="exceeds the budget of $10",
    measure=np.array([[5.0, 20.0], [6.0, 30.0]]),
    limit=10.0,
    shown="costs in all, at 95%,",
)


def asked(*constraints: Constraint) -> Asked:
    return Asked(constraints=constraints, cluster_name=lambda row, column: f"{row}:{column}")


def test_a_constraint_is_met_up_to_its_limit() -> None:
    assert DEADLINE.met.tolist() == [[False, True], [False, False]]


def test_the_first_constraint_that_no_size_meets_is_the_reason() -> None:
    rejection = missed("b", np.array([1]), [DEADLINE, BUDGET])
    assert (rejection.reason, rejection.nearness) == (DEADLINE.reason, 70 / 60)
    assert rejection.detail.startswith("takes 1")


def test_a_type_that_meets_each_but_not_both_says_so() -> None:
    rejection = missed("a", np.array([0]), [DEADLINE, BUDGET])
    assert rejection.reason == "meets the deadline and the budget only apart"


def test_a_clash_names_what_meeting_one_asks_of_the_other() -> None:
    assert list(conflicts([asked(DEADLINE, BUDGET)])) == [
        "the deadline and the budget clash: what meets the deadline costs in all, at 95%, $20.00 at least; "
        "what meets the budget takes 1 min 30 s at least"
    ]


def test_a_constraint_that_nothing_meets_is_named_alone() -> None:
    hopeless = Constraint(name="quota", reason="", measure=np.array([[9.0, 7.0]]), limit=1.0, shown="launches")
    assert list(conflicts([asked(hopeless)])) == [
        "no cluster meets the quota alone: the nearest, 0:1, launches 7 vCPUs"
    ]
    assert not list(conflicts([]))


def test_a_clash_that_one_region_resolves_is_none() -> None:
    resolved = [replace(constraint, measure=np.array([[1.0]])) for constraint in (DEADLINE, BUDGET)]
    assert list(conflicts([asked(DEADLINE, BUDGET)]))
    assert not list(conflicts([asked(DEADLINE, BUDGET), asked(*resolved)]))


@pytest.mark.parametrize(
    ("limit", "nearest"),
    [
        (
            {"budget_usd": 50.0},
            r"no cluster meets the budget alone: the nearest, \d+ x [\w.-]+, costs in all, at 95%, \$",
        ),
        ({"deadline": 1.0}, r"no cluster meets the deadline alone: the nearest, \d+ x [\w.-]+, takes [\d.]+ s"),
    ],
)
def test_what_cannot_be_had_is_answered_with_the_nearest_that_can(limit: dict[str, float], nearest: str) -> None:
    """The types that hold no such data within 1,000 nodes are not the answer to too small a budget."""
    plan = recommend(data="100TB", model="indy", **limit).plan
    with pytest.raises(InfeasibleError, match=nearest) as raised:
        require_best(plan)
    assert not any("hold the data" in line for line in raised.value.details)
