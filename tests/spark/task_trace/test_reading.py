"""Real traces of small programs: Ray 2.60's timeline and the task stream of a report of distributed 2026.8.

Both programs ran eight tasks of 50 ms (`mapper`, `slow`), two of 100 ms (`reducer`) and others that were shorter.
"""

from __future__ import annotations

import json
import math
import tracemalloc
from pathlib import Path

import pytest

from planner.errors import BadInputError, IoFailureError
from planner.spark.task_trace import read
from planner.spark.task_trace.reading import looks_like_trace

DATA = Path(__file__).resolve().parents[2] / "data" / "task_trace"
TIMELINE, REPORT = DATA / "ray-2.60.json", DATA / "dask-2026.8.html"


def test_a_timeline_of_ray() -> None:
    trace = read(TIMELINE)
    assert (trace.system, trace.workers, trace.nodes) == ("Ray", 3, ("192.0.2.2",))
    rows = {row["name"]: row for row in trace.stage_rows()}
    assert {name: row["tasks"] for name, row in rows.items()} == {
        "mapper": 8, "Keeper.__init__": 1, "reducer": 2, "Keeper.add": 3, "bad": 1,
    }  # fmt: skip
    assert rows["mapper"]["run_s"] == pytest.approx(8 * 0.05, rel=0.02)
    assert rows["reducer"]["task_median_s"] == pytest.approx(0.1, rel=0.03)
    events = [event for event in json.loads(TIMELINE.read_text("utf-8")) if event["cat"] == "task::mapper"]
    assert rows["mapper"]["elapsed_s"] == pytest.approx(sum(event["dur"] for event in events) / 1e6)


def test_a_report_of_dask() -> None:
    trace = read(REPORT)
    assert (trace.system, trace.workers, trace.nodes) == ("Dask", 2, ("127.0.0.1",))
    frame = trace.stage_frame().set_index("name")
    assert frame.tasks["slow"] == 8
    assert frame.task_median_s["slow"] == pytest.approx(0.05, rel=0.02)
    assert frame.tasks["transfer-sum"] == 9


@pytest.mark.parametrize("path", [TIMELINE, REPORT])
def test_the_mark_that_windows_puts_first_is_passed_over(path: Path, tmp_path: Path) -> None:
    marked = tmp_path / path.name
    marked.write_text(path.read_text("utf-8"), "utf-8-sig")
    assert looks_like_trace(marked)
    assert read(marked).stage_rows() == read(path).stage_rows()


@pytest.mark.parametrize("path", [TIMELINE, REPORT])
def test_what_a_trace_does_not_tell_is_unknown(path: Path) -> None:
    for row in read(path).stage_rows():
        for column in ("cpu_s", "input_bytes", "shuffle_read_bytes", "failed", "gc_s", "peak_execution_memory_bytes"):
            assert row[column] is None, column
    assert math.isnan(read(REPORT).stage_frame()["run_s"][0])


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("a.json", '[{"ph": "X", "cat": "task::a"', "cut off, or no JSON"),
        ("a.json", '[{"ph": "X", "cat": "other", "ts": 1, "dur": 2}, 7]', "none of its events is a task of Ray's"),
        ("a.html", "<!DOCTYPE html><p>hello</p>", "a page without a task stream"),
        (
            "a.html",
            '<html><script type="application/json">{"start": [1], "name": []}</script>',
            "without a task stream",
        ),
        ("a.html", '<html><script type="application/json">{broken</script>', "without a task stream"),
    ],
)
def test_what_is_no_trace_is_refused_with_what_writes_one(tmp_path: Path, name: str, content: str, reason: str) -> None:
    path = tmp_path / name
    path.write_text(content, "utf-8")
    assert looks_like_trace(path)
    with pytest.raises(BadInputError, match=reason):
        read(path)


@pytest.mark.parametrize("content", ["[" + "[" * 200_000, '[{"a":' + "[" * 200_000, '[{"a": "' + "x" * 3_000_000])
def test_values_without_an_end_are_refused(content: str, tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text(content)
    with pytest.raises(BadInputError, match="cut off, or no JSON"):
        read(tmp_path / "a.json")


def test_a_timeline_takes_the_memory_of_its_tasks(tmp_path: Path) -> None:
    """As a list, these events took 60 MB."""
    event = '{"ph": "M", "name": "process_name"},'
    (tmp_path / "a.json").write_text(f"[{event * 200_000}{TIMELINE.read_text('utf-8').strip()[1:]}")
    tracemalloc.start()
    try:
        trace = read(tmp_path / "a.json")
        _, most_bytes = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert trace.stage_rows() == read(TIMELINE).stage_rows()
    assert most_bytes < 20_000_000


def test_a_log_of_spark_does_not_look_like_a_trace(tmp_path: Path) -> None:
    path = tmp_path / "app-1"
    path.write_text('{"Event":"SparkListenerLogStart","Spark Version":"3.5.1"}\n', "utf-8")
    assert not looks_like_trace(path) and not looks_like_trace(tmp_path) and not looks_like_trace(tmp_path / "absent")
    with pytest.raises(IoFailureError, match="absent"):
        read(tmp_path / "absent")
