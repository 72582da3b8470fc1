"""The best cluster is found for every objective, though only the most promising are evaluated."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest
from approvals import Approve

from planner import recommend as recommend_by
from planner.api.request_inputs import inputs_of
from planner.planning.candidates.candidate_grid import CandidateGrid, build_grid
from planner.planning.ranking.field import Field, Part
from planner.planning.ranking.search import select_clusters
from planner.planning.ranking.selection import order
from planner.planning.request.region import Region
from planner.schemas.plan import Candidate, Request

recommend = partial(recommend_by, engine="ideal")
"""The sums here are those of the equations alone."""

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


def every_cluster(asked: dict[str, Any], names: list[str], most: int) -> list[Candidate]:
    """Return each cluster of some types up to a number of nodes, planned alone."""
    alone = (recommend(**asked, instances=[name], nodes=nodes, top=1) for name in names for nodes in range(1, most + 1))
    return [made.best for made in alone if made.best is not None]


@pytest.mark.parametrize("objective", ["balanced", "cost", "time"])
@pytest.mark.parametrize(
    "limits", [{}, {"deadline": "1h"}, {"budget": 12.0}, {"sort_deadline": "20m", "confidence": 0.9}]
)
def test_the_first_is_the_best_of_all_clusters(market: str, objective: Any, limits: dict[str, Any]) -> None:
    """Three types of up to 40 nodes, each planned alone."""
    asked: dict[str, Any] = {"data": "10TB", "model": "indy", "catalogs": [market], "objective": objective, **limits}
    names = ["slow", "slower", "fast-0"]
    best = recommend(**asked, instances=names, max_nodes=41).best
    all_of_them = [made for made in every_cluster(asked, names, 40) if made.nodes + made.spares <= 41]
    assert best is not None
    first = order(all_of_them, best_rule(objective))[0]
    figures = (best.time_s.expected, best.cost_usd.total)
    assert figures == pytest.approx((first.time_s.expected, first.cost_usd.total), rel=1e-6)


def best_rule(objective: Any) -> Any:
    return Request(data_bytes=1, objective=objective).rule


def grid_of(market: str) -> tuple[CandidateGrid, Request]:
    """Return the grid of the slow type at 1 to 60 nodes."""
    request, given = inputs_of(
        Request(data_bytes=10**13, model="indy", catalogs=(market,), instances=("slow",), max_nodes=62), None
    )
    region = Region.of(request, given.catalogs[0], "here")
    return build_grid(request, model=given.models[0], region=region, overheads=given.overheads)[0], request


def test_bounds_are_below_what_is_exact_and_become_it(market: str) -> None:
    """Whatever was evaluated: at first nothing, then the ends, then every third size, then all."""
    grid, request = grid_of(market)
    whole, of = (field_of(made, request) for made in (grid_of(market)[0], grid))
    able = np.flatnonzero(np.isfinite(whole.figures["usd"][0])).tolist()
    whole.take_in([(0, column) for column in able])
    for some in ([], [able[0], able[-1]], able[::3], able):
        of.take_in([(0, column) for column in some])
        for name, exact in whole.figures.items():
            assert (of.figures[name][0, able] <= exact[0, able] * (1 + 1e-12)).all()
        assert set(some) <= set(np.flatnonzero(of.known[0]))
    assert of.figures["usd"][0, able] == pytest.approx(whole.figures["usd"][0, able])


def field_of(grid: CandidateGrid, request: Request) -> Field:
    return Field([Part(grid=grid, starts=np.zeros(1, int), kind=0)], request)


def test_few_clusters_are_evaluated(market: str) -> None:
    grid, request = grid_of(market)
    select_clusters(request, [[grid]])
    assert 3 <= sum(map(len, grid.found.values())) <= 30


@pytest.mark.parametrize("nodes", [63, 97, 158, 431])
def test_a_size_that_alone_meets_two_limits_is_found(market: str, nodes: int) -> None:
    """Fewer nodes miss the deadline, more the quota: the sizes looked at first hold none of these."""
    asked: dict[str, Any] = {"data": "10TB", "model": "indy", "catalogs": [market], "instances": ["slow"]}
    planned = recommend(**asked, nodes=nodes, max_nodes=1000).best
    assert planned is not None and planned.machine.vcpus
    quota = int((nodes + planned.spares) * planned.machine.vcpus)
    sort_deadline = f"{planned.time_s.expected * 1.0005}s"
    best = recommend(**asked, max_nodes=1000, sort_deadline=sort_deadline, max_vcpus=quota).best
    assert best is not None
    assert best.nodes == nodes


def test_the_smaller_cluster_may_be_the_largest_that_needs_no_asking(market: str) -> None:
    """What holds the data only on as many nodes as are at hand is told beside one that is faster on more."""
    asked: dict[str, Any] = {"data": "120TB", "model": "indy", "catalogs": [market], "instances": ["slow"]}
    plan = recommend(**asked, objective="time", max_nodes=250).plan
    assert plan.best is not None and plan.capacity is not None
    assert 91 < plan.best.nodes_min <= 98, "of the sizes looked at first, no other up to 98 holds the data"
    assert plan.capacity.smaller is not None
    assert plan.capacity.smaller.nodes <= 98
