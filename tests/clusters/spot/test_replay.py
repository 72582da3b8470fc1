"""The benchmark that replays traces, on traces with answers worked out by hand."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from planner.clusters.spot.availability import SpotRates
from planner.clusters.spot.policy import SpotJob

BENCHMARK = Path(__file__).parents[3] / "benchmarks" / "spot"
JOB = SpotJob(work_s=600, deadline_s=1200, restart_s=60, spot_share=0.25, decide_every_s=60)


@pytest.fixture
def replaying(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    monkeypatch.syspath_prepend(str(BENCHMARK))
    import bench_replay

    yield bench_replay
    for name in ("bench_replay", "policies"):
        sys.modules.pop(name, None)


def test_a_trace_is_read_as_all_machines_or_none(replaying: ModuleType, tmp_path: Path) -> None:
    """Two machines at most: none until 120 s, one until 180 s, both until 300 s."""
    path = tmp_path / "preemption_x_2node_y.csv"
    path.write_text("start_s,end_s,instances_available\n0,120,0\n120,180,1\n180,300,2\n", encoding="utf-8")
    assert replaying.read_trace(path, step_s=60).available.tolist() == [False, False, False, True, True]


def test_what_each_policy_pays(replaying: ModuleType) -> None:
    """Spot machines for five minutes of twenty, then none. On demand: a minute to start and ten of work, 660 s. A
    policy that knows the future takes four minutes of work from the spot machines, 300 s at a quarter, and six on
    demand after a minute to start: 75 + 420 s.
    """
    available = np.array([True] * 5 + [False] * 25)
    paid = {name: replaying.replay(JOB, made(JOB), available, work_s=600) for name, made in replaying.POLICIES.items()}
    assert paid["on demand"] == (660, 660)
    assert replaying.least_cost(JOB, available) == pytest.approx(495)
    assert all(took_s <= 1200 and cost_s >= 495 for cost_s, took_s in paid.values())
    assert paid["planner"][0] <= min(paid["greedy"][0], paid["uniform"][0])


def test_nobody_is_late_and_nobody_beats_the_future(replaying: ModuleType) -> None:
    rng = np.random.default_rng(3)
    trace = replaying.Trace(name="made up", step_s=60.0, available=np.repeat(rng.random(60) < 0.6, 7))
    outcome = replaying.outcome_of(JOB, trace, starts=20, doubt=0.0, rng=rng)
    assert set(outcome.late.values()) == {0.0}
    assert min(outcome.cost.values()) >= 1.0
    assert outcome.cost["planner"] <= outcome.cost["uniform"]


def test_rates_may_come_from_elsewhere(replaying: ModuleType) -> None:
    policies = sys.modules["policies"]
    steady = policies.Planner(JOB, SpotRates(losses_per_s=1e-6, returns_per_s=1e-3))
    assert replaying.replay(JOB, steady, np.ones(30, bool), work_s=600) == (165, 660)
