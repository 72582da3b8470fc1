"""A planned cluster, simulated and compared with the closed form's exact order statistics."""

from __future__ import annotations

from itertools import pairwise

import pytest

import planner


def test_without_tasks_the_range_is_that_of_the_order_statistics() -> None:
    """The engine `ideal` has no tasks, so only sampling differs: 200 draws give the median to about 1%."""
    answer = planner.recommend("20TB", instance="i4i.8xlarge", nodes=40, model="indy", engine="ideal")
    simulation = answer.simulate(draws=200)
    assert simulation.p50_s == pytest.approx(simulation.planned_p50_s, rel=0.03)
    assert simulation.p95_s == pytest.approx(simulation.planned_p95_s, rel=0.06)


def test_the_driver_breaks_first_where_the_equations_say_so() -> None:
    answer = planner.recommend("1TB", instance="i8g.8xlarge", nodes=300, model="indy")
    assert answer.best is not None and answer.best.phases[0].bottleneck == "driver"
    simulation = answer.simulate(draws=1)
    assert simulation.breaks_first == simulation.phases[0].bottleneck == "driver"


def test_the_timelines_reach_from_the_beginning_to_the_end_of_each_phase() -> None:
    simulation = planner.recommend("50GB", instance="i4i.4xlarge", nodes=8, model="daytona").simulate(draws=1)
    for timeline in simulation.timelines.values():
        assert sum(timeline.waits.values()) == pytest.approx(1.0)
        for _, spans in timeline.groups:
            assert spans[0].start_s == 0
            assert all(before.end_s == after.start_s for before, after in pairwise(spans))


def test_losing_a_node_takes_longer_the_later_in_a_phase() -> None:
    """With an eighth less of everything, the rest takes at least 8/7 as long. In the second phase links copy while
    slices are grouped again, so a loss there costs less.
    """
    answer = planner.recommend("2TB", instance="i4i.4xlarge", nodes=8, model="daytona")
    times = [loss.times for share in (5, 30, 60, 95) if (loss := answer.simulate(draws=1, lose=f"node@{share}%").loss)]
    assert 1.1 < times[0] < times[1] < 1.3
    assert 1 < times[2] < times[3] < 1.3
