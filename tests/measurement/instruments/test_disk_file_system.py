"""What lies under a directory, as the system tells it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from planner.errors import BadInputError
from planner.measurement.instruments.disk_file_system import FileSystem, file_system_of, same_device_notes


def system(directory: str, number: int) -> FileSystem:
    return FileSystem(directory=directory, device=None, device_number=number, kind=None, free_bytes=0, total_bytes=0)


def test_a_directorys_file_system_is_that_of_the_mount(tmp_path: Path) -> None:
    measured = file_system_of(tmp_path)
    space = os.statvfs(tmp_path)
    assert measured.device_number == tmp_path.stat().st_dev
    assert measured.total_bytes == space.f_blocks * space.f_frsize
    assert 0 < measured.free_bytes <= measured.total_bytes
    assert file_system_of(Path("/dev/shm")).kind == "tmpfs"


def test_a_file_is_no_directory(tmp_path: Path) -> None:
    (tmp_path / "f").touch()
    with pytest.raises(BadInputError, match="not a directory"):
        file_system_of(tmp_path / "f")


def test_directories_of_one_device_are_noted() -> None:
    (note,) = same_device_notes([system("/a", 1), system("/b", 2), system("/c", 1)])
    assert note.startswith("/a and /c lie on one file system")
