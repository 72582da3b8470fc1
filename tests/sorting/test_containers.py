"""Sorting within a control group's remaining memory, and files of other owners. All need root."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import pytest

from planner.sorting.records.generate import generate_file

LIMIT_BYTES = 400_000_000
INPUT_BYTES = 200_000_000
ROOT = Path("/sys/fs/cgroup")

IN_A_GROUP = """
import os, sys
from pathlib import Path
group, source = sys.argv[1:3]
Path(group, "cgroup.procs").write_text(str(os.getpid()))
from planner.sorting.records.local import sort_file
Path(source).write_bytes(bytes(int(sys.argv[3])))  # fresh input, in the page cache of the group
report = sort_file(source, source + ".out")
print(*(choice.value for choice in report.choices if choice.name in ("memory", "threads")), sep="\\n")
"""


def groups_of(controller: str) -> Path:
    """Return the folder of this process's own group under the controller; fail the test if there is none."""
    for line in Path("/proc/self/cgroup").read_text(encoding="ascii").splitlines():
        _, controllers, path = line.split(":", 2)
        if controller in controllers.split(","):
            return ROOT / controllers / path.lstrip("/")
    if controller in (ROOT / "cgroup.subtree_control").read_text(encoding="ascii").split():
        return ROOT
    pytest.fail(f"there is no {controller} controller to make a group in")


@pytest.fixture
def memory_group() -> Iterator[Path]:
    """A group below this process's own, with a memory limit."""
    group = groups_of("memory") / f"sortcore-{uuid4().hex[:8]}"
    group.mkdir()
    limit = "memory.limit_in_bytes" if (group / "memory.limit_in_bytes").exists() else "memory.max"
    (group / limit).write_text(str(LIMIT_BYTES), encoding="ascii")
    yield group
    group.rmdir()


@pytest.mark.needs_root(why="makes a control group")
def test_a_sort_beside_its_fresh_input_takes_what_the_group_leaves(tmp_path: Path, memory_group: Path) -> None:
    source = tmp_path / "in"
    command = [sys.executable, "-c", IN_A_GROUP, str(memory_group), str(source), str(INPUT_BYTES)]
    result = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert result.returncode == 0, result.stderr
    memory_bytes = int(result.stdout.split()[0])
    # Four fifths of the limit less the interpreter's memory, not of the limit less the cached input.
    assert LIMIT_BYTES * 6 // 10 < memory_bytes <= LIMIT_BYTES * 8 // 10
    assert source.with_name("in.out").stat().st_size == INPUT_BYTES


@pytest.mark.needs_root(why="makes a control group")
@pytest.mark.parametrize("task", ["-u", "-k2", "-m", "-c"])
def test_a_line_without_end_is_refused_before_the_kernel_kills(task: str, memory_group: Path) -> None:
    enter = f'echo $$ > {memory_group}/cgroup.procs; exec "$@"'
    command = ["bash", "-c", enter, "bash", sys.executable, "-m", "planner", "gnusort", task, "/dev/zero"]
    result = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert result.returncode == 2, result.stderr
    assert "bytes of memory left to give" in result.stderr


@pytest.mark.needs_root(why="makes a control group")
def test_threads_are_no_more_than_the_quota(tmp_path: Path) -> None:
    if (os.cpu_count() or 1) == 1:
        pytest.fail("one processor: a quota of one changes nothing")
    source = tmp_path / "in"
    group = groups_of("cpu") / f"sortcore-{uuid4().hex[:8]}"
    group.mkdir()
    try:
        if (group / "cpu.max").exists():
            (group / "cpu.max").write_text("100000 100000", encoding="ascii")
        else:
            (group / "cpu.cfs_quota_us").write_text("100000", encoding="ascii")
        command = [sys.executable, "-c", IN_A_GROUP, str(group), str(source), "1000"]
        result = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    finally:
        group.rmdir()
    assert result.stdout.split()[-1] == "1", result.stderr


AS_NOBODY = """
import concurrent.futures, os, sys  # what the sort loads later may lie where nobody can read
from planner.sorting.records.local import sort_file
from planner.sorting.sort_job import SortJob
os.setgid(65534)
os.setuid(65534)
print(sort_file(sys.argv[1], sys.argv[2], SortJob(memory_bytes=100_000_000)).mode)
"""


@pytest.fixture
def open_to_all() -> Iterator[Path]:
    """A directory open to other users; pytest's directories are closed to them."""
    with tempfile.TemporaryDirectory() as directory:
        Path(directory).chmod(0o777)
        yield Path(directory)


def evict(path: Path) -> None:
    """Drop a file from the page cache. The kernel takes the request as advice, so ask until it has followed it."""
    with path.open("rb") as file:
        os.fsync(file.fileno())
        for _ in range(100):
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
            if not any(is_cached(file.fileno(), path.stat().st_size * eighth // 8) for eighth in range(8)):
                return
            time.sleep(0.05)
    pytest.fail(f"{path} stays in the page cache")


def is_cached(descriptor: int, offset: int) -> bool:
    try:
        return os.preadv(descriptor, [bytearray(1)], offset, os.RWF_NOWAIT) == 1
    except BlockingIOError:
        return False


@pytest.mark.needs_root(why="becomes somebody who does not own the input")
@pytest.mark.parametrize(("cached", "mode"), [(True, "one pass"), (False, "two passes")])
def test_a_cold_file_of_somebody_else_does_not_pass_for_a_warm_one(open_to_all: Path, cached: bool, mode: str) -> None:
    source = open_to_all / "in"
    generate_file(source, records=200_000)
    source.chmod(0o644)
    source.read_bytes()
    if not cached:
        evict(source)
    command = [sys.executable, "-c", AS_NOBODY, "in", "out"]  # relative names: the checkout may be closed to others
    result = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120, cwd=open_to_all)
    assert result.stdout.strip() == mode, result.stderr
