"""How long tasks wait for a link that they share: each computes, then fetches, and others of its node may be fetching.

That is a closed queue with think time. Its mean value analysis is closed by Schweitzer's approximation, that a task
which comes finds the others as they are on average (Schweitzer 1979): exact for one slot, and for very many.
"""

from __future__ import annotations

import numpy as np

from planner.arrays import Floats


def link_waits_s(*, transfer_s: Floats, other_s: Floats, tasks: Floats, slots_per_node: Floats) -> Floats:
    """Return the seconds that all tasks of each step wait for their links, transfers included; NaN is unknown.

    `transfer_s` is the time of all transfers, one after another; `other_s` is what the tasks do else, added up.
    """
    service, think = transfer_s / tasks, other_s / tasks
    crowded = slots_per_node * service - think
    return np.asarray(tasks * (crowded + np.sqrt(crowded**2 + 4 * service * think)) / 2)
