"""Clusters that one placement group takes, and those that it does not."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from planner import recommend
from planner.schemas.plan import Candidate

LIMIT = '\n[placement]\nmachines_most = 11\nevidence = "spec"\nsource = "test"\n'


def best(catalog: str, **asked: object) -> Candidate:
    plan = recommend(data="10TB", model="indy", engine="ideal", catalogs=(catalog,), **asked)  # type: ignore[arg-type]
    assert plan.best is not None
    return plan.best


@pytest.fixture
def limited(make_catalog: Callable[..., str]) -> str:
    """Return a catalog whose placement groups take eleven machines."""
    catalog = make_catalog({"a": {"read": 2e9, "write": 2e9}})
    path = Path(catalog) / "catalog.toml"
    path.write_text(path.read_text("utf-8").replace("\n[sources", LIMIT + "\n[sources", 1), "utf-8")
    return str(catalog)


def warned(cluster: Candidate) -> bool:
    return any("a placement group of this cloud takes 11 machines" in text for text in cluster.warnings)


def test_spares_take_places_of_the_group(limited: str) -> None:
    """10 nodes and their spare are 11 machines; 11 nodes and theirs are one too many."""
    inside, outside = best(limited, nodes=10), best(limited, nodes=11)
    assert (inside.nodes + inside.spares, outside.nodes + outside.spares) == (11, 12)
    assert (inside.placement_group, warned(inside)) == (True, False)
    assert (outside.placement_group, warned(outside)) == (False, True)


def test_machines_over_several_zones_are_in_no_group_and_not_warned_of(limited: str) -> None:
    cluster = best(limited, nodes=12, zones=3)
    assert (cluster.placement_group, warned(cluster)) == (False, False)


def test_google_states_its_limit_in_the_catalog_as_the_preflight_has_it() -> None:
    from planner.catalog.loading import load_catalog
    from planner.clouds.gcp.preflight import MOST_PLACED

    stated = load_catalog("gcp").manifest.placement
    assert stated is not None and stated.machines_most == MOST_PLACED
