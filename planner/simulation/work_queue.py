"""Queues of tasks in a simulated phase: each node takes its own in turn, or any free node takes the next of all."""

from __future__ import annotations

from bisect import bisect_right
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Protocol


class WorkQueue(Protocol):
    """Hands out the shares of a node's work that tasks do, one for each node of a group at a time."""

    def next(self) -> float:
        """Return the share of the next task, 0.0 if there is none."""


@dataclass(kw_only=True, eq=False)
class OwnWork:
    """Tasks whose data lies on their node."""

    shares: deque[float]

    def next(self) -> float:
        """Return the share of the node's next task, 0.0 if there is none."""
        return self.shares.popleft() if self.shares else 0.0


@dataclass(kw_only=True, eq=False)
class CommonWork:
    """Tasks whose data all nodes reach: `shares` are those of a node in turn, if all `nodes` nodes were as fast."""

    shares: Sequence[float]
    nodes: int
    _done: float = 0.0
    _ends: list[float] = field(init=False)

    def __post_init__(self) -> None:
        self._ends = list(accumulate(self.shares))[:-1]

    def queue(self, nodes: int) -> WorkQueue:
        """Return the queue of a group of `nodes` nodes."""
        return _CommonQueue(work=self, nodes=nodes)

    def take(self, nodes: int) -> float:
        """Have each of some nodes do the next task, at the present length of tasks; return its share."""
        left = max(0.0, 1.0 - self._done) * self.nodes / nodes
        share = min(self.shares[bisect_right(self._ends, self._done + 1e-9)], left)
        if left - share < share * 1e-9:
            share, self._done = left, 1.0
        else:
            self._done += share * nodes / self.nodes
        return share


@dataclass(kw_only=True, eq=False)
class _CommonQueue:
    work: CommonWork
    nodes: int

    def next(self) -> float:
        return self.work.take(self.nodes)


def own_work(shares: Sequence[float]) -> WorkQueue:
    """Return the queue of nodes that do all of `shares` themselves."""
    return OwnWork(shares=deque(shares))
