"""The least that can be had of what a request limits: the bounds say where to look, what is worked out decides."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from planner.arrays import Floats
from planner.planning.ranking.nearest import ConstrainedTypes, least
from planner.planning.request.constraints import Constraint


def constraint(name: str, bounds: Floats, *, limit: float = 10.0) -> Constraint:
    return Constraint(name=name, reason=f"misses {name}", measure=np.asarray(bounds), limit=limit, shown="takes")


class Worked:
    """Two types at some sizes: what is worked out of each constraint, and which clusters were."""

    def __init__(self, exact: Mapping[str, Floats]) -> None:
        self.exact, self.tried = exact, []  # type: ignore[var-annotated]

    def __call__(self, row: int, column: int) -> dict[str, float]:
        self.tried.append((row, column))
        return {name: float(amounts[row, column]) for name, amounts in self.exact.items()}


def asked(worked: Worked, *constraints: Constraint) -> ConstrainedTypes:
    types = {name: np.array([row]) for row, name in enumerate("ab")}
    return ConstrainedTypes(
        constraints=constraints, types=types, cluster_name=lambda row, at: f"{at + 1} x {'ab'[row]}", exactly=worked
    )


def test_what_is_evaluated_decides_and_not_the_bounds() -> None:
    """Type a promises 10 and has 14 and 13; of type b, which promises 11, one size has 12. The bound of 12.5 is not
    worked out: nothing below 12 can come of it.
    """
    worked = Worked({"deadline": np.array([[14.0, 13.0, 13.0], [15.0, 12.0, 99.0]])})
    group = asked(worked, constraint("deadline", np.array([[10.0, 10.5, 12.5], [11.5, 11.0, 12.5]])))
    at = least([group], "deadline")
    assert at is not None
    assert (at.amount, at.name, at.size) == (12.0, "2 x b", "2 nodes")
    assert (1, 2) not in worked.tried


def test_a_cluster_that_is_good_enough_ends_the_search() -> None:
    worked = Worked({"deadline": np.array([[11.0, 10.0, 10.0], [9.0, 9.0, 9.0]])})
    group = asked(worked, constraint("deadline", np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])))
    at = least([group], "deadline", enough=11.0)
    assert at is not None and at.amount == 11.0
    assert worked.tried == [(0, 0)]


def test_only_what_keeps_to_the_others_counts_evaluated() -> None:
    """By the bounds two nodes keep to $10; worked out, for $11, they do not. Three do, in 30 s."""
    worked = Worked(
        {"deadline": np.array([[10.0, 20.0, 30.0]] * 2), "budget": np.array([[30.0, 11.0, 9.0], [99.0, 99.0, 99.0]])}
    )
    bounds = constraint("deadline", np.array([[10.0, 20.0, 30.0]] * 2))
    group = asked(worked, bounds, constraint("budget", np.array([[30.0, 9.0, 8.0], [99.0, 99.0, 99.0]])))
    at = least([group], "deadline", within=("budget",))
    assert at is not None and (at.amount, at.name) == (30.0, "3 x a")
    assert least([group], "quota") is None
    none = asked(worked, bounds, constraint("budget", np.full((2, 3), 11.0)))
    assert least([none], "deadline", within=("budget",)) is None


def test_the_least_of_many_sizes_is_among_those_that_are_evaluated() -> None:
    """A bound of 100 for all of 1,000 sizes, worked out 100 + |n - 613| / 100: no size tells more than another."""
    sizes = np.arange(1000.0)
    worked = Worked({"deadline": np.array([100 + abs(sizes - 613) / 100, sizes + 200])})
    group = asked(worked, constraint("deadline", np.array([np.full(1000, 100.0), sizes + 200])))
    at = least([group], "deadline")
    assert at is not None and (at.amount, at.column) == (100.0, 613)
    assert len(worked.tried) < 40
