"""The most data that fits: known answers by hand; each answer fits, and 1% more does not."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from approvals import Approve
from hypothesis import given, settings
from hypothesis import strategies as st
from refusals import refused

from planner import recommend
from planner.api.recommend import answer
from planner.api.request_inputs import inputs_of
from planner.arrays import Floats
from planner.errors import BadInputError
from planner.planning.recommendation import recommend as plan_request
from planner.planning.what_if.most_data import most_data
from planner.schemas.plan import Plan, Rejection, Request
from tests.marks import QUICK_SOAK, quick_soak

CLOUD = str(Path(__file__).parents[2] / "golden" / "cloud")
MINUTE: dict[str, Any] = {
    "most_data": True,
    "model": "minutesort",
    "catalogs": ("tritonsort-2011",),
    "instances": ("dl380g6",),
    "nodes": 66,
    "paper": True,
}


def test_tritonsorts_minute_is_what_memory_holds(approve: Approve) -> None:
    """A node holds 24 GB x 20.5/24 = 20.5 GB; 66 hold 1,353 GB, as much as TritonSort sorted in its minute."""
    plan = recommend(**MINUTE, sort_deadline="60s").plan
    assert plan.request.data_bytes == 66 * 20_500_000_000 == 1_353_000_000_000
    assert plan.beyond is not None
    approve(plan.beyond)


def test_half_a_minute_is_what_network_and_disks_do(approve: Approve) -> None:
    """A byte takes 1/1.25e9 s on the network and 1/1.434e9 s to write: 30 s x 66 / 1.49735e-9 s = 1,322.3 GB."""
    by_hand = 30 * 66 / (1 / 1.25e9 + 1 / 1.434e9)
    plan = recommend(**MINUTE, sort_deadline=30.0).plan
    assert plan.request.data_bytes == 1_322_000_000_000 == by_hand // 1e9 * 1e9
    assert plan.beyond is not None
    approve(plan.beyond)


def test_a_budget_buys_in_proportion() -> None:
    """A byte on 178 x i2.8xlarge at $6.82/h costs (1/879e6 + 1/1738e6) s x 6.82/3600 $/s: $100 buy 30.81 TB."""
    by_hand = 100 / ((1 / 879e6 + 1 / 1738e6) * 6.82 / 3600)
    plan = recommend(
        most_data=True,
        budget_usd=100.0,
        model="indy",
        catalogs=("aws-2014",),
        instances=("i2.8xlarge",),
        nodes=178,
        paper=True,
    ).plan
    assert plan.request.data_bytes == 30_810_000_000_000
    assert plan.request.data_bytes == pytest.approx(by_hand, rel=1e-3)


@pytest.mark.soak
@pytest.mark.quick
@settings(max_examples=10, deadline=None)
@given(
    deadline_s=st.one_of(st.none(), st.floats(20, 5000)),
    budget_usd=st.one_of(st.none(), st.floats(0.2, 100)),
    model=st.sampled_from(["indy", "daytona", "cloudsort"]),
)
def test_the_answer_fits_and_one_percent_more_does_not(
    deadline_s: float | None, budget_usd: float | None, model: str
) -> None:
    limits = Request(
        data_bytes=1, model=model, catalogs=(CLOUD,), max_nodes=5, deadline_s=deadline_s, budget_usd=budget_usd
    )
    limits = replace(limits, exclude=("silent.1",))  # without a network rate: planned as a single node only
    plan = answer(replace(limits, most_data=True)).plan
    if plan.best is None:
        assert plan.request.data_bytes == 1000
        return
    most = plan.request.data_bytes
    again = answer(replace(limits, data_bytes=most)).plan
    assert again.best == plan.best
    larger = replace(limits, data_bytes=round(most * 1.01))
    assert answer(larger).plan.best is None
    for nodes in range(1, 6):  # alone, every cluster is computed exactly
        assert answer(replace(larger, nodes=nodes)).plan.best is None


def other_deadline(plan_of: Callable[..., Plan], sort_deadline_s: float, request: Request, sizes: Floats) -> Plan:
    return plan_of(replace(request, sort_deadline_s=sort_deadline_s), sizes)


def both_ways(request: Request) -> tuple[Plan, Plan, int]:
    """Return the plan by bisection alone, the one that first looks at some cluster sizes, and the number of times the
    latter plans all sizes.
    """
    alone, given = inputs_of(request, None)
    plan_of = partial(
        plan_request, model=given.models, catalogs=given.catalogs, overheads=given.overheads, explained=False
    )
    asked: list[Request] = []

    def counted(fixed: Request) -> Plan:
        asked.append(fixed)
        return plan_of(fixed)

    return most_data(alone, plan_of=plan_of), most_data(alone, plan_of=counted, quick_plan=plan_of), len(asked)


@pytest.mark.parametrize(
    ("limits", "most_plans"),
    [
        pytest.param({"sort_deadline_s": 60.0}, 4, marks=QUICK_SOAK),
        ({"budget_usd": 30.0}, 4),
        pytest.param({"deadline_s": 900.0, "budget_usd": 80.0, "engine": "ideal"}, 4, marks=QUICK_SOAK),
        pytest.param({"sort_deadline_s": 60.0, "max_vcpus": 700}, 4, marks=QUICK_SOAK),
        pytest.param({"model": "cloudsort"}, 4, marks=QUICK_SOAK),  # all that 1,500 nodes hold
        ({"budget_usd": 1e-6}, 1),  # not even a kilobyte
    ],
)
def test_a_look_at_some_cluster_sizes_changes_no_answer(limits: dict[str, Any], most_plans: int) -> None:
    """Few plans with all sizes remain: the last data size that fits and the first that does not."""
    request = Request(**{"data_bytes": 1, "most_data": True, "model": "indy", "max_nodes": 1500, "top": 1, **limits})
    by_bisection, with_a_look, plans = both_ways(replace(request, catalogs=(CLOUD,), exclude=("silent.1",)))
    assert with_a_look == by_bisection
    assert plans <= most_plans


@quick_soak
def test_where_a_look_errs_bisection_decides() -> None:
    """A look that wrongly finds a fit, and one that finds too few, cost time and change nothing."""
    base = Request(data_bytes=1, most_data=True, model="indy", max_nodes=8, sort_deadline_s=60.0, top=1)
    request, given = inputs_of(replace(base, catalogs=(CLOUD,), exclude=("silent.1",)), None)
    plan_of = partial(plan_request, model=given.models, catalogs=given.catalogs, overheads=given.overheads)
    right = most_data(request, plan_of=plan_of)
    for looked_s in (90, 55):
        quick_plan = partial(other_deadline, plan_of, looked_s)
        assert most_data(request, plan_of=plan_of, quick_plan=quick_plan) == right


def test_what_has_no_limit_is_refused(make_catalog: Callable[..., str]) -> None:
    catalog = make_catalog({"a": {"read": 1e9, "write": 1e9, "local_disk_bytes": 1e19, "memory_bytes": 1e19}})
    with pytest.raises(BadInputError, match="give `sort_deadline` or `budget`"):
        recommend(most_data=True, model="indy", catalogs=(catalog,), max_nodes=20)


def test_how_much_is_said_once() -> None:
    with pytest.raises(BadInputError, match="`data` and `most_data=True` contradict each other"):
        recommend(data="1TB", most_data=True, model="indy")
    with refused("missing-argument", "`data='100TB'`", field="data"):
        recommend(model="indy")


def test_of_several_models_the_obstacle_is_that_of_the_nearest(
    make_catalog: Callable[..., str], approve: Approve
) -> None:
    """Four nodes of 2 TB and a spare hold at most 8 TB under `indy`, which keeps one copy; no object store is known."""
    catalog = make_catalog({"a": {"read": 1e9, "write": 1e9}})
    plan = recommend(most_data=True, model="all", catalogs=(catalog,), max_nodes=5).plan
    assert plan.best is not None and plan.best.model == "indy"
    assert plan.beyond is not None
    approve(plan.beyond)


@cache
def plan_on_44_nodes() -> Plan:
    """Return a plan that stands in for the plan of every size that fits."""
    return recommend(**(MINUTE | {"most_data": False, "nodes": 44}), data="500GB").plan


def up_to(limit_bytes: float, asked: list[int], **beyond: Any) -> Callable[[Request], Plan]:
    """Return a planner that fits sizes up to a limit; `asked` keeps sizes, `beyond` alters the plans of larger ones."""

    def plan_of(request: Request) -> Plan:
        asked.append(request.data_bytes)
        fits = request.data_bytes <= limit_bytes
        return replace(
            plan_on_44_nodes(), request=request, **({} if fits else {"best": None, "rejected": (), **beyond})
        )

    return plan_of


@pytest.mark.parametrize("seen_share", [0.3, 0.999, 1.0, 1.001, 3.0])
@pytest.mark.parametrize("limit", [1000.0, 1001.9, 9999.0, 123_456.0, 1e9, 8.7654321e15])
def test_the_most_is_the_limit_cut_to_four_figures(limit: float, seen_share: float) -> None:
    """The answer does not depend on a look at some clusters; if the look is right, only one size that fits and one that
    does not are planned.
    """
    request = Request(data_bytes=1, most_data=True, model="indy", max_nodes=100)
    unit = 10 ** (len(str(int(limit))) - 4)
    most = int(limit // unit * unit)
    asked: list[int] = []
    seen = most_data(
        request, plan_of=up_to(limit, asked), quick_plan=lambda fixed, _: up_to(limit * seen_share, [])(fixed)
    )
    assert most_data(request, plan_of=up_to(limit, [])).request.data_bytes == most == seen.request.data_bytes
    assert seen_share != 1 or sorted(asked) == [most, most + unit]


def test_the_ends_of_the_sizes() -> None:
    """The least size tried is 1 kB, the most 99.99 EB: if that fits, nothing limits the size."""
    request = Request(data_bytes=1, most_data=True, model="indy", max_nodes=100)
    none = most_data(request, plan_of=up_to(999, []))
    assert none.best is None and none.beyond is None and none.request.data_bytes == 1000
    assert most_data(request, plan_of=up_to(9_998 * 1e16, [])).request.data_bytes == 9_998 * 10**16
    for quick_plan in (None, lambda asked, _: up_to(1e21, [])(asked)):
        with pytest.raises(BadInputError, match="even 100 EB fit"):
            most_data(request, plan_of=up_to(9_999 * 1e16, []), quick_plan=quick_plan)


@pytest.mark.parametrize(("max_nodes", "near"), [(100, [38, 51]), (45, [38, 45])])
def test_a_look_tries_some_sizes_then_those_near_the_best(max_nodes: int, near: list[int]) -> None:
    """From 44 / 1.15 = 38.3, rounded down, to 44 x 1.15 = 50.6, rounded up, for 44 nodes. `--nodes` needs no look."""
    request = Request(data_bytes=1, most_data=True, model="indy", max_nodes=max_nodes)
    looked: list[Floats] = []

    def quick_plan(asked: Request, sizes: Floats) -> Plan:
        looked.append(sizes)
        return up_to(5e9, [])(asked)

    most_data(request, plan_of=up_to(5e9, []), quick_plan=quick_plan)
    assert looked[0].tolist()[:50] == list(range(1, min(max_nodes, 50) + 1))
    assert looked[-1].tolist() == list(range(near[0], near[1] + 1))
    most_data(replace(request, max_nodes=10**6), plan_of=up_to(5e9, []), quick_plan=quick_plan)
    assert len(some := next(sizes for sizes in looked if sizes[-1] == 1e6)) == len(np.unique(some)) == 331
    looked.clear()
    most_data(replace(request, nodes=44), plan_of=up_to(5e9, []), quick_plan=quick_plan)
    assert not looked


def test_what_stands_against_more_is_the_types_own_rejection_or_what_clashes(approve: Approve) -> None:
    request = Request(data_bytes=1, most_data=True, model="indy", max_nodes=100)
    other = Rejection(instance_type="other", reason="is slow", detail="10 s")
    own = [Rejection(instance_type="dl380g6", reason="misses it", detail=detail) for detail in ("", "by 3 s")]

    def against(**beyond: Any) -> str | None:
        return most_data(request, plan_of=up_to(5e9, [], **beyond)).beyond

    approve(against(rejected=(other, own[0])))
    approve(against(rejected=(other, own[1])))
    approve(against(rejected=(other,), conflicts=("This.", "That.")))
    approve(against(rejected=(other,)))
