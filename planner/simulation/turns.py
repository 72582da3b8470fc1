"""Who does which task next: each node its own in turn, or whoever is free the next of all."""

from __future__ import annotations

from bisect import bisect_right
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Protocol


class Turns(Protocol):
    """Hands out the shares of a node's work that tasks do, one for each node of a group at a time."""

    def next(self) -> float:
        """Return the share of the next task, 0.0 if there is none."""


@dataclass(kw_only=True, eq=False)
class OwnTurns:
    """Tasks whose data lies on their node."""

    shares: deque[float]

    def next(self) -> float:
        """Return the share of the node's next task, 0.0 if there is none."""
        return self.shares.popleft() if self.shares else 0.0


@dataclass(kw_only=True, eq=False)
class CommonWork:
    """Tasks whose data all nodes reach: `shares` are those of a node in turn, if all were as fast, of `nodes` nodes."""

    shares: Sequence[float]
    nodes: int
    _done: float = 0.0
    _ends: list[float] = field(init=False)

    def __post_init__(self) -> None:
        self._ends = list(accumulate(self.shares))[:-1]

    def turns(self, nodes: int) -> Turns:
        """Return the turns of a group of so many nodes."""
        return _CommonTurns(work=self, nodes=nodes)

    def take(self, nodes: int) -> float:
        """Have each of some nodes do the next task, as long as tasks are by now; return its share."""
        left = max(0.0, 1.0 - self._done) * self.nodes / nodes
        share = min(self.shares[bisect_right(self._ends, self._done + 1e-9)], left)
        if left - share < share * 1e-9:
            share, self._done = left, 1.0
        else:
            self._done += share * nodes / self.nodes
        return share


@dataclass(kw_only=True, eq=False)
class _CommonTurns:
    work: CommonWork
    nodes: int

    def next(self) -> float:
        return self.work.take(self.nodes)


def own_turns(shares: Sequence[float]) -> Turns:
    """Return the turns of nodes that do all of `shares` themselves."""
    return OwnTurns(shares=deque(shares))
