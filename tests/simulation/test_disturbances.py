"""Runs that are disturbed, beside the same undisturbed."""

from __future__ import annotations

from dataclasses import replace

import pytest

from planner.simulation.disturbances import Run, loss_cost, spot_cost
from planner.simulation.draws import Draw
from planner.simulation.losses import Loss
from planner.simulation.machines import Machines, NodeGroup
from planner.simulation.phase_tasks import Tasks
from planner.simulation.sort_job import simulate_job
from planner.sort_policy.concurrency import Concurrency
from planner.statistics.interruptions import Risk
from tests.simulation.idle_phase import IDLE

SHUFFLE = replace(
    IDLE,
    name="map and shuffle",
    read_s={"disks": 100.0},
    exchanged_bytes=900.0,
    spread=1.0,
    tasks=Tasks(lengths=(0.01,) * 100, longest=0.01, concurrency=Concurrency(tasks=5), threads=2, slices=8),
)
REDUCE = replace(SHUFFLE, name="sort and reduce", exchanged_bytes=0.0, spread=0.0)
WORKS = [SHUFFLE, REDUCE]


def runs(count: int, *, factor: float = 1.0) -> list[Run]:
    """Return like runs of ten nodes."""
    machines, groups = Machines(vcpu=2.0, link_bytes_per_s=300.0), [NodeGroup(nodes=10)]
    draw = Draw(groups=groups, machines=machines, factor=factor)
    return [Run(draw=draw, phases=simulate_job(WORKS, groups, machines))] * count


def spot(per_node_s: float) -> Risk:
    return Risk(per_node_s=per_node_s, replacement_s=60.0, recovery="restart", evidence="derived")


def test_what_is_never_taken_back_costs_nothing() -> None:
    cost = spot_cost(spot(0.0), WORKS, runs(5), seed=0)
    assert cost is not None
    assert (cost.taken_back, cost.times) == (0.0, 1.0)


def test_nodes_are_taken_back_as_often_as_the_rate_says() -> None:
    """Ten nodes, 200 s, one in 2,000 s: one in each run, and half a run more at most for each."""
    cost = spot_cost(spot(1 / 2000), WORKS, runs(200), seed=1)
    assert cost is not None
    assert cost.taken_back == pytest.approx(1.0, abs=0.25)
    assert 1.0 < cost.times < 1 + 0.75 * cost.taken_back
    assert cost.p50_s <= cost.p95_s


def test_a_loss_costs_a_slower_run_as_many_times_as_much() -> None:
    quick, slow = (loss_cost(Loss(nodes=1, share=0.5), WORKS, runs(1, factor=f)) for f in (1.0, 2.0))
    assert slow.times == pytest.approx(quick.times)
    assert slow.p50_s == pytest.approx(2 * quick.p50_s)


def test_without_tasks_it_is_not_known_what_a_lost_node_costs() -> None:
    assert spot_cost(spot(1.0), [replace(work, tasks=None) for work in WORKS], runs(1), seed=0) is None
