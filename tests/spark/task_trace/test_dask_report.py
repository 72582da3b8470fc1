"""The place of a page's task stream."""

from __future__ import annotations

import json

from planner.spark.task_trace.dask_report import stream_of, tasks_of

STREAM = {"start": [1000.0, "x"], "duration": [500.0, 1], "name": ["a", "b"], "worker": ["tcp://10.0.0.7:99", "w"]}


def page(document: object) -> str:
    return f'<html><script type="application/json" id="1">{json.dumps(document)}</script></html>'


def test_columns_may_be_a_map_of_pairs_or_an_object() -> None:
    entries = [[name, column] for name, column in STREAM.items()]
    assert stream_of(page({"a": [{"data": {"type": "map", "entries": entries}}]})) == STREAM
    assert stream_of(page({"a": [{"data": STREAM}]})) == STREAM


def test_columns_of_unequal_length_are_no_stream() -> None:
    assert stream_of(page({"data": STREAM | {"name": ["a"]}})) is None
    assert stream_of("<html></html>") is None


def test_a_stretch_is_a_task_on_its_worker() -> None:
    (task,) = tasks_of(STREAM)  # the second has no number
    assert (task.name, task.began_at_s, task.elapsed_s, task.node) == ("a", 1.0, 0.5, "10.0.0.7")
