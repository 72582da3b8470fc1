"""Silent nodes: they are named, and those that do nothing count as lost."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any, Final

from planner.distributed_sort.job.events import Emit
from planner.sort_policy.health_checks import patience

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
