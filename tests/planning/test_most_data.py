"""How much data fits: known answers by hand, and the answer fits where 1% more does not."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from planner import recommend
from planner.api import answer
from planner.errors import BadInputError
from planner.schemas.plan import Request

CLOUD = str(Path(__file__).parents[1] / "golden" / "cloud")
MINUTE: dict[str, Any] = {
    "most_data": True,
    "model": "minutesort",
    "catalogs": ("tritonsort-2011",),
    "instances": ("dl380g6",),
    "nodes": 66,
    "paper": True,
}


def test_tritonsorts_minute_is_what_memory_holds() -> None:
    """A node holds 24 GB x 20.5/24 = 20.5 GB; 66 hold 1,353 GB, what TritonSort sorted in its minute."""
    plan = recommend(**MINUTE, sort_deadline="60s").plan
    assert plan.request.data_bytes == 66 * 20_500_000_000 == 1_353_000_000_000
    assert plan.beyond is not None
    assert "1.354 TB would be too much: dl380g6 does not hold the data within --nodes 66" in plan.beyond


def test_half_a_minute_is_what_network_and_disks_do() -> None:
    """A byte takes 1/1.25e9 s on the network and 1/1.434e9 s to write: 30 s x 66 / 1.49735e-9 s = 1,322.3 GB."""
    by_hand = 30 * 66 / (1 / 1.25e9 + 1 / 1.434e9)
    plan = recommend(**MINUTE, sort_deadline=30.0).plan
    assert plan.request.data_bytes == 1_322_000_000_000 == by_hand // 1e9 * 1e9
    assert plan.beyond is not None
    assert "dl380g6 misses the sort's deadline of 30 s" in plan.beyond


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
    for nodes in range(1, 6):  # alone, every cluster is worked out exactly
        assert answer(replace(larger, nodes=nodes)).plan.best is None


def test_what_has_no_limit_is_refused(make_catalog: Callable[..., str]) -> None:
    catalog = make_catalog({"a": {"read": 1e9, "write": 1e9, "local_disk_bytes": 1e19, "memory_bytes": 1e19}})
    with pytest.raises(BadInputError, match="give --sort-deadline or --budget"):
        recommend(most_data=True, model="indy", catalogs=(catalog,))


def test_how_much_is_said_once() -> None:
    with pytest.raises(BadInputError, match="--data and --most-data contradict each other"):
        recommend(data="1TB", most_data=True, model="indy")
    with pytest.raises(BadInputError, match="say how much to sort: --data 100TB"):
        recommend(model="indy")


def test_of_several_models_the_obstacle_is_that_of_the_nearest(make_catalog: Callable[..., str]) -> None:
    """Five nodes of 2 TB hold 10 TB at most under `indy`, which keeps one copy; no object store is known at all."""
    catalog = make_catalog({"a": {"read": 1e9, "write": 1e9}})
    plan = recommend(most_data=True, model="all", catalogs=(catalog,), max_nodes=5).plan
    assert plan.best is not None and plan.best.model == "indy"
    assert plan.beyond is not None and "a does not hold the data within --max-nodes 5 (needs 6 nodes" in plan.beyond
