"""A file that no new one can replace, on a full disk: neither the file nor the sorted data is lost."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

MEBIBYTE = 1 << 20
LINES = [b"%07d %s\n" % (number * 7919 % 200_000, b"x" * 40) for number in range(50_000)]
GNUSORT = f"{sys.executable} -m planner gnusort"
pytestmark = pytest.mark.needs_root(why="mounts a small disk")


def sort_over(folder: Path, before: bytes, script: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run a shell where `disk/out`, a separate mount, holds `before` on a disk of 4 MiB; its content is copied to
    `after`.

    `folder` has the input `in` and the directory `scratch`.
    """
    for name in ("disk", "scratch"):
        (folder / name).mkdir()
    (folder / "in").write_bytes(b"".join(LINES))
    (folder / "before").write_bytes(before)
    prepare = "mount -t tmpfs -o size=4m tmpfs disk && cp before disk/out && mount --bind disk/out disk/out"
    command = f"{prepare} && {script}; code=$?; cp disk/out after; exit $code"
    return subprocess.run(
        ["unshare", "--mount", "sh", "-c", command],
        cwd=folder, env=os.environ | {"TMPDIR": "scratch"} | variables,
        capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip


def names_in(folder: Path) -> list[str]:
    return [path.name for path in folder.iterdir()]


def disturbed(shim: Path, *, call: str, nth: int, fault: str) -> str:
    return f"env LD_PRELOAD={shim} FAULT_CALL={call} FAULT_NTH={nth} FAULT_KIND={fault} {GNUSORT}"


def test_a_file_that_cannot_grow_is_as_it_was(tmp_path: Path) -> None:
    before = b"old\n" * MEBIBYTE
    done = sort_over(tmp_path, before[: 2 * MEBIBYTE], f"{GNUSORT} in in -o disk/out")
    assert done.returncode == 2
    assert "disk/out: No space left on device; it is as it was" in done.stderr
    assert (tmp_path / "after").read_bytes() == before[: 2 * MEBIBYTE]
    assert names_in(tmp_path / "scratch") == []


@pytest.mark.parametrize("refusal", [errno.EOPNOTSUPP, errno.ENOSPC])
def test_room_is_asked_for_where_the_system_reserves_none(tmp_path: Path, shim: Path, refusal: int) -> None:
    command = disturbed(shim, call="fallocate", nth=1, fault=str(refusal))
    done = sort_over(tmp_path, b"old\n", f"{command} in in -o disk/out")
    assert (done.returncode, "it is as it was" in done.stderr) == (2, True)
    assert (tmp_path / "after").read_bytes() == b"old\n"


def test_what_the_file_holds_already_needs_no_room(tmp_path: Path) -> None:
    """The disk has 4 MiB and the file 3: both at once would not fit."""
    done = sort_over(tmp_path, b"y\n" * (3 * MEBIBYTE // 2), f"{GNUSORT} in -o disk/out")
    assert (done.returncode, done.stderr) == (0, "")
    assert (tmp_path / "after").read_bytes() == b"".join(sorted(LINES))
    assert names_in(tmp_path / "scratch") == []


@pytest.mark.parametrize("named", [False, True], ids=["unnamed", "named"])
def test_sorted_data_stays_where_it_is_if_it_cannot_be_written(tmp_path: Path, shim: Path, named: bool) -> None:
    """Blocks of a MiB: the scratch file takes three writes, and the second write after these fails."""
    command = disturbed(shim, call="pwrite", nth=5, fault=str(errno.EIO))
    if named:
        command = command.replace("env ", "env FAULT_UNNAMED=1 ")
    done = sort_over(tmp_path, b"old\n", f"{command} in -o disk/out")
    assert done.returncode == 2
    (name,) = names_in(tmp_path / "scratch")
    assert f"disk/out is damaged, and all the sorted data is in scratch/{name}" in done.stderr
    assert (tmp_path / "scratch" / name).read_bytes() == b"".join(sorted(LINES))


def test_sorted_data_outlives_a_kill_while_it_is_written(tmp_path: Path, shim: Path) -> None:
    command = disturbed(shim, call="pwrite", nth=5, fault="kill")
    done = sort_over(tmp_path, b"old\n", f"{command} in -o disk/out")
    assert done.returncode == 128 + signal.SIGKILL
    (name,) = names_in(tmp_path / "scratch")
    assert (tmp_path / "scratch" / name).read_bytes() == b"".join(sorted(LINES))


def test_where_files_need_a_name_nothing_is_left_in_the_end(tmp_path: Path, shim: Path) -> None:
    command = disturbed(shim, call="pwrite", nth=999, fault="short").replace("env ", "env FAULT_UNNAMED=1 ")
    done = sort_over(tmp_path, b"old\n", f"{command} in -o disk/out")
    assert (done.returncode, done.stderr) == (0, "")
    assert (tmp_path / "after").read_bytes() == b"".join(sorted(LINES))
    assert names_in(tmp_path / "scratch") == []
