"""Samples of a node's resource use, each second: CPU time, bytes of disks, bytes over the network (SoCC 2015, figure
11).

A node's processes are those in its network namespace: all processes on a real machine, and only its own on an emulated
node. Its network traffic is that of its interfaces except the loopback.
"""

from __future__ import annotations

import threading
import time
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final

import psutil

_PERIOD_S: Final = 1.0
_IDLE_CORES: Final = 0.2
_IDLE_BYTES_PER_S: Final = 1e6
"""Most bytes/s of an idle node: Ray's own processes and this sampler use less."""


@dataclass(frozen=True, kw_only=True)
class Counters:
    """Totals at one moment: by process, CPU seconds and bytes read and written; over the network, bytes."""

    at_s: float
    processes: dict[int, tuple[float, int, int]]
    received_bytes: int
    sent_bytes: int


@dataclass(frozen=True, kw_only=True)
class Sample:
    """Means over about a second, which ended at `at_s` in seconds of Unix time."""

    at_s: float
    cpu_cores: float
    disk_read_bytes_per_s: float
    disk_write_bytes_per_s: float
    network_in_bytes_per_s: float
    network_out_bytes_per_s: float

    @property
    def is_idle(self) -> bool:
        """True if the node did no work."""
        disks = self.disk_read_bytes_per_s + self.disk_write_bytes_per_s
        return (
            self.cpu_cores < _IDLE_CORES
            and disks + self.network_in_bytes_per_s + self.network_out_bytes_per_s < _IDLE_BYTES_PER_S
        )


def read_counters() -> Counters:
    """Return this node's counters now, without those of unreadable processes."""
    interfaces = psutil.net_io_counters(pernic=True, nowrap=False)
    interfaces.pop("lo", None)
    namespace = Path("/proc/self/ns/net").readlink()
    processes = {}
    for pid in psutil.pids():
        with suppress(OSError, psutil.Error):  # it has ended, or belongs to another user
            if Path(f"/proc/{pid}/ns/net").readlink() == namespace:
                processes[pid] = _process_usage(psutil.Process(pid))
    return Counters(
        at_s=time.time(),
        processes=processes,
        received_bytes=sum(interface.bytes_recv for interface in interfaces.values()),
        sent_bytes=sum(interface.bytes_sent for interface in interfaces.values()),
    )


def mean_usage(before: Counters, after: Counters) -> Sample:
    """Return the means between two counts; a process begun meanwhile counts from its beginning."""
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
    """Takes a sample each second from its creation until the process ends."""

    taken: list[Sample] = field(default_factory=list)
    _worked_at_s: float = field(default_factory=time.time)

    def __post_init__(self) -> None:
        threading.Thread(target=self._run, name="usage", daemon=True).start()

    def samples(self) -> list[dict[str, float]]:
        """Return the samples so far as JSON-able values."""
        return [asdict(sample) for sample in list(self.taken)]

    def idle_s(self) -> float:
        """Return the seconds for which the node has done nothing."""
        return time.time() - self._worked_at_s

    def _run(self) -> None:
        before = read_counters()
        while True:
            time.sleep(_PERIOD_S)
            after = read_counters()
            self.taken.append(mean_usage(before, after))
            self._worked_at_s = self._worked_at_s if self.taken[-1].is_idle else after.at_s
            before = after


def _process_usage(process: Any) -> tuple[float, int, int]:
    with process.oneshot():
        cpu, io = process.cpu_times(), process.io_counters()
    return cpu.user + cpu.system, io.read_bytes, io.write_bytes
