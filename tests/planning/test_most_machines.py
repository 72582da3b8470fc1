"""`--max-nodes` limits the machines that are launched, spares included."""

from __future__ import annotations

import random
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from planner import recommend as recommend_by
from planner.errors import InfeasibleError
from planner.planning.recommendation import require_best

recommend = partial(recommend_by, engine="ideal")
Make = Callable[..., str]
LIMITS: dict[str, Any] = {
    "model": ("indy", "daytona", "cloudsort", "object-store", "framework", "framework-volumes"),
    "max_nodes": (3, 4, 20, 51, 52, 1000),
    "objective": ("time", "cost", "balanced"),
    "data": ("1TB", "4TB", "40TB", "400TB"),
    "pricing": ("on-demand", "spot"),
    "nodes": (None, None, None, 3),
    "zones": (1, 2),
}


@pytest.mark.parametrize("seed", range(16))
def test_the_limit_of_machines_counts_spares(seed: int) -> None:
    pick = random.Random(seed)
    asked = {name: pick.choice(values) for name, values in LIMITS.items()}
    answer = recommend_by(cloud="aws", instance="i4i.*", **asked)
    plan, most = answer.plan, asked["max_nodes"]
    for candidate in plan.candidates:
        assert candidate.nodes + candidate.spares <= most or (asked["nodes"] and most == 1000)
    if plan.best is not None and not asked["nodes"]:
        assert all(of.nodes + of.spares <= most for of in answer.at_sizes(points=4))


def test_more_nodes_of_a_page_stay_within_the_limit(make_catalog: Make) -> None:
    market = make_catalog({"a": {"read": 2e9, "write": 1e9}})
    answer = recommend(data="20TB", model="indy", catalogs=(market,), max_nodes=60, objective="time")
    more = [variant.plan.best for variant in answer.page_contrast().variants if variant.lever == "nodes"]
    assert more and all(of is None or of.nodes + of.spares <= 60 for of in more)
    assert any(of is not None for of in more)


def test_a_refusal_names_enough_machines_for_the_spares() -> None:
    refused = recommend_by("4TB", cloud="aws", instance="i4i.*", max_nodes=2, model="daytona")
    with pytest.raises(InfeasibleError) as caught:
        require_best(refused.plan)
    (advice,) = [text for text in caught.value.details if "--max-nodes" in text and text.startswith("Try")]
    enough = int(advice.rpartition(" ")[2].rstrip("."))
    best = recommend_by("4TB", cloud="aws", instance="i4i.*", max_nodes=enough, model="daytona").best
    assert best is not None and best.nodes + best.spares == enough
    assert recommend_by("4TB", cloud="aws", instance="i4i.*", max_nodes=enough - 1, model="daytona").best is None
