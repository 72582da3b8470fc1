"""One Ray cluster of three emulated nodes for all tests of the cluster sort; a node that is lost is started again."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from planner.cluster.emulated_ray import EmulatedRay, emulated_ray
from planner.cluster.ray_session import drive
from planner.providers.emulated.cluster import HEAD
from planner.providers.emulated.shaping import Shaping

WORKERS = 3
STORE_BYTES = 80_000_000


class TestBed:
    """The cluster, and what tests do with it."""

    __test__ = False

    def __init__(self, cluster: EmulatedRay) -> None:
        self.cluster = cluster

    def directory(self, node: int) -> Path:
        return self.cluster.nodes.directory(node)

    def drive(self, order: dict[str, Any], heard: Callable[[dict[str, Any]], None] = lambda _: None) -> dict[str, Any]:
        return drive(
            {"address": self.cluster.ray.address, **order},
            command=lambda *words: self.cluster.command(HEAD, *words),
            environment=self.cluster.environment(),
            heard=heard,
        )

    def processes(self, node: int, name: str) -> list[int]:
        """Return the processes of a node whose command line begins with, or whose program is, `name`."""
        found = []
        for pid in self.cluster.nodes.pids(node):
            words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
            if words[0].decode(errors="replace").rpartition("/")[2].startswith(name):
                found.append(pid)
        return found

    def kill(self, node: int, name: str) -> int:
        pids = self.processes(node, name)
        for pid in pids:
            os.kill(pid, signal.SIGKILL)
        return len(pids)

    def restart(self, node: int) -> None:
        """End everything on a node and start Ray on it again."""
        self.cluster.nodes.mend(node)
        while pids := self.cluster.nodes.pids(node):
            for pid in pids:
                os.kill(pid, signal.SIGKILL)
            time.sleep(0.05)
        self.cluster.start_worker(node, store_bytes=STORE_BYTES)


@pytest.fixture(scope="session")
def test_bed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestBed]:
    before = os.environ.get("PLANNER_STATE")
    os.environ["PLANNER_STATE"] = str(tmp_path_factory.mktemp("state"))
    directory = tmp_path_factory.mktemp("nodes")
    try:
        with emulated_ray(workers=WORKERS, shaping=Shaping(), directory=directory, store_bytes=STORE_BYTES) as cluster:
            yield TestBed(cluster)
    finally:
        if before is None:
            del os.environ["PLANNER_STATE"]
        else:
            os.environ["PLANNER_STATE"] = before
