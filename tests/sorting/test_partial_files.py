"""Signals that end `planner gnusort` at once, on file systems whose files need a name before they are complete."""

from __future__ import annotations

import fcntl
import os
import signal
import subprocess
import sys
import termios
import time
from pathlib import Path

import pytest

GNUSORT = [sys.executable, "-m", "planner", "gnusort"]


def stopped_while_it_writes(folder: Path, shim: Path) -> subprocess.Popen[bytes]:
    """Return a sort that stopped itself before writing its output, on a file system without unnamed files."""
    (folder / "in").write_bytes(b"b\na\n")
    (folder / "out").write_bytes(b"old\n")
    faults = {"LD_PRELOAD": str(shim), "FAULT_CALL": "pwrite", "FAULT_NTH": "1", "FAULT_KIND": "stop"}
    process = subprocess.Popen(
        [*GNUSORT, "in", "-o", "out"],
        cwd=folder,
        env=os.environ | faults | {"FAULT_UNNAMED": "1"},
        stderr=subprocess.PIPE,
    )
    assert os.WIFSTOPPED(os.waitpid(process.pid, os.WUNTRACED)[1])
    return process


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT], ids=lambda number: number.name)
def test_a_signal_to_end_leaves_no_partial_file(number: signal.Signals, tmp_path: Path, shim: Path) -> None:
    process = stopped_while_it_writes(tmp_path, shim)
    assert len(list(tmp_path.iterdir())) == 3
    process.send_signal(number)
    process.send_signal(signal.SIGCONT)
    assert process.communicate(timeout=120)[1] == b""
    assert process.returncode == -number
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in", "out"]
    assert (tmp_path / "out").read_bytes() == b"old\n"


def unread_bytes(pipe: int) -> int:
    return int.from_bytes(fcntl.ioctl(pipe, termios.FIONREAD, bytes(4)), sys.byteorder)


def test_a_signal_that_is_ignored_stays_so() -> None:
    """As under nohup, and for commands that a shell without job control starts in the background."""
    ignoring = ["sh", "-c", "trap '' TERM HUP INT; exec \"$@\"", "sh", *GNUSORT]
    process = subprocess.Popen(ignoring, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdin is not None
    process.stdin.write(b"b\n")
    process.stdin.flush()
    while unread_bytes(process.stdin.fileno()):  # then it is sorting
        time.sleep(0.001)
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
        process.send_signal(number)
    assert process.communicate(b"a\n", timeout=120)[0] == b"a\nb\n"
    assert process.returncode == 0
