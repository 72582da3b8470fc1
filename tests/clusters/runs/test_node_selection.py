"""Selection of the working machines: the fast ones, planned at their own rates; slow ones only where they help."""

from __future__ import annotations

from functools import partial

import pytest

from planner import recommend as recommend_by
from planner.clusters.runs.node_benchmarks import NodeRates
from planner.clusters.runs.preparation import NodeSelection, select_nodes
from planner.errors import InfeasibleError, IoFailureError, PlannerError
from planner.schemas.plan import Candidate, Plan

recommend = partial(recommend_by, engine="ideal")
"""These sums use the equations alone."""

METRICS = ("disk_read", "disk_write", "disk_both", "network")


@pytest.fixture(scope="module")
def plan() -> Plan:
    return recommend(data="100GB", model="indy", instances=["i4i.large"], nodes=4).plan


def planned(plan: Plan) -> Candidate:
    assert plan.best is not None
    return plan.best


def trials(failed: dict[str, PlannerError] | None = None, **rates: float) -> NodeRates:
    return NodeRates(rates={metric: dict(rates) for metric in METRICS}, failed=failed or {})


def chosen(plan: Plan, seen: NodeRates) -> NodeSelection:
    return select_nodes(seen, planned(plan), plan.request)


def test_the_fastest_of_those_that_are_not_slow(plan: Plan) -> None:
    crew = chosen(plan, trials(a=1e9, b=1.02e9, c=1e8, d=1.01e9, e=0.99e9, f=0.98e9))
    assert crew.working == ("b", "d", "a", "e")
    assert set(crew.idle) == {"c", "f"}
    assert [drop.node for drop in crew.screening.dropped] == ["c"]


def test_the_new_plan_has_the_rates_of_the_slowest_that_works(plan: Plan) -> None:
    """100 GB on 4 nodes, read and written twice at 0.5 GB/s each: 2 x (50 + 50) s; the network is faster, with 3/4 of
    25 GB a node at 0.5 GB/s.
    """
    crew = chosen(plan, trials(a=5e8, b=6e8, c=6e8, d=6e8))
    best = planned(crew.plan)
    assert best.nodes == 4
    assert best.time_s.equation == pytest.approx(200.0)
    assert crew.plan.request.assume == {"network": 5e8, "local_read": 5e8, "local_write": 5e8}


def test_data_that_would_fit_in_memory_goes_to_files_on_a_cluster_all_the_same() -> None:
    """The plan before the launch uses memory; the sort on a cluster does not."""
    small = recommend(data="4GB", model="indy", instances=["i4i.large"], nodes=4).plan
    best = planned(chosen(small, trials(a=5e8, b=5e8, c=5e8, d=5e8)).plan)
    assert "memory" in planned(small).storage and "memory" not in best.storage
    assert best.time_s.equation == pytest.approx(8.0)  # 1 GB a node, read and written twice at 0.5 GB/s


def test_a_slow_machine_helps_where_too_few_are_fast(plan: Plan) -> None:
    """A fourth machine at 30% of the others' rate would hold the three back, 4 x 0.3 being less than 3; one at 89%
    would not.
    """
    alone = chosen(plan, trials(a=1e9, b=1e9, c=1e9, d=3e8))
    assert alone.working == ("a", "b", "c")
    helped = chosen(plan, trials(a=1e9, b=1e9, c=1e9, d=8.9e8))
    assert set(helped.working) == {"a", "b", "c", "d"}
    assert [drop.node for drop in helped.screening.dropped] == ["d"]


def test_a_slow_machine_keeps_the_other_copy() -> None:
    """One fast machine alone would finish first, but has nowhere to put the replica."""
    two = recommend(data="10GB", model="daytona", instances=["i4i.large"], nodes=2).plan
    crew = chosen(two, trials(a=1e9, b=1e8, c=1e7))
    assert crew.working == ("a", "b")


def test_a_machine_that_could_not_be_measured_does_not_work(plan: Plan) -> None:
    crew = chosen(plan, trials({"e": IoFailureError("its disk is read-only")}, a=1e9, b=1e9, c=1e9, d=1e9))
    assert "e" not in crew.working
    assert [(drop.node, drop.reason) for drop in crew.screening.dropped] == [("e", "gave no figure")]


def test_too_few_to_hold_the_data(plan: Plan) -> None:
    large = recommend(data="1TB", model="indy", instances=["i4i.large"], nodes=12).plan
    rates = dict.fromkeys("abcd", 1e9)
    with pytest.raises(InfeasibleError):
        select_nodes(trials(**rates), planned(large), large.request)


@pytest.mark.parametrize(("nodes", "spares", "works"), [(64, 2, True), (65, 2, False), (65, 0, True)])
def test_the_head_of_a_large_cluster_works_only_where_it_is_needed(nodes: int, spares: int, works: bool) -> None:
    """Its rate is the highest."""
    large = recommend(data="10TB", model="indy", instances=["i4i.8xlarge"], nodes=nodes).plan
    rates = {"head": 2e9} | {f"node-{number}": 1.99e9 for number in range(nodes + spares - 1)}
    selection = select_nodes(trials(**rates), planned(large), large.request, head="head")
    assert len(selection.working) == nodes and ("head" in selection.working) == works
