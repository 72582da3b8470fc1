"""Nodes and CPUs that no job uses, and the wait for them: Ray queues a task until its node has the CPUs for it."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Collection, Mapping
from typing import Any, Final

from planner.distributed_sort.job.events import Emit
from planner.distributed_sort.job.silence import REPORT_EVERY_S, waiting
from planner.errors import IoFailureError, UnfinishedError
from planner.units import format_duration

WAIT_S: Final = 3600.0
_FREE_WITHIN_S: Final = 2.0
"""CPUs of a job that ends are free within a second or two."""
_LOOK_EVERY_S: Final = 0.1
_LOOK_AGAIN_S: Final = 2.0
_FORGOTTEN_S: Final = 10.0
_ADVICE: Final = "--wait says how long to wait; `ray status` shows who uses what; wait until they end, or add nodes"


def await_nodes(ray: Any, *, wait_s: float, emit: Emit) -> list[dict[str, Any]]:
    """Return the nodes that offer CPUs, as Ray describes them. Where there is none, a task queues for a CPU, which an
    autoscaler sees. Raises IoFailureError where none has come after `wait_s`.
    """
    began, said, queued = time.monotonic(), 1, None
    while not (offering := [node for node in ray.nodes() if node["Alive"] and node["Resources"].get("CPU")]):
        waited_s = time.monotonic() - began
        queued = queued or ray.remote(num_cpus=1)(lambda: None).remote()
        if waited_s > wait_s:
            ray.cancel(queued)
            raise IoFailureError(
                "the Ray cluster has no node that offers CPUs",
                [f"waited for {format_duration(waited_s)}", "start a worker; --wait says how long to wait for one"],
                code="no-node",
            )
        if waited_s >= said * REPORT_EVERY_S:
            reason = "no node offers CPUs; a task is queued for one, so that an autoscaler may start it"
            emit(waiting(["the Ray cluster"], since_s=waited_s, reason=reason))
            said += 1
        time.sleep(_LOOK_EVERY_S)
    return offering


def free_cpus(ray: Any, offered: Mapping[str, float]) -> dict[str, float]:
    """Return the free CPUs of nodes, given by Ray's id with those that they offer. Through Ray's client, which only has
    the sum, all count as free if any are.
    """
    from ray.autoscaler.v2.sdk import get_cluster_status
    from ray.util.client import ray as client

    if client.is_connected():
        any_is_free = ray.available_resources().get("CPU", 0.0) >= min(1.0, *offered.values())
        return {node: cpus * any_is_free for node, cpus in offered.items()}
    status = get_cluster_status(ray.get_runtime_context().gcs_address)
    there = {node.node_id: node.available_resources() for node in (*status.active_nodes, *status.idle_nodes)}
    return {node: min(there.get(node, {}).get("CPU", 0.0), cpus) for node, cpus in offered.items()}


def wait_for_cpus(
    ray: Any, offered: Mapping[str, float], *, hosts: Mapping[str, str], wait_s: float, emit: Emit
) -> dict[str, float]:
    """Return the free CPUs of the nodes that have any, by Ray's id; busy nodes get a moment to finish. Where all are
    busy, events name the `hosts` that are waited for. Raises IoFailureError where none has any after `wait_s`.
    """
    began, said = time.monotonic(), 1
    while True:
        waited_s, free = time.monotonic() - began, free_cpus(ray, offered)
        usable = {node: cpus for node, cpus in free.items() if cpus >= min(1.0, offered[node])}
        is_new = sum(free.values()) <= ray.available_resources().get("CPU", 0.0)  # nodes tell theirs late
        if (is_new and usable == offered) or (usable and waited_s >= _FREE_WITHIN_S):
            return usable
        if waited_s > max(wait_s, _FREE_WITHIN_S):
            raise IoFailureError(
                f"other jobs use all {sum(offered.values()):g} CPUs of the Ray cluster's {len(offered)} nodes",
                [f"waited for {format_duration(waited_s)}", _ADVICE],
                code="no-free-cpus",
            )
        if waited_s >= said * REPORT_EVERY_S:
            emit(waiting(hosts.values(), since_s=waited_s, reason="other jobs use all CPUs there"))
            said += 1
        time.sleep(_LOOK_EVERY_S)


class CpuQueue:
    """Nodes whose tasks Ray queues because other jobs use the CPUs; a sort waits for them for `wait_s`."""

    def __init__(self, ray: Any, *, wait_s: float = WAIT_S, clock: Callable[[], float] = time.monotonic) -> None:
        self._ray, self._wait_s, self._clock = ray, wait_s, clock
        self._queued: dict[str, tuple[float, float]] = {}
        """By node: since when its tasks are queued, and when that was last seen."""
        self._free: dict[str, float] = {}
        self._looked_at_s = self._said_at_s = -math.inf

    def find(self, idle: Mapping[str, tuple[str, float]], offered: Mapping[str, float], emit: Emit) -> Collection[str]:
        """Return those of some nodes, on which no task of the sort runs, that lack the CPUs for one; name them in an
        event. `idle` has Ray's id of each and the CPUs of a task, `offered` the CPUs by id.

        Raises UnfinishedError where a node lacks them for too long.
        """
        now = self._clock()
        if idle and now - self._looked_at_s >= _LOOK_AGAIN_S:
            self._free, self._looked_at_s = self._look(offered), now
        found = [node for node, (id_, needed) in idle.items() if self._free.get(id_, math.inf) < needed]
        before = {node: since for node, (since, seen) in self._queued.items() if now - seen < _FORGOTTEN_S}
        self._queued = {node: (before.get(node, now), now) for node in found}
        if found and now - self._said_at_s >= REPORT_EVERY_S:
            self._say(now, emit)
        return found

    def _look(self, offered: Mapping[str, float]) -> dict[str, float]:
        try:
            return free_cpus(self._ray, offered)
        except self._ray.exceptions.RayError:  # the head does not answer, which others notice
            return {}

    def _say(self, now: float, emit: Emit) -> None:
        longest_s = now - min(since for since, _ in self._queued.values())
        if longest_s >= REPORT_EVERY_S:
            self._said_at_s = now
            emit(waiting(self._queued, since_s=longest_s, reason="other jobs use the CPUs there, so tasks are queued"))
        if longest_s > self._wait_s:
            raise UnfinishedError(
                f"other jobs have used the CPUs of {', '.join(sorted(self._queued))} for {format_duration(longest_s)}",
                [_ADVICE],
                code="no-free-cpus",
            )
