"""Ernest (Venkataraman et al., NSDI 2016) re-implemented: non-negative least squares on 1, data/nodes, log nodes,
nodes.

It sees node counts and sizes only, so runs of all machine types are fitted together; it gives no range.
"""

from __future__ import annotations

from typing import Any

import numpy as np


class Predictor:
    """Predictor that needs runs; without any it has no answer."""

    name = "Ernest"
    needs_runs = True

    def run(self, task: dict[str, Any]) -> list[float]:
        """Return seconds for every query row of a task."""
        runtime_s = np.array([row["runtime_s"] for row in task["train"]], float)
        weights = nonnegative_least_squares(features(task["train"]), runtime_s)
        return (features(task["query"]) @ weights).tolist()


def features(rows: list[dict[str, Any]]) -> np.ndarray:
    """Return the four features of each row, shape (rows, 4)."""
    nodes, data_gb = (np.array([row[key] for row in rows], float) for key in ("n", "data_gb"))
    return np.stack([np.ones(len(rows)), data_gb / nodes, np.log(nodes), nodes], axis=1)


def nonnegative_least_squares(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return x >= 0 that minimises |a x - b| (Lawson and Hanson's active set), columns scaled to length 1 meanwhile."""
    length = np.maximum(np.linalg.norm(a, axis=0), 1e-300)
    a, x, free = a / length, np.zeros(a.shape[1]), np.zeros(a.shape[1], bool)
    for _ in range(30):
        gradient = a.T @ (b - a @ x)
        if free.all() or gradient[~free].max() <= 1e-9 * np.linalg.norm(b):
            break
        free[np.flatnonzero(~free)[gradient[~free].argmax()]] = True
        x = _settle(a, b, x, free)
    return x / length


def _settle(a: np.ndarray, b: np.ndarray, x: np.ndarray, free: np.ndarray) -> np.ndarray:
    """Solve on the free columns, binding again those that would turn negative."""
    while free.any():
        wanted = np.zeros_like(x)
        wanted[free] = np.linalg.lstsq(a[:, free], b, rcond=None)[0]
        negative = free & (wanted <= 0)
        if not negative.any():
            return wanted
        reach = (x[negative] / np.maximum(x[negative] - wanted[negative], 1e-300)).min()
        x = np.maximum(x + reach * (wanted - x), 0)
        free &= x > 1e-12
    return x
