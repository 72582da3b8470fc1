"""Several logged runs of one job: each predicts other clusters, and their errors on each other's runs are known."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np

from planner.spark.application.application import Application
from planner.spark.application.completeness import completeness
from planner.spark.model.machines import Nodes
from planner.spark.model.prediction import Prediction, Work, prediction_with_range

_SHARED: Final = 0.5
"""Assumed shared part of the error of two logs' predictions: the model is the same, the runs differ."""
_PRIOR_RUNS: Final = 4.0
"""Number of runs after which the assumed widths count as much as the observed errors."""
_SAME_SIZE: Final = 1.1


@dataclass(frozen=True, kw_only=True)
class Runs:
    """Runs of one job; the first describes the present cluster."""

    works: tuple[Work, ...]

    def predict(self, nodes: Nodes) -> Prediction:
        """Return the mean in ln(time) of the logs' predictions, weighted by how narrow their ranges are. The range is
        as wide as the mean's, times `spread`.
        """
        if len(self.works) == 1:
            return self.works[0].predict(nodes)
        foretold = [work.predict(nodes) for work in self.works]
        sigmas = np.array([prediction.sigma for prediction in foretold])
        weights = sigmas**-2 / (sigmas**-2).sum()
        own = float((weights**2 * sigmas**2).sum())
        variance = (1 - _SHARED) * own + _SHARED * float((weights * sigmas).sum()) ** 2
        mean = float(weights @ np.log([prediction.duration_s for prediction in foretold]))
        narrowest = foretold[int(sigmas.argmin())]
        return prediction_with_range(
            math.exp(mean), sigma=self.spread * math.sqrt(variance), ends_spill=narrowest.ends_spill
        )

    @cached_property
    def spread(self) -> float:
        """Width of the errors of each log's prediction of the others, relative to the assumed one: 1 at first, closer
        to the observed one with each run.
        """
        count = len(self.works)
        squares = [
            (math.log(other.timeline.duration_s / prediction.duration_s) / prediction.sigma) ** 2
            for work in self.works
            for other in self.works
            if other is not work and other.timeline.duration_s > 0
            for prediction in [work.predict(other.logged)]
        ]
        seen = sum(squares) / max(count - 1, 1)
        return math.sqrt((_PRIOR_RUNS + seen) / (_PRIOR_RUNS + len(squares) / max(count - 1, 1)))


def mismatch(application: Application, other: Application) -> str:
    """Return why `other` is not a run of the same job on the same data, '' if it may be."""
    if application.name != other.name:
        return f"it is called {other.name}"
    for what in ("input_bytes", "shuffle_write_bytes"):
        size, its = getattr(application.sums, what), getattr(other.sums, what)
        if max(size, its) > _SAME_SIZE * min(size, its):
            if min(completeness(one).share for one in (application, other)) * _SAME_SIZE < 1:
                return "one of the two logs lacks tasks: whether they did the same work is unknown"
            return f"its {what.replace('_', ' ')} are {its:.3g}, not {size:.3g}: it did other work"
    return "" if other.ended else "its log has no end"


def latest_first(applications: Sequence[Application]) -> list[Application]:
    """Return runs, latest start first."""
    return sorted(applications, key=lambda application: application.started_at_s or 0.0, reverse=True)
