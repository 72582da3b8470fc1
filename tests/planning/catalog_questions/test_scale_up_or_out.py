"""Few large nodes against many small ones."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from approvals import Approve

import planner
from planner.api.recommend import answer
from planner.planning.catalog_questions.scale_up_or_out import Scaling, Size, plans_of, scale
from planner.schemas.plan import Candidate, Plan, Rejection, Request


def scaled(catalog: str, vcpus: dict[str, float], **options: Any) -> Scaling:
    request = Request(**{"data_bytes": 10**12, "model": "indy", "catalogs": (catalog,), **options})
    return scale(request, vcpus=vcpus, plan_of=lambda asked: answer(asked).plan)


def sizes(*, network_of_large: float = 4e9) -> dict[str, dict[str, Any]]:
    small = {"vcpu": 8, "price": 1, "read": 1e9, "write": 1e9, "network_baseline_bytes_per_s": 1e9}
    large = {
        "vcpu": 32, "price": 4, "read": 4e9, "write": 4e9, "local_disks": 16,
        "network_baseline_bytes_per_s": network_of_large,
    }  # fmt: skip
    return {"s": small, "l": large}


@pytest.fixture(scope="module")
def plain() -> Plan:
    return planner.recommend("1TB", model="indy", instances=["i4i.4xlarge"]).plan


@pytest.fixture
def template(plain: Plan) -> Candidate:
    assert plain.best is not None
    return plain.best


def test_clusters_have_as_many_processors(make_catalog: Callable[..., str]) -> None:
    scaling = scaled(make_catalog(sizes()), {"s": 8, "l": 32})
    assert [size.instance_type for size in scaling.sizes] == ["l", "s"]
    for size in scaling.sizes:
        assert size.equal is not None
        assert scaling.vcpus <= size.equal.nodes * size.vcpu < scaling.vcpus + size.vcpu


def test_nodes_that_scale_in_everything_differ_by_what_crosses_the_network(
    make_catalog: Callable[..., str], approve: Approve
) -> None:
    """Fewer nodes send less of a shuffle over the network, so large nodes are never slower."""
    scaling = scaled(make_catalog(sizes()), {"s": 8, "l": 32}, paper=True)
    large, small = (size.equal for size in scaling.sizes)
    assert large is not None
    assert small is not None
    assert large.time_s.equation == pytest.approx(small.time_s.equation)
    approve(scaling.verdict)


def test_large_nodes_with_a_small_nic_lose(make_catalog: Callable[..., str]) -> None:
    scaling = scaled(make_catalog(sizes(network_of_large=1e9)), {"s": 8, "l": 32}, data_bytes=10**14)
    large, small = (size.equal for size in scaling.sizes)
    assert large is not None
    assert small is not None
    assert large.time_s.expected > small.time_s.expected
    assert f"{large.nodes} x l cost " in scaling.verdict
    assert "more and take" in scaling.verdict
    assert scaling.verdict.endswith(f"{small.nodes} x s cost least")


def test_one_node_is_compared_where_it_holds_the_data(make_catalog: Callable[..., str], approve: Approve) -> None:
    alone = scaled(make_catalog(sizes()), {"s": 8, "l": 32})
    assert all(size.single and size.single.nodes == 1 for size in alone.sizes)
    none = scaled(make_catalog(sizes()), {"s": 8, "l": 32}, data_bytes=10**14)
    assert all(size.single is None for size in none.sizes)
    assert all(size.best and size.best.nodes > 1 for size in none.sizes)
    approve(none.sizes[0].reasons["single"])


def test_each_size_has_its_own_best(make_catalog: Callable[..., str]) -> None:
    scaling = scaled(make_catalog(sizes()), {"s": 8, "l": 32}, objective="cost")
    for size in scaling.sizes:
        assert size.best is not None
        assert size.equal is not None
        assert size.best.cost_usd.total <= size.equal.cost_usd.total * (1 + 1e-9)


def test_the_best_of_a_size_has_no_more_nodes_than_are_allowed(make_catalog: Callable[..., str]) -> None:
    """Two nodes are faster than one, but come with a spare."""
    for most, nodes in ((1, 1), (2, 1), (3, 2)):
        scaling = scaled(make_catalog(sizes()), {"s": 8, "l": 32}, max_nodes=most, objective="time")
        assert [size.best and size.best.nodes for size in scaling.sizes] == [nodes, nodes]


def test_a_size_without_facts_says_why(make_catalog: Callable[..., str], approve: Approve) -> None:
    types = sizes()
    types["l"]["read"] = None
    scaling = scaled(make_catalog(types), {"s": 8, "l": 32})
    approve(scaling.sizes[0].reasons["equal"])
    approve(scaling.verdict)


def test_the_verdict_says_by_how_much_the_large_ones_cost_and_take_more_or_less(
    template: Candidate, approve: Approve
) -> None:
    """4 large nodes for $30 in 200 s, 16 small ones for $20 in 250 s: 30 / 20 - 1 = +50%, 200 / 250 - 1 = -20%."""
    made = {"large": (4, 30.0, 200.0), "small": (16, 20.0, 250.0)}

    def size(name: str) -> Size:
        nodes, total, expected = made[name]
        cluster = replace(
            template,
            instance_type=name,
            nodes=nodes,
            cost_usd=replace(template.cost_usd, total=total),
            time_s=replace(template.time_s, expected=expected),
        )
        return Size(instance_type=name, vcpu=1.0, equal=cluster, best=None, single=None, reasons={})

    up = Scaling(vcpus=16, sizes=(size("large"), size("small"))).verdict
    approve(up)
    three = Scaling(vcpus=16, sizes=(size("large"), size("large"), size("small"))).verdict
    assert three == up, "of three sizes the largest and the smallest"
    out = Scaling(vcpus=16, sizes=(size("small"), size("large"))).verdict
    approve(out)


def test_a_comparison_makes_three_plans_for_each_size_and_one_of_all() -> None:
    assert [plans_of(types) for types in (1, 4)] == [4, 13]


def test_a_hundredth_more_is_alike(template: Candidate) -> None:
    """A difference of 0.9% in either counts as none, 1.1% as one."""
    for dollars, seconds, alike in ((10.09, 100.9, True), (10.11, 100.0, False), (10.0, 98.9, False)):
        large = replace(
            template,
            cost_usd=replace(template.cost_usd, total=dollars),
            time_s=replace(template.time_s, expected=seconds),
        )
        small = replace(
            template, cost_usd=replace(template.cost_usd, total=10.0), time_s=replace(template.time_s, expected=100.0)
        )
        sizes = tuple(
            Size(instance_type=name, vcpu=1.0, equal=cluster, best=None, single=None, reasons={})
            for name, cluster in (("large", large), ("small", small))
        )
        assert (Scaling(vcpus=1, sizes=sizes).verdict == "large and small nodes do the job alike") is alike


def test_clusters_are_planned_for_as_many_processors_as_the_best_of_all_has(
    plain: Plan, template: Candidate, approve: Approve
) -> None:
    """The best cluster of all has three nodes of 32 processors: 3 nodes of 40 match it, and 12 of 8, even if that
    exceeds the limit on nodes. A size that cannot do it gives the reason, without the option that the user did not
    give.
    """
    asked: list[tuple[tuple[str, ...], int | None, int]] = []

    def plan_of(request: Request) -> Plan:
        asked.append((request.instances, request.nodes, request.max_nodes))
        if len(request.instances) == 3:
            return replace(plain, best=replace(template, nodes=3, instance_type="m"))
        slow = Rejection(instance_type="s", reason="does not hold the data within --nodes 1", detail="needs 2 nodes")
        unasked = Rejection(instance_type="m", reason="not asked for")
        return replace(plain, best=None, rejected=(unasked, slow) if request.instances == ("s",) else (unasked,))

    request = Request(data_bytes=10**12, model="indy", max_nodes=10)
    scaling = scale(request, vcpus={"s": 8, "l": 40, "m": 32}, plan_of=plan_of)
    assert scaling.vcpus == 96 and [size.instance_type for size in scaling.sizes] == ["l", "m", "s"]
    whole, *others = asked
    assert whole == (("s", "l", "m"), None, 10)
    assert [(nodes, most) for _, nodes, most in others] == [
        *((3, 1000), (None, 10), (1, 1000)),
        *((3, 1000), (None, 10), (1, 1000)),
        *((12, 1000), (None, 10), (1, 1000)),
    ]
    large, _, small = scaling.sizes
    approve(set(small.reasons.values()))
    assert set(large.reasons.values()) == {"not asked for"}
