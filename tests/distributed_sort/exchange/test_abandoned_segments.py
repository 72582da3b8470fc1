"""Segments of killed jobs are freed by the next one; those of live jobs are not."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from planner.distributed_sort.exchange.segments import free_abandoned, held, made_and_held, write_segment
from planner.distributed_sort.node_files.node_environment import JobFiles
from planner.distributed_sort.node_tasks.node_tasks import clean, inventory

_OTHER = """
import numpy, sys
from planner.distributed_sort.node_files.node_environment import JobFiles
from planner.distributed_sort.exchange.segments import write_segment
write_segment(JobFiles(job="other", output="out"), "s-0", [numpy.zeros(9, numpy.uint8)], reserve_bytes=0)
print("written", flush=True)
sys.stdin.read()
"""


@contextmanager
def other_job() -> Iterator[subprocess.Popen[str]]:
    """Yield a process of another job, which has written a segment."""
    with subprocess.Popen(
        [sys.executable, "-c", _OTHER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as job:
        try:
            assert job.stdout is not None and job.stdout.readline() == "written\n"
            yield job
        finally:
            job.kill()


def test_the_next_job_frees_what_a_killed_one_left(this_node: Path) -> None:
    files = JobFiles(job="next", output="out")
    segment = this_node / "memory" / ".planner-sort-other-blocks" / "s-0"
    with other_job() as job:
        clean(files)
        inventory(files)
        assert segment.exists(), "its job lives"
        job.send_signal(signal.SIGKILL)
        job.wait()
        write_segment(files, "s-1", [np.zeros(9, np.uint8)], reserve_bytes=0)
        inventory(files)
        assert not segment.parent.exists()
    assert len(list(this_node.rglob("s-1"))) == 1, "its own are still there"
    clean(files)
    assert not list(this_node.rglob("*-blocks"))


def test_what_a_job_that_goes_on_needs_is_kept(this_node: Path) -> None:
    killed = JobFiles(job="killed", output="out")
    needed = [folder / "file" for folder in (*killed.run_folders(), *killed.plain_folders())]
    for path in needed:
        path.parent.mkdir()
        path.touch()
    clean(JobFiles(job="next", output="out"))
    assert all(path.exists() for path in needed)
    assert this_node.exists()


def test_a_folder_that_was_made_anew_is_held_anew(tmp_path: Path) -> None:
    folder = tmp_path / ".planner-sort-j-blocks"
    assert not held(folder)
    for _ in range(2):
        made_and_held(folder)
        free_abandoned([tmp_path])
        assert folder.exists()
        folder.rmdir()


def test_others_files_are_left_alone(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / ".planner-sort-link-blocks").symlink_to(tmp_path / "real")
    (tmp_path / ".planner-sort-file-blocks").touch()
    (tmp_path / ".planner-sort-j").mkdir()
    before = sorted(tmp_path.iterdir())
    free_abandoned([tmp_path, tmp_path / "none"])
    assert sorted(tmp_path.iterdir()) == before
