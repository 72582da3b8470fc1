"""A control group that limits the rate at which its processes read and write the disk of a directory. Needs root."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from time import sleep

CONTROL_GROUPS = Path("/sys/fs/cgroup")


def disk_of(directory: Path) -> str:
    """Return the numbers of the whole disk that holds a directory: partitions cannot be limited."""
    device = directory.stat().st_dev
    entry = Path(f"/sys/dev/block/{os.major(device)}:{os.minor(device)}").resolve()
    if (entry / "partition").exists():
        entry = entry.parent
    return (entry / "dev").read_text(encoding="ascii").strip()


def settings(disk: str, bytes_per_s: int) -> tuple[Path, dict[str, str]]:
    """Return the place of the group, and the text for each of its files."""
    v1 = CONTROL_GROUPS / "blkio"
    if v1.exists():
        names = ("read", "write")
        return v1, {f"blkio.throttle.{name}_bps_device": f"{disk} {bytes_per_s}" for name in names}
    controllers = (CONTROL_GROUPS / "cgroup.subtree_control").read_text(encoding="ascii").split()
    if "io" not in controllers:
        sys.exit("there is no controller for disks to make a control group with")
    return CONTROL_GROUPS, {"io.max": f"{disk} rbps={bytes_per_s} wbps={bytes_per_s}"}


@contextmanager
def disk_limit(directory: Path, bytes_per_s: int | None) -> Iterator[list[str]]:
    """Yield the words to put before a command to limit it to the rate, each way; none without a rate.

    A group of v1 limits direct transfers only: the system writes the page cache.
    """
    if bytes_per_s is None:
        yield []
        return
    if os.geteuid() != 0:
        sys.exit("a limit of the disk's rate needs root")
    parent, files = settings(disk_of(directory), bytes_per_s)
    group = parent / f"disk-limit-{os.getpid()}"
    group.mkdir()
    try:
        for name, value in files.items():
            (group / name).write_text(value, encoding="ascii")
        yield ["sh", "-c", 'echo $$ > "$0/cgroup.procs" && exec "$@"', str(group)]
    finally:
        sleep(0.5)  # it stays busy for a moment after its last process ended
        group.rmdir()
