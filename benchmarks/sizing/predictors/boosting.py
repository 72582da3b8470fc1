"""Gradient-boosted regression trees on log time (Friedman 2001) re-implemented: 150 trees of depth 3, step 0.1, least
squares.

Features are the planner's inputs: log nodes, log data, the logs of the machine's specifications, and every numeric
option.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

TREES, DEPTH, STEP = 150, 3, 0.1
SPECS = ("vcpu", "mem_gib", "ghz", "ebs_mbps", "net_base_gbps", "nvme_w_MBps")
Tree = Callable[[np.ndarray], np.ndarray]


class Predictor:
    """Predictor that needs runs; without any it has no answer."""

    name = "boosting"
    needs_runs = True

    def run(self, task: dict[str, Any]) -> list[float]:
        """Return seconds for every query row of a task."""
        options = numeric_options(task["train"])
        x = features(task["train"], task["specs"], options)
        log_s = np.log([row["runtime_s"] for row in task["train"]])
        model = boost(x, log_s)
        return np.exp(model(features(task["query"], task["specs"], options))).tolist()


def numeric_options(train: Sequence[dict[str, Any]]) -> list[str]:
    """Return the numeric columns of the runs beside nodes, data and time."""
    return [
        key
        for key, value in train[0].items()
        if isinstance(value, int | float) and key not in ("n", "data_gb", "runtime_s")
    ]


def features(rows: list[dict[str, Any]], specs: dict[str, Any], options: list[str]) -> np.ndarray:
    """Return the features of each row, shape (rows, 8 + options)."""
    scale = [[np.log(row["n"]), np.log(row["data_gb"])] for row in rows]
    machine = [[np.log(float(specs[row["type"]][key]) + 1e-3) for key in SPECS] for row in rows]
    return np.hstack([scale, machine, np.array([[float(row[key]) for key in options] for row in rows])])


def boost(x: np.ndarray, y: np.ndarray) -> Tree:
    """Return the fitted ensemble as a function of features."""
    base, trees, left = y.mean(), [], y - y.mean()
    for _ in range(TREES):
        trees.append(grow(x, left, DEPTH))
        left = left - STEP * trees[-1](x)
    return lambda query: base + STEP * sum(tree(query) for tree in trees)


def grow(x: np.ndarray, y: np.ndarray, depth: int) -> Tree:
    """Return a least-squares regression tree as a function of features."""
    mean = y.mean()
    split = best_split(x, y) if depth and len(y) > 1 else None
    if split is None:
        return lambda query: np.full(len(query), mean)
    column, threshold = split
    below = x[:, column] <= threshold
    low, high = grow(x[below], y[below], depth - 1), grow(x[~below], y[~below], depth - 1)
    return lambda query: np.where(query[:, column] <= threshold, low(query), high(query))


def best_split(x: np.ndarray, y: np.ndarray) -> tuple[int, float] | None:
    """Return the column and threshold that reduce the squared error most, or None when no column varies."""
    best, split = 1e-12, None
    for column in range(x.shape[1]):
        order = np.argsort(x[:, column], kind="stable")
        values, sums = x[order, column], np.cumsum(y[order] - y.mean())
        count = np.arange(1, len(y))
        gain = np.where(values[1:] > values[:-1], sums[:-1] ** 2 * len(y) / (count * (len(y) - count)), 0.0)
        if gain.max() > best:
            best, cut = gain.max(), int(gain.argmax())
            split = column, (values[cut] + values[cut + 1]) / 2
    return split
