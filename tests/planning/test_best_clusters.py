"""The best cluster comes out whatever the objective, though only the most promising are worked out in full."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from planner import recommend as recommend_by

recommend = partial(recommend_by, engine="ideal")
"""The sums here are those of the equations alone."""

SLOW = {"price": 1.0, "read": 4e9, "write": 2e9, "power_w": 400, "network_baseline_bytes_per_s": 10**9}
FAST = {"price": 60.0, "read": 4e10, "write": 2e10, "power_w": 9000, "network_baseline_bytes_per_s": 10**10}


@pytest.fixture
def market(make_catalog: Callable[..., str]) -> str:
    """Six fast types, ever dearer, and three that cost a tenth: the last of them draws the least power."""
    fast = {f"fast-{number}": FAST | {"price": 60.0 + number} for number in range(6)}
    slow = {"slow": SLOW, "slower": SLOW | {"read": 3.9e9}, "frugal": SLOW | {"price": 3.0, "power_w": 20}}
    return make_catalog(fast | slow)


@pytest.mark.parametrize(
    ("objective", "name"), [("balanced", "slow"), ("cost", "slow"), ("time", "fast-0"), ("energy", "frugal")]
)
def test_few_are_worked_out_and_the_best_is_among_them(market: str, objective: Any, name: str) -> None:
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


def test_what_a_budget_rules_out_by_the_exact_sum_is_told_by_how_much(market: str) -> None:
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
    assert rejection.reason.startswith("exceeds the budget of $")


def test_what_misses_a_deadline_says_how_near_the_nearest_size_comes(market: str) -> None:
    """The fastest size misses the deadline by 0.1%; that, and no larger miss of another size, is the nearness."""
    asked: dict[str, Any] = {"data": "10TB", "model": "indy", "catalogs": [market], "instances": ["slow"]}
    fastest = recommend(**asked, objective="time", max_nodes=30).best
    assert fastest is not None
    refused = recommend(**asked, max_nodes=30, sort_deadline=fastest.time_s.expected / 1.001).plan
    (rejection,) = [entry for entry in refused.rejected if entry.instance_type == "slow"]
    assert rejection.nearness == pytest.approx(1.001, abs=1e-4)
