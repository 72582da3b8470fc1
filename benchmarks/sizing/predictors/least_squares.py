"""Plain least squares of log time on the planner's columns: log nodes, log data, the logs of the machine's
specifications, and every numeric option, each scaled to its spread in the runs; of all solutions the smallest.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from predictors.boosting import features, numeric_options


class Predictor:
    """Predictor that needs runs; without any it has no answer."""

    name = "least squares"
    needs_runs = True

    def run(self, task: dict[str, Any]) -> list[float]:
        """Return seconds for every query row of a task."""
        options = numeric_options(task["train"])
        train, query = (features(task[part], task["specs"], options) for part in ("train", "query"))
        middle, spread = train.mean(axis=0), train.std(axis=0)
        varies = spread > 1e-9 * (1 + np.abs(middle))
        log_s = np.log([row["runtime_s"] for row in task["train"]])
        scaled = (train - middle)[:, varies] / spread[varies]
        slopes = np.linalg.lstsq(scaled, log_s - log_s.mean(), rcond=None)[0]
        return np.exp(log_s.mean() + (query - middle)[:, varies] / spread[varies] @ slopes).tolist()
