"""What holds for the answer to any request: sums, limits, and that the recommended cluster is the best of all."""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import suppress
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_requests import CLOUD, FEW_TYPES, Asked, for_requests, only, requests, without_limits

from planner import Recommendation, recommend
from planner.catalog.instances import handicap
from planner.errors import BadInputError
from planner.planning.candidates import usable
from planner.planning.ranking import selection
from planner.schemas.plan import Candidate, Rule
from tests.marks import quick_soak

ROUNDING = 1e-6
OF_SUMS = 2e-3
"""Error bound of `order_statistics.sums_s`, which adds distributions by a finite number of values."""
OF_SIZES = 1e-3
"""Large clusters are tried in steps of about 1% of their size, which shift with the maximum number of nodes."""
ROOM = 1.2
"""A limit with room is so many times the figure that it limits."""
CHANGED = ("data", "nodes", "max_nodes", "model", "objective", "deadline", "budget", "capacity", "max_vcpus", "scale",
           "min_memory", "engine", "network", "unknown", "assume", "pricing", "zones", "discount", "exclude",
           "instance", "compute", "input", "output")  # fmt: skip
resources = st.sampled_from(["network", "local", "volumes", "objects", "cpu"])


def clusters_of(answered: Recommendation) -> list[Candidate]:
    return [*answered.candidates, *answered.plan.by_pricing]


def name_of(cluster: Candidate | None) -> tuple[Any, ...] | None:
    if cluster is None:
        return None
    return (cluster.nodes, cluster.instance_type, cluster.region, cluster.pricing, cluster.model)


def figures(cluster: Candidate | None) -> list[float]:
    return [cluster.whole_run_s, cluster.time_s.expected, cluster.cost_usd.total] if cluster else []


@for_requests(10, asked=requests())
def test_the_phases_and_the_lines_of_the_bill_add_up(asked: Asked) -> None:
    for cluster in clusters_of(recommend(**asked)):
        lost_s = cluster.interruptions.delay_s if cluster.interruptions else 0.0
        phases_s = math.fsum(phase.time_s for phase in cluster.phases)
        assert phases_s + lost_s == pytest.approx(cluster.time_s.expected, rel=ROUNDING)
        assert math.fsum(line.usd or 0.0 for line in cluster.bill) == pytest.approx(cluster.cost_usd.total)
        assert math.fsum(line.time_s or 0.0 for line in cluster.bill) == pytest.approx(cluster.whole_run_s)
        assert [line.time_s for line in cluster.bill if line.name == "job"] == [cluster.time_s.expected]
        assert list(cluster.contradictions()) == []


@for_requests(10, asked=requests())
def test_every_cluster_keeps_to_what_was_asked(asked: Asked) -> None:
    answered = recommend(**asked)
    for cluster in clusters_of(answered):
        machines, asked_of = cluster.nodes + cluster.spares, answered.plan.request
        assert machines <= asked_of.most_machines
        assert cluster.nodes == asked.get("nodes", cluster.nodes) >= cluster.nodes_min
        assert machines <= asked.get("capacity", {}).get("*", math.inf)
        assert machines * (cluster.machine.vcpus or 0) <= asked.get("max_vcpus", math.inf)
        assert excess(cluster, asked) == {}
    assert all(point.nodes <= answered.plan.request.most_machines for point in answered.frontier)


def amounts(cluster: Candidate, confidence: float | None = None) -> dict[str, float]:
    """Return what limits on time and money limit of a cluster, by their names."""
    sort_s = {None: cluster.time_s.expected, 0.5: cluster.time_s.p50, 0.95: cluster.time_s.p95}[confidence]
    whole_s = sort_s + sum(cluster.overheads_s.values())
    return {"deadline": whole_s, "sort_deadline": sort_s, "budget": cluster.cost_usd.total_p95}


def excess(cluster: Candidate, asked: Asked) -> dict[str, float]:
    """Return the amounts of a cluster that are beyond a limit of the request."""
    taken = amounts(cluster, asked.get("confidence"))
    return {name: amount for name, amount in taken.items() if amount > asked.get(name, math.inf)}


@for_requests(8, asked=requests())
def test_how_many_are_shown_changes_no_choice(asked: Asked) -> None:
    one, ten, many = (recommend(**asked, top=top).best for top in (1, 10, 40))
    assert name_of(one) == name_of(ten) == name_of(many)
    assert figures(one) == figures(ten) == figures(many)


@settings(max_examples=8)
@given(asked=requests(), changes=requests(), names=st.sets(st.sampled_from(sorted(CHANGED)), min_size=1, max_size=3))
def test_an_answer_does_not_depend_on_what_was_asked_before(asked: Asked, changes: Asked, names: set[str]) -> None:
    """Facts of layouts are kept for requests that differ in what does not decide them."""
    kept = {name: value for name, value in asked.items() if name not in names}
    usable.forget()
    fresh = recommend(**asked)
    for earlier in (kept, kept | {name: changes[name] for name in names & changes.keys()}):
        usable.forget()
        with suppress(BadInputError):
            recommend(**{"data": asked["data"], "cloud": asked["cloud"]} | earlier)
        again = recommend(**asked)
        assert name_of(again.best) == name_of(fresh.best)
        assert figures(again.best) == figures(fresh.best)
        assert [each.reason for each in again.plan.rejected] == [each.reason for each in fresh.plan.rejected]


@for_requests(6, asked=requests())
def test_a_limit_that_is_kept_with_room_changes_no_choice(asked: Asked) -> None:
    """An objective compares clusters; the limit is above what these take, too: the default's cheapest, above all."""
    free = without_limits(asked)
    answered = recommend(**free)
    best, cheapest = answered.best, recommend(**(free | {"objective": "cost"})).best
    if best is None or cheapest is None:
        return
    compared = [best, cheapest] if answered.plan.request.rule in ("balanced", "papers") else [best]
    for name in amounts(best):
        amount = max(amounts(cluster)[name] for cluster in compared)
        if name == "budget":  # what a faster cluster may cost more
            amount = selection.SLACK * amount + selection.USD_PER_HOUR_SAVED * cheapest.time_s.expected / 3600
        again = recommend(**free, **{name: ROOM * amount}).best
        assert again is not None, name
        if (name, answered.plan.request.rule) == ("budget", "time"):  # the fastest of all may be beyond it
            assert again.time_s.expected <= selection.SAME_TIME * best.time_s.expected * (1 + ROUNDING)
            assert again.cost_usd.total <= best.cost_usd.total * (1 + ROUNDING)
        elif name_of(again) != name_of(best):
            assert figures(again) == pytest.approx(figures(best), rel=ROUNDING), name


@for_requests(8, asked=requests())
def test_a_limit_just_below_what_the_answer_takes_is_kept_or_refused(asked: Asked) -> None:
    """It is refused only if no cluster shown without it keeps it."""
    free = without_limits(asked)
    answered = recommend(**free)
    if answered.best is None:
        return
    for name, amount in amounts(answered.best).items():
        limited = free | {name: 0.98 * amount}
        again = clusters_of(recommend(**limited))
        assert [beyond for cluster in again if (beyond := excess(cluster, limited))] == []
        assert again or all(excess(cluster, limited) for cluster in clusters_of(answered)), name


@for_requests(10, asked=requests())
def test_more_data_takes_no_less_time_or_money_on_the_same_cluster(asked: Asked) -> None:
    best = recommend(**without_limits(asked)).best
    if best is None:
        return
    for objective, place in (("time", 1), ("cost", 2)):
        here = only(asked, best, objective=objective)
        more = here.what_if(data=1.5)
        assert here.best is not None
        if more.best is not None:
            assert figures(more.best)[place] >= figures(here.best)[place] * (1 - OF_SUMS), objective


@for_requests(10, asked=requests(), name=resources, factor=st.floats(1, 10))
def test_a_faster_resource_makes_nothing_slower_or_dearer(asked: Asked, name: str, factor: float) -> None:
    free = without_limits(asked)
    fastest, cheapest = (recommend(**(free | {"objective": objective})) for objective in ("time", "cost"))
    if fastest.best is not None and cheapest.best is not None:
        faster, cheaper = (answered.what_if(**{name: factor}).best for answered in (fastest, cheapest))
        assert faster is not None
        assert cheaper is not None
        most_s = selection.SAME_TIME * fastest.best.time_s.expected
        assert faster.time_s.expected <= most_s * (1 + OF_SUMS)
        assert cheaper.cost_usd.total <= cheapest.best.cost_usd.total * (1 + OF_SUMS)


@for_requests(8, asked=requests(), factor=st.floats(1, 10))
def test_a_higher_price_is_never_cheaper(asked: Asked, factor: float) -> None:
    cheapest = recommend(**(without_limits(asked) | {"objective": "cost"}))
    if cheapest.best is not None:
        dearer = cheapest.what_if(price=factor).best
        assert dearer is not None
        assert dearer.cost_usd.total >= cheapest.best.cost_usd.total * (1 - ROUNDING)


OF_RENTED = ("max_nodes", "max_vcpus", "capacity", "min_memory")
"""What limits rented machines and not the user's own."""


@for_requests(6, asked=requests(most_machines=20))
def test_an_own_cluster_is_the_one_that_would_be_rented(asked: Asked) -> None:
    one_kind = {"model": "indy"} if "," in asked["model"] else {}
    one_kind |= {"pricing": "spot"} if "," in asked.get("pricing", "") else {}
    answered = recommend(**(asked | one_kind))
    if answered.best is None or asked["cloud"] == "aws,oci" or "," in asked.get("region", ""):
        return
    free = {name: value for name, value in (asked | one_kind).items() if name not in OF_RENTED}
    rented = only(free, answered.best).best
    assert answered.own(f"{answered.best.nodes} x {answered.best.instance_type}").cluster == rented


@for_requests(5, asked=requests())
def test_the_limit_is_what_a_what_if_says_helps_most(asked: Asked) -> None:
    assert_the_limit_helps_most(recommend(**asked))


def assert_the_limit_helps_most(answered: Recommendation) -> None:
    best = answered.best
    if best is None:
        return
    saved_s = {name: best.whole_run_s - made.whole_run_s for name, made in answered.reliefs(2.0).items()}
    assert saved_s.keys() == best.reliefs_s.keys()
    assert saved_s[best.bottleneck] >= max(saved_s.values()) - OF_SUMS * best.whole_run_s, (best.bottleneck, saved_s)
    for name, seconds in saved_s.items():
        assert best.reliefs_s[name] == pytest.approx(max(0.0, seconds), abs=OF_SUMS * best.whole_run_s), name


def test_a_cluster_with_a_sure_deadline_has_reliefs() -> None:
    assert_the_limit_helps_most(recommend("1TB", instance="i4i.4xlarge", deadline="2h", confidence=0.95))


@pytest.mark.parametrize("objective", ["time", "cost", "balanced"])
def test_a_relief_takes_the_disk_layout_that_the_objective_prefers(objective: str) -> None:
    """With its disks twice as fast, another split of four disks sorts slower but validates sooner."""
    asked: Asked = {"data": "300GB", "nodes": 3, "model": "daytona", "objective": objective, "cloud": CLOUD}
    assert_the_limit_helps_most(recommend(**asked))


@quick_soak
@pytest.mark.parametrize("cloud", ["aws", "gcp", "azure", "oci"])
@pytest.mark.parametrize("model", ["indy", "daytona", "cloudsort", "object-store"])
@pytest.mark.parametrize("data", ["1TB", "10TB", "100TB", "1PB"])
def test_the_limit_of_shipped_catalogs_helps_most(cloud: str, model: str, data: str) -> None:
    answered = recommend(data, model=model, catalogs=[cloud])
    assert answered.best is not None
    assert_the_limit_helps_most(answered)


@for_requests(8, asked=requests())
def test_nothing_shown_beats_the_recommended_cluster_or_a_point_of_the_frontier(asked: Asked) -> None:
    """The recommended cluster is always on the frontier, even if it is chosen for its energy."""
    answered = recommend(**asked)
    for other in answered.candidates[1:]:
        assert answered.best is not None
        if asked["objective"] == "energy":
            assert (other.energy_j or 0.0) >= (answered.best.energy_j or math.inf)
        elif other.cost_usd.at_least == answered.best.cost_usd.at_least:
            assert not all(less < figure for less, figure in zip(ranking(other), ranking(answered.best), strict=True))
    points = [
        (handicap(point.instance_type) * point.time_s, handicap(point.instance_type) * point.cost_usd_total)
        for point in answered.frontier
        if (point.nodes, point.instance_type, point.region, point.pricing, point.model) != name_of(answered.best)
    ]
    assert all(faster[1] > slower[1] * (1 - ROUNDING) for faster, slower in pairwise(sorted(points)))


def ranking(cluster: Candidate) -> list[float]:
    """Return the time and the bill as they are ranked: bare metal takes second place among equals."""
    return [handicap(cluster.instance_type) * figure for figure in (cluster.time_s.expected, cluster.cost_usd.total)]


@for_requests(6, asked=requests(places=({"cloud": CLOUD}, {"cloud": "aws", "instance": "i4i.*"}), most_machines=200))
def test_more_to_choose_from_never_costs_more(asked: Asked) -> None:
    base = recommend(**asked)
    if "max_nodes" in asked:
        assert least_usd(recommend(**(asked | {"max_nodes": 2 * asked["max_nodes"]}))) <= least_usd(base) * (
            1 + OF_SIZES
        )
    assert least_usd(recommend(**without_limits(asked))) <= least_usd(base) * (1 + OF_SIZES)
    types = sorted({candidate.instance_type for candidate in base.candidates})
    if len(types) > 1:
        assert least_usd(base) <= least_usd(recommend(**asked, exclude=types[:1])) * (1 + OF_SIZES)


def least_usd(answered: Recommendation) -> float:
    """Return the least bill on the frontier; infinite where nothing is feasible."""
    return min((point.cost_usd_total for point in answered.frontier), default=math.inf)


def each_alone(asked: Asked, types: Sequence[str], most: int) -> list[Candidate]:
    """Plan each number of machines of each type alone, under the limits of a request."""
    found: list[Candidate] = []
    for instance in types:
        for nodes in [asked["nodes"]] if "nodes" in asked else range(asked.get("zones", 1), most + 1):
            if nodes > 1 or asked.get("zones", 1) == 1:
                found += recommend(**(asked | {"instance": instance, "nodes": nodes, "top": 1})).candidates
    return found


def as_good(cluster: Candidate, best: Candidate, rule: Rule) -> bool:
    """Return whether a cluster is the best, or equals it in what the rule compares."""
    if rule == "energy":
        return math.isclose(cluster.energy_j or 0.0, best.energy_j or 0.0, rel_tol=ROUNDING)
    alike = rule == "cost" or cluster.time_s.expected <= selection.SAME_TIME * best.time_s.expected * (1 + ROUNDING)
    return alike and math.isclose(cluster.cost_usd.total, best.cost_usd.total, rel_tol=ROUNDING)


@for_requests(8, asked=requests(places=FEW_TYPES, most_machines=12, counts=("max_nodes",)))
def test_the_recommended_cluster_is_the_best_of_all(asked: Asked) -> None:
    assert_it_is_the_best_of_all(asked)


@pytest.mark.soak
@settings(max_examples=80)
@given(asked=requests(places=FEW_TYPES, most_machines=40, counts=("max_nodes",)))
def test_the_recommended_cluster_is_the_best_of_forty_sizes(asked: Asked) -> None:
    assert_it_is_the_best_of_all(asked)


def assert_it_is_the_best_of_all(asked: Asked) -> None:
    answered = recommend(**asked, top=40)
    of_types = recommend(**without_limits(asked), top=40)
    types = sorted({cluster.instance_type for cluster in (*of_types.candidates, *answered.candidates)})
    rule = answered.plan.request.rule
    ranked = selection.order(each_alone(asked, types, asked.get("max_nodes", 0)), rule)
    if answered.best is None or not ranked:
        assert (answered.best, ranked) == (None, [])
    else:
        assert as_good(answered.best, ranked[0], rule), (name_of(answered.best), name_of(ranked[0]))


def test_models_that_begin_again_and_models_that_redo_tasks_are_refused_together() -> None:
    asked: Asked = {"data": "22TB", "model": "indy,framework", "pricing": "spot", "interruptions": 2}
    refused = recommend(**asked, instance="i4i.*", deadline="1h", max_vcpus=256).plan
    assert refused.best is None
    assert not any("deadline" in conflict for conflict in refused.conflicts)  # models that redo tasks meet it
