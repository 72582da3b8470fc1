"""The number of simultaneous tasks on a node, and of threads in each: enough to keep its processors busy.

While one task sorts or groups, others read, send and write, so even a node of one processor runs three. A large node
runs more of them rather than giving all threads to three, because a task reads or writes one stream. Beyond eight
tasks, each task's memory would get small, so tasks get threads instead. A node begins with one slice and gets one more
for each that it has grouped. So links have blocks to carry before several slices have been grouped in parallel.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

_FEWEST_TASKS: Final = 3
"""One task reads, one sorts or groups, one writes."""
_MOST_TASKS: Final = 8
_RAYS_STEP: Final = 10_000
"""Ray counts processors in steps of 1/10,000."""


@dataclass(frozen=True, kw_only=True)
class Concurrency:
    """`tasks` run at a time on every node of a cluster."""

    tasks: int

    @classmethod
    def of(cls, cpus: Iterable[float]) -> Concurrency:
        """Return the concurrency for nodes that offer these numbers of CPUs: that of the smallest."""
        return cls(tasks=min(_MOST_TASKS, max(_FEWEST_TASKS, int(min(cpus, default=0)))))

    @property
    def in_progress(self) -> int:
        """Least number of a node's slices under way (`Sizes.slices`): one more than tasks, so that links never wait."""
        return self.tasks + 1

    def partitions(self, *, copied: bool) -> int:
        """Return the number of a node's partitions read, sorted, or sent at a time: twice as many where they are
        `copied`, and so sent, so that links have several to carry.
        """
        return 2 * self.in_progress if copied else self.in_progress

    @property
    def maps(self) -> int:
        """Number of a node's slices being read and grouped, so that a processor is left for arriving blocks."""
        return self.tasks - 1

    def sorts(self, *, copied: bool) -> int:
        """Return the number of a node's partitions being read and sorted: where they are `copied`, a processor is left
        for copies from other nodes.
        """
        return self.tasks - 1 if copied else self.tasks

    def cpus(self, offered: float) -> float:
        """Return a task's share of the CPUs that a node offers, rounded down to Ray's steps."""
        return math.floor(offered / self.tasks * _RAYS_STEP) / _RAYS_STEP

    def threads(self, offered: float) -> int:
        """Return the threads of a task on a node that offers `offered` CPUs."""
        return max(1, int(offered // self.tasks))


_MOST_UNDER_WAY: Final = 4
"""Limit on a node's slices under way, as a multiple of the slices that it may hold: a slice may have only empty blocks
left, but these are queued, too.
"""


@dataclass(kw_only=True, slots=True)
class ActiveMaps:
    """A node's slices: bytes that it holds or will hold, slices with a block not yet stored, slices being grouped, and
    slices grouped so far.
    """

    held_bytes: float = 0
    slices: int = 0
    grouping: int = 0
    grouped: int = 0

    def startable_slices(self, concurrency: Concurrency, *, slices: int, slice_bytes: float) -> int:
        """Return the number of further slices that the node may begin, with up to `slices` of `slice_bytes` under way.

        The limits are the room in its object store in addition to the blocks it holds, the slices it may group at a
        time, and a number that keeps empty blocks from piling up.
        """
        return min(
            int((min(slices, 1 + self.grouped) * slice_bytes - self.held_bytes) // slice_bytes),
            concurrency.maps - self.grouping,
            _MOST_UNDER_WAY * slices - self.slices,
        )


def sorts_to_begin(concurrency: Concurrency, *, in_progress: int, sorting: int, copied: bool) -> int:
    """Return the number of further partitions that a node may begin with `in_progress` partitions, of which it reads
    and sorts `sorting`. Those that are `copied` stay under way until another node has them, too.
    """
    return max(0, min(concurrency.partitions(copied=copied) - in_progress, concurrency.sorts(copied=copied) - sorting))
