"""Segments lie in a node's memory while it has room for them and for what others keep there, else on a disk."""

from __future__ import annotations

import errno
import os
import shutil
from pathlib import Path

import numpy as np
import pytest

from planner.arrays import Bytes
from planner.distributed_sort.exchange import segments
from planner.distributed_sort.exchange.segments import drop_segments, open_segment, write_segment
from planner.distributed_sort.node_files.node_environment import JobFiles
from planner.errors import IoFailureError

FILES = JobFiles(job="j", output="out")


def letters(letter: str, size: int) -> Bytes:
    return np.frombuffer(letter.encode() * size, np.uint8)


def content(name: str) -> bytes:
    with os.fdopen(open_segment(FILES, name), "rb") as segment:
        return segment.read()


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
    monkeypatch.setattr(segments, "_has_room", lambda *_: False)
    (this_node / "disk1" / FILES.segment_folders()[1].name).write_bytes(b"a file in the way")
    with pytest.raises(IoFailureError, match=r"node-1: cannot write .*/disk1/"):
        write_segment(FILES, "s-0", [letters("a", 10)], reserve_bytes=0)


def test_segments_are_dropped_by_name(this_node: Path) -> None:
    for name in ("s-0", "s-1"):
        write_segment(FILES, name, [letters("a", 10)], reserve_bytes=0)
    drop_segments(FILES, ["s-0", "s-7"])
    assert [path.name for path in this_node.rglob("s-*")] == ["s-1"]
