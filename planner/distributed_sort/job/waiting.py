"""What a sort waits for, and the events that say so: nodes and CPUs that no job uses, tasks that Ray's memory monitor
kills, and silent nodes, of which those that do nothing count as lost.
"""

from __future__ import annotations

import math
import os
import re
import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any, Final

from planner.errors import IoFailureError, UnfinishedError
from planner.sort_policy.health_checks import patience
from planner.units import format_duration

Emit = Callable[[dict[str, Any]], None]
"""Receives events as JSON-able values."""


def ignore(_: dict[str, Any]) -> None:
    """Ignore an event."""


_RETRIES: Final = 4
"""The pauses before them double from a second on: a task that is always killed fails after about half a minute."""
_PLACE: Final = re.compile(r"\(IP: ([^,)\s]+)")
_USED: Final = re.compile(r"was (\S+ used / \S+ limit)")


class KilledForMemoryError(IoFailureError):
    """Ray's memory monitor killed a task each time that it was tried; elsewhere or later it may run."""

    code = "killed-for-memory"

    @classmethod
    def of(cls, told: str) -> KilledForMemoryError:
        """Return the error from Ray's own, which names the node and its memory."""
        place, used = _PLACE.search(told), _USED.search(told)
        return cls(
            f"Ray's memory monitor killed a task again and again{f' on {place[1]}' if place else ''}",
            [
                *([f"the node's memory: {used[1]}"] if used else ()),
                "end what else uses memory there, add memory or nodes, or sort with less: --memory",
                "RAY_memory_usage_threshold, set when Ray starts, is the share of memory from which it kills",
            ],
        )


def limit_retries() -> None:
    """Let tasks that this process begins fail when they are killed for memory again and again; for Ray's import."""
    os.environ.setdefault("RAY_task_oom_retries", str(_RETRIES))


REPORT_EVERY_S: Final = 8.0
"""Interval of reports: with the time until an answer, the reason of a wait is shown within ten seconds."""
LEAST_PATIENCE_S: Final = 60.0
"""Patience with the shortest task: processes may have to start first."""
_SLOWEST_BYTES_PER_S: Final = 5e6
"""Rate of a task on a node that is merely slow; assumed."""
_TIMES_LONGEST: Final = 10
"""Longest silence as a multiple of the longest task so far: no slow node takes more."""


def patience_s(task_bytes: float) -> float:
    """Return the seconds that a node with tasks of `task_bytes` bytes may be silent before it counts as lost."""
    return LEAST_PATIENCE_S + task_bytes / _SLOWEST_BYTES_PER_S


def waiting(nodes: Collection[str], *, since_s: float, reason: str = "") -> dict[str, object]:
    """Return the event that nodes have been waited for `since_s` seconds, with the reason where it is known."""
    return {"event": "waiting", "nodes": sorted(nodes), "since_s": round(since_s), "reason": reason}


class Silence:
    """The last sign of life of each node that has tasks. A node may be silent for `limit_s` or longer."""

    def __init__(self, clock: Callable[[], float] = time.monotonic, *, limit_s: float = LEAST_PATIENCE_S) -> None:
        self._clock = clock
        self._limit_s = limit_s
        self._heard: dict[str, float] = {}
        self._reported_at_s = clock()
        self._longest_s = 0.0
        self._queued_at_s: dict[str, float] = {}

    def now(self) -> float:
        """Return the time of this clock."""
        return self._clock()

    def begin(self, node: str) -> None:
        """Note that a node has a task, so that signs of life are expected from now on."""
        self._heard.setdefault(node, self._clock())

    def hear(self, node: str, *, took_s: float = 0.0) -> None:
        """Note that a task of a node ended, `took_s` after it was ordered."""
        self._heard[node] = now = self._clock()
        self._longest_s = max(self._longest_s, min(took_s, now - self._queued_at_s.get(node, -math.inf)))

    def queue(self, node: str) -> None:
        """Note that a node's tasks have yet to begin, so that their time has."""
        self._heard[node] = self._queued_at_s[node] = self._clock()

    def check(self, busy: Collection[str], emit: Emit) -> str:
        """Emit the nodes with tasks that have been silent for a while. Return the one that was silent longest, if that
        is longer than any task takes, else ''.
        """
        now = self._clock()
        self._heard = {node: since for node, since in self._heard.items() if node in busy}
        silent = [node for node, since in self._heard.items() if now - since >= REPORT_EVERY_S]
        if not silent:
            return ""
        worst = min(silent, key=self._heard.__getitem__)
        if now - self._reported_at_s >= REPORT_EVERY_S:
            self._reported_at_s = now
            emit(waiting(silent, since_s=now - self._heard[worst]))
        if now - self._heard[worst] < max(self._limit_s, _TIMES_LONGEST * self._longest_s):
            return ""
        self._heard = dict.fromkeys(self._heard, now)
        return worst


@dataclass(frozen=True, kw_only=True)
class Pulse:
    """A service's report on its node: how long it has done nothing; which service its tasks `awaits` since when, such
    as an object store, '' for none; and the number of `running` tasks of this sort, None where that is unknown.
    """

    idle_s: float = 0.0
    awaits: str = ""
    awaits_s: float = 0.0
    running: int | None = None


_REQUEST_EVERY_S: Final = 3.0
_LATE_S: Final = 5.0
_LOOKED_EVERY_S: Final = 0.5
_UNANSWERED_S: Final = 30.0
"""Answer time after which a service counts as stopped: it has a separate thread for answers."""


class Pulses:
    """The pulse of each node, which its service is asked for every few seconds. `ray` waits for the answers."""

    def __init__(self, ray: Any, clock: Callable[[], float] = time.monotonic) -> None:
        self._ray, self._clock = ray, clock
        self._requests: dict[str, tuple[float, Any]] = {}
        """By node: the time of the last request, and the answer to come; None once that has come."""
        self._last: dict[str, Pulse] = {}
        self._looked, self._reported_at_s = clock(), -math.inf

    def of(self, node: str) -> Pulse:
        """Return a node's last answer, if it is recent."""
        return Pulse() if self.is_late(node) else self._last.get(node, Pulse())

    def is_late(self, node: str) -> bool:
        """Return whether a node was asked a while ago and has not answered since."""
        since, answer = self._requests.get(node, (0.0, None))
        return answer is not None and self._clock() - since >= _LATE_S

    def check(self, services: Mapping[str, Any], emit: Emit) -> list[str]:
        """Ask the services that are due; emit the nodes that have not answered for a while, and the services that nodes
        wait for. Return the nodes whose services have stopped.
        """
        if (now := self._clock()) - self._looked < _LOOKED_EVERY_S:
            return []
        self._looked = now
        self._requests = {node: asked for node, asked in self._requests.items() if node in services}
        self._take_answers()
        for node, service in services.items():
            since, answer = self._requests.get(node, (now - _REQUEST_EVERY_S, None))
            if answer is None and now - since >= _REQUEST_EVERY_S * patience(len(services)):
                self._requests[node] = now, service.pulse.remote()
        if now - self._reported_at_s >= REPORT_EVERY_S:
            self._say(now, emit)
        longest_s = _UNANSWERED_S * patience(len(services))
        return [
            node for node, (since, answer) in self._requests.items() if answer is not None and now - since > longest_s
        ]

    def _take_answers(self) -> None:
        come, _ = self._ray.wait(self._open(), num_returns=len(self._open()), timeout=0) if self._open() else ([], [])
        for node, (since, answer) in self._requests.items():
            if answer in come:
                self._requests[node] = since, None
                try:
                    self._last[node] = self._ray.get(answer)
                except self._ray.exceptions.RayError:  # its process has ended; Ray begins another
                    self._last.pop(node, None)

    def _open(self) -> list[Any]:
        return [answer for _, answer in self._requests.values() if answer is not None]

    def _say(self, now: float, emit: Emit) -> None:
        late = {node: now - since for node, (since, _) in self._requests.items() if self.is_late(node)}
        held = {node: self.of(node) for node in self._requests if self.of(node).awaits}
        if late:
            emit(waiting(late, since_s=max(late.values()), reason="no process there answers"))
        if held:
            longest = max(held.values(), key=lambda pulse: pulse.awaits_s)
            emit(waiting(held, since_s=longest.awaits_s, reason=longest.awaits))
        if late or held:
            self._reported_at_s = now


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
