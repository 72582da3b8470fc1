"""The tasks of one group's nodes in a phase: as many at a time as the scheduler begins, by its own rules.

All nodes of a group do the same at the same time. A task takes one of the node's places until the data that stays on
the node is written. Data for others is sent afterwards, and takes a place where it is stored.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

from planner.simulation.events import Clock
from planner.simulation.phase_tasks import Tasks
from planner.simulation.resources import COMPUTE, ORDER, READ, STAGES, STORE, WRITE
from planner.simulation.work_queue import WorkQueue
from planner.sort_policy.concurrency import ActiveMaps, sorts_to_begin


@dataclass(kw_only=True, eq=False)
class Places:
    """Places for the tasks of a node; tasks that find all places taken wait for their turn."""

    free: int
    _waiting: deque[Callable[[], None]] = field(default_factory=deque)

    def take(self, then: Callable[[], None]) -> None:
        """Call `then` as soon as a place is free."""
        if self.free:
            self.free -= 1
            then()
        else:
            self._waiting.append(then)

    def leave(self) -> None:
        """Free a place, or give it to the task that has waited longest."""
        if self._waiting:
            self._waiting.popleft()()
        else:
            self.free += 1


Send = Callable[[int, float, Callable[[float], None]], None]
"""Sends the output for others of a group's task, given its share of the work, and calls back with each part of that
share that has been stored.
"""


@dataclass(kw_only=True, eq=False)
class TaskWaves:
    """Keeps tasks of group number `group` under way on a clock until all are done.

    One of a node's tasks reads at a time, and one writes, as fast as the disks are. Otherwise, identical tasks that
    began together would go on in step, and leave the processors idle while they all wait for the disks.
    """

    clock: Clock
    group: int
    tasks: Tasks
    send: Send
    queue: WorkQueue
    places: Places = field(init=False)
    _readers: Places = field(default_factory=lambda: Places(free=1))
    _writers: Places = field(default_factory=lambda: Places(free=1))
    _maps: ActiveMaps = field(default_factory=ActiveMaps)
    """Slices under way; held data is in slices of the full length, and a joined task counts as one."""

    def __post_init__(self) -> None:
        self.places = Places(free=self.tasks.concurrency.tasks)

    @property
    def is_grouping(self) -> bool:
        """True if more data is to be sent soon."""
        return self._maps.grouping > 0

    def begin(self) -> None:
        """Start the first tasks."""
        self._submit()

    def store(self, amount: float, then: Callable[[], None]) -> None:
        """Have a task write `amount` of the data that a node exchanges, and call `then`."""

        def on_stored() -> None:
            self.places.leave()
            then()

        self.places.take(lambda: self.clock.start(len(STAGES) * self.group + STORE, amount, on_stored))

    def _submit(self) -> None:
        for _ in range(self._startable_slices()):
            if not (share := self.queue.next()):
                break
            self._maps.slices += 1
            self._maps.grouping += 1
            self._maps.held_bytes += self._held_share(share)
            self._start(ORDER, share, self._on_ordered)

    def _startable_slices(self) -> int:
        tasks = self.tasks
        if tasks.slices:
            return self._maps.startable_slices(tasks.concurrency, slices=tasks.slices, slice_bytes=1.0)
        return sorts_to_begin(
            tasks.concurrency, in_progress=self._maps.slices, sorting=self._maps.grouping, copied=tasks.copied
        )

    def _held_share(self, share: float) -> float:
        return min(1.0, share / self.tasks.longest)

    def _on_ordered(self, share: float) -> None:
        self.places.take(lambda: self._readers.take(lambda: self._start(READ, share, self._on_read)))

    def _on_read(self, share: float) -> None:
        self._readers.leave()
        self._start(COMPUTE, share, self._on_computed)

    def _on_computed(self, share: float) -> None:
        self._writers.take(lambda: self._start(WRITE, share, self._on_written))

    def _on_written(self, share: float) -> None:
        self._writers.leave()
        self.places.leave()
        self._maps.grouping -= 1
        self._maps.grouped += 1
        left, held = [share], self._held_share(share) / share

        def on_sent(part: float) -> None:
            left[0] -= part
            self._maps.held_bytes -= part * held
            if left[0] <= share * 1e-9:
                self._maps.slices -= 1
                self._maps.held_bytes = max(0.0, self._maps.held_bytes - left[0] * held)
            self._submit()

        self.send(self.group, share, on_sent)
        self._submit()

    def _start(self, stage: int, share: float, then: Callable[[float], None]) -> None:
        self.clock.start(len(STAGES) * self.group + stage, share, lambda: then(share))
