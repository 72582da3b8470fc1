"""How much longer the first tasks of an executor take than its later ones of the same stage.

A new executor loads classes, and the first tasks of every stage run code that is not compiled yet. Each executor does
that for itself, so it grows with their number and not with the data.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class WarmUp:
    """`excess_s` is what a task takes longer than later ones where its slot ran 0, 1-2, 3-6, 7-14, ... tasks of the
    stage before it. `settled_s_at` are the seconds of the tasks without their excess, at QUANTILES.
    """

    excess_s: tuple[float, ...]
    settled_s_at: tuple[float, ...]

    def seconds(self, tasks: float) -> float:
        """Return what the excess of so many tasks, one after another on a slot, adds up to."""
        begins = [(1 << place) - 1 for place in range(len(self.excess_s))]
        ran = [min(max(tasks - begin, 0.0), begin + 1.0) for begin in begins]
        return sum(excess * count for excess, count in zip(self.excess_s, ran, strict=True))
