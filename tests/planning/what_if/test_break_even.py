"""Rates that would overturn a recommendation: separate plans confirm the fraction on either side."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import product
from types import SimpleNamespace
from typing import Any

import pytest

import planner
from planner.catalog import load_catalog
from planner.planning.what_if.break_even import _is_of, _same_machine
from planner.report.terminal.decision import break_even_text
from planner.schemas.plan import Candidate, Plan

PAIR = ["i4i.8xlarge", "i3en.12xlarge"]


def best_of(**asked: Any) -> Candidate:
    best = planner.recommend(
        **({"data": "50TB", "model": "indy", "catalogs": ["aws"], "instances": PAIR, "objective": "cost"} | asked)
    ).best
    assert best is not None
    return best


def test_below_the_fraction_the_other_type_costs_less_and_above_it_more() -> None:
    """With the named rate lowered for the recommended type alone, the cost of its best cluster crosses that of the
    other type's at the fraction. Both are planned again, one type at a time.
    """
    best = best_of()
    turn = best.overturned_by
    assert turn is not None
    assert turn.winner in PAIR
    assert turn.winner != best.instance_type
    rival = best_of(instances=[turn.winner]).cost_usd.total

    def total(fraction: float) -> float:
        answer = planner.recommend(
            data="50TB", model="indy", catalogs=["aws"], instances=[best.instance_type], objective="cost"
        ).what_if(**{turn.rate: fraction})
        assert answer.best is not None
        return answer.best.cost_usd.total

    assert total(turn.at_fraction * 1.03) < rival < total(turn.at_fraction * 0.97)


def test_the_winner_is_another_type_however_little_of_the_rate_is_needed() -> None:
    """A framework that waits for its processors keeps its type down to a seventh of its disks."""
    best = best_of(data="1TB", model="framework", instances=["r7gd*", "i4i*"], objective="time")
    assert best.overturned_by is not None
    assert best.overturned_by.at_fraction < 0.2
    assert best.overturned_by.winner != best.instance_type


def test_measured_or_assumed_rates_are_not_in_doubt() -> None:
    assumed = {"network": "2GB/s", "local_read": "6GB/s", "local_write": "4GB/s"}
    assert best_of(assume=assumed).overturned_by is None


def test_without_another_type_nothing_can_overturn_and_the_papers_know_no_doubt() -> None:
    assert best_of(instances=["i4i.8xlarge"]).overturned_by is None
    assert best_of(paper=True).overturned_by is None


def test_the_answer_says_it_in_a_sentence_and_in_json() -> None:
    answer = planner.recommend(data="50TB", model="indy", catalogs=["aws"], instances=PAIR, objective="cost")
    assert answer.best is not None
    turn = answer.best.overturned_by
    assert turn is not None
    text = break_even_text(answer.best)
    assert f"keeps {turn.at_fraction:.0%} of what is planned" in text or f"keep {turn.at_fraction:.0%}" in text
    assert turn.command in text
    assert turn.winner in text
    assert Plan.from_json(answer.plan.to_json()).best == answer.best
    assert all(candidate.overturned_by is None for candidate in answer.candidates[1:])


@pytest.mark.parametrize(
    ("rate", "fraction", "words"),
    [
        ("network", 0.994, "its network at 5 nodes keeps 99% of what is planned; below it b is. M"),
        ("network", 0.996, "its network at 5 nodes is as fast as planned; any slower, and b is. M"),
        ("local", 0.994, "its local disks at 5 nodes keep 99% of what is planned; below it b is. M"),
        ("local", 1.0, "its local disks at 5 nodes are as fast as planned; any slower, and b is. M"),
    ],
)
def test_a_rate_that_may_lose_nothing_is_told_so(rate: str, fraction: float, words: str) -> None:
    best = best_of()
    assert best.overturned_by is not None
    turn = replace(best.overturned_by, rate=rate, at_fraction=fraction, winner="b")
    assert words in break_even_text(replace(best, nodes=5, overturned_by=turn))


def test_bare_metal_does_not_win_over_the_virtual_machine_that_fills_it() -> None:
    """i4i.metal is the machine under i4i.32xlarge: 128 vCPUs, eight disks, one link. i4i.16xlarge is not."""
    assert best_of(instances=["i4i.32xlarge", "i4i.metal"]).overturned_by is None
    turn = best_of(instances=["i4i.32xlarge", "i4i.metal", "i4i.16xlarge"]).overturned_by
    assert turn is not None
    assert turn.winner != "i4i.metal"


def test_measuring_costs_what_the_small_cluster_costs_for_its_minutes() -> None:
    """`bench fleet` with its defaults takes 1,140 s: on 16 nodes if the network is in doubt, otherwise on ten."""
    best = best_of()
    turn = best.overturned_by
    assert turn is not None
    nodes = 16 if turn.rate == "network" else 10
    assert turn.measure_usd == pytest.approx(nodes * best.price_usd_per_hour * 1140 / 3600)
    assert turn.command == f"planner bench fleet --cloud aws --instance {best.instance_type} --nodes {nodes}"


def test_what_costs_nothing_stays_free_at_any_rate() -> None:
    """TritonSort's testbed has no price: its total is $0 at any disk rate."""
    best = planner.recommend(data="1TB", model="daytona", catalogs=["tritonsort-2011"]).best
    assert best is not None and best.cost_usd.total == 0


def test_one_node_is_no_nodes() -> None:
    """A copy in the object store's model needs no second node."""
    best = planner.recommend("10TB", model="object-store", catalogs=["aws"]).best
    assert best is not None and best.overturned_by is not None
    assert ("at 1 node keep" in break_even_text(best)) == (best.nodes == 1)
    assert "at 1 nodes" not in break_even_text(best)


@pytest.fixture
def machines(make_catalog: Callable[..., str]) -> tuple[Any, dict[str, Candidate]]:
    """Return the grid of some types that differ only in the traits their names show, and the best cluster of each."""
    disks = {"read": 2e9, "write": 1e9, "vcpu": 96, "family": "i"}
    path = make_catalog(
        {
            "i.metal": disks,
            "i.24xlarge": disks,
            "i2.24xlarge": disks,
            "i.12xlarge": disks | {"vcpu": 48},
            "id.24xlarge": disks | {"local_disks": 5},
            "j.24xlarge": disks | {"family": "j"},
        }
    )
    ranked = planner.recommend("1TB", model="indy", catalogs=[path], engine="ideal", top=9).candidates
    context = SimpleNamespace(catalog=load_catalog(path), model=SimpleNamespace(name="indy"))
    grid = SimpleNamespace(context=context, offer=SimpleNamespace(region="here", pricing="on-demand"))
    return grid, {candidate.instance_type: candidate for candidate in ranked}


def test_bare_metal_is_the_largest_virtual_machine_of_its_family(machines: tuple[Any, dict[str, Candidate]]) -> None:
    """Two virtual machines are never the same, nor are machines of other sizes, disks or families."""
    grid, clusters = machines
    largest = {"i.24xlarge", "i2.24xlarge"}
    for rival, best in product(clusters, repeat=2):
        metal_and_largest = len({rival, best} & largest) == 1 and "i.metal" in (rival, best)
        assert _same_machine(clusters[rival], clusters[best], grid) is (rival == best or metal_and_largest)
    metal = clusters["i.metal"]
    assert not _same_machine(replace(metal, cloud="gcp"), clusters["i.24xlarge"], grid)
    assert not _same_machine(replace(metal, instance_type="other.metal"), clusters["i.24xlarge"], grid)
    assert _is_of(grid, metal)
    for other in ({"model": "daytona"}, {"cloud": "gcp"}, {"region": "there"}, {"instance_type": "k.large"}):
        assert not _is_of(grid, replace(metal, **other))
