"""An input that another program writes while it is sorted: nothing is published of it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

import planner
from planner.errors import InputChangedError, IoFailureError


def rewritten(path: Path) -> None:
    """Replace the content in place, by as many bytes, and set the time of modification back as `cp -p` does."""
    status = path.stat()
    with path.open("r+b") as file:
        file.seek(-2, os.SEEK_END)
        file.write(b"z")
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))


def replaced(path: Path) -> None:
    """Put another file of as many bytes and the same time in its place, as `rsync -a` does."""
    status, other = path.stat(), path.with_name("other")
    other.write_bytes(path.read_bytes()[:-2] + b"y\n")
    os.utime(other, ns=(status.st_atime_ns, status.st_mtime_ns))
    other.replace(path)


def appended(path: Path) -> None:
    with path.open("ab") as file:
        file.write(b"9,f\n")


def rewritten_and_appended(path: Path) -> None:
    """Change a byte of what was there between the pieces that a sample of it would compare, and append to it."""
    with path.open("r+b") as file:
        file.seek(-path.stat().st_size * 3 // 7, os.SEEK_END)
        file.write(b"5")
    appended(path)


@pytest.mark.parametrize("form", [{"lines": True}, {"key": "1,1", "format": "lines"}, {"key": "a", "format": "csv"}])
@pytest.mark.parametrize("change", [rewritten, replaced, appended, rewritten_and_appended])
def test_text_that_is_changed_before_a_pipe_ends(
    form: dict[str, object], change: Callable[[Path], None], tmp_path: Path
) -> None:
    """The sort waits for the pipe, the last of its inputs."""
    source, pipe, output = tmp_path / "in", tmp_path / "pipe", tmp_path / "out"
    source.write_text("a,b\n3,c\n1,d\n")
    output.write_text("before")
    os.mkfifo(pipe)

    def write_later() -> None:
        with pipe.open("w") as file:  # opens once the sort reads
            time.sleep(0.1)
            change(source)
            file.write("a,b\n2,e\n")

    writer = threading.Thread(target=write_later)
    writer.start()
    with pytest.raises(InputChangedError, match="in"):
        planner.sort([source, pipe], output, force=True, **form)  # type: ignore[arg-type]
    writer.join()
    assert output.read_text() == "before"
    assert sorted(path.name for path in tmp_path.iterdir() if path.name != "other") == ["in", "out", "pipe"]


def has_opened(process: int, folder: Path) -> bool:
    """Return whether a process has a file in a folder, which need not have a name yet."""
    for link in Path(f"/proc/{process}/fd").iterdir():
        with suppress(FileNotFoundError):  # closed meanwhile
            if str(link.readlink()).startswith(str(folder)):
                return True
    return False


def standing_sort(words: list[str], folder: Path) -> subprocess.Popen[str]:
    """Return a sort that is stopped after it has opened its output in a folder, and before this has a name."""
    while True:
        sort = subprocess.Popen([sys.executable, "-m", "planner", *words], stderr=subprocess.PIPE, text=True)
        while sort.poll() is None and not has_opened(sort.pid, folder):
            time.sleep(0.001)
        sort.send_signal(signal.SIGSTOP)
        if not any(folder.iterdir()):
            return sort
        sort.send_signal(signal.SIGCONT)  # it was too quick
        sort.communicate()
        (folder / "out").unlink()


@pytest.mark.parametrize("change", [rewritten, replaced, rewritten_and_appended])
def test_records_that_are_changed_while_the_sort_stands_still(change: Callable[[Path], None], tmp_path: Path) -> None:
    """A sort may come to stand between its last look at the input and its end: another one is stopped then."""
    (folder := tmp_path / "work").mkdir()
    source = tmp_path / "in"
    words = ["sort", str(source), str(folder / "out"), "--memory", "32MB", "--threads", "1", "--format", "records"]
    for _ in range(4):
        planner.generate(source, records=1_000_000)
        sort = standing_sort(words, folder)
        change(source)
        sort.send_signal(signal.SIGCONT)
        _, told = sort.communicate()
        if sort.returncode:
            break
        (folder / "out").unlink()
        source.unlink()
    assert (sort.returncode, str(source) in told) == (IoFailureError.exit_code, True), told
    assert not any(folder.iterdir())
