"""Requests to plans: hand-computed sums, the order of candidates, and the reasons for excluded types."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from approvals import Approve
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from refusals import refused

from planner import Recommendation
from planner import recommend as recommend_by
from planner.catalog import load_catalog
from planner.cost_model.model_reader import load_model
from planner.cost_model.run_overheads import shipped
from planner.errors import BadInputError, InfeasibleError
from planner.planning import recommendation as module
from planner.planning.recommendation import recommend as recommend_request
from planner.planning.recommendation import require_best
from planner.schemas.plan import Candidate, DiskSplit, Plan, Request

recommend = partial(recommend_by, engine="ideal")
"""The sums here are those of the equations alone."""

CLOUD = str(Path(__file__).parents[1] / "golden" / "cloud")
Make = Callable[..., str]


def best_of(catalog: str, **given: Any) -> Candidate:
    best = recommend(**({"data": "1TB", "model": "indy", "catalogs": (catalog,)} | given)).best
    assert best is not None
    return best


def test_shared_disks_add_reading_and_writing(make_catalog: Make) -> None:
    """10 nodes, 100 GB each: 100/2 + 100/1 = 150 s a phase at 2 GB/s read and 1 GB/s write; network 90 GB at 1 GB/s."""
    best = best_of(make_catalog({"a": {"read": 2e9, "write": 1e9}}), nodes=10)
    assert [phase.equation_s for phase in best.phases] == pytest.approx([150, 150])
    assert best.shared
    assert best.disk_split is None
    assert best.phases[0].resources["network"].equation_s == pytest.approx(90)
    assert best.phases[0].resources["network"].bytes_per_node == pytest.approx(90e9)
    assert best.cost_usd.equation == pytest.approx(10 * 1 * 300 / 3600)


def test_a_simultaneous_rate_already_contains_the_sharing(make_catalog: Make) -> None:
    """DiskBench 1 GB/s on 4 disks (2 read, 2 write): 2:2 takes 100 s a phase for 100 GB a node."""
    best = best_of(make_catalog({"a": {"both": 1e9}}), nodes=10)
    assert best.disk_split == DiskSplit(data=2, intermediate=2)
    assert [phase.equation_s for phase in best.phases] == pytest.approx([100, 100])


def test_one_disk_is_shared_at_its_simultaneous_rate(make_catalog: Make) -> None:
    best = best_of(make_catalog({"a": {"both": 1e9, "local_disks": 1}}), nodes=10)
    assert best.shared
    assert [phase.equation_s for phase in best.phases] == pytest.approx([100, 100])


def test_daytona_moves_disks_to_the_data(make_catalog: Make) -> None:
    """8 disks of 0.25 GB/s each way, fast network: 5:3 gives max(80, 133) + max(133, 160) = 293 s, 4:4 300 s."""
    best = best_of(
        make_catalog({"a": {"both": 1e9, "local_disks": 8, "network_baseline_bytes_per_s": 1e12}}),
        model="daytona",
        nodes=10,
    )
    assert best.disk_split == DiskSplit(data=5, intermediate=3)
    assert best.time_s.equation == pytest.approx(100 / 0.75 + 200 / 1.25)


def test_a_split_must_hold_each_group(make_catalog: Make) -> None:
    """3 x 0.95 TB on one node: 1.8 TB of data and 0.9 TB of intermediate files fit 2:1 only."""
    best = best_of(make_catalog({"a": {"both": 1e9, "local_disks": 3}}), data="900GB", nodes=1)
    assert best.disk_split == DiskSplit(data=2, intermediate=1)
    assert best.capacity_bytes["data"] >= best.needed_bytes["data"]
    assert best.capacity_bytes["intermediate"] >= best.needed_bytes["intermediate"]


def test_one_node_shuffles_nothing_over_the_network(make_catalog: Make) -> None:
    best = best_of(make_catalog({"a": {"read": 2e9, "write": 1e9}}), nodes=1)
    assert "network" not in best.phases[0].resources
    assert not best.placement_group


def test_volumes_with_no_link_of_their_own_share_the_nic(make_catalog: Make) -> None:
    """100 GB a node from volumes plus 90 GB of shuffle arrive over one 1 GB/s NIC: 190 s."""
    volumes = [
        {"volume_type": "v", "price_usd_per_gib_month": 0.1, "free_bytes_per_s": 1e9, "read_bytes_per_s_max": 1e9,
         "write_bytes_per_s_max": 1e9, "size_bytes_max": 1e13, "price_evidence": "spec", "limit_evidence": "spec"}
    ]  # fmt: skip
    shape = {"read": 1e10, "write": 1e10, "volume_bytes_per_s": 1e12}
    own = best_of(make_catalog({"a": shape}, volumes=volumes), model="cloudsort", nodes=10)
    nic = best_of(make_catalog({"a": shape | {"volume_link": "nic"}}, volumes=volumes), model="cloudsort", nodes=10)
    assert own.phases[0].resources["network"].equation_s == pytest.approx(90)
    assert nic.phases[0].resources["network"].equation_s == pytest.approx(190)
    assert nic.phases[1].resources["network"].equation_s == pytest.approx(100)


def test_volumes_are_paid_for(make_catalog: Make) -> None:
    """2 TB on volumes at $0.1/GiB-month over 720 hours, for the duration of the sort."""
    volumes = [
        {"volume_type": "v", "price_usd_per_gib_month": 0.1, "free_bytes_per_s": 1e8, "read_bytes_per_s_max": 1e9,
         "write_bytes_per_s_max": 1e9, "size_bytes_max": 1e13, "price_evidence": "spec", "limit_evidence": "spec"}
    ]  # fmt: skip
    best = best_of(make_catalog({"a": {"read": 1e10, "write": 1e10}}, volumes=volumes), model="cloudsort", nodes=10)
    hourly = 10 * 1 + 2e12 / 2**30 * 0.1 / 720
    assert best.cost_usd.equation == pytest.approx(hourly * best.time_s.equation / 3600)
    assert best.storage == "4 local nvme + 5 x v of 37 GiB"


def test_the_default_is_the_fastest_within_5_percent_of_the_least_total(make_catalog: Make) -> None:
    plan = recommend(data="10TB", model="indy", catalogs=(make_catalog({"a": {"read": 2e9, "write": 2e9}}),), top=1)
    cheapest = recommend(
        data="10TB", model="indy", catalogs=(plan.plan.request.catalogs[0],), objective="cost", top=1
    ).best
    assert plan.best is not None
    assert cheapest is not None
    assert cheapest.cost_usd.total <= plan.best.cost_usd.total <= 1.05 * cheapest.cost_usd.total
    assert plan.best.time_s.expected <= cheapest.time_s.expected


def test_objective_time_takes_the_most_nodes_allowed_with_their_spares(make_catalog: Make) -> None:
    best = best_of(make_catalog({"a": {"read": 2e9, "write": 2e9}}), objective="time", max_nodes=37)
    assert (best.nodes, best.spares) == (36, 1)


def test_the_frontier_falls_in_cost_as_it_rises_in_time(make_catalog: Make) -> None:
    types = {f"t{n}": {"read": n * 1e9, "write": 1e9, "price": n} for n in range(1, 6)}
    points = recommend(data="10TB", model="indy", catalogs=(make_catalog(types),)).frontier
    assert len(points) > 3
    for faster, slower in pairwise(points):
        assert faster.time_s < slower.time_s
        assert faster.cost_usd_total > slower.cost_usd_total


REASONS = {
    "diskless": ({"local_disks": 0}, "no local disks"),
    "unmeasured": ({}, "local disk rate unknown"),
    "unpriced": ({"read": 1e9, "write": 1e9, "price": None}, "on-demand price unknown in here"),
    "unlinked": ({"read": 1e9, "write": 1e9, "network_baseline_bytes_per_s": ""}, "network rate unknown"),
    "tiny": ({"read": 1e9, "write": 1e9, "local_disk_bytes": 10**6}, "does not hold the data within --max-nodes 1000"),
}


def test_every_type_left_out_has_a_reason(make_catalog: Make) -> None:
    types = {name: facts for name, (facts, _) in REASONS.items()} | {"good": {"read": 1e9, "write": 1e9}}
    plan = recommend(data="1TB", model="indy", catalogs=(make_catalog(types),)).plan
    assert {r.instance_type: r.reason for r in plan.rejected} == {name: reason for name, (_, reason) in REASONS.items()}
    assert [c.instance_type for c in plan.candidates] == ["good"]


def test_types_not_asked_for_say_so(make_catalog: Make) -> None:
    catalog = make_catalog({"a.one": {"read": 1e9, "write": 1e9}, "b.one": {"read": 1e9, "write": 1e9}})
    plan = recommend(data="1TB", model="indy", catalogs=(catalog,), instances=("a.*",)).plan
    assert [(r.instance_type, r.reason) for r in plan.rejected] == [("b.one", "not asked for (--instance a.*)")]


def test_deadline_and_budget_reject_with_how_far_off(make_catalog: Make, approve: Approve) -> None:
    catalog = make_catalog({"a": {"read": 1e9, "write": 1e9}})
    late = recommend(data="1TB", model="indy", catalogs=(catalog,), nodes=10, deadline="60s").rejected[0]
    approve(late.reason)
    assert late.nearness is not None
    assert late.nearness > 1
    dear = recommend(data="1TB", model="indy", catalogs=(catalog,), nodes=10, budget_usd=0.01).rejected[0]
    approve(dear.reason)


def test_deadline_and_budget_that_clash_say_so(make_catalog: Make, approve: Approve) -> None:
    catalog = make_catalog({"a": {"read": 1e9, "write": 1e9}})
    cheap = best_of(catalog, objective="cost", data="10TB")
    fast = best_of(catalog, objective="time", data="10TB")
    between = recommend(
        data="10TB",
        model="indy",
        catalogs=(catalog,),
        sort_deadline=fast.time_s.expected * 1.05,
        budget_usd=cheap.cost_usd.total_p95 * 1.05,
    )
    assert between.best is None
    approve(between.rejected[0].reason)
    assert between.plan.conflicts[0].startswith("No cluster meets --sort-deadline")


def test_nothing_feasible_names_the_nearest(make_catalog: Make, approve: Approve) -> None:
    plan = recommend(
        data="1TB", model="indy", catalogs=(make_catalog({"a": {"read": 1e9, "write": 1e9}}),), deadline=1.0
    )
    with pytest.raises(InfeasibleError) as caught:
        require_best(plan.plan)
    assert caught.value.exit_code == 3
    approve(caught.value.details[1])


def test_an_unknown_type_offers_the_nearest(make_catalog: Make) -> None:
    catalog = make_catalog({"m5.large": {"read": 1e9, "write": 1e9}})
    with refused("unknown-type", "m5.large", field="instance"):
        recommend(data="1TB", model="indy", catalogs=(catalog,), instances=("m5.larg",))


def test_an_unpriced_region_names_the_priced_ones(make_catalog: Make) -> None:
    with pytest.raises(BadInputError, match="Priced: here"):
        recommend(data="1TB", model="indy", catalogs=(make_catalog({"a": {}}),), regions=("mars",))


def test_unknown_assumptions_and_factors_are_refused(make_catalog: Make) -> None:
    catalog = make_catalog({"a": {"read": 1e9, "write": 1e9}})
    with refused("unknown-word", "mean network"):
        recommend(data="1TB", model="indy", catalogs=(catalog,), assume={"netwrok": 1e9})
    with refused("unknown-argument", "mean price"):
        recommend(data="1TB", model="indy", catalogs=(catalog,)).what_if(prise=0.5)


def test_a_measured_curve_replaces_the_stated_baseline(make_catalog: Make, approve: Approve) -> None:
    points = [
        {"instance_type": "a", "nodes": n, "placement_group": "yes", "bytes_per_s": rate, "aggregate": "slowest_of_n",
         "method": "NetBench"}
        for n, rate in ((2, 8e8), (8, 4e8))
    ]  # fmt: skip
    catalog = make_catalog({"a": {"read": 1e10, "write": 1e10}}, networks=points)
    inside, beyond = best_of(catalog, nodes=8), best_of(catalog, nodes=16)
    assert inside.phases[0].resources["network"].bytes_per_s == pytest.approx(4e8)
    assert inside.evidence == "measured"
    assert beyond.evidence == "extrapolated"
    approve(beyond.warnings)


def test_assumed_rates_are_shown_as_assumed(make_catalog: Make) -> None:
    best = best_of(make_catalog({"a": {}}), nodes=10, assume={"local_read": "1GB/s", "local_write": "1GB/s"})
    assert best.evidence == "assumed"
    assert "local disks: assumed, not measured" in best.warnings


def test_ranges_are_ordered_and_totals_exceed_the_job(make_catalog: Make) -> None:
    best = best_of(make_catalog({"a": {"read": 1e9, "write": 1e9}}), nodes=50)
    assert best.time_s.equation < best.time_s.p50 < best.time_s.expected < best.time_s.p95
    assert best.cost_usd.expected < best.cost_usd.total
    assert best.overheads_s["generate"] == pytest.approx(20)
    assert best.overheads_s["validate"] == pytest.approx(20)


def test_a_plan_round_trips_exactly(make_catalog: Make) -> None:
    catalog = make_catalog({"a": {"read": 1e9, "write": 1e9}, "b": {"local_disks": 0}})
    plan = recommend(data="1TB", model="daytona", catalogs=(catalog,), assume={"network": 7e8}).plan
    assert Plan.from_json(plan.to_json()) == plan


def test_the_frame_has_a_row_per_candidate(make_catalog: Make) -> None:
    catalog = make_catalog({"a": {"read": 1e9, "write": 1e9}, "b": {"read": 2e9, "write": 1e9}})
    frame = recommend(data="1TB", model="indy", catalogs=(catalog,)).to_frame(wide=True)
    assert sorted(frame["instance_type"]) == ["a", "b"]
    assert (frame["time_s.p95"] > frame["time_s.equation"]).all()


def test_what_ifs_multiply(make_catalog: Make) -> None:
    catalog = make_catalog({"a": {"read": 1e12, "write": 1e12}})
    base = recommend(data="1TB", model="indy", catalogs=(catalog,), nodes=10)
    twice = base.what_if(network=2).best
    cheaper = base.what_if(price=0.5).best
    assert base.best is not None
    assert twice is not None
    assert cheaper is not None
    assert twice.phases[0].equation_s == pytest.approx(base.best.phases[0].equation_s / 2)
    assert cheaper.cost_usd.total == pytest.approx(base.best.cost_usd.total / 2)


rates = st.floats(1e7, 1e11)

OF_SUMS = 2e-3
"""The precision of `variability.in_turn`, which adds distributions at a finite number of values."""


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(
    read=rates, write=rates, network=rates, nodes=st.integers(3, 500), factor=st.floats(1, 10),
    model=st.sampled_from(["indy", "daytona"]), what=st.sampled_from(["network", "local", "cpu"]),
)  # fmt: skip
def test_more_bandwidth_is_never_slower_nor_dearer(
    make_catalog: Make, read: float, write: float, network: float, nodes: int, factor: float, model: str, what: str
) -> None:
    catalog = make_catalog({"a": {"read": read, "write": write, "network_baseline_bytes_per_s": network}})
    asked: dict[str, Any] = {"data": "1TB", "model": model, "catalogs": (catalog,), "nodes": nodes}
    time, less_time = _both(recommend(**asked, objective="time"), what, factor)
    cost, less_cost = _both(recommend(**asked, objective="cost"), what, factor)
    assert less_time.time_s.equation <= time.time_s.equation * (1 + 1e-12)
    assert less_time.time_s.p95 <= time.time_s.p95 * (1 + OF_SUMS)
    assert less_cost.cost_usd.total <= cost.cost_usd.total * (1 + OF_SUMS)


def _both(asked: Recommendation, what: str, factor: float) -> tuple[Candidate, Candidate]:
    """Return the best cluster, and the best with a resource `factor` times as fast."""
    more = asked.what_if(**{what: factor}).best
    assert asked.best is not None
    assert more is not None
    return asked.best, more


@settings(max_examples=12, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)  # 0.2 s each
@given(
    shapes=st.lists(st.tuples(rates, rates, rates, st.floats(0.01, 50)), min_size=1, max_size=6),
    objective=st.sampled_from(["balanced", "cost", "time"]),
)
def test_the_recommendation_is_never_dominated(make_catalog: Make, shapes: list[Any], objective: str) -> None:
    types = {
        f"t{i}": {"read": r, "write": w, "network_baseline_bytes_per_s": n, "price": p}
        for i, (r, w, n, p) in enumerate(shapes)
    }
    plan = recommend(data="3TB", model="indy", catalogs=(make_catalog(types),), objective=objective)  # type: ignore[arg-type]
    assert plan.best is not None
    for other in plan.candidates:
        faster = other.time_s.expected < plan.best.time_s.expected
        cheaper = other.cost_usd.total < plan.best.cost_usd.total
        assert not (faster and cheaper)
    assert math.isfinite(plan.best.cost_usd.total)


def test_a_cluster_within_the_budget_is_recommended_where_faster_ones_exceed_it_by_more_than_estimated() -> None:
    """The first tries, all with more nodes, cost more than estimated; 40 nodes keep to a budget made for them."""
    asked: dict[str, Any] = {"data": "92TB", "model": "indy", "instances": ("i8g.8xlarge",)}
    fitting = recommend(**asked, nodes=40).best
    assert fitting is not None
    budget_usd = fitting.cost_usd.total_p95 * 1.001
    best = recommend(**asked, budget_usd=budget_usd).best
    assert best is not None
    assert best.cost_usd.total_p95 <= budget_usd


def test_all_facts_that_a_type_lacks_are_told_at_once(make_catalog: Callable[..., str], approve: Approve) -> None:
    bare = {
        "local_disks": 4,
        "local_disk_bytes": "",
        "memory_bytes": "",
        "network_baseline_bytes_per_s": "",
        "vcpu": "",
    }
    plan = recommend(data="1TB", model="indy", catalogs=[make_catalog({"a": {**bare, "price": None}, "b": {}})]).plan
    rejections = {rejection.instance_type: rejection for rejection in plan.rejected}
    approve(rejections["a"].reason)
    also = "local disk capacity unknown, memory unknown, network rate unknown, number of vCPUs unknown, "
    assert rejections["a"].detail.endswith(f"; also {also}on-demand price unknown in here")
    assert "also" not in rejections["b"].detail


def test_a_type_without_local_disks_is_not_told_that_their_rate_is_unknown(
    make_catalog: Callable[..., str], approve: Approve
) -> None:
    path = make_catalog({"a": {"local_disks": 0, "local_disk_bytes": ""}})
    (rejection,) = recommend(data="1TB", model="indy", catalogs=[path]).plan.rejected
    approve((rejection.reason, rejection.detail))


def test_what_lacks_one_fact_is_named_before_what_lacks_two(make_catalog: Make) -> None:
    """`a` comes first by name; for energy it lacks its disks' rate and its power, `b` only the power."""
    catalog = make_catalog({"a": {}, "b": {"read": 1e9, "write": 1e9}})
    with pytest.raises(InfeasibleError) as caught:
        require_best(recommend(data="1TB", model="indy", catalogs=(catalog,), objective="energy").plan)
    assert [line.partition(":")[0] for line in caught.value.details] == ["b", "a"]


def test_of_several_models_as_many_clusters_are_shown_as_asked_for_and_the_first_of_each(make_catalog: Make) -> None:
    """Three types under two models make six clusters: four are shown for `top` 4, two for `top` 1."""
    catalog = make_catalog({name: {"read": 1e9, "write": 1e9} for name in ("a", "b", "c")})
    models = [load_model("indy"), load_model("daytona")]
    for top, shown in ((4, 4), (1, 2), (9, 6)):
        request = Request(data_bytes=10**12, model="all", catalogs=(catalog,), top=top)
        plan = recommend_request(request, model=models, catalogs=[load_catalog(catalog)], overheads=shipped())
        assert len(plan.candidates) == shown
        assert {candidate.model for candidate in plan.candidates} == {"indy", "daytona"}


def test_of_two_models_a_type_that_one_can_use_is_no_rejection(make_catalog: Make) -> None:
    """No object store is known; `a` is planned under `indy`, and `b`, which has no disk rate, under neither model."""
    catalog = make_catalog({"a": {"read": 1e9, "write": 1e9}, "b": {}})
    request = Request(data_bytes=10**12, model="all", catalogs=(catalog,))
    models = [load_model("indy"), load_model("object-store")]
    plan = recommend_request(request, model=models, catalogs=[load_catalog(catalog)], overheads=shipped())
    assert [candidate.instance_type for candidate in plan.candidates] == ["a"]
    assert [rejection.instance_type for rejection in plan.rejected] == ["b"]


def test_the_cheapest_and_the_fastest_sensible_are_evaluated_and_keep_to_what_is_asked() -> None:
    """Estimates are lower bounds: a cluster may seem to meet a deadline that its exact time misses."""
    asked: dict[str, Any] = {"data": "20TB", "model": "daytona", "catalogs": (CLOUD,), "deadline": "40m"}
    asked |= {"confidence": 0.99, "max_nodes": 48}
    plan = recommend(**asked).plan
    assert plan.best is not None
    cheapest = min(plan.frontier, key=lambda point: point.cost_usd_total)
    sensible = next(point for point in plan.frontier if point.cost_usd_total <= 1.5 * cheapest.cost_usd_total)
    for point in (cheapest, sensible):
        alone = recommend(**asked | {"instances": (point.instance_type,), "nodes": point.nodes}).best
        assert alone is not None
        assert (alone.time_s.expected, alone.cost_usd.total) == (point.time_s, point.cost_usd_total)
    assert plan.best.cost_usd.total <= 1.05 * cheapest.cost_usd_total


def test_the_least_total_is_that_of_any_cluster_and_not_of_each_types_best() -> None:
    """7 x i8g.8xlarge cost $9.29: a faster one is preferred up to $9.75, so 3 x i8g.24xlarge for $9.96 are not."""
    plan = recommend("10TB", catalogs=("aws",), instances=("i8g.8xlarge", "i8g.24xlarge"), engine="ideal").plan
    assert plan.best is not None
    cheapest = min(plan.frontier, key=lambda point: point.cost_usd_total)
    assert (cheapest.nodes, cheapest.instance_type) == (7, "i8g.8xlarge")
    assert (plan.best.nodes, plan.best.instance_type) == (8, "i8g.8xlarge")
    large = recommend("10TB", catalogs=("aws",), instances=("i8g.24xlarge",), engine="ideal", nodes=3).best
    assert large is not None
    assert large.cost_usd.total > 1.05 * cheapest.cost_usd_total > plan.best.cost_usd.total
    assert large.time_s.expected < plan.best.time_s.expected


@pytest.mark.parametrize("model", ["indy", "minutesort"])
def test_what_costs_nothing_is_planned(model: str) -> None:
    """On the user's own machines, with one rate in doubt."""
    best = recommend_by("1TB", model=model, catalogs=("tritonsort-2011",)).best
    assert best is not None and best.cost_usd.total == 0


@pytest.mark.parametrize(("asked", "nodes"), [({}, 3), ({"nodes": 2}, None), ({"max_nodes": 2}, None)])
def test_in_every_zone_stands_a_node(
    make_catalog: Callable[..., str], asked: dict[str, Any], nodes: int | None, approve: Approve
) -> None:
    """One node holds 1 TB three times, so three zones need three; two thirds of 1 TB cross them, for $0.02/GiB."""
    catalog = make_catalog(
        {"a": {"read": 1e9, "write": 1e9}}, transfers=[{"transfer": "zone", "price_usd_per_gib": 0.02}]
    )
    answered = recommend("1TB", model="indy", catalogs=(catalog,), zones=3, objective="cost", engine="ideal", **asked)
    assert (answered.best and answered.best.nodes) == nodes
    if answered.best is None:
        (rejection,) = answered.rejected
        approve(rejection.reason)
        assert rejection.detail == "it needs 3 nodes for --set zones=3"
    else:
        crossing = next(line.usd for line in answered.best.bill if line.name == "traffic between zones")
        assert crossing == pytest.approx(1e12 * 2 / 3 / 2**30 * 0.02)


def test_where_every_type_lacks_a_fact_that_is_named_and_not_what_is_left_aside() -> None:
    """The power of every type is unknown: the exclusion of previous generations explains nothing."""
    with pytest.raises(InfeasibleError) as caught:
        require_best(recommend("10TB", objective="energy", unknown="exclude").plan)
    (line,) = caught.value.details
    names, _, why = line.partition(": ")
    assert len(names.split(", ")) == 5
    assert why == "power unknown (or --assume power:TYPE=WATTS)"


def test_an_unknown_price_of_traffic_counts_as_the_others_or_excludes(make_catalog: Callable[..., str]) -> None:
    """Traffic across zones costs $0.02/GiB in one cloud; its price is unknown in the other, which is twice as fast."""
    types, fast = ({"a": {"read": rate, "write": rate}} for rate in (1e9, 2e9))
    priced = make_catalog(types, transfers=[{"transfer": "zone", "price_usd_per_gib": 0.02}])
    unpriced = Path(make_catalog(fast))
    manifest = unpriced / "catalog.toml"
    manifest.write_text(manifest.read_text().replace('cloud = "aws"', 'cloud = "oci"'))
    asked: dict[str, Any] = {"model": "indy", "catalogs": (priced, str(unpriced)), "zones": 2, "objective": "time"}
    assumed, strict = (recommend("1TB", nodes=4, unknown=unknown, **asked).plan for unknown in (None, "exclude"))
    assert assumed.best is not None and strict.best is not None
    assert [assumed.best.cloud, strict.best.cloud] == ["oci", "aws"]
    assert any("traffic between zones: price unknown: assumed" in text for text in assumed.best.warnings)
    assert any("traffic between zones: price unknown" in text for text in strict.left_out)


def test_measurements_count_for_the_type_and_cloud_they_are_of(
    make_catalog: Callable[..., str], monkeypatch: pytest.MonkeyPatch, approve: Approve
) -> None:
    """The made-up catalog's own rows stand for the user's: two modes of its disks, of 2026-11-01."""
    monkeypatch.setattr(module, "SOURCE", "made")
    path = make_catalog({"a": {"read": 1e9, "write": 1e9}})
    best, catalog = recommend_by("1TB", model="indy", catalogs=(path,)).best, load_catalog(path)
    assert best is not None
    (sentence,) = module.own_measurements(best, [catalog])
    disks = "disks read only (2026-11-01), disks write only (2026-11-01)"
    approve(sentence)
    assert disks in sentence
    assert sentence.endswith(f"planner catalog measurements --catalog {catalog.name} lists them")
    for other in (replace(best, cloud="elsewhere"), replace(best, instance_type="b", cloud_type="b")):
        assert list(module.own_measurements(other, [catalog])) == []
