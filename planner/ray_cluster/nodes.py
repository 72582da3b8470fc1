"""Starting Ray on the nodes of a cluster: token authentication on, dashboard off, failures noticed within seconds."""

from __future__ import annotations

import os
import secrets
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from planner.errors import PlannerError

RAY_PORT: Final = 6379
NODE_NAME: Final = "PLANNER_NODE_NAME"
NODE_DIRECTORY: Final = "PLANNER_NODE_DIRECTORY"
NODE_SCRATCH: Final = "PLANNER_NODE_SCRATCH"
NODE_VOLUME: Final = "PLANNER_NODE_VOLUME"
NODE_MEMORY: Final = "PLANNER_NODE_MEMORY"
"""Environment of every process on a node: what it is called, and where its disks, those of them that hold intermediate
files alone, its volume and a file system in its memory are mounted. Several disks are separated as in PATH.
"""

FAILURE_SETTINGS: Final = {
    "RAY_grpc_client_keepalive_time_ms": "5000",
    "RAY_grpc_client_keepalive_timeout_ms": "60000",
    "RAY_health_check_initial_delay_ms": "1000",
    "RAY_health_check_period_ms": "250",
    "RAY_health_check_timeout_ms": "1000",
    "RAY_health_check_failure_threshold": "3",
}
"""With Ray's defaults a vanished node is noticed after a minute, and tasks that wait for it hang for longer. A
connection is given more time than a node to answer: on a slow link the answer stands behind megabytes of blocks, which
are lost when the connection is given up.
"""

TRANSFER_SETTINGS: Final = {"RAY_object_manager_pull_timeout_ms": "60000"}
"""A block that takes longer is asked for again, and sent twice. By default that is 10 s, and of what came over links of
50 Mbit/s an eighth had come before.
"""

MEMORY_SETTINGS: Final = {
    "MALLOC_CONF": "dirty_decay_ms:60000,muzzy_decay_ms:60000",  # jemalloc, which Ray's raylet uses
    "MALLOC_MMAP_THRESHOLD_": str(32 << 20),  # the C library, which the rest uses
    "MALLOC_TRIM_THRESHOLD_": str(256 << 20),
}
"""Ray moves objects in pieces of 5 MB. By default the memory of each soon goes back to the kernel, which clears it for
the next one; so it is kept.
"""

PROCESS_SETTINGS: Final = {
    "RAY_idle_worker_killing_time_threshold_ms": "3600000",
    "RAY_plasma_store_usage_trigger_gc_threshold": "1.0",
}
"""By default a process that was idle for a second is ended, and the next phase waits until another has started. And
when a store is 70% full, as it often is here, all processes look for garbage that might hold objects: that took 5% of a
shuffle's processor time, and there is none.
"""


@dataclass(frozen=True, kw_only=True)
class RayCluster:
    """How to reach a Ray cluster: the head's `address` (host:port) and the token that its nodes share."""

    address: str
    token: str = field(repr=False, default_factory=lambda: secrets.token_hex(32))

    def environment(self) -> dict[str, str]:
        """Return what every process of the cluster, the driver included, needs in its environment."""
        return {
            **FAILURE_SETTINGS,
            **TRANSFER_SETTINGS,
            **MEMORY_SETTINGS,
            **PROCESS_SETTINGS,
            "RAY_AUTH_MODE": "token",
            "RAY_AUTH_TOKEN": self.token,
            "RAY_USAGE_STATS_ENABLED": "0",
            "RAY_DEDUP_LOGS": "0",
        }


@dataclass(frozen=True, kw_only=True)
class RayNode:
    """One node to start Ray on: `cpus` it offers to tasks, the size of its object store, the directories of its disks.

    Intermediate files go to the disks of `scratch`, and to all disks where there are none.
    """

    name: str
    address: str
    cpus: float
    object_store_bytes: int
    disks: tuple[Path, ...]
    scratch: tuple[Path, ...] = ()
    volume: Path | None = None
    memory: Path | None = None

    def environment(self) -> dict[str, str]:
        """Return what the node's processes are told about it."""
        mounted = {NODE_VOLUME: self.volume, NODE_MEMORY: self.memory}
        known = {name: str(path) for name, path in mounted.items() if path is not None}
        if self.scratch:
            known[NODE_SCRATCH] = _joined(self.scratch)
        return {NODE_NAME: self.name, NODE_DIRECTORY: _joined(self.disks)} | known


def head_command(
    node: RayNode, *, port: int = RAY_PORT, temp_directory: Path | None = None, program: str | None = None
) -> list[str]:
    """Return the command that starts a head; its files lie in /tmp/ray unless `temp_directory` is given. `program` is
    Ray's command line on another machine.
    """
    where = [] if temp_directory is None else [f"--temp-dir={temp_directory}"]
    return [
        program or ray_program(),
        "start",
        "--head",
        f"--port={port}",
        "--include-dashboard=false",
        *where,
        *_common(node),
    ]


def worker_command(node: RayNode, cluster: RayCluster, *, program: str | None = None) -> list[str]:
    """Return the command that starts a worker and joins it to the head; `program` as for the head."""
    return [program or ray_program(), "start", f"--address={cluster.address}", *_common(node)]


def ray_program() -> str:
    """Return the path of Ray's command line beside this interpreter. Raises PlannerError when Ray is not installed."""
    program = Path(sys.executable).with_name("ray")
    if not os.access(program, os.X_OK):
        raise PlannerError("the cluster sort runs on Ray, which is not installed: pip install 'sortplanner[ray]'")
    return str(program)


def _joined(disks: tuple[Path, ...]) -> str:
    return os.pathsep.join(map(str, disks))


def _common(node: RayNode) -> list[str]:
    return [
        f"--node-ip-address={node.address}",
        f"--num-cpus={node.cpus:g}",
        "--num-gpus=0",
        f"--object-store-memory={node.object_store_bytes}",
        "--disable-usage-stats",
        "--include-log-monitor=false",
    ]
