"""Which cluster size of each type to show, and which cluster comes first.

The default objective is the fastest cluster within 5% of the least total cost: equation 7 of SoCC 2015 does not
depend on the number of nodes, so cost alone leaves the choice open.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from planner.arrays import Flags, Rows
from planner.cost_model.estimate import Estimates
from planner.schemas.plan import Candidate, Objective

SLACK: Final = 1.05
"""How far above the least total cost a faster cluster may lie under the default objective."""


@dataclass(frozen=True, kw_only=True)
class Cell:
    """One cluster in the arrays of estimates: layout `row`, and `column` into the node counts."""

    row: int
    column: int


def best_cell(rows: Rows, estimates: Estimates, good: Flags, *, objective: Objective, least_usd: float) -> Cell | None:
    """Return the best cluster among the layouts `rows` of one type; None when none is admissible.

    `least_usd` is the least total cost of any type: balanced, a type that comes within the slack of it is shown at
    its fastest there, another at its fastest within the slack of its own least.
    """
    total = np.where(good[rows], estimates.total_usd[rows], np.inf)
    own_least = total.min()
    if not np.isfinite(own_least):
        return None
    time = np.where(good[rows], estimates.expected_s[rows], np.inf)
    if objective == "balanced":
        limit = SLACK * (least_usd if own_least <= SLACK * least_usd else own_least)
        time = np.where(total <= limit, time, np.inf)
    energy = estimates.energy_j(rows) if objective == "energy" else time
    first, second = {"cost": (total, time), "energy": (np.where(good[rows], energy, np.inf), time)}.get(
        objective, (time, total)
    )
    ties = first <= first.min() * (1 + 1e-9)
    row, column = np.unravel_index(np.argmin(np.where(ties, second, np.inf)), total.shape)
    return Cell(row=int(rows[row]), column=int(column))


def order(candidates: Sequence[Candidate], objective: Objective) -> list[Candidate]:
    """Return the candidates best first under `objective`."""
    if not candidates:
        return []
    limit = SLACK * min(c.cost_usd.total for c in candidates)
    keys: dict[str, Callable[[Candidate], tuple[float, ...]]] = {
        "cost": lambda c: (c.cost_usd.total, c.time_s.expected),
        "energy": lambda c: (math.inf if c.energy_j is None else c.energy_j, c.time_s.expected),
        "time": lambda c: (c.time_s.expected, c.cost_usd.total),
        "balanced": lambda c: (
            (0, c.time_s.expected, c.cost_usd.total)
            if c.cost_usd.total <= limit
            else (1, c.cost_usd.total, c.time_s.expected)
        ),
    }
    return sorted(candidates, key=keys[objective])


def frontier(estimates: Estimates, good: Flags) -> list[Cell]:
    """Return the admissible clusters that no other beats in both time and total cost, fastest first."""
    columns = _spread_columns(len(estimates.nodes))
    total = np.where(good[:, columns], estimates.total_usd[:, columns], np.inf).ravel()
    time = estimates.expected_s[:, columns].ravel()
    fastest_first = np.lexsort((total, time))
    fastest_first = fastest_first[np.isfinite(total[fastest_first])]
    costs = total[fastest_first]
    before = np.minimum.accumulate(np.concatenate(([np.inf], costs)))[:-1]
    cells = fastest_first[costs < before]
    return [Cell(row=int(cell // len(columns)), column=int(columns[cell % len(columns)])) for cell in cells]


def _spread_columns(count: int, *, most: int = 60) -> Rows:
    """Return at most `most` columns, evenly spread on a logarithmic scale: neighbours differ too little to choose
    between.
    """
    return np.unique(np.geomspace(1, count, min(count, most)).round().astype(int)) - 1
