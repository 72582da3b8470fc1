"""Intermediate files hold the records of slices by partition, and each slice is read once."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
from refusals import refused

from planner.distributed_sort.node_files.run_files import (
    Block,
    partial_files,
    pieces_of,
    run_files,
    write_atomically,
    write_run,
)
from planner.errors import IoFailureError

RECORD_BYTES = 2


def block(*partitions: bytes) -> Block:
    """Return the block of a slice whose partitions hold these bytes."""
    counts = np.array([len(part) // RECORD_BYTES for part in partitions], np.int64)
    return Block.of(counts, np.frombuffer(b"".join(partitions), np.uint8))


def content(folder: Path, partition: int) -> bytes:
    read = b""
    for run, records in pieces_of(partition, [folder], set()):
        into, same = (np.zeros((records.stop - records.start) * RECORD_BYTES, np.uint8) for _ in range(2))
        run.read(records, into, record_size=RECORD_BYTES)
        run.read(records, same, record_size=RECORD_BYTES, cached=True)
        assert same.tobytes() == into.tobytes()
        read += into.tobytes()
    return read


@pytest.mark.parametrize("cached", [False, True])
def test_partitions_are_together_and_slices_in_order(tmp_path: Path, cached: bool) -> None:
    blocks = {3: block(b"aabb", b"cc"), 9: block(b"dd", b"")}
    written = write_run([tmp_path], first=4, blocks=blocks, cached=cached)
    (run,) = run_files([tmp_path])
    assert run.path.stat().st_size == written
    assert (run.lowest_slice, run.slices, run.first, run.end) == (3, 2, 4, 6)
    assert {number: counts.tolist() for number, counts in run.counts().items()} == {3: [2, 1], 9: [1, 0]}
    assert [content(tmp_path, partition) for partition in (4, 5, 6)] == [b"aabbdd", b"cc", b""]


def test_a_slice_that_lies_in_two_files_is_read_once(tmp_path: Path) -> None:
    write_run([tmp_path], first=0, blocks={1: block(b"aa"), 2: block(b"bb")})
    write_run([tmp_path], first=0, blocks={2: block(b"bb"), 3: block(b"cc")})
    assert content(tmp_path, 0) == b"aabbcc"


@pytest.mark.parametrize("lost", [1, 2])
def test_files_that_lose_their_beginning_are_named(tmp_path: Path, lost: int) -> None:
    """A whole record or half of one: the table at the end is intact, and the rest would be read shifted."""
    write_run([tmp_path], first=0, blocks={1: block(b"aabb"), 2: block(b"cc")})
    (run,) = run_files([tmp_path])
    run.path.write_bytes(run.path.read_bytes()[lost:])
    with pytest.raises(IoFailureError, match="bytes instead of"):
        content(tmp_path, 0)


@pytest.mark.parametrize("at", [0, 3, 5, -1])
def test_a_flipped_bit_is_noticed(tmp_path: Path, at: int) -> None:
    """In the records of any piece, or in the table, whatever the file's time."""
    write_run([tmp_path], first=0, blocks={1: block(b"aabb", b"cc"), 2: block(b"dd", b"")})
    (run,) = run_files([tmp_path])
    content_then, status = bytearray(run.path.read_bytes()), run.path.stat()
    assert [content(tmp_path, partition) for partition in (0, 1)] == [b"aabbdd", b"cc"]
    content_then[at] ^= 4
    run.path.write_bytes(content_then)
    os.utime(run.path, ns=(status.st_atime_ns, status.st_mtime_ns + (at == -1)))
    with pytest.raises(IoFailureError, match=r"\.run "):
        print([content(tmp_path, partition) for partition in (0, 1)])


def test_files_that_end_early_are_named(tmp_path: Path) -> None:
    write_run([tmp_path], first=0, blocks={1: block(b"aabb")})
    (run,) = run_files([tmp_path])
    run.path.write_bytes(run.path.read_bytes()[:-1])
    with refused("run-truncated", kind=IoFailureError):
        content(tmp_path, 0)


def test_a_write_that_fails_leaves_nothing(tmp_path: Path) -> None:
    def arrays():  # type: ignore[no-untyped-def]
        yield np.zeros(10, np.uint8)
        raise OSError(28, "No space left on device")

    with pytest.raises(IoFailureError, match=r"cannot write .*out: No space left"):
        write_atomically(tmp_path / "out", arrays(), durable=False)
    assert not list(tmp_path.iterdir())
    (tmp_path / ".x.partial").touch()
    assert list(partial_files([tmp_path])) == [tmp_path / ".x.partial"]


def test_a_folder_that_is_not_there_has_no_files(tmp_path: Path) -> None:
    assert run_files([tmp_path / "none"]) == []
