"""Nodes of which nothing is heard: they are named, and those that do nothing count as lost."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any, Final

from planner.distributed_sort.job.events import Emit
from planner.sort_policy.health_checks import patience

SAID_EVERY_S: Final = 8.0
"""With what it takes to be heard of, nobody waits ten seconds without knowing for what."""
LEAST_PATIENCE_S: Final = 60.0
"""Given to the shortest task: processes may have to start first."""
_SLOWEST_BYTES_PER_S: Final = 5e6
"""Of a task on a node that is merely slow; assumed."""
_TIMES_LONGEST: Final = 10
"""As long as the longest task so far took: more is no slow node."""


def patience_s(task_bytes: float) -> float:
    """Return how long a node with tasks of so many bytes may be silent before it counts as lost."""
    return LEAST_PATIENCE_S + task_bytes / _SLOWEST_BYTES_PER_S


def waiting(nodes: Collection[str], *, since_s: float, reason: str = "") -> dict[str, object]:
    """Return the event that nodes have been waited for so long, and why where that is known."""
    return {"event": "waiting", "nodes": sorted(nodes), "since_s": round(since_s), "reason": reason}


class Silence:
    """When something was heard last of each node that has tasks. `limit_s` is how long that may be at least."""

    def __init__(self, clock: Callable[[], float] = time.monotonic, *, limit_s: float = LEAST_PATIENCE_S) -> None:
        self._clock = clock
        self._limit_s = limit_s
        self._heard: dict[str, float] = {}
        self._said = clock()
        self._longest_s = 0.0

    def now(self) -> float:
        """Return the time as it counts here."""
        return self._clock()

    def begin(self, node: str) -> None:
        """Note that a node has a task, as from now on something is to be heard."""
        self._heard.setdefault(node, self._clock())

    def hear(self, node: str, *, took_s: float = 0.0) -> None:
        """Note that a task of a node ended."""
        self._heard[node] = self._clock()
        self._longest_s = max(self._longest_s, took_s)

    def look(self, busy: Collection[str], emit: Emit) -> str:
        """Emit which of the nodes with tasks were not heard of for a while. Return the one that was silent longest, if
        that is longer than any task takes, else ''.
        """
        now = self._clock()
        self._heard = {node: since for node, since in self._heard.items() if node in busy}
        silent = [node for node, since in self._heard.items() if now - since >= SAID_EVERY_S]
        if not silent:
            return ""
        worst = min(silent, key=self._heard.__getitem__)
        if now - self._said >= SAID_EVERY_S:
            self._said = now
            emit(waiting(silent, since_s=now - self._heard[worst]))
        if now - self._heard[worst] < max(self._limit_s, _TIMES_LONGEST * self._longest_s):
            return ""
        self._heard = dict.fromkeys(self._heard, now)
        return worst


@dataclass(frozen=True, kw_only=True)
class Pulse:
    """What a node's service says of its node: for how long it has done nothing, and what its tasks `awaits` since when,
    such as an object store; '' for nothing.
    """

    idle_s: float = 0.0
    awaits: str = ""
    awaits_s: float = 0.0


_ASKED_EVERY_S: Final = 3.0
_LATE_S: Final = 5.0
_LOOKED_EVERY_S: Final = 0.5
_UNANSWERED_S: Final = 30.0
"""A service that answers later than this has stopped: it has a thread for nothing else."""


class Pulses:
    """The pulse of each node, which its service is asked for every few seconds. `ray` waits for the answers."""

    def __init__(self, ray: Any, clock: Callable[[], float] = time.monotonic) -> None:
        self._ray, self._clock = ray, clock
        self._asked: dict[str, tuple[float, Any]] = {}
        """By node: when it was asked last, and the answer to come; None once that has come."""
        self._last: dict[str, Pulse] = {}
        self._looked, self._said = clock(), -math.inf

    def of(self, node: str) -> Pulse:
        """Return what a node answered last, if it has answered lately."""
        return Pulse() if self.is_late(node) else self._last.get(node, Pulse())

    def is_late(self, node: str) -> bool:
        """Whether a node was asked a while ago and has not answered since."""
        since, answer = self._asked.get(node, (0.0, None))
        return answer is not None and self._clock() - since >= _LATE_S

    def look(self, services: Mapping[str, Any], emit: Emit) -> list[str]:
        """Ask the services that are to be asked again; emit who has not answered for a while, and what nodes wait for.
        Return the nodes whose services have stopped.
        """
        if (now := self._clock()) - self._looked < _LOOKED_EVERY_S:
            return []
        self._looked = now
        self._asked = {node: asked for node, asked in self._asked.items() if node in services}
        self._take_answers()
        for node, service in services.items():
            since, answer = self._asked.get(node, (now - _ASKED_EVERY_S, None))
            if answer is None and now - since >= _ASKED_EVERY_S * patience(len(services)):
                self._asked[node] = now, service.pulse.remote()
        if now - self._said >= SAID_EVERY_S:
            self._say(now, emit)
        longest_s = _UNANSWERED_S * patience(len(services))
        return [node for node, (since, answer) in self._asked.items() if answer is not None and now - since > longest_s]

    def _take_answers(self) -> None:
        come, _ = self._ray.wait(self._open(), num_returns=len(self._open()), timeout=0) if self._open() else ([], [])
        for node, (since, answer) in self._asked.items():
            if answer in come:
                self._asked[node] = since, None
                try:
                    self._last[node] = self._ray.get(answer)
                except self._ray.exceptions.RayError:  # its process has ended; Ray begins another
                    self._last.pop(node, None)

    def _open(self) -> list[Any]:
        return [answer for _, answer in self._asked.values() if answer is not None]

    def _say(self, now: float, emit: Emit) -> None:
        late = {node: now - since for node, (since, _) in self._asked.items() if self.is_late(node)}
        held = {node: self.of(node) for node in self._asked if self.of(node).awaits}
        if late:
            emit(waiting(late, since_s=max(late.values()), reason="no process there answers"))
        if held:
            longest = max(held.values(), key=lambda pulse: pulse.awaits_s)
            emit(waiting(held, since_s=longest.awaits_s, reason=longest.awaits))
        if late or held:
            self._said = now
