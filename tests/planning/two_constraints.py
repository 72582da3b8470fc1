"""A deadline and a budget by hand, for two types at one and two nodes."""

from __future__ import annotations

import numpy as np

from planner.planning.request.constraints import Constraint

DEADLINE = Constraint(
    name="deadline",
    reason="misses the deadline of 60 s",
    measure=np.array([[120.0, 50.0], [90.0, 70.0]]),
    limit=60.0,
    shown="takes",
)
BUDGET = Constraint(
    name="budget",
    reason="exceeds the budget of $10",
    measure=np.array([[5.0, 20.0], [6.0, 30.0]]),
    limit=10.0,
    shown="costs up to",
)
