"""Clusters that need a request for capacity before launch."""

from __future__ import annotations

from functools import partial

import pytest

from planner import recommend as recommend_by
from planner.planning.ranking.capacity import MACHINES_AT_HAND
from planner.report.terminal.short_answer import short_answer

recommend = partial(recommend_by, model="daytona", catalogs=["aws"], instances=["i8g.8xlarge", "i8g.24xlarge"])


def test_a_large_cluster_is_asked_for_and_the_best_at_hand_is_named() -> None:
    plan = recommend("200TB").plan
    best, capacity = plan.best, plan.capacity
    assert best is not None and best.nodes + best.spares > MACHINES_AT_HAND
    assert capacity is not None and capacity.smaller is not None
    assert (capacity.machines, capacity.vcpus) == (best.nodes + best.spares, 32 * (best.nodes + best.spares))
    few = recommend("200TB", max_nodes=98).plan
    assert few.best is not None and few.capacity is None
    at_hand = capacity.smaller
    assert (at_hand.nodes, at_hand.instance_type) == (few.best.nodes, few.best.instance_type)
    assert at_hand.cost_usd_total == pytest.approx(few.best.cost_usd.total)
    text = " ".join(" ".join(short_answer(plan, width=80)).split())
    assert f"Capacity: ask for {capacity.machines} machines in one placement group ({capacity.vcpus:,.0f} vCPUs" in text
    assert f"Best of at most 100: {at_hand.nodes} x {at_hand.instance_type}, " in text


def test_where_none_at_hand_will_do_that_is_said() -> None:
    plan = recommend("100TB", deadline="10m").plan
    assert plan.capacity is not None and plan.capacity.smaller is None
    text = " ".join(" ".join(short_answer(plan, width=80)).split())
    assert "Best of at most 100: none does the job within what is asked." in text


def test_a_number_of_nodes_that_was_asked_for_is_not_said_to_be_too_large() -> None:
    plan = recommend("1TB", nodes=178).plan
    text = " ".join(" ".join(short_answer(plan, width=80)).split())
    assert "weeks before." in text and "Best of at most" not in text


def test_clusters_at_hand_and_the_papers_are_not_asked_for() -> None:
    assert recommend("10TB").plan.capacity is None
    assert recommend("100TB", nodes=200, paper=True).plan.capacity is None
