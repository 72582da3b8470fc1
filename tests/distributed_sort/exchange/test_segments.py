"""Segments lie in a node's memory while it has room for them and for the data of other jobs, else on a disk."""

from __future__ import annotations

import errno
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

from planner.arrays import Bytes
from planner.distributed_sort.exchange import segments
from planner.distributed_sort.exchange.segments import (
    SegmentNames,
    create_folder,
    drop_segments,
    free_abandoned,
    hold_folder,
    write_segment,
)
from planner.distributed_sort.node_files.node_environment import JobFiles
from planner.distributed_sort.node_tasks.node_tasks import clean, inventory
from planner.errors import IoFailureError
from tests.distributed_sort.segment_files import read_segment

FILES = JobFiles(job="j", output="out")


def letters(letter: str, size: int) -> Bytes:
    return np.frombuffer(letter.encode() * size, np.uint8)


def content(name: str) -> bytes:
    return read_segment(FILES, name)


def test_arrays_follow_each_other_in_memory(this_node: Path) -> None:
    write_segment(FILES, "s-0", [np.array([1, 2], "<i8"), letters("a", 3), letters("b", 0)], reserve_bytes=0)
    assert content("s-0") == (1).to_bytes(8, "little") + (2).to_bytes(8, "little") + b"aaa"
    (path,) = this_node.rglob("s-0")
    assert path.is_relative_to(this_node / "memory")
    assert (path.stat().st_mode & 0o777, path.parent.stat().st_mode & 0o777) == (0o600, 0o700), "nobody else's"


def test_a_segment_is_written_again_in_place(this_node: Path) -> None:
    write_segment(FILES, "s-0", [letters("a", 5000)], reserve_bytes=0)
    (path,) = this_node.rglob("s-0")
    before = path.stat().st_ino
    write_segment(FILES, "s-0", [letters("b", 10)], reserve_bytes=0)
    assert path.stat().st_ino == before
    assert content("s-0")[:10] == b"b" * 10


def test_what_others_count_on_is_left_free(this_node: Path) -> None:
    free = shutil.disk_usage(this_node / "memory").free
    write_segment(FILES, "s-0", [letters("a", 10)], reserve_bytes=2 * free)
    (path,) = this_node.rglob("s-0")
    assert path.is_relative_to(this_node / "disk1"), "the first disk for intermediate files"
    assert content("s-0") == b"a" * 10


def test_a_full_memory_leaves_nothing_of_a_segment_there(this_node: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def write(path: Path, arrays: object) -> None:
        if path.is_relative_to(this_node / "memory"):
            path.write_bytes(b"half")
            raise OSError(errno.ENOSPC, "No space left on device")
        whole(path, arrays)  # type: ignore[arg-type]

    write_segment(FILES, "s-0", [letters("a", 10)], reserve_bytes=0)
    whole = segments._write
    monkeypatch.setattr(segments, "_write", write)
    write_segment(FILES, "s-0", [letters("b", 10)], reserve_bytes=0)
    assert [path.relative_to(this_node).parts[0] for path in this_node.rglob("s-0")] == ["disk1"]
    assert content("s-0") == b"b" * 10


def test_a_disk_that_cannot_be_written_is_named(this_node: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(segments, "_fits_on_disk", lambda *_: False)
    (this_node / "disk1" / FILES.segment_folders()[1].name).write_bytes(b"a file in the way")
    with pytest.raises(IoFailureError, match=r"node-1: cannot write .*/disk1/"):
        write_segment(FILES, "s-0", [letters("a", 10)], reserve_bytes=0)


def test_segments_are_dropped_by_name(this_node: Path) -> None:
    for name in ("s-0", "s-1"):
        write_segment(FILES, name, [letters("a", 10)], reserve_bytes=0)
    drop_segments(FILES, ["s-0", "s-7"])
    assert [path.name for path in this_node.rglob("s-*")] == ["s-1"]


def test_a_name_is_given_again_after_all_was_stored() -> None:
    names = SegmentNames()
    first, second = names.take("a"), names.take("a")
    assert first != second
    names.release_segment("a", first, is_stored=True)
    assert names.take("b") not in (first, second), "of another node"
    assert names.take("a") == first
    assert names.pop_retired("a") == ()


def test_what_was_lost_is_retired_once() -> None:
    names = SegmentNames()
    name = names.take("a")
    names.release_segment("a", name, is_stored=False)
    assert names.take("a") != name
    assert (names.pop_retired("b"), names.pop_retired("a"), names.pop_retired("a")) == ((), (name,), ())


def test_orderers_do_not_share_names() -> None:
    assert SegmentNames().take("a") != SegmentNames().take("a")


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
    needed = [folder / "file" for folder in (*killed.run_folders(), *killed.decompressed_folders())]
    for path in needed:
        path.parent.mkdir()
        path.touch()
    clean(JobFiles(job="next", output="out"))
    assert all(path.exists() for path in needed)
    assert this_node.exists()


def test_a_folder_that_was_made_anew_is_held_anew(tmp_path: Path) -> None:
    folder = tmp_path / ".planner-sort-j-blocks"
    assert not hold_folder(folder)
    for _ in range(2):
        create_folder(folder)
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
