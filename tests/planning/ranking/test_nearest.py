"""The least possible value of a limited quantity: bounds show where to look, exact figures decide."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from planner.arrays import Floats
from planner.planning.ranking.nearest import ConstrainedTypes, least
from planner.planning.request.constraints import Constraint


def constraint(name: str, bounds: Floats, *, limit: float = 10.0) -> Constraint:
    return Constraint(name=name, reason=f"misses {name}", measure=np.asarray(bounds), limit=limit, shown="takes")


class Worked:
    """Two types at some sizes: the exact amounts for each constraint, and the clusters that were computed."""

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
    """Type a promises 10 and has 14 and 13; type b promises 11, and one of its sizes has 12. The bound of 12.5 is not
    computed exactly: it cannot lead below 12.
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
    """By the bounds two nodes keep to $10; computed exactly they cost $11 and do not. Three do, in 30 s."""
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
    """All 1,000 sizes have a bound of 100 and an exact value of 100 + |n - 613| / 100: no bound hints at the best."""
    sizes = np.arange(1000.0)
    worked = Worked({"deadline": np.array([100 + abs(sizes - 613) / 100, sizes + 200])})
    group = asked(worked, constraint("deadline", np.array([np.full(1000, 100.0), sizes + 200])))
    at = least([group], "deadline")
    assert at is not None and (at.amount, at.column) == (100.0, 613)
    assert len(worked.tried) < 40
