"""Times of jobs that real runs teach: the expected time, the median and the end of the range."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import NormalDist
from typing import Any, Final, Protocol

import numpy as np

from planner.arrays import Floats
from planner.statistics.order_statistics import Durations

KEPT: Final = 0.95
"""Probability that a run keeps to the upper end of the range."""
Z_KEPT: Final = NormalDist().inv_cdf(KEPT)
_DEVIATES: Final = np.sort(np.append(np.linspace(-4.0, 4.0, 129), Z_KEPT))
_CDF: Final = np.array([NormalDist().cdf(deviate) for deviate in _DEVIATES[:-1].tolist()] + [1.0])


@dataclass(frozen=True, kw_only=True, eq=False)
class TaughtJobs:
    """Expected, median and high seconds of jobs, all of one shape; `ratio` is the what-if's share of them."""

    usual_s: Floats
    median_s: Floats
    high_s: Floats
    ratio: Floats

    def quantile_s(self, probability: float) -> Floats:
        """Return a quantile of each time: lognormal, through the median and the high end."""
        return np.asarray(self.median_s * np.exp(self._sigma * NormalDist().inv_cdf(probability)))

    @property
    def durations(self) -> Durations:
        """The distributions of the times (M,)."""
        times = self.median_s[:, None] * np.exp(self._sigma[:, None] * _DEVIATES)
        return Durations(times_s=times, cdf=np.broadcast_to(_CDF, times.shape))

    @property
    def _sigma(self) -> Floats:
        return np.asarray(np.log(self.high_s / self.median_s) / Z_KEPT)


class Teacher(Protocol):
    """Tells the times of the jobs of a context that take `after_s` by the equations: (R, N) of every layout at each of
    `nodes` (N,) by estimates, or (M,) of clusters on a layout each.
    """

    def estimated(self, context: Any, nodes: Floats, after_s: Floats) -> TaughtJobs:
        """Return the jobs of all layouts."""

    def exactly(self, context: Any, nodes: Floats, after_s: Floats) -> TaughtJobs:
        """Return the jobs of clusters."""
