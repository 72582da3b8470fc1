"""Threads of a sort: their hand-overs, and the threads of a forked child."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from planner.sorting.records.generate import generate_file
from planner.sorting.records.local import sort_file
from planner.sorting.sort_job import SortJob

FORK_WITH_IDLE_THREADS = """
import os, sys
from planner.sorting.sort_job import SortJob
from planner.sorting.records.local import sort_file
from planner.sorting.sort_job import SortJob

def threads():
    return len(os.listdir("/proc/self/task"))

assert threads() == 1, "importing started threads"
source, output = sys.argv[1:]
sort_file(source, output, SortJob(threads=4, force=True))
assert threads() > 1, "no thread is left idle"
child = os.fork()
if child:
    sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
assert threads() == 1
sort_file(source, output, SortJob(threads=4, force=True))
os._exit(0)
"""


def test_the_report_counts_how_often_threads_met(tmp_path: Path) -> None:
    generate_file(tmp_path / "in", records=600_000)
    report = sort_file(tmp_path / "in", tmp_path / "out", SortJob(memory_bytes=32_000_000, force=True))
    for phase in report.phases[1:]:
        handed_over = sum(stage.bytes for stage in phase.stages if stage.name in {"read", "write"})
        assert phase.meetings.hand_overs >= 2 * handed_over / 4_096_000  # each block is filled and given back
        assert phase.meetings.sleeps > 0
    assert report.to_dict()["phases"][1]["meetings"]["hand_overs"] == report.phases[1].meetings.hand_overs


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="counts threads under /proc")
def test_a_child_forked_beside_idle_threads_sorts_with_its_own(tmp_path: Path) -> None:
    generate_file(tmp_path / "in", records=200_000)
    command = [sys.executable, "-c", FORK_WITH_IDLE_THREADS, str(tmp_path / "in"), str(tmp_path / "out")]
    both = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert both.returncode == 0, both.stderr
