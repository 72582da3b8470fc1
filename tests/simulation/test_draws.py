"""Drawn nodes have the spread that the equations know, and the same seed draws the same."""

from __future__ import annotations

from statistics import fmean

import numpy as np
import pytest

import planner
from planner.api.request_inputs import inputs_of
from planner.cost_model.workload import JobContext
from planner.schemas.plan import Candidate
from planner.simulation.draws import drawn, scatter
from planner.simulation.machines import Machines, machines_of
from planner.simulation.phase_work import PhaseWork, at_full_rate, phase_work
from planner.simulation.simulate import simulation_context


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
    """Of 40 lognormal disks with sigma 0.055 the slowest is expected at exp(0.055 x 2.16) = 1.126 of the median."""
    context, works, machines, best = job()
    draws = list(drawn(context, works, machines, best=best, draws=200, seed=1))
    assert all(sum(group.nodes for group in draw.groups) == 40 for draw in draws)
    slowest = [max(group.slow("local_disks") for group in draw.groups) for draw in draws]
    fastest = min(min(group.slow("local_disks") for group in draw.groups) for draw in draws)
    assert np.median(slowest) / fastest > 1.1
    assert np.median([draw.factor for draw in draws]) == pytest.approx(1.0, rel=0.01)


def test_the_same_seed_draws_the_same() -> None:
    context, works, machines, best = job()
    first, again, other = (list(drawn(context, works, machines, best=best, draws=2, seed=seed)) for seed in (3, 3, 4))
    assert first == again != other


def test_few_draws_cover_what_a_run_shares() -> None:
    """Of 8 claims of the network and 8 draws each counts once, whatever the seed: so their means agree."""
    context, works, machines, best = job()
    factors = [
        fmean(draw.factor for draw in drawn(context, works, machines, best=best, draws=8, seed=seed)) for seed in (1, 2)
    ]
    assert factors[0] == pytest.approx(factors[1])


def test_quantiles_of_a_few_values() -> None:
    assert scatter([1.0, 2.0, 3.0], 0.5) == 2.0
    assert scatter([1.0, 2.0], 0.95) == pytest.approx(1.95)
    assert np.isnan(scatter([], 0.5))
