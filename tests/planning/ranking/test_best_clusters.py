"""The best cluster is found for every objective, though only the most promising are computed exactly."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from approvals import Approve

from planner import recommend as recommend_by
from planner.cost_model.estimate import Estimates
from planner.planning.ranking.best_clusters import _limit, _Pick, _promise, select_clusters
from planner.planning.ranking.selection import NO_LIMIT, Cell, Cheapest, Limit
from planner.planning.request.constraints import Constraint
from planner.schemas.plan import Request

recommend = partial(recommend_by, engine="ideal")
"""The sums here are those of the equations alone."""

CLOUD = str(Path(__file__).parents[2] / "golden" / "cloud")
SLOW = {"price": 1.0, "read": 4e9, "write": 2e9, "power_w": 400, "network_baseline_bytes_per_s": 10**9}
FAST = {"price": 60.0, "read": 4e10, "write": 2e10, "power_w": 9000, "network_baseline_bytes_per_s": 10**10}


@pytest.fixture
def market(make_catalog: Callable[..., str]) -> str:
    """Six fast types at rising prices, and three at a tenth of the price; the last of these draws the least power."""
    fast = {f"fast-{number}": FAST | {"price": 60.0 + number} for number in range(6)}
    slow = {"slow": SLOW, "slower": SLOW | {"read": 3.9e9}, "frugal": SLOW | {"price": 3.0, "power_w": 20}}
    return make_catalog(fast | slow)


@pytest.mark.parametrize(
    ("objective", "name"), [("balanced", "slow"), ("cost", "slow"), ("time", "fast-0"), ("energy", "frugal")]
)
def test_few_are_evaluated_exactly_and_the_best_is_among_them(market: str, objective: Any, name: str) -> None:
    """Ten nodes for 10 TB: 1,650 s for cents or 165 s for dollars; 20 W for 1,650 s are less than 9 kW for 165."""
    asked = {
        "data": "10TB",
        "model": "indy",
        "catalogs": [market],
        "nodes": 10,
        "objective": objective,
        "engine": "ideal",
    }
    plan = recommend(**asked, top=1).plan
    assert plan.best is not None
    assert plan.best.instance_type == name
    everything = recommend(**asked, top=20).plan
    assert everything.best == plan.best
    assert len(everything.candidates) == 9


def test_what_a_budget_rules_out_by_the_exact_sum_is_told_by_how_much(market: str, approve: Approve) -> None:
    asked: dict[str, Any] = {
        "data": "10TB",
        "model": "indy",
        "catalogs": [market],
        "nodes": 10,
        "instances": ["slow"],
        "engine": "ideal",
    }
    exact = recommend(**asked).best
    assert exact is not None
    usd = exact.cost_usd.total_p95
    assert recommend(**asked, budget_usd=usd * 1.001).best is not None
    refused = recommend(**asked, budget_usd=usd / 1.002).plan
    assert refused.best is None
    (rejection,) = [entry for entry in refused.rejected if entry.instance_type == "slow"]
    assert rejection.nearness is not None
    assert 1 < rejection.nearness <= 1.0021
    approve(rejection.reason)


def test_what_misses_a_deadline_says_how_near_the_nearest_size_comes(market: str) -> None:
    """The fastest size misses the deadline by 0.1%; the nearness is that, not the larger miss of another size."""
    asked: dict[str, Any] = {"data": "10TB", "model": "indy", "catalogs": [market], "instances": ["slow"]}
    fastest = recommend(**asked, objective="time", max_nodes=30).best
    assert fastest is not None
    refused = recommend(**asked, max_nodes=30, sort_deadline=fastest.time_s.expected / 1.001).plan
    (rejection,) = [entry for entry in refused.rejected if entry.instance_type == "slow"]
    assert rejection.nearness == pytest.approx(1.001, abs=1e-4)


TIMES = Constraint(name="deadline", reason="late", measure=np.array([[3e3, 2e3, 1e3]]), limit=4e3, shown="takes")
DOLLARS = Constraint(name="budget", reason="dear", measure=np.array([[5.0, 10.0, 30.0]]), limit=40.0, shown="costs")
EXACT = {0: 1.3, 1: 1.1, 2: 1.2}


class Grid:
    """One type at three sizes; `excesses` gives the factor by which each, computed exactly, misses the request."""

    estimates = Estimates(
        nodes=np.array([1.0, 2.0, 3.0]),
        fewest=np.ones(1),
        expected_s=TIMES.measure,
        total_usd=np.full((1, 3), 10.0),
        total_p95_usd=None,
        charges_usd=np.zeros(1),
        power_w=np.ones(1),
    )
    asked = (TIMES, DOLLARS)
    good = np.ones((1, 3), bool)
    partly_unknown = np.zeros(1, bool)

    def __init__(self, excesses: Mapping[int, float]) -> None:
        self.excesses = excesses
        self.tried: list[int] = []
        self.cluster = recommend("1TB", model="indy", catalogs=[CLOUD], nodes=3).best

    @property
    def cheapest(self) -> Cheapest:
        return Cheapest.of(self.estimates, self.good)

    def rows_of_types(self) -> list[Any]:
        return [np.array([0])]

    def type_name(self, row: int) -> str:
        return "a"

    def exact(self, cell: Cell, request: Request) -> tuple[Any, float]:
        self.tried.append(cell.column)
        return self.cluster, self.excesses[cell.column]


def settled(excesses: Mapping[int, float]) -> tuple[Grid, Any]:
    grid = Grid(excesses)
    candidates, rejected = select_clusters(Request(data_bytes=1, model="indy", top=1), [[grid]])  # type: ignore[list-item]
    (outcome,) = [*candidates, *rejected]
    return grid, outcome


def test_what_misses_is_tried_again_at_safer_sizes_and_at_last_at_the_safest() -> None:
    """The fastest is tried first, then the next. The safest is the one with the smallest larger share of its limits
    (3/4, 2/4 and 3/4): the second, which misses by 10%, the least of all.
    """
    grid, outcome = settled(EXACT)
    assert grid.tried == [2, 1, 0, 1]
    assert (outcome.nearness, outcome.detail) == (1.1, "by 10%, computed exactly")


def test_what_would_exceed_a_limit_by_as_much_is_not_tried() -> None:
    """Three nodes for $30 miss by 1.5, as if for $45, so anything above $20 would miss, too. Two nodes keep to it."""
    grid, outcome = settled({0: 0.9, 1: 1.0, 2: 1.5})
    assert grid.tried == [2, 1]
    assert outcome is grid.cluster
    grid, outcome = settled({0: 9.0, 1: 9.0, 2: 5.0})  # as if in 5,000 s: no size is below 200 s
    assert grid.tried == [2, 1]
    assert outcome.nearness == 5


def test_layouts_within_a_hundredth_are_compared_exactly() -> None:
    """10.05 s is compared with 10 s and 10.2 s is not: the exact time of the first may be the shorter one."""
    grid = Grid({0: 1.0})
    times = np.array([[10.0], [10.05], [10.2]])
    grid.estimates = replace(
        Grid.estimates, nodes=np.ones(1), fewest=np.ones(3), expected_s=times, total_usd=np.full((3, 1), 10.0)
    )
    grid.asked, grid.good = (), np.ones((3, 1), bool)  # type: ignore[assignment]
    rows: list[int] = []

    def exact(cell: Cell, request: Request) -> tuple[Any, float]:
        rows.append(cell.row)
        return grid.cluster, 1.0

    grid.exact, grid.rows_of_types = exact, lambda: [np.arange(3)]  # type: ignore[method-assign]
    select_clusters(Request(data_bytes=1, model="indy", top=1), [[grid]])  # type: ignore[list-item]
    assert rows == [0, 1]


def test_what_promises_most_comes_first_by_hand() -> None:
    """Ten dollars and 3,000 s: time counts first within a limit of $10, dollars count first beyond one of $9.99."""
    pick = _Pick(grid=Grid({}), rows=np.array([0]), cell=Cell(row=0, column=0), limit=Limit(usd=10.0))  # type: ignore[arg-type]

    def promised(objective: Any, limit_usd: float = 10.0) -> tuple[float, ...]:
        return _promise(pick, request=Request(data_bytes=1, objective=objective), limit=Limit(usd=limit_usd))

    assert promised("balanced") == (False, 0, 3000, 10)
    assert promised("balanced", 9.99) == (False, 1, 10, 3000)
    assert promised("cost") == (False, 10, 3000)
    assert promised("time") == (3000, False, 10)


def test_the_limit_is_above_the_cheapest_of_all_grids() -> None:
    """5% above $10, the cheapest of all grids, and not above $20."""
    cheap, dear = Grid({}), Grid({})
    dear.estimates = replace(Grid.estimates, total_usd=np.full((1, 3), 20.0))
    assert _limit([dear, cheap]).usd == pytest.approx(10.5)  # type: ignore[list-item]
    assert _limit([]) == NO_LIMIT


def test_the_limit_is_above_a_bill_that_is_fully_known_if_there_is_one() -> None:
    known, cheaper_in_part = Grid({}), Grid({})
    known.estimates = replace(Grid.estimates, total_usd=np.full((1, 3), 20.0))
    cheaper_in_part.partly_unknown = np.ones(1, bool)
    assert _limit([known, cheaper_in_part]).usd == pytest.approx(21)  # type: ignore[list-item]
    assert _limit([cheaper_in_part]).usd == pytest.approx(10.5)  # type: ignore[list-item]
