"""The number of tasks on a node at a time, and of threads in each: as many as its processors have work for.

While one task sorts or groups, others read, send and write, so even a node of one processor runs three. A large node
runs more of them rather than giving all threads to three, because what a task reads or writes is one stream. Beyond
eight tasks, what each may hold in memory would get small, and tasks get threads instead.
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
    """`tasks` at a time on every node of a cluster."""

    tasks: int

    @classmethod
    def of(cls, cpus: Iterable[float]) -> Concurrency:
        """Return what suits nodes that offer so many CPUs: what the smallest of them does well."""
        return cls(tasks=min(_MOST_TASKS, max(_FEWEST_TASKS, int(min(cpus, default=0)))))

    @property
    def under_way(self) -> int:
        """How many slices of a node are under way at least (`Sizes.slices`): one more than tasks, so that links never
        wait.
        """
        return self.tasks + 1

    def partitions(self, *, copied: bool) -> int:
        """How many partitions of a node are read, sorted, or, where they are `copied`, sent at a time: then twice as
        many, so that links have several to carry.
        """
        return 2 * self.under_way if copied else self.under_way

    @property
    def maps(self) -> int:
        """Slices of one node that are being read and grouped, so that a processor is left for blocks that arrive."""
        return self.tasks - 1

    def sorts(self, *, copied: bool) -> int:
        """Partitions of one node that are being read and sorted: where they are `copied`, a processor is left for
        copies from others.
        """
        return self.tasks - 1 if copied else self.tasks

    def cpus(self, offered: float) -> float:
        """Return what a task takes of the CPUs that a node offers, rounded down to what Ray can count."""
        return math.floor(offered / self.tasks * _RAYS_STEP) / _RAYS_STEP

    def threads(self, offered: float) -> int:
        """Return the threads of a task on a node that offers so many CPUs."""
        return max(1, int(offered // self.tasks))
