"""Memory that an emulated cluster uses, and bytes that Ray spills, sampled twice a second while something runs."""

from __future__ import annotations

import os
import shutil
import threading
from dataclasses import dataclass
from pathlib import Path

from planner.clusters.emulated.ray import EmulatedRay


@dataclass
class PeakMemory:
    """The greatest memory and spilled bytes seen."""

    memory_bytes: int = 0
    spilled_bytes: int = 0


class Watch:
    """Sampler of a cluster's memory while its body runs."""

    def __init__(self, cluster: EmulatedRay) -> None:
        self.seen = PeakMemory()
        self._cluster = cluster
        self._over = threading.Event()
        self._base = store_bytes()
        self._thread = threading.Thread(target=self._run)

    def __enter__(self) -> PeakMemory:
        self._thread.start()
        return self.seen

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def _run(self) -> None:
        nodes = range(self._cluster.nodes.workers + 1)
        while not self._over.wait(0.5):
            own = held_bytes(self._cluster)
            self.seen.memory_bytes = max(self.seen.memory_bytes, own + store_bytes() - self._base)
            folders = [self._cluster.nodes.ray_directory(node) for node in nodes]
            spilled = sum(size(path) for folder in folders for path in folder.glob("**/ray_spilled_objects*/*"))
            self.seen.spilled_bytes = max(self.seen.spilled_bytes, spilled)


def held_bytes(cluster: EmulatedRay) -> int:
    """Return the private memory of all processes of a cluster."""
    nodes = range(cluster.nodes.workers + 1)
    return sum(own_bytes(pid) for node in nodes for pid in cluster.nodes.pids(node))


def own_bytes(pid: int) -> int:
    """Return the memory that a process shares with no other, from the kernel's page counts."""
    try:
        _, resident, shared, *_ = Path(f"/proc/{pid}/statm").read_text().split()
    except OSError:
        return 0
    return (int(resident) - int(shared)) * os.sysconf("SC_PAGE_SIZE")


def store_bytes() -> int:
    """Return the bytes used in this machine's file system in memory, where object stores are."""
    return shutil.disk_usage("/dev/shm").used


def size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0
