"""Predicted seconds: each explanation gives a normal for log time, and their mixture a median and a range."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import NormalDist
from typing import Final

import numpy as np

from planner.arrays import Floats
from planner.calibration.physics import Workload, log_seconds, unit_seconds
from planner.calibration.posterior import Explanation, Runs, weights
from planner.calibration.residual import Kinship, coordinates

COVERAGE: Final = 0.9
"""Share of unseen runs that a range is to contain."""
PRIOR_WORTH_RUNS: Final = 2.0
"""Number of runs that the prior counts for in judging the error of a prediction; chosen by leaving out whole jobs
(benchmarks/sizing/README.md).
"""
CHARGED_WHERE_IT_RAN: Final = 1.1
MOST_CHARGED: Final = 1.4
"""Most expected time over the median: for data as large as the runs', and for any (benchmarks/sizing/README.md)."""
_MOST_STEPS: Final = 60
_CLOSE: Final = 1e-9
"""Tolerance of a quantile of log seconds; Newton's method needs about six steps, bisection the most."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Mixture:
    """Normals of log seconds: `mean` and `sd` of shape (parts, rows), `weight` (parts,) summing to 1.

    `widening` is their width over the posterior's, `most_charged` the maximum of expected time over the median, for all
    rows or each.
    """

    mean: Floats
    sd: Floats
    weight: Floats
    widening: float = 1.0
    most_charged: float | Floats = MOST_CHARGED

    def quantiles_s(self, *levels: float) -> Floats:
        """Return the seconds that a run stays below with each probability, shape (levels, rows)."""
        return np.exp([self._log_quantile(level) for level in levels])

    def range_s(self) -> Floats:
        """Return expected time, lower and upper end of the range, shape (3, rows)."""
        low, high = self.quantiles_s((1 - COVERAGE) / 2, (1 + COVERAGE) / 2)
        return np.array([np.clip(self.expected_s(), low, high), low, high])

    def expected_s(self) -> Floats:
        """Return the explanations' usual times, averaged by weight, shape (rows,).

        A cluster that may not hold the working set is charged for it, so that the cheapest by this measure is the
        cheapest on average: by `most_charged` at most, as larger charges err where the data fits. Widening after few
        runs is left out: it gives the size of a possible error, not its direction.
        """
        median = self._log_quantile(0.5)
        expected = self.weight @ np.exp(median + (self.mean - median) / self.widening)
        return np.minimum(expected, self.most_charged * np.exp(median))

    def widened(self, factor: float) -> Mixture:
        """Return the same medians with every deviation from them multiplied by `factor`, in log seconds."""
        median = self._log_quantile(0.5)
        mean = median + factor * (self.mean - median)
        return replace(self, mean=mean, sd=factor * self.sd, widening=factor * self.widening)

    def moved(self, by: Floats) -> Mixture:
        """Return the same distributions at log times that are larger `by` some amount for each row."""
        return replace(self, mean=self.mean + by)

    def _log_quantile(self, level: float) -> Floats:
        low, high = (self.mean - 8 * self.sd).min(axis=0), (self.mean + 8 * self.sd).max(axis=0)
        at = self.weight @ self.mean + NormalDist().inv_cdf(level) * (self.weight @ self.sd)
        for _ in range(_MOST_STEPS):
            cdf, density = _normal_cdf_and_density((at - self.mean) / self.sd)
            beyond = self.weight @ cdf - level
            low, high = np.where(beyond < 0, at, low), np.where(beyond < 0, high, at)
            with np.errstate(divide="ignore", invalid="ignore"):
                stepped = at - beyond / (self.weight @ (density / self.sd))
            further = np.where((stepped >= low) & (stepped <= high), stepped, (low + high) / 2)
            moved, at = np.abs(further - at).max(initial=0.0), further
            if moved < _CLOSE:
                break
        return np.asarray(at)


def joined(parts: Sequence[tuple[float, Mixture]]) -> Mixture:
    """Return the mixture of some mixtures, each with its share."""
    return Mixture(
        mean=np.concatenate([part.mean for _, part in parts]),
        sd=np.concatenate([part.sd for _, part in parts]),
        weight=np.concatenate([share * part.weight for share, part in parts]),
    )


def predict(explanations: tuple[Explanation, ...], runs: Runs, work: Workload, options: Floats) -> Mixture:
    """Return the distribution of one new run's log seconds for each row of `work`."""
    where = coordinates(work, options)
    units = {shape: unit_seconds(work, shape) for shape in {explanation.family.shape for explanation in explanations}}
    towards = Kinship(where, runs.where, runs.where)
    parts = [log_seconds(explanation.coefficients, units[explanation.family.shape]) for explanation in explanations]
    moments = []
    for explanation, (log_s, jacobian) in zip(explanations, parts, strict=True):
        cross, own = towards.covariance(explanation.amplitude), towards.variance(explanation.amplitude)
        moments.append(_moments(explanation, log_s, jacobian, cross=cross, own=own))
    mean, variance = (np.array(column) for column in zip(*moments, strict=True))
    return Mixture(mean=mean, sd=np.sqrt(variance), weight=weights(explanations))


def few_runs_factor(runs: int) -> float:
    """Return the widening of a normal's range after some runs: Student's t over the normal quantile.

    Few runs hardly determine the scatter itself. The t quantile is Fisher's expansion in 1 / degrees of freedom, within
    1.5% from two degrees on.
    """
    z = NormalDist().inv_cdf((1 + COVERAGE) / 2)
    share = 1 / (runs + PRIOR_WORTH_RUNS)
    first, second = (z**2 + 1) / 4, (5 * z**4 + 16 * z**2 + 3) / 96
    third = (3 * z**6 + 19 * z**4 + 17 * z**2 - 15) / 384
    return 1 + share * (first + share * (second + share * third))


def _moments(
    explanation: Explanation, log_s: Floats, jacobian: Floats, *, cross: Floats, own: Floats
) -> tuple[Floats, Floats]:
    """Return mean and variance under one explanation: physics plus the residuals of the most similar runs."""
    white = cross @ explanation.whitening.T
    gradient = jacobian.T - white @ explanation.white_jacobian
    variance = own - (white**2).sum(axis=1) + ((gradient @ explanation.spread) * gradient).sum(axis=1)
    return log_s + white @ explanation.white_gap, np.maximum(variance, 0.0) + explanation.noise_sd**2


def _normal_cdf_and_density(z: Floats) -> tuple[Floats, Floats]:
    """Return the normal distribution function to within 3e-4 (the usual tanh approximation), and its derivative."""
    slope, squares = math.sqrt(2 / math.pi), z * z
    tanh = np.tanh(slope * z * (1 + 0.044715 * squares))
    return 0.5 * (1 + tanh), 0.5 * (1 - tanh * tanh) * slope * (1 + 3 * 0.044715 * squares)
