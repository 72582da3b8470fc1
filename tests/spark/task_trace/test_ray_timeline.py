"""The assignment of parts to a worker's tasks."""

from __future__ import annotations

from typing import Any

import pytest

from planner.spark.task_trace.ray_timeline import tasks_of


def event(cat: str, ts: float, dur: float, *, tid: str = "w") -> dict[str, Any]:
    return {"cat": cat, "name": cat, "pid": "10.0.0.1", "tid": tid, "ts": ts, "dur": dur, "ph": "X"}


def test_a_part_belongs_to_the_task_that_it_begins_in() -> None:
    events = [
        event("task:execute", 110, 80), event("task::a", 100, 100), event("task::b", 200, 50),
        event("task:execute", 205, 30), event("task:execute", 120, 7, tid="other"), event("task:store_outputs", 190, 5),
    ]  # fmt: skip
    first, second = tasks_of(events)
    assert (first.name, first.began_at_s, first.elapsed_s) == ("a", pytest.approx(1e-4), pytest.approx(1e-4))
    assert first.parts_s == {"run_s": pytest.approx(80e-6), "result_serialisation_s": pytest.approx(5e-6)}
    assert (second.name, second.parts_s) == ("b", {"run_s": pytest.approx(30e-6)})
    assert first.node == "10.0.0.1"


def test_what_is_no_complete_event_is_passed_over() -> None:
    assert not list(
        tasks_of([None, 3, {}, event("task::a", 1, 2) | {"ph": "B"}, event("task::a", 1, 2) | {"dur": "x"}])
    )
