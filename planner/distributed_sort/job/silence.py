"""Nodes of which no task ends: they are named, and one that holds up the others is as lost."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection
from typing import Final

from planner.distributed_sort.job.events import Emit

SAID_EVERY_S: Final = 10.0
"""Nobody waits longer without hearing for what."""
_LEAST_S: Final = 90.0
"""Longer than a connection that waits for a stopped node is kept: its own node is heard of before."""
_TIMES_LONGEST: Final = 10
"""As long as the longest task so far took: more is no slow node."""


def waiting(nodes: Collection[str], *, since_s: float) -> dict[str, object]:
    """Return the event that nodes have been waited for so long."""
    return {"event": "waiting", "nodes": sorted(nodes), "since_s": round(since_s)}


class Silence:
    """When something was heard last of each node that has tasks."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._heard: dict[str, float] = {}
        self._said = clock()
        self._longest_s = 0.0

    def now(self) -> float:
        """Return the time as it counts here."""
        return self._clock()

    def begin(self, node: str) -> None:
        """Note that a node has a task, as from now on something is to be heard."""
        self._heard.setdefault(node, self._clock())

    def hear(self, node: str, *, took_s: float) -> None:
        """Note that a task of a node ended."""
        self._heard[node] = self._clock()
        self._longest_s = max(self._longest_s, took_s)

    def look(self, busy: Collection[str], emit: Emit) -> str:
        """Emit which of the nodes with tasks were not heard of for a while. Return one that others wait for in vain, ''
        if there is none: the one that is silent longest, while others were heard of since.
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
        limit_s = max(_LEAST_S, _TIMES_LONGEST * self._longest_s)
        if not self._longest_s or now - self._heard[worst] < limit_s:
            return ""
        self._heard = dict.fromkeys(self._heard, now)
        return worst
