"""Disturbed runs compared with the same runs undisturbed."""

from __future__ import annotations

from dataclasses import replace
from statistics import fmean

import numpy as np
import pytest

import planner
from planner.api.request_inputs import inputs_of
from planner.cost_model.workload import JobContext
from planner.schemas.plan import Candidate
from planner.simulation.losses import Loss
from planner.simulation.machines import Machines, NodeGroup, machines_of
from planner.simulation.phase_tasks import Tasks
from planner.simulation.phase_work import PhaseWork, at_full_rate, phase_work
from planner.simulation.simulate import Draw, Run, draw_runs, loss_cost, scatter, simulation_context, spot_cost
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
    """Return identical runs of ten nodes."""
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
    """Ten nodes for 200 s, each lost once in 2,000 s: one in each run, each adding at most half a run."""
    cost = spot_cost(spot(1 / 2000), WORKS, runs(60), seed=1)
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


def job() -> tuple[JobContext, list[PhaseWork], Machines, Candidate]:
    answer = planner.recommend("20TB", instance="i4i.4xlarge", nodes=40, model="indy", engine="ideal")
    request, given = inputs_of(answer.plan.request)
    assert answer.best is not None
    context = at_full_rate(
        simulation_context(
            request, answer.best, models=given.models, catalogs=given.catalogs, overheads=given.overheads
        )
    )
    machines = machines_of(context, 40)
    works = [phase_work(context, phase, 40, machines) for phase in context.model.phases]
    return context, works, machines, answer.best


def test_the_slowest_disk_is_as_slow_as_order_statistics_have_it() -> None:
    """The slowest of 40 lognormal disks with sigma 0.055 is expected at exp(0.055 x 2.16) = 1.126 of the median."""
    context, works, machines, best = job()
    draws = list(draw_runs(context, works, machines, best=best, draws=200, seed=1))
    assert all(sum(group.nodes for group in draw.groups) == 40 for draw in draws)
    slowest = [max(group.slowness_of("local_disks") for group in draw.groups) for draw in draws]
    fastest = min(min(group.slowness_of("local_disks") for group in draw.groups) for draw in draws)
    assert np.median(slowest) / fastest > 1.1
    assert np.median([draw.factor for draw in draws]) == pytest.approx(1.0, rel=0.01)


def test_the_same_seed_draws_the_same() -> None:
    context, works, machines, best = job()
    first, again, other = (
        list(draw_runs(context, works, machines, best=best, draws=2, seed=seed)) for seed in (3, 3, 4)
    )
    assert first == again != other


def test_few_draws_cover_what_a_run_shares() -> None:
    """8 draws use each of 8 network claims once, with any seed, so their means agree."""
    context, works, machines, best = job()
    factors = [
        fmean(draw.factor for draw in draw_runs(context, works, machines, best=best, draws=8, seed=seed))
        for seed in (1, 2)
    ]
    assert factors[0] == pytest.approx(factors[1])


def test_quantiles_of_a_few_values() -> None:
    assert scatter([1.0, 2.0, 3.0], 0.5) == 2.0
    assert scatter([1.0, 2.0], 0.95) == pytest.approx(1.95)
    assert np.isnan(scatter([], 0.5))
