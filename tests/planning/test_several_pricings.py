"""On-demand and spot clusters in one ranking, each pricing's best as planned alone."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from approvals import Approve

import planner
from planner.errors import BadInputError
from planner.report.terminal.what_if_tables import pricing_table
from planner.stores import profiles

BOTH = "on-demand,spot"
TYPES = ("i8g.8xlarge", "i7i.8xlarge", "i4i.*xlarge")


@pytest.fixture(scope="module")
def both() -> planner.Recommendation:
    return planner.recommend("3TB", instance=TYPES, pricing=BOTH)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"deadline": "30m"},
        {"objective": "time", "budget": 20},
        {"model": "all"},
        {"instance": "c3-*", "cloud": "gcp"},
    ],
)
def test_the_best_of_each_is_the_one_planned_alone_and_the_first_is_of_one_ranking(options: dict[str, object]) -> None:
    options = {"instance": TYPES, **options}
    made = planner.recommend("3TB", pricing=BOTH, **options)
    firsts = []
    for pricing in ("on-demand", "spot"):
        alone = planner.recommend("3TB", pricing=pricing, **options).best
        first = next(candidate for candidate in made.plan.by_pricing if candidate.pricing == pricing)
        assert alone is not None
        assert (first.instance_type, first.nodes, first.cost_usd) == (alone.instance_type, alone.nodes, alone.cost_usd)
        firsts.append(first)
    assert made.best is not None
    best = (made.best.pricing, made.best.instance_type, made.best.nodes)
    assert best in [(first.pricing, first.instance_type, first.nodes) for first in firsts]


def test_a_type_stands_in_the_ranking_once_for_each_way_to_pay(both: planner.Recommendation) -> None:
    places = [(candidate.pricing, candidate.instance_type) for candidate in both.candidates]
    assert len(set(places)) == len(places) and {pricing for pricing, _ in places} == {"on-demand", "spot"}
    assert {point.pricing for point in both.frontier} <= {"on-demand", "spot"}
    assert not {candidate.instance_type for candidate in both.candidates} & {r.instance_type for r in both.rejected}


def test_only_spot_nodes_are_taken_back(both: planner.Recommendation) -> None:
    for candidate in both.candidates:
        assert (candidate.interruptions is None) is (candidate.pricing == "on-demand")


def test_a_what_if_on_the_best_stays_with_its_way_to_pay() -> None:
    answer = planner.recommend("3TB", instance=TYPES, pricing=BOTH, interruptions=0.3)
    assert {cluster.pricing for cluster in answer.at_sizes(points=3)} == {answer.best and answer.best.pricing}
    on_demand = planner.recommend("3TB", instance=TYPES, pricing=BOTH, interruptions=60, objective="cost")
    assert on_demand.best is not None and on_demand.reliefs()


def test_the_order_and_repeats_of_the_ways_to_pay_change_no_ranking(both: planner.Recommendation) -> None:
    turned = planner.recommend("3TB", instance=TYPES, pricing=["spot", "on-demand", "spot"])
    assert turned.plan.request.pricings == ("spot", "on-demand")
    assert turned.candidates == both.candidates


def test_a_region_without_prices_of_one_way_to_pay_is_planned_with_the_other(approve: Approve) -> None:
    answer = planner.recommend("3TB", cloud="azure", pricing=BOTH)
    assert {candidate.pricing for candidate in answer.candidates} == {"on-demand"}
    approve(answer.plan.warnings)
    approve(pricing_table(answer.plan))
    with pytest.raises(BadInputError, match="no spot prices"):
        planner.recommend("3TB", cloud="azure", pricing="spot")


def test_the_table_has_a_column_for_each_with_what_is_taken_back(both: planner.Recommendation) -> None:
    heading, *lines = pricing_table(both.plan)
    assert heading.split() == ["on-demand", "spot"] and all(len(line) <= 80 for line in lines)
    assert lines[-1].split()[:3] == ["taken", "back", "never"] and "fewer than 0.01 of 6 nodes" in lines[-1]


def test_a_profile_plans_for_both_ways_to_pay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The profile's times hold for both; what is taken back delays the job on spot nodes."""
    monkeypatch.setenv("PLANNER_PROFILES", str(tmp_path))
    run = {"instance_type": "m5.4xlarge", "nodes": 4, "data_gb": 100, "runtime_s": 300}
    profiles.save_profile(profiles.calibrate([run], model="spark", name="mine"))
    on_demand, spot = planner.recommend("3TB", profile="mine", pricing=BOTH, nodes=20).plan.by_pricing
    assert (on_demand.pricing, spot.pricing) == ("on-demand", "spot")
    assert spot.cost_usd.total < on_demand.cost_usd.total and spot.interruptions is not None


def test_spot_nodes_whose_head_has_no_known_price_come_behind_those_whose_bill_is_whole(
    make_catalog: Callable[..., str],
) -> None:
    """A head is bought on demand: without that price the bill is a lower bound, and does not rank for costing less."""
    cheap = [f"cheap{number}" for number in range(20)]  # more than are shown and evaluated
    prices = [*((name, "spot", 0.1) for name in cheap), ("known", "spot", 0.3), ("known", "on-demand", 1.0)]
    rows = [
        {"instance_type": name, "region": "here", "pricing": pricing, "price_usd_per_hour": usd}
        for name, pricing, usd in prices
    ]
    catalog = make_catalog({name: {"read": 2e9, "write": 2e9} for name in (*cheap, "known")}, prices=rows)
    asked = {"catalogs": (catalog,), "pricing": "spot", "interruptions": 0.01, "unknown": "assume"}
    answer = planner.recommend("1TB", **asked)  # type: ignore[arg-type]
    first, *others = answer.candidates
    assert (first.instance_type, first.cost_usd.at_least) == ("known", False)
    assert others and all(other.cost_usd.at_least for other in others)
    assert others[0].cost_usd.total < first.cost_usd.total and "head on demand" in others[0].cost_usd.unknown
    assert {point.instance_type for point in answer.frontier} == {"known"}
