"""A node's service knows the pending requests of the node's processes."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from planner.distributed_sort.node_files import node_environment
from planner.distributed_sort.node_files.node_environment import (
    announced,
    longest_request,
    running_tasks,
    track_request,
)


def note_in(node: Path) -> Path:
    (note,) = node.rglob(f"{os.getpid()}-*")
    return note


def test_the_request_that_waits_longest_is_said_until_it_is_answered(this_node: Path) -> None:
    with track_request("read s3://b/x"):
        assert longest_request() == ("", 0.0), "it may be answered any moment"
        note = note_in(this_node)
        os.utime(note, (note.stat().st_atime, note.stat().st_mtime - 20))
        doing, seconds = longest_request()
        assert doing == "read s3://b/x" and seconds >= 20
    assert longest_request() == ("", 0.0)
    assert not note.exists()


def test_what_a_killed_process_waited_for_counts_no_more(this_node: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(node_environment, "_WORTH_SAYING_S", 0.0)
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    with track_request("mine"):
        note = note_in(this_node)
        left = note.with_name(f"{ended.pid}-1")
        left.write_text("read s3://b/y")
        os.utime(left, (0, 0))
        assert longest_request()[0] == "mine"
    assert not left.parent.exists()


def test_a_node_without_room_for_notes_works_on(this_node: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PLANNER_NODE_MEMORY", str(this_node / "gone"))
    with track_request("read"):
        assert longest_request() == ("", 0.0)


def test_running_tasks_are_counted_by_their_job(this_node: Path) -> None:
    del this_node
    counts = list[tuple[int, int]]()
    task = announced(lambda add: counts.append((running_tasks("01"), running_tasks("02"))) or add + 1, job="01")
    assert task(2) == 3
    assert (counts, running_tasks("01")) == ([(1, 0)], 0)
    with pytest.raises(ZeroDivisionError):
        announced(lambda: 1 / 0, job="01")()
    assert running_tasks("01") == 0


def test_notes_of_ended_processes_go_with_their_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PLANNER_NODE_MEMORY", str(tmp_path))
    monkeypatch.setenv("PLANNER_NODE_NAME", "here")
    with subprocess.Popen(["true"]) as ended:
        pass
    for folder, pid in (("tasks-07", ended.pid), ("tasks-08", os.getpid())):
        (tmp_path / f".planner-{folder}-here").mkdir()
        (tmp_path / f".planner-{folder}-here" / f"{pid}-1").touch()
    node_environment.forget_ended()
    assert [path.name for path in tmp_path.iterdir()] == [".planner-tasks-08-here"]
