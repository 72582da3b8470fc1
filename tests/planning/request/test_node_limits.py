"""Clusters no larger than what there is to be had of a type."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import pytest

from planner import recommend as recommend_by
from planner.planning.request.node_limits import limit_of
from planner.schemas.plan import NodeLimit

recommend = partial(recommend_by, engine="ideal")
"""The sums here are those of the equations alone."""

Make = Callable[..., str]
LIMITS = (NodeLimit(nodes=3, instance="a.*", region="here"), NodeLimit(nodes=9, instance="*", region="there"))


@pytest.mark.parametrize(
    ("region", "instance_type", "nodes"),
    [("here", "a.large", 3), ("here", "b.large", None), ("there", "a.large", 9), ("here", "a.x+4x375GB", 3)],
)
def test_the_first_limit_that_fits_counts(region: str, instance_type: str, nodes: int | None) -> None:
    limit = limit_of(LIMITS, cloud="aws", region=region, instance_type=instance_type)
    assert (limit.nodes if limit else None) == nodes


def test_spares_count_too(make_catalog: Make) -> None:
    """Of 11 nodes one is the spare."""
    catalog = make_catalog({"a": {"read": 2e9, "write": 2e9}})
    asked = {"data": "10TB", "model": "indy", "catalogs": (catalog,), "objective": "time"}
    best = recommend(**asked, node_limits=(NodeLimit(instance="a", nodes=11),)).best
    assert best is not None
    assert (best.nodes, best.spares) == (10, 1)


def test_a_type_of_which_there_are_too_few_says_so(make_catalog: Make) -> None:
    catalog = make_catalog({"a": {"read": 2e9, "write": 2e9}, "b": {"read": 1e9, "write": 1e9}})
    asked = {"data": "100TB", "model": "indy", "catalogs": (catalog,)}
    assert recommend(**asked).best.instance_type == "a"  # type: ignore[union-attr]
    plan = recommend(**asked, node_limits=(NodeLimit(instance="a", nodes=7, region="here", cloud="aws", note="seen"),))
    assert plan.best is not None
    assert plan.best.instance_type == "b"
    assert [r.reason for r in plan.rejected] == ["needs more nodes than there are to be had"]
    assert "at most 7 x a in here: seen; --capacity overrides that" in plan.plan.warnings


def test_capacity_and_deadline_that_clash_are_named(make_catalog: Make) -> None:
    catalog = make_catalog({"a": {"read": 2e9, "write": 2e9}})
    asked = {"data": "10TB", "model": "indy", "catalogs": (catalog,), "node_limits": (NodeLimit(nodes=20),)}
    slow = recommend(**asked, objective="time").best
    assert slow is not None
    plan = recommend(**asked, deadline=slow.time_s.expected / 2)
    assert plan.best is None
    assert plan.plan.conflicts[0].startswith("the deadline and the capacity clash")
