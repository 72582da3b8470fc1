"""The tasks of one group's nodes in a phase: a few at a time, one reads while others compute, send and write.

All nodes of a group do the same at the same time. Many like tasks are joined to longer ones, except at the beginning
and at the end, where single tasks decide how soon links have something to carry and when the last node is done.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from planner.simulation.events import Clock
from planner.simulation.phase_work import Tasks
from planner.simulation.resources import COMPUTE, ORDER, READ, SEND, STAGES, WRITE

_GROWTH: Final = 1.5
"""By what factor a joined task is longer than the one before it, up to the longest."""
_LONGEST_SHARE: Final = 1 / 48
"""Of a node's work, for one joined task."""


def shares(per_node: float) -> list[float]:
    """Return which shares of a node's work its tasks do, in turn: of `per_node` equal tasks, long ones joined."""
    longest, left = max(1 / per_node, _LONGEST_SHARE), 1.0
    first, share = list[float](), 1 / per_node
    while left > 1e-12:
        part = min(share, left)
        first.append(part)
        left -= part
        if left <= 1e-12:
            break
        last = min(share, left)
        left -= last
        first.append(last)
        share = min(share * _GROWTH, longest)
    return first[::2] + first[1::2][::-1]


@dataclass(kw_only=True, eq=False)
class TaskWaves:
    """Keeps tasks of group number `group` under way on a clock until all are done, beginning with one and adding one
    for each that was grouped or sorted.
    """

    clock: Clock
    group: int
    tasks: Tasks
    done: float = 0.0
    _queue: deque[float] = field(default_factory=deque)
    _to_read: deque[float] = field(default_factory=deque)
    _in_place: int = 0
    _under_way: int = 0
    _computed: int = 0
    _is_reading: bool = False

    def begin(self) -> None:
        """Start the first tasks."""
        self._queue.extend(shares(self.tasks.per_node))
        self._submit()

    def _submit(self) -> None:
        most = min(self.tasks.under_way, 1 + self._computed)
        while self._queue and self._under_way < most and self._in_place < self.tasks.at_once:
            share = self._queue.popleft()
            self._under_way += 1
            self._in_place += 1
            self._start(ORDER, share, self._ordered)

    def _ordered(self, share: float) -> None:
        self._to_read.append(share)
        self._read_next()

    def _read_next(self) -> None:
        if self._to_read and not self._is_reading:
            self._is_reading = True
            self._start(READ, self._to_read.popleft(), self._read)

    def _read(self, share: float) -> None:
        self._is_reading = False
        self._start(COMPUTE, share, self._compute_ended)
        self._read_next()

    def _compute_ended(self, share: float) -> None:
        self._computed += 1
        self._start(WRITE, share, self._written)

    def _written(self, share: float) -> None:
        self._in_place -= 1
        self._start(SEND, share, self._sent)
        self._submit()

    def _sent(self, share: float) -> None:
        self.done += share
        self._under_way -= 1
        self._submit()

    def _start(self, stage: int, share: float, then: Callable[[float], None]) -> None:
        self.clock.start(len(STAGES) * self.group + stage, share, lambda: then(share))
