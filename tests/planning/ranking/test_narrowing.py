"""A request narrowed to one cluster plans that cluster, whatever limits and filters it had."""

from __future__ import annotations

import planner
from planner.api.recommend import answer
from planner.planning.ranking.narrowing import narrowed


def test_the_cluster_is_planned_again_as_it_was() -> None:
    asked = planner.recommend("10TB", model="all", catalogs=["aws", "gcp"], exclude=["i8g.*"], deadline="2h")
    best = asked.best
    assert best is not None
    again = answer(narrowed(asked.plan.request, best, nodes=best.nodes)).best
    assert again is not None
    place = (best.model, best.cloud, best.region, best.instance_type, best.nodes)
    assert (again.model, again.cloud, again.region, again.instance_type, again.nodes) == place
    assert again.time_s == best.time_s
