"""Atomic file replacement, and locks between processes."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from planner.config.atomic_file import hold_lock, replace_file

HOLD = """
import sys
from pathlib import Path
from planner.config.atomic_file import hold_lock
with hold_lock(Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.read()
"""


def test_a_file_is_replaced_and_nothing_else_is_left(tmp_path: Path) -> None:
    path = tmp_path / "profile.json"
    path.write_text("before")
    replace_file(path, "after\r\n")
    assert path.read_bytes() == b"after\r\n"
    assert list(tmp_path.iterdir()) == [path]


def test_a_refusal_leaves_the_file_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "profile.json"
    path.write_text("before")

    def no_space(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", no_space)
    with pytest.raises(OSError, match="No space left"):
        replace_file(path, "after")
    assert path.read_text() == "before"
    assert list(tmp_path.iterdir()) == [path]


def test_a_missing_folder_is_an_os_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        replace_file(tmp_path / "nowhere" / "file", "text")


def test_a_lock_keeps_another_process_out_and_ends_with_its_holder(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    command = [sys.executable, "-P", "-c", HOLD, str(path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout is not None and holder.stdout.readline() == "held\n"
        with pytest.raises(BlockingIOError), hold_lock(path, wait=False):
            pass
        holder.kill()
    with hold_lock(path, wait=False):
        pass
