"""Starting Ray on the nodes of a cluster: token authentication on, dashboard off, failures noticed within seconds."""

from __future__ import annotations

import os
import secrets
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from planner.distributed_sort.node_files.node_environment import (
    NODE_DIRECTORY,
    NODE_MEMORY,
    NODE_NAME,
    NODE_SCRATCH,
    NODE_VOLUME,
)
from planner.errors import PlannerError
from planner.extras import install_command
from planner.sort_policy.health_checks import FAILURES, PERIOD_MS, TIMEOUT_MS, patience

RAY_PORT: Final = 6379

FAILURE_SETTINGS: Final = {
    "RAY_grpc_client_keepalive_time_ms": "5000",
    "RAY_grpc_client_keepalive_timeout_ms": "60000",
    "RAY_health_check_initial_delay_ms": "1000",
    "RAY_health_check_failure_threshold": str(FAILURES),
}
"""With Ray's defaults, a vanished node is noticed after a minute, and tasks that wait for it hang even longer. A
connection gets more time to answer than a node: on a slow link its answer waits behind megabytes of blocks, which are
lost when the connection is given up.
"""

TRANSFER_SETTINGS: Final = {"RAY_object_manager_pull_timeout_ms": "60000"}
"""Ray requests a block again after this time, so that it is sent twice. With the default of 10 s, an eighth of the data
over links of 50 Mbit/s arrived twice.
"""

MEMORY_SETTINGS: Final = {
    "MALLOC_CONF": "dirty_decay_ms:60000,muzzy_decay_ms:60000",  # jemalloc, which Ray's raylet uses
    "MALLOC_MMAP_THRESHOLD_": str(32 << 20),  # the C library, which the rest uses
    "MALLOC_TRIM_THRESHOLD_": str(256 << 20),
}
"""Ray moves objects in pieces of 5 MB. By default each piece's memory soon returns to the kernel, which clears it for
the next piece. With these settings processes keep it.
"""

PROCESS_SETTINGS: Final = {
    "RAY_idle_worker_killing_time_threshold_ms": "3600000",
    "RAY_plasma_store_usage_trigger_gc_threshold": "1.0",
    "PYTHONSAFEPATH": "1",  # keeps the working directory off sys.path
}
"""By default Ray ends a process that was idle for a second, and the next phase waits for a new one. When a store is 70%
full, as it often is here, all processes also look for garbage that might hold objects. There is none, and the search
took 5% of a shuffle's processor time.
"""


@dataclass(frozen=True, kw_only=True)
class RayCluster:
    """A Ray cluster of `nodes`: the head's `address` (host:port) and the token that its nodes share."""

    address: str
    nodes: int = 1
    token: str = field(repr=False, default_factory=lambda: secrets.token_hex(32))

    def environment(self) -> dict[str, str]:
        """Return the environment that every process of the cluster needs, including the driver."""
        return {
            **failure_settings(self.nodes),
            **TRANSFER_SETTINGS,
            **MEMORY_SETTINGS,
            **PROCESS_SETTINGS,
            "RAY_AUTH_MODE": "token",
            "RAY_AUTH_TOKEN": self.token,
            "RAY_USAGE_STATS_ENABLED": "0",
            "RAY_DEDUP_LOGS": "0",
        }


def failure_settings(nodes: int) -> dict[str, str]:
    """Return FAILURE_SETTINGS with health checks that are rarer and wait longer on larger clusters."""
    factor = patience(nodes)
    return FAILURE_SETTINGS | {
        "RAY_health_check_period_ms": f"{PERIOD_MS * factor:.0f}",
        "RAY_health_check_timeout_ms": f"{TIMEOUT_MS * factor:.0f}",
    }


@dataclass(frozen=True, kw_only=True)
class RayNode:
    """One node to start Ray on: `cpus` it offers to tasks, the size of its object store, the directories of its disks.

    Intermediate files go to the disks of `scratch`, or to all disks if there are none.
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
        """Return the environment that describes the node to its processes."""
        mounted = {NODE_VOLUME: self.volume, NODE_MEMORY: self.memory}
        variables = {name: str(path) for name, path in mounted.items() if path is not None}
        if self.scratch:
            variables[NODE_SCRATCH] = _path_list(self.scratch)
        return {NODE_NAME: self.name, NODE_DIRECTORY: _path_list(self.disks)} | variables


def head_command(
    node: RayNode, *, port: int = RAY_PORT, temp_directory: Path | None = None, program: str | None = None
) -> list[str]:
    """Return the command that starts a head; its files lie in /tmp/ray unless `temp_directory` is given.

    `program` is the path of Ray's command line, if the head is another machine.
    """
    words = ["start", "--head", f"--port={port}", "--include-dashboard=false"]
    words += [] if temp_directory is None else [f"--temp-dir={temp_directory}"]
    return [program or ray_program(), *words, *_common_options(node)]


def worker_command(node: RayNode, cluster: RayCluster, *, program: str | None = None) -> list[str]:
    """Return the command that starts a worker and joins it to the head; `program` as for the head."""
    return [program or ray_program(), "start", f"--address={cluster.address}", *_common_options(node)]


def ray_program() -> str:
    """Return the path of Ray's command line next to this interpreter. Raises PlannerError when Ray is not installed."""
    program = Path(sys.executable).with_name("ray")
    if not os.access(program, os.X_OK):
        raise PlannerError(
            f"the cluster sort runs on Ray, which is not installed: {install_command('ray')}", code="no-ray"
        )
    return str(program)


def _path_list(disks: tuple[Path, ...]) -> str:
    return os.pathsep.join(map(str, disks))


def _common_options(node: RayNode) -> list[str]:
    return [
        f"--node-ip-address={node.address}",
        f"--num-cpus={node.cpus:g}",
        "--num-gpus=0",
        f"--object-store-memory={node.object_store_bytes}",
        "--disable-usage-stats",
        "--include-log-monitor=false",
    ]
