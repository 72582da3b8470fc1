"""Ray on the machines of a run, and the sort driven from the head: everything by SSH, nothing open to the Internet."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from planner.clouds.protocol import Node
from planner.clusters.ray.nodes import RAY_PORT, RayCluster, RayNode, head_command, worker_command
from planner.clusters.remote.bootstrap import SAFE_PATH, Equipped
from planner.clusters.remote.ssh import HEAD, Ssh, environment_script, failures
from planner.errors import IoFailureError, PlannerError
from planner.schemas.plan import DiskSplit

_RAY: Final = "planner/venv/bin/ray"
ENVIRONMENT: Final = "planner/ray.env"
"""File on the head with the driver's environment, including the token; only its user can read it. It ends with the
machine.
"""
_LONGEST_START_S: Final = 180.0
_MOST_STARTS: Final = 3
_STORE_SHARE: Final = 0.3
_SORT_SHARE: Final = 0.4
"""Shares of a machine's memory for Ray's object store and the sort; the rest is for the system and the page cache."""

_KEEP: Final = """\
umask 077
cat >{path} <<'ENVIRONMENT'
{environment}ENVIRONMENT
"""

_FILES: Final = 'ulimit -S -n "$(ulimit -H -n)" || ulimit -S -n 65536 || true\n'
"""Ray has several connections to each node, and a login's soft limit is 1,024 files: enough for about 90 nodes."""

_LOG: Final = "planner/ray.start.log"
_START: Final = """\
{command} </dev/null >{log} 2>&1 || {{ tail -n 8 {log} >&2; exit 1; }}
"""


@dataclass(frozen=True, kw_only=True)
class RayOnNodes:
    """Ray on the `machines`; those not `working` get no tasks (a head that is too slow). `failed` has the machines on
    which it did not start.
    """

    start: _Start
    machines: tuple[Equipped, ...]
    working: frozenset[str]
    failed: Mapping[str, PlannerError] = field(default_factory=dict)

    @property
    def address(self) -> str:
        """Address of the cluster for a driver on the head."""
        return self.start.cluster.address

    @property
    def memory_bytes(self) -> int:
        """Memory that the sort may take of each machine."""
        return int(self.start.memory_bytes * _SORT_SHARE)

    def add_nodes(self, others: Sequence[Equipped]) -> RayOnNodes:
        """Start Ray on further machines, all at once, and return the cluster with those on which it starts. A head
        without tasks gets a second Ray node, which works.
        """
        by_name = {machine.name: machine for machine in others}
        outcomes = self.start.ssh.each(
            [machine.node for machine in others], lambda node: self.start.join(by_name[node.id])
        )
        wrong = failures(outcomes)
        joined = [machine for machine in others if machine.name not in wrong]
        return RayOnNodes(
            start=self.start,
            machines=(*self.machines, *(machine for machine in joined if machine not in self.machines)),
            working=self.working | {machine.name for machine in joined},
            failed={**self.failed, **wrong},
        )


_STOP: Final = """\
for process in $(pgrep -f 'raylet|gcs_server' || true); do
  if tr '\\0' '\\n' 2>/dev/null <"/proc/$process/environ" | grep -qxF "HOME=$HOME"; then kill -9 "$process" || true; fi
done
"""
"""Ends the processes of an earlier preparation under this login: all workers of a node end with its raylet."""


def stop_ray(ssh: Ssh, nodes: Sequence[Node]) -> None:
    """End Ray on all machines that answer."""
    ssh.each(nodes, lambda node: ssh.run(node.id, _STOP, within_s=_LONGEST_START_S))


def start_ray(
    ssh: Ssh,
    machines: Sequence[Equipped],
    *,
    working: Sequence[str],
    memory_bytes: int | None = None,
    split: DiskSplit | None = None,
    store: Mapping[str, str] | None = None,
) -> RayOnNodes:
    """Start Ray on the head, then on all others at once. `memory_bytes` of each machine may be used, all otherwise.
    Disks hold input and output, or intermediate files, as given by `split`; without it all hold both. `store` is the
    environment in which tasks reach an object store: it may be secret, and is not written anywhere.

    Failed starts are retried; machines on which they never succeed are in `failed`. Raises IoFailureError with Ray's
    message when the head is one of them.
    """
    head = next(machine for machine in machines if machine.node.head)
    start = _Start(
        ssh=ssh,
        cluster=RayCluster(address=f"{head.node.private_address}:{RAY_PORT}", nodes=len(machines)),
        memory_bytes=min(memory_bytes or machine.memory_bytes for machine in machines),
        split=split,
        lent=environment_script(store or {}),
    )
    own = start.settings(head, is_working=head.name in working)
    keep = _KEEP.format(path=ENVIRONMENT, environment=_environment(start.cluster, own))
    start.run_script(HEAD, keep + start.lent + _script(start.cluster, own, head_command(own, program=_RAY)))
    alone = RayOnNodes(start=start, machines=(head,), working=frozenset({head.name} & set(working)))
    return alone.add_nodes([machine for machine in machines if machine is not head])


@dataclass(frozen=True, kw_only=True)
class _Start:
    """Settings for starting Ray on each machine of a cluster; `lent` may be secret."""

    ssh: Ssh
    cluster: RayCluster
    memory_bytes: int
    split: DiskSplit | None
    lent: str = field(repr=False)

    def settings(self, machine: Equipped, *, is_working: bool) -> RayNode:
        return _ray_node(machine, working=is_working, memory_bytes=self.memory_bytes, split=self.split)

    def join(self, machine: Equipped) -> str:
        """Start Ray on a working machine and join it to the head."""
        ray_node = self.settings(machine, is_working=True)
        script = _script(self.cluster, ray_node, worker_command(ray_node, self.cluster, program=_RAY))
        # The head's second Ray node must not end the first, which runs the cluster.
        return self.run_script(machine.name, self.lent + script, undo="" if machine.node.head else _STOP)

    def run_script(self, name: str, script: str, *, undo: str = _STOP) -> str:
        """Run a script that starts Ray, several times if need be. Retries run `undo` first, since Ray may have started
        although the connection was lost before the answer.
        """
        for number in range(_MOST_STARTS - 1):
            with suppress(IoFailureError):
                return self.ssh.run(name, (undo if number else "") + script, within_s=_LONGEST_START_S)
        return self.ssh.run(name, undo + script, within_s=_LONGEST_START_S)


def _ray_node(machine: Equipped, *, working: bool, memory_bytes: int, split: DiskSplit | None) -> RayNode:
    disks = tuple(Path(disk) for disk in machine.disks)
    apart = split is not None and split.data + split.intermediate == len(disks)
    data = split.data if split is not None and apart else len(disks)
    return RayNode(
        name=machine.name,
        address=machine.node.private_address,
        cpus=float(machine.vcpus) if working else 0.0,
        object_store_bytes=int(memory_bytes * _STORE_SHARE),
        disks=disks[:data],
        scratch=disks[data:],
    )


def _environment(cluster: RayCluster, node: RayNode) -> str:
    return _FILES + environment_script(cluster.environment() | node.environment() | SAFE_PATH)


def _script(cluster: RayCluster, node: RayNode, command: list[str]) -> str:
    """Return the script that starts Ray. Its daemons outlive the command; if they held its output, SSH would wait for
    them.
    """
    return _environment(cluster, node) + _START.format(command=shlex.join(command), log=_LOG)
