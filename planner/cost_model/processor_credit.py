"""Time of burstable processors: at full speed on credit, then at the share that they sustain."""

from __future__ import annotations

import numpy as np

from planner.arrays import Floats


def on_credit_s(full_s: Floats, *, earlier_s: Floats, share: Floats, credit_s: Floats) -> Floats:
    """Return the seconds of what takes `full_s` at full speed, elementwise; NaN where `share` is unknown.

    A node sustains `share` of its speed, and `credit_s` seconds at full speed beyond that. By the second t it has done
    min(t, credit_s + share t), so the work takes max(full_s, (full_s - credit_s) / share). What took `earlier_s` before
    spent (1 - share) of each second. Nothing is saved up while processors wait: that would be faster, never slower.
    Sources: the credit tables of EC2 (standard mode) and of Azure's B series, in burstable.csv of the catalogs.
    """
    left_s = np.maximum(credit_s - earlier_s * (1 - share), 0.0)
    return np.where(full_s > 0, np.maximum(full_s, (full_s - left_s) / share), 0.0)
