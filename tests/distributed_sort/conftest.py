"""A Ray cluster of three emulated nodes, shared by all tests of the cluster sort, and a node without Ray."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import psutil
import pytest

from planner.clusters.emulated import namespaces
from planner.clusters.emulated.ray import EmulatedRay, emulated_ray
from planner.clusters.emulated.shaping import Shaping
from planner.clusters.ray.driver_session import Session
from planner.distributed_sort.dataset.dataset import Dataset, Partition, Recipe, dataset_of
from planner.distributed_sort.node_files.node_environment import JobFiles
from planner.distributed_sort.node_tasks import node_tasks
from planner.errors import IoFailureError

WORKERS = 3
DISKS = 2
STORE_BYTES = 80_000_000
STORE_ENVIRONMENT = {
    "AWS_ALLOW_HTTP": "true",
    "AWS_ACCESS_KEY_ID": "tests",
    "AWS_SECRET_ACCESS_KEY": "tests",
    "AWS_REGION": "us-east-1",
}


def store_address() -> tuple[str, int]:
    """Address on which the tests' object store listens: the head's."""
    return "10.0.0.1" if namespaces.are_usable() else "127.0.0.1", 5570


class SortCluster:
    """The emulated cluster, the tests' shared driver, and the faults that tests cause."""

    def __init__(self, cluster: EmulatedRay, opened: ExitStack) -> None:
        self.emulated = cluster
        self._opened = opened
        self._session: Session | None = None

    @property
    def store_address(self) -> tuple[str, int]:
        return store_address()

    def directory(self, node: int) -> Path:
        return self.emulated.nodes.directory(node)

    def do(self, order: dict[str, Any], on_event: Callable[[dict[str, Any]], None] = lambda _: None) -> dict[str, Any]:
        """Carry out an order in the tests' shared driver, or in a new one if that has ended."""
        if self._session is None:
            self._session = self._opened.enter_context(self.emulated.session())
        try:
            return self._session.do(order, on_event)
        except IoFailureError as error:
            if "run the same command again" in str(error):
                self._session = None
            raise

    def sort(
        self,
        dataset: Dataset,
        journal: Path,
        *,
        output: str,
        copies: int = 1,
        on_event: Callable[[dict[str, Any]], None] = lambda _: None,
        **options: Any,
    ) -> tuple[Dataset, dict[str, Any]]:
        """Sort a dataset, even a small one into many partitions, and return the output and the report."""
        many = {"least_partition_bytes": 1_000_000}
        request = {"source": json.loads(dataset.to_json()), "output": output, "copies": copies} | many | options
        done = self.do({"do": "sort", "request": request, "journal": str(journal)}, on_event)
        return dataset_of(done["dataset"]), done["report"]

    def driver(self) -> int:
        """Return the process of the driver."""
        assert self._session is not None
        return self._session.pid

    def inside(self, node: int, *words: str) -> None:
        """Run a command among the mounts that a node's raylet sees."""
        raylet = self.processes(node, "raylet")[0]
        subprocess.run(["nsenter", f"--target={raylet}", "--mount", *words], check=True)

    def processes(self, node: int, name: str) -> list[int]:
        """Return a node's processes whose program name begins with `name`; Ray's own agents are left out, as a raylet
        ends without them.
        """
        pids = []
        for pid in self.emulated.nodes.pids(node):
            with suppress(psutil.NoSuchProcess):  # it has ended
                words = psutil.Process(pid).cmdline() or [""]
                program = words[0].rpartition("/")[2]
                if program.startswith(name) and not program.endswith("Agent"):
                    pids.append(pid)
        return pids

    def kill(self, node: int, name: str) -> int:
        pids = self.processes(node, name)
        for pid in pids:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        return len(pids)

    def lose(self, node: int) -> int:
        """End a node as a power cut does, workers and all: workers outlive a killed raylet for a moment, in which a
        short phase ends.
        """
        return self.kill(node, "ray")

    def restart(self, node: int) -> None:
        """End everything on a node, since a new one would have none of it, and start Ray there."""
        self.emulated.nodes.end(node)
        self.forget(node)
        self.emulated.start_worker(node, store_bytes=STORE_BYTES)

    def forget(self, *nodes: int) -> list[Path]:
        """Remove what stopped jobs keep on some nodes, or on all, for their next call; return what was removed."""
        places = [
            place
            for node in nodes or range(1, WORKERS + 1)
            for place in (self.directory(node), self.emulated.nodes.memory(node))
        ]
        left = [path for place in places for path in place.rglob(".planner-sort-*")]
        for path in left:
            shutil.rmtree(path)
        return left


@pytest.fixture(scope="session")
def sort_cluster(swept: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SortCluster]:
    del swept
    directory = tmp_path_factory.mktemp("nodes")
    with pytest.MonkeyPatch.context() as patch, ExitStack() as opened:
        patch.setenv("PLANNER_STATE", str(tmp_path_factory.mktemp("state")))
        host, port = store_address()
        patch.setenv("AWS_ENDPOINT_URL", f"http://{host}:{port}")
        for name, value in STORE_ENVIRONMENT.items():
            patch.setenv(name, value)
        cluster = opened.enter_context(
            emulated_ray(workers=WORKERS, shaping=Shaping(), directory=directory, store_bytes=STORE_BYTES, disks=DISKS)
        )
        yield SortCluster(cluster, opened)


@pytest.fixture(autouse=True)
def nothing_is_kept(request: pytest.FixtureRequest) -> Iterator[None]:
    """Remove what a stopped job keeps for its next call, which other tests would count, and restart Ray where it has
    ended, so that no test sees another's loss.
    """
    yield
    if "sort_cluster" in request.fixturenames:
        cluster: SortCluster = request.getfixturevalue("sort_cluster")
        cluster.forget()
        for node in range(1, WORKERS + 1):
            if not cluster.processes(node, "raylet"):
                cluster.restart(node)


@pytest.fixture
def this_node(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """This process as node-1: disk0 and disk1 for data, disk1 and disk2 for intermediate files, and a memory."""
    *disks, memory = [tmp_path / name for name in ("disk0", "disk1", "disk2", "memory")]
    for directory in (*disks, memory):
        directory.mkdir()
    monkeypatch.setenv("PLANNER_NODE_NAME", "node-1")
    monkeypatch.setenv("PLANNER_NODE_DIRECTORY", os.pathsep.join(map(str, disks[:2])))
    monkeypatch.setenv("PLANNER_NODE_SCRATCH", os.pathsep.join(map(str, disks[1:])))
    monkeypatch.setenv("PLANNER_NODE_MEMORY", str(memory))
    return tmp_path


@pytest.fixture
def partition(this_node: Path) -> Partition:
    """5000 generated records on the first disk of this node."""
    del this_node
    return node_tasks.generate(Recipe(start=1000), 5000, JobFiles(job="g", output="in"), 0)
