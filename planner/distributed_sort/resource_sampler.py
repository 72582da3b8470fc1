"""What a node does each second: processor time, bytes from and to disks, bytes over the network (SoCC 2015, figure 11).

A node's processes are those that share its network namespace: on a machine of its own all of them, on an emulated node
just its own. Its network is what its interfaces count, the loopback left out.
"""

from __future__ import annotations

import os
import threading
import time
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Final

_EVERY_S: Final = 1.0


@dataclass(frozen=True, kw_only=True)
class Counters:
    """Totals at one moment: by process, processor seconds and bytes read and written; over the network, bytes."""

    at_s: float
    processes: dict[int, tuple[float, int, int]]
    received_bytes: int
    sent_bytes: int


@dataclass(frozen=True, kw_only=True)
class Sample:
    """A second or so: when it ended, on the clock that all processes of the machine share, and the means in it."""

    at_s: float
    cpu_cores: float
    disk_read_bytes_per_s: float
    disk_write_bytes_per_s: float
    network_in_bytes_per_s: float
    network_out_bytes_per_s: float


def count() -> Counters:
    """Return this node's counters now; processes that may not be looked at are left out."""
    received, sent = _network_bytes()
    here = Path("/proc/self/ns/net").readlink()
    processes = {}
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError, ValueError, KeyError):  # it has ended, or belongs to someone else
            if (folder / "ns" / "net").readlink() == here:
                processes[int(folder.name)] = _process(folder)
    return Counters(at_s=time.time(), processes=processes, received_bytes=received, sent_bytes=sent)


def between(before: Counters, after: Counters) -> Sample:
    """Return the means between two counts; a process that began meanwhile counts from its beginning."""
    seconds = max(after.at_s - before.at_s, 1e-9)
    nothing = (0.0, 0, 0)
    changes = [
        [max(0.0, now - then) for now, then in zip(new, before.processes.get(pid, nothing), strict=True)]
        for pid, new in after.processes.items()
    ]
    cpu_s, read, written = (sum(change[column] for change in changes) for column in range(3))
    return Sample(
        at_s=after.at_s,
        cpu_cores=cpu_s / seconds,
        disk_read_bytes_per_s=read / seconds,
        disk_write_bytes_per_s=written / seconds,
        network_in_bytes_per_s=(after.received_bytes - before.received_bytes) / seconds,
        network_out_bytes_per_s=(after.sent_bytes - before.sent_bytes) / seconds,
    )


@dataclass
class Sampler:
    """Takes a sample each second from when it is made until the process ends."""

    taken: list[Sample] = field(default_factory=list)

    def __post_init__(self) -> None:
        threading.Thread(target=self._run, name="usage", daemon=True).start()

    def samples(self) -> list[dict[str, float]]:
        """Return what has been seen so far, as JSON-able values."""
        return [asdict(sample) for sample in list(self.taken)]

    def _run(self) -> None:
        before = count()
        while True:
            time.sleep(_EVERY_S)
            after = count()
            self.taken.append(between(before, after))
            before = after


def _process(folder: Path) -> tuple[float, int, int]:
    ticks = (folder / "stat").read_text().rpartition(")")[2].split()[11:13]
    io = dict(line.split(": ") for line in (folder / "io").read_text().splitlines())
    return sum(map(int, ticks)) / os.sysconf("SC_CLK_TCK"), int(io["read_bytes"]), int(io["write_bytes"])


def _network_bytes() -> tuple[int, int]:
    lines = Path("/proc/self/net/dev").read_text().splitlines()[2:]
    columns = [line.partition(":")[2].split() for line in lines if line.partition(":")[0].strip() != "lo"]
    return sum(int(line[0]) for line in columns), sum(int(line[8]) for line in columns)
