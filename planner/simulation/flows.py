"""Max-min fair sharing: what flows get of links, disks and processors that they share.

All flows speed up together until something they use is full. Its users then keep their rate, and the others go on
(progressive filling: Bertsekas and Gallager, Data Networks, section 6.5.2). A flow may use several resources at once,
each in its own proportion.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from planner.arrays import Floats, Ints

UNLIMITED: Final = -1
"""In `Sharing.held_by`: flows that nothing holds back."""
ITSELF: Final = -2
"""In `Sharing.held_by`: flows that are as fast as they can be alone."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Sharing:
    """`rates` (K,) of one flow of each kind, and what holds it: `held_by` (K,), a resource, `UNLIMITED` or `ITSELF`."""

    rates: Floats
    held_by: Ints


def max_min(*, usage: Floats, capacity: Floats, counts: Floats, most: Floats) -> Sharing:
    """Return the max-min fair rates of K kinds of flows over R resources.

    A flow of kind k at rate 1 takes `usage[k, r]` (K, R) of a resource with `capacity[r]` (R,). There are `counts`
    (K,) flows of each kind, none faster than `most` (K,), which may be inf. Kinds without flows get rate 0.
    """
    rates, held_by = np.zeros(len(counts)), np.full(len(counts), UNLIMITED, np.int64)
    open_counts, left, uses = counts.astype(float), capacity.astype(float), usage > 0
    while (is_open := open_counts > 0).any():
        load = open_counts @ usage
        full_at = np.divide(left, load, out=np.full(len(left), np.inf), where=load > 0)
        reach = np.where(uses, full_at, np.inf)
        first = reach.argmin(axis=1)
        level = np.minimum(reach[np.arange(len(first)), first], most)
        # A resource is settled when none of its users is held back earlier elsewhere: several are in one round.
        earliest = np.where(uses & is_open[:, None], level[:, None], np.inf).min(axis=0)
        now = is_open & ((most <= level) | (earliest >= full_at)[first])
        rates[now] = level[now]
        held_by[now] = np.where(most[now] <= level[now], ITSELF, first[now])
        limited = now & np.isfinite(level)
        left = np.maximum(left - (counts * np.where(limited, level, 0.0)) @ usage, 0.0)
        open_counts[now] = 0.0
    held_by[np.isinf(rates)] = UNLIMITED
    return Sharing(rates=rates, held_by=held_by)
