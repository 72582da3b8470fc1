"""Ray on an emulated cluster: a head that runs no tasks, and a worker on each other node."""

from __future__ import annotations

import os
import socket
import subprocess
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from planner.clusters.emulated.cluster import HEAD, EmulatedCluster, emulated_cluster
from planner.clusters.emulated.shaping import Shaping
from planner.clusters.ray.driver_session import Session, ray_session
from planner.clusters.ray.nodes import RAY_PORT, RayCluster, RayNode, head_command, ray_program, worker_command
from planner.errors import IoFailureError

CPUS_PER_NODE: Final = 3
HEAD_STORE_BYTES: Final = 80_000_000
NODE_STORE_BYTES: Final = 300_000_000
_OWN_FILES: Final = {"RAY_TMPDIR": "/tmp"}
"""Every node in a namespace has its own /tmp/ray. In a shared folder, as one named by TMPDIR, two nodes that start at
the same moment give their sockets the same name, and one of them ends.
"""
_PATIENT_CHECKS: Final = {"RAY_health_check_timeout_ms": "5000"}
"""The nodes share this machine's cores: a node waiting for one answers late, but is not lost."""
_LONGEST_START_S: Final = 120
_STARTS: Final = 3
_AT_ONCE: Final = 4


@dataclass(frozen=True, kw_only=True)
class EmulatedRay:
    """A running Ray cluster on emulated nodes."""

    nodes: EmulatedCluster
    ray: RayCluster
    disks: int = 1
    """Number of directories per node, each used as a disk."""
    store: Mapping[str, str] = field(default_factory=dict)
    """The environment with which tasks reach an object store, where it differs from this process's."""

    def command(self, node: int, *words: str) -> list[str]:
        """Return `words` as a command to run on a node."""
        return self.nodes.command(node, *words)

    def environment(self) -> dict[str, str]:
        """Return the complete environment of a process that uses this cluster."""
        own = _OWN_FILES if self.nodes.is_shaped else {}
        return {**os.environ, **self.store, **self.ray.environment(), **_PATIENT_CHECKS, **own}

    def session(self) -> AbstractContextManager[Session]:
        """Return a context that drives sorts from the head."""
        return ray_session(
            address=self.ray.address, command=lambda *words: self.command(HEAD, *words), environment=self.environment()
        )

    def disk(self, node: int, number: int) -> Path:
        """Return the directory used as a disk of a node; the first is the node's own."""
        return self.nodes.directory(node) / f"disk{number}" if number else self.nodes.directory(node)

    def start_worker(self, node: int, *, store_bytes: int = NODE_STORE_BYTES, cpus: float = CPUS_PER_NODE) -> None:
        """Start Ray on a node and wait until it has joined. Retries, since Ray gives up after 30 s, which may only mean
        that the machine is busy. Raises IoFailureError with Ray's message.
        """
        ray_node = _ray_node(self, node, cpus=cpus, store_bytes=store_bytes)
        for left in reversed(range(_STARTS if self.nodes.is_shaped else 1)):
            try:
                _start(self, node, ray_node, worker_command(ray_node, self.ray))
                return
            except IoFailureError:
                if not left:
                    raise
                self.nodes.end(node)


@contextmanager
def emulated_ray(
    *,
    workers: int,
    shaping: Shaping,
    directory: Path,
    store_bytes: int = NODE_STORE_BYTES,
    cpus: float = CPUS_PER_NODE,
    disks: int = 1,
    say: Callable[[str], None] = lambda _: None,
) -> Iterator[EmulatedRay]:
    """Yield a Ray cluster of `workers` emulated nodes and a head; everything is removed afterwards.

    Raises PlannerError when Ray is not installed, and whatever `emulated_cluster` raises.
    """
    ray_program()
    with emulated_cluster(workers=workers, shaping=shaping, directory=directory, say=say) as nodes:
        yield start_ray(nodes, store_bytes=store_bytes, cpus=cpus, disks=disks)


def start_ray(
    nodes: EmulatedCluster,
    *,
    store_bytes: int = NODE_STORE_BYTES,
    cpus: float = CPUS_PER_NODE,
    disks: int = 1,
    store: Mapping[str, str] | None = None,
) -> EmulatedRay:
    """Start Ray on every node, the head first, and return the cluster. Raises IoFailureError with Ray's message."""
    port = RAY_PORT if nodes.is_shaped else _free_port()
    address = f"{nodes.address(HEAD)}:{port}"
    cluster = EmulatedRay(nodes=nodes, ray=RayCluster(address=address), disks=disks, store=store or {})
    # A killed head leaves this; Ray would take any other cluster with this address for it.
    (nodes.ray_directory(HEAD) / "ray_current_cluster").unlink(missing_ok=True)
    head = _ray_node(cluster, HEAD, cpus=0, store_bytes=HEAD_STORE_BYTES)
    temp_directory = None if nodes.is_shaped else nodes.ray_directory(HEAD)
    _start(cluster, HEAD, head, head_command(head, port=port, temp_directory=temp_directory))
    with ThreadPoolExecutor(_AT_ONCE if nodes.is_shaped else 1) as pool:
        for _ in pool.map(
            lambda node: cluster.start_worker(node, store_bytes=store_bytes, cpus=cpus), range(1, nodes.workers + 1)
        ):
            pass
    return cluster


def _ray_node(cluster: EmulatedRay, node: int, *, cpus: float, store_bytes: int) -> RayNode:
    nodes = cluster.nodes
    disks = tuple(cluster.disk(node, number) for number in range(cluster.disks))
    for disk in disks:
        disk.mkdir(exist_ok=True)
    return RayNode(
        name=nodes.name(node),
        address=nodes.address(node),
        cpus=cpus,
        object_store_bytes=store_bytes,
        disks=disks,
        volume=nodes.volume(node),
        memory=nodes.memory(node),
    )


def _start(cluster: EmulatedRay, node: int, ray_node: RayNode, command: list[str]) -> None:
    """Run `ray start` on a node; its daemons outlive it, so its output goes to a file rather than a pipe."""
    log = cluster.nodes.ray_directory(node) / f"{ray_node.name}.start.log"
    with log.open("wb") as output:
        try:
            done = subprocess.run(
                cluster.command(node, *command),
                env=cluster.environment() | ray_node.environment(),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                timeout=_LONGEST_START_S,
                check=False,
            ).returncode
        except subprocess.TimeoutExpired:
            done = -1
    if done:
        raise IoFailureError(
            f"Ray did not start on {ray_node.name}",
            log.read_text(errors="replace").splitlines()[-8:],
            code="not-started",
        )


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
