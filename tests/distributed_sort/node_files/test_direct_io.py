"""Data written past the page cache is read back, at any offset and size."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.distributed_sort.node_files import run_files

LARGE = 9_000_001
"""More than two buffers, and not a whole number of blocks."""


def write(path: Path, sizes: list[int]) -> bytes:
    rng = np.random.default_rng(len(sizes))
    arrays = [rng.integers(0, 256, size, np.uint8) for size in sizes]
    with run_files.open_direct(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC) as descriptor:
        assert run_files.write_all(descriptor, arrays) == sum(sizes)
    return b"".join(array.tobytes() for array in arrays)


@pytest.mark.parametrize("sizes", [[], [0], [1], [4096], [4095, 1], [4097, 0, 8], [4 << 20], [LARGE, 16]])
def test_files_hold_what_was_written(tmp_path: Path, sizes: list[int]) -> None:
    content = write(tmp_path / "f", sizes)
    assert (tmp_path / "f").read_bytes() == content


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, bytes]:
    path = tmp_path_factory.mktemp("direct") / "f"
    return path, write(path, [LARGE])


@given(offset=st.integers(0, LARGE + 5000), size=st.integers(0, 70_000) | st.integers(0, LARGE))
def test_any_stretch_is_read(large: tuple[Path, bytes], offset: int, size: int) -> None:
    path, content = large
    into = np.zeros(size, np.uint8)
    with run_files.open_direct(path, os.O_RDONLY) as descriptor:
        done = run_files.read_into(descriptor, into, offset=offset)
    assert into[:done].tobytes() == content[offset : offset + size]


def test_memory_file_systems_will_do(tmp_path: Path) -> None:
    shared = Path("/dev/shm") / f"planner-test-{os.getpid()}"
    try:
        assert write(shared, [5000]) == shared.read_bytes()
    finally:
        shared.unlink(missing_ok=True)
