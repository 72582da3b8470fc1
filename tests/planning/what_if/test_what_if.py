"""What-ifs plan the recommended cluster again and nothing else."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from refusals import refused

from planner import recommend as recommend_by
from planner.api.recommend import answer
from planner.errors import BadInputError
from planner.planning.what_if.what_if import Contrast, WhatIf, changed, scaled
from planner.schemas.plan import Plan, Request

recommend = partial(recommend_by, engine="ideal")
"""The sums here are those of the equations alone."""

CLOUD = str(Path(__file__).parents[2] / "golden" / "cloud")
FILE = str(Path(__file__).parents[3] / "models" / "indy.toml")


@pytest.fixture(scope="module")
def plan() -> Plan:
    return recommend(data="10TB", model="indy", catalogs=(CLOUD,), max_nodes=32).plan


def what_if(plan: Plan, asked: list[Request] | None = None) -> WhatIf:
    def plan_again(request: Request) -> Plan:
        if asked is not None:
            asked.append(request)
        return answer(request).plan

    return WhatIf(plan=plan, plan_again=plan_again, has_type=lambda name, candidate: True)


def test_factors_multiply_those_that_are_there() -> None:
    request = Request(data_bytes=1, model="indy", scale={"network": 3.0, "cpu": 5.0})
    assert scaled(request, {"network": 2.0, "price": 0.7}).scale == {"network": 6.0, "cpu": 5.0, "price": 0.7}
    assert scaled(request, {}) == request


def test_only_resources_in_use_are_made_faster_and_nothing_is_slower_for_it(plan: Plan) -> None:
    best = plan.best
    assert best is not None
    reliefs = what_if(plan).reliefs(2.0)
    used = {name for phase in best.phases for name in phase.resources}
    assert ("volumes" in reliefs) == ("volumes" in used) and "network" in reliefs
    assert all(cluster.time_s.expected <= best.time_s.expected * 1.001 for cluster in reliefs.values())
    assert all(
        (cluster.nodes, cluster.instance_type) == (best.nodes, best.instance_type) for cluster in reliefs.values()
    )


def test_a_question_is_narrowed_to_the_cluster_without_limits(plan: Plan) -> None:
    asked: list[Request] = []
    limited = replace(plan, request=replace(plan.request, deadline_s=1e6, budget_usd=1e6))
    what_if(limited, asked).reliefs(2.0)
    best = plan.best
    assert best is not None
    assert {(r.nodes, r.instances, r.regions, r.deadline_s, r.budget_usd, r.top) for r in asked} == {
        (best.nodes, (best.instance_type,), (best.region,), None, None, 1)
    }


def test_sizes_begin_with_the_fewest_nodes_and_end_with_the_most_allowed(plan: Plan) -> None:
    best = plan.best
    assert best is not None
    sizes = [cluster.nodes for cluster in what_if(plan).at_sizes(5)]
    assert sizes == sorted(sizes) and (sizes[0], sizes[-1]) == (best.nodes_min, 31), "and a spare"


def test_twice_the_price_costs_twice_as_much_and_takes_as_long(plan: Plan) -> None:
    best, doubled = plan.best, what_if(plan).contrast().doubled["price"]
    assert best is not None and doubled is not None
    assert doubled.time_s == best.time_s
    assert doubled.price_usd_per_hour == pytest.approx(2 * best.price_usd_per_hour)


def test_a_contrast_asks_for_twice_and_half_as_fast_and_twice_the_data(plan: Plan) -> None:
    asked: list[Request] = []
    made = what_if(plan, asked).contrast()
    assert set(made.reliefs) == set(made.burdens) >= {"network", "local"}
    scales = [(name, factor) for request in asked for name, factor in request.scale.items()]
    doubled = [("price", 2.0), ("data", 2.0)]
    assert sorted(scales) == sorted([*((name, f) for name in made.reliefs for f in (0.5, 2.0)), *doubled])


@pytest.mark.parametrize("winner", ["another.9", None])
def test_what_storage_alone_would_take_is_planned_with_its_network(plan: Plan, winner: str | None) -> None:
    """A type that wins without a network limit is planned separately; the recommended one would be no contrast."""
    asked: list[Request] = []
    assert plan.best is not None
    blind = replace(plan.best, instance_type=winner or plan.best.instance_type, region="there")

    def plan_again(request: Request) -> Plan:
        asked.append(request)
        return replace(plan, request=request, best=blind if request.network == "unlimited" else plan.best)

    contrast = WhatIf(plan=plan, plan_again=plan_again, has_type=lambda name, candidate: True).contrast()
    (first,) = [request for request in asked if request.network == "unlimited"]
    assert (first.top, first.instances, first.max_nodes) == (1, plan.request.instances, 32)
    alone = [request for request in asked if request.instances == (winner,)]
    if winner is None:
        assert (contrast.storage_alone, alone) == (None, [])
    else:
        assert contrast.storage_alone is not None and contrast.storage_alone.request == alone[0]
        assert [(r.regions, r.network, r.top) for r in alone] == [(("there",), "expected", 1)]


def test_a_network_as_the_user_says_has_no_other_to_compare(plan: Plan) -> None:
    asked: list[Request] = []
    stated = replace(plan, request=replace(plan.request, assume={"network": 1e9}))
    assert what_if(stated, asked).contrast().storage_alone is None
    assert all(request.network == "expected" for request in asked)


def test_without_a_cluster_every_answer_is_empty(plan: Plan) -> None:
    nothing = what_if(replace(plan, best=None))
    assert (nothing.at_sizes(3), nothing.reliefs(2.0), nothing.contrast()) == ([], {}, Contrast())


@pytest.mark.parametrize(("asked_for", "narrowed"), [("all", "indy"), (FILE, FILE)])
def test_of_all_models_a_question_keeps_the_clusters_own(plan: Plan, asked_for: str, narrowed: str) -> None:
    """A model in a user's file is requested by its path, not by its name."""
    asked: list[Request] = []
    assert plan.best is not None
    best = replace(plan.best, model="indy")
    what_if(replace(plan, best=best, request=replace(plan.request, model=asked_for)), asked).reliefs(2.0)
    assert {request.model for request in asked} == {narrowed}


def test_numbers_under_a_resources_name_are_factors_and_all_else_is_an_argument() -> None:
    request = replace(Request(data_bytes=10**12), scale={"network": 3.0})
    other = changed(request, {"nodes": 5, "network": 2})
    assert (other.nodes, other.scale) == (5, {"network": 6.0})
    ideal = changed(request, {"network": "ideal"})
    assert (ideal.network, ideal.scale) == ("ideal", {"network": 3.0})


def test_twice_the_data_is_the_plan_for_twice_the_data(plan: Plan) -> None:
    made = recommend(data="10TB", model="indy", catalogs=(CLOUD,), max_nodes=32, scale={"data": 2}).plan
    asked = recommend(data="20TB", model="indy", catalogs=(CLOUD,), max_nodes=32).plan
    assert (made.candidates, made.frontier, made.rejected) == (asked.candidates, asked.frontier, asked.rejected)
    assert made.request.bytes_to_sort == asked.request.data_bytes == 2 * made.request.data_bytes


def test_a_number_of_data_is_a_factor_and_a_size_has_a_unit(plan: Plan) -> None:
    request = Request(data_bytes=10**12)
    assert changed(request, {"data": 2}).bytes_to_sort == changed(request, {"data": "2TB"}).data_bytes == 2 * 10**12
    with pytest.raises(BadInputError, match="a factor"):
        answer(changed(request, {"data": 2e12}))


def test_the_most_data_is_not_multiplied() -> None:
    with pytest.raises(BadInputError, match="`most_data=True` and `what_if` data"):
        recommend(most_data=True, sort_deadline="10m", instance="i4i.4xlarge", scale={"data": 2})


@pytest.mark.parametrize(("times", "disks"), [(2.0, 4), (3.0, 6), (0.5, 1), (0.2, 1)])
def test_more_disks_or_memory_plan_as_a_type_that_has_them(
    make_catalog: Callable[..., str], times: float, disks: int
) -> None:
    """A disk is whole: less than one is one. Its rate and its capacity come with it."""
    rates = {"read": 1e9, "write": 8e8, "both": 5e8}
    had = {"local_disks": 2, "memory_bytes": 64 * 10**9, **rates}
    larger = {
        "local_disks": disks,
        "memory_bytes": round(64e9 * times),
        **{name: by * disks / 2 for name, by in rates.items()},
    }
    asked: dict[str, Any] = {"data": "10TB", "model": "indy", "max_nodes": 500}
    found = recommend(catalogs=[make_catalog({"a": had})], what_if={"disks": times, "memory": times}, **asked).best
    wanted = recommend(catalogs=[make_catalog({"a": larger})], **asked).best
    assert found is not None and wanted is not None
    assert (found.nodes, found.machine.local_disks) == (wanted.nodes, wanted.machine.local_disks)
    assert found.machine.memory_bytes == pytest.approx(wanted.machine.memory_bytes)
    assert found.time_s.expected == pytest.approx(wanted.time_s.expected)
    assert found.cost_usd.total == pytest.approx(wanted.cost_usd.total)


@pytest.mark.parametrize(
    ("changes", "texts"),
    [
        ({"price": 0.5}, {"price": "50%"}),
        ({"price": 0.5}, {"price": "0.5"}),
        ({"network": 2.0}, {"network": "2x"}),
        ({"data": 2.0}, {"data": "200%"}),
        ({"network": 1.5}, {"network": "+50%"}),
        ({"price": 0.8}, {"price": "-20%"}),
    ],
)
def test_python_takes_the_factors_of_the_command_line(changes: dict[str, float], texts: dict[str, str]) -> None:
    plan = recommend_by("1TB", instances="i4i.4xlarge", nodes=8)
    (pair,) = texts.items()
    asked = recommend_by("1TB", instances="i4i.4xlarge", nodes=8, what_if="=".join(pair)).plan.request
    assert plan.what_if(**texts).plan.request == plan.what_if(**changes).plan.request == asked
    assert plan.what_if("=".join(pair)).plan.request == plan.what_if(changes).plan.request == asked
    assert plan.what_if(data="2TB").plan.request.data_bytes == 2 * 10**12
    with refused("unknown-argument", "what_if(network=2, price=0.5)", "volumes"):
        plan.what_if(netwrk=2)
    with refused("unknown-argument", "Did you mean network?"):
        plan.what_if(bandwidth=2)
    with refused("malformed", "price=2, 2x or 200%", field="--what-if"):
        plan.what_if(price="abc")
