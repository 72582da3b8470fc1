"""Several regions: one ranking, and the best of each alone."""

from __future__ import annotations

import pytest
from typer.testing import CliRunner

import planner
from planner.cli.app import build
from planner.errors import BadInputError

REGIONS = ["eastus", "westeurope"]
NARROW = {"cloud": "azure", "instance": "Standard_L*aos_v4"}


def test_each_region_has_the_cluster_that_is_planned_for_it_alone() -> None:
    rows = planner.recommend("4TB", region=REGIONS, **NARROW).by_region()
    assert [*rows] == REGIONS
    for region, best in rows.items():
        alone = planner.recommend("4TB", region=region, **NARROW).best
        assert best is not None and alone is not None
        assert (best.region, best.nodes, best.cost_usd) == (region, alone.nodes, alone.cost_usd)
    assert rows["eastus"] != rows["westeurope"]


def test_a_region_where_nothing_is_feasible_has_none() -> None:
    rows = planner.recommend("4TB", region=REGIONS, budget=3.9, **NARROW).by_region()
    assert [name for name, best in rows.items() if best] == ["eastus"]


def test_regions_of_several_clouds_have_a_row_each() -> None:
    rows = planner.recommend("1TB", cloud="aws,azure", region=["us-east-1", *REGIONS], nodes=4).by_region()
    assert {name: best.cloud for name, best in rows.items() if best} == {
        "us-east-1": "aws", "eastus": "azure", "westeurope": "azure",
    }  # fmt: skip


def test_the_answer_has_a_row_for_each_the_cheapest_first() -> None:
    words = ["plan", "--data", "4TB", "--cloud", "azure", "--instance", NARROW["instance"]]
    said = CliRunner().invoke(build(only="plan"), [*words, "--region", ",".join(REGIONS)]).stdout
    table = said[said.index("alone in") :].splitlines()
    assert [line.split()[0] for line in table[1:]] == REGIONS
    assert "alone in" not in CliRunner().invoke(build(only="plan"), [*words, "--region", "eastus"]).stdout


def test_all_regions_without_prices_are_named_at_once() -> None:
    with pytest.raises(BadInputError) as raised:
        planner.recommend("1TB", region="us-east-1,me-south-1,af-south-1", pricing="spot")
    assert "'me-south-1' has no spot prices" in raised.value.message
    assert any("'af-south-1' has no spot prices" in line for line in raised.value.details)
