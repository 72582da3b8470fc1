"""What a request asks is measured on every cluster, and what clashes is named with the price of meeting it."""

from __future__ import annotations

import numpy as np

from planner.planning.constraints import Constraint, conflicts, missed

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
    assert list(conflicts([[DEADLINE, BUDGET]])) == [
        "the deadline and the budget clash: what meets the deadline costs in all, at 95%, $20.00 at least; "
        "what meets the budget takes 1 min 30 s at least"
    ]


def test_a_constraint_that_nothing_meets_is_named_alone() -> None:
    hopeless = Constraint(name="quota", reason="", measure=np.array([[9.0, 9.0]]), limit=1.0, shown="launches")
    assert list(conflicts([[hopeless]])) == ["no cluster meets the quota alone"]
    assert not list(conflicts([]))
