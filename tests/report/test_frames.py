"""Frames contain the plan's values, in its units."""

from __future__ import annotations

from dataclasses import replace

import pytest

from planner.api.recommend import Recommendation
from planner.report import frames
from planner.schemas.json_values import to_jsonable
from planner.schemas.plan import Plan
from planner.schemas.run_report import RunReport


def test_candidates_and_frontier_have_a_row_each(plan: Plan) -> None:
    shown, points = frames.candidates_frame(plan), frames.frontier_frame(plan)
    assert [
        tuple(row) for row in shown[["instance_type", "nodes", "time_s", "cost_usd_total"]].itertuples(index=False)
    ] == [(c.instance_type, c.nodes, c.time_s.expected, c.cost_usd.total) for c in plan.candidates]
    assert shown.chosen.tolist() == [True] + [False] * (len(shown) - 1)
    assert points.time_s.is_monotonic_increasing and points.cost_usd_total.is_monotonic_decreasing


def test_resources_have_their_names_of_json(plan: Plan) -> None:
    best = plan.candidates[0]
    waiting = replace(best, phases=tuple(replace(phase, bottleneck="cpu") for phase in best.phases))
    frame = frames.answer_frame(replace(plan, candidates=(waiting,)), wide=False)
    assert frame.bottlenecks.tolist() == [", ".join(p["bottleneck"] for p in to_jsonable(waiting)["phases"])]


def test_phases_follow_each_other_and_wait_for_their_slowest(plan: Plan) -> None:
    best = plan.candidates[0]
    frame = frames.phases_frame([best])
    ends = frame.groupby("phase", sort=False).phase_end_s.max()
    assert ends.tolist() == pytest.approx([best.phases[0].time_s, sum(p.time_s for p in best.phases)])
    assert frame[frame.bottleneck].phase.tolist() == [phase.name for phase in best.phases]
    assert (frame.end_s <= frame.phase_end_s).all()
    assert frame.start_s.unique().tolist() == [0.0, best.phases[0].time_s]


def test_slower_resources_never_shorten_and_faster_ones_never_lengthen(answer: Recommendation) -> None:
    frame = answer.sensitivities()
    assert answer.best is not None
    assert set(frame.factor) == {0.5, 2.0} and {"network", "local"} <= set(frame.resource) <= set(answer.best.reliefs_s)
    assert (frame[frame.factor == 0.5].time_change >= 0).all()
    assert (frame[frame.factor == 2.0].time_change <= 0).all()
    assert frame[frame.factor == 0.5].time_change.max() > 0.1


def test_sizes_pass_through_the_recommendation(answer: Recommendation) -> None:
    frame = frames.sizes_frame(answer.at_sizes(points=6))
    assert answer.best is not None
    assert frame.nodes.is_monotonic_increasing and 900 < frame.nodes.iloc[-1] < 1000, "with spares at most 1000"
    assert (frame.time_s_equation <= frame.time_s_p95).all() and (frame.time_s_p50 <= frame.time_s_p95).all()
    nearest = frame.iloc[(frame.nodes - answer.best.nodes).abs().argmin()]
    assert nearest.time_s * nearest.nodes == pytest.approx(answer.best.time_s.expected * answer.best.nodes, rel=0.5)


def test_nothing_feasible_gives_empty_frames(plan: Plan) -> None:
    nothing = Recommendation(replace(plan, best=None, candidates=(), frontier=()))
    assert nothing.at_sizes() == []
    assert frames.candidates_frame(nothing.plan).empty and frames.frontier_frame(nothing.plan).empty


def test_timeline_puts_phases_where_the_sort_was(run_report: RunReport) -> None:
    rows = [
        tuple(row) for row in frames.timeline_frame(run_report)[["step", "start_s", "end_s"]].itertuples(index=False)
    ]
    assert rows == [
        ("measure", 0.0, 10.0),
        ("map and shuffle", 10.0, 30.0),
        ("sort and reduce", 30.0, 69.0),
        ("validate", 70.0, 75.0),
    ]


def test_run_phases_keep_predicted_and_measured_apart(run_report: RunReport) -> None:
    frame = frames.run_phases_frame(run_report)
    assert frame.predicted_s.tolist() == [22.0, 30.0] and frame.measured_s.tolist() == [20.0, 39.0]
    assert frame.error.tolist() == pytest.approx([0.1, 30 / 39 - 1])
