"""Bayes: from prior and runs to log times with their uncertainty.

For each way to explain the runs (prior family x noise x size of what the physics misses) the posterior of the
coefficients is found by Gauss-Newton on generalised least squares and approximated by a normal. The ways are weighed by
their evidence, and a prediction is their mixture: repeats that scatter favour noise, and runs that cannot tell two
causes apart leave both uncertain.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final

import numpy as np

from planner.arrays import Flags, Floats
from planner.calibration.physics import STREAMS, Stream, UnitSeconds, Workload, log_seconds, unit_seconds
from planner.calibration.priors import Family
from planner.calibration.residual import Coordinates, Kinship, coordinates

NOISE_SD: Final = (0.015, 0.03, 0.06, 0.12, 0.2, 0.4)
"""Scatter of log time between repeats that is considered; a family's own scatter is the likeliest."""
NOISE_DOUBT: Final = 0.6
AMPLITUDES: Final = (0.03, 0.08, 0.2, 0.4)
"""Sizes of the smooth deviation from the physics that are considered."""
USUAL_AMPLITUDE: Final = 0.05
AMPLITUDE_DOUBT: Final = 1.0
OUTLIER_SD: Final = 1.0
"""Noise of a run taken for an outlier: it may be off by a factor e and teaches next to nothing."""
NEGLIGIBLE: Final = 1e-3
_STEPS: Final = 20


@dataclass(frozen=True, kw_only=True, eq=False)
class Runs:
    """Runs as arrays: the workload, encoded options (rows, k), log seconds (rows,) and which rows are taken for
    outliers (rows,).

    `least_noise` bounds the scatter from below where repeats contradict each other.
    """

    work: Workload
    options: Floats
    log_s: Floats
    outlier: Flags
    least_noise: float = 0.0

    def __len__(self) -> int:
        return len(self.log_s)

    @cached_property
    def where(self) -> Coordinates:
        """The runs' coordinates."""
        return coordinates(self.work, self.options)

    @cached_property
    def units(self) -> dict[Stream, UnitSeconds]:
        """The runs' terms of the physics, by what limits the serial part."""
        return {stream: unit_seconds(self.work, stream) for stream in STREAMS}

    @cached_property
    def kinship(self) -> Kinship:
        """How alike the runs are."""
        return Kinship(self.where, self.where, self.where)

    def without(self, outlier: Flags) -> Runs:
        """Return the same runs with other rows taken for outliers."""
        return replace(self, outlier=outlier)


@dataclass(frozen=True, kw_only=True, eq=False)
class Explanation:
    """One way to explain the runs: `coefficients` (7,) with covariance `spread` (7, 7).

    `whitening` (rows, rows) is the inverse Cholesky factor of the runs' covariance; `white_gap` (rows,) is what the
    physics leaves over and `white_jacobian` (rows, 7) its derivative, both whitened.
    """

    family: Family
    noise_sd: float
    amplitude: float
    log_evidence: float
    coefficients: Floats
    spread: Floats
    whitening: Floats
    white_gap: Floats
    white_jacobian: Floats


def explain_runs(runs: Runs, families: tuple[Family, ...]) -> tuple[Explanation, ...]:
    """Return the explanations whose posterior weight is not negligible; without runs these are the prior's."""
    explanations = []
    starts = [family.mean for family in families]
    for amplitude in AMPLITUDES:
        smooth = runs.kinship.covariance(amplitude)
        for noise_sd in _levels(runs.least_noise):
            cholesky, whitening = _whitening(runs, smooth, noise_sd)
            same = [
                _explain(runs, family, cholesky, whitening, start, noise_sd=noise_sd, amplitude=amplitude)
                for family, start in zip(families, starts, strict=True)
            ]
            starts = [explanation.coefficients for explanation in same]
            explanations += same
    best = max(explanation.log_evidence for explanation in explanations)
    return tuple(explanation for explanation in explanations if explanation.log_evidence > best + np.log(NEGLIGIBLE))


def surprises(explanation: Explanation) -> Floats:
    """Return how far each run lies from what the others predict for it, in standard deviations (positive: slower),
    shape (rows,).
    """
    inner = (
        np.eye(len(explanation.white_gap))
        - explanation.white_jacobian @ explanation.spread @ explanation.white_jacobian.T
    )
    precision = np.diag(explanation.whitening.T @ inner @ explanation.whitening)
    return explanation.whitening.T @ explanation.white_gap / np.sqrt(np.maximum(precision, 1e-12))


def weights(explanations: tuple[Explanation, ...]) -> Floats:
    """Return the posterior weights, which sum to 1."""
    log_evidence = np.array([explanation.log_evidence for explanation in explanations])
    weight = np.exp(log_evidence - log_evidence.max())
    return weight / weight.sum()  # type: ignore[no-any-return]


def total_log_evidence(explanations: tuple[Explanation, ...]) -> float:
    """Return the log of the explanations' summed evidence."""
    return float(np.logaddexp.reduce([explanation.log_evidence for explanation in explanations]))


def _levels(least: float) -> tuple[float, ...]:
    return tuple(level for level in NOISE_SD if level > least) or (least,)


def _whitening(runs: Runs, smooth: Floats, noise_sd: float) -> tuple[Floats, Floats]:
    """Return the Cholesky factor of the runs' covariance and its inverse."""
    variance = np.where(runs.outlier, OUTLIER_SD, noise_sd) ** 2
    cholesky = np.linalg.cholesky(smooth + np.diag(variance))
    return cholesky, np.linalg.inv(cholesky)


def _explain(
    runs: Runs,
    family: Family,
    cholesky: Floats,
    whitening: Floats,
    start: Floats,
    *,
    noise_sd: float,
    amplitude: float,
) -> Explanation:
    fit = _gauss_newton(runs, family, whitening, start)
    _, log_precision = np.linalg.slogdet(fit.precision)
    volume = np.log(np.diag(cholesky)).sum() + 0.5 * log_precision + np.log(family.sd).sum()
    doubt = _log_bell(noise_sd / family.scatter, NOISE_DOUBT) + _log_bell(amplitude / USUAL_AMPLITUDE, AMPLITUDE_DOUBT)
    return Explanation(
        family=family,
        noise_sd=noise_sd,
        amplitude=amplitude,
        log_evidence=float(doubt - fit.loss - volume),
        coefficients=fit.coefficients,
        spread=np.asarray(np.linalg.inv(fit.precision), np.float64),
        whitening=whitening,
        white_gap=fit.white_gap,
        white_jacobian=fit.white_jacobian,
    )


@dataclass(frozen=True, eq=False)
class _Fit:
    """A point of the descent: coefficients, minus log posterior up to a constant, and the whitened misfit with its
    derivative.
    """

    coefficients: Floats
    loss: float
    off: Floats
    white_gap: Floats
    white_jacobian: Floats
    sd: Floats

    @property
    def precision(self) -> Floats:
        return self.white_jacobian.T @ self.white_jacobian + np.diag(self.sd**-2)

    @property
    def step(self) -> Floats:
        descent = self.white_jacobian.T @ self.white_gap - self.off / self.sd
        return np.asarray(np.linalg.solve(self.precision, descent), np.float64)


def _at(runs: Runs, family: Family, whitening: Floats, coefficients: Floats) -> _Fit:
    log_s, jacobian = log_seconds(coefficients, runs.units[family.stream])
    white_gap = whitening @ (runs.log_s - log_s)
    off = (coefficients - family.mean) / family.sd
    loss = 0.5 * float(white_gap @ white_gap + off @ off)
    return _Fit(coefficients, loss, off, white_gap, whitening @ jacobian, family.sd)


def _gauss_newton(runs: Runs, family: Family, whitening: Floats, start: Floats) -> _Fit:
    """Descend to the most probable coefficients, shortening a step that would climb."""
    fit = _at(runs, family, whitening, start)
    for _ in range(_STEPS):
        step = fit.step
        trials = (_at(runs, family, whitening, fit.coefficients + step / 3**halving) for halving in range(6))
        nearer = next((trial for trial in trials if trial.loss < fit.loss), fit)
        gained, fit = fit.loss - nearer.loss, nearer
        if gained < 1e-4:
            break
    return fit


def _log_bell(ratio: float, sd: float) -> float:
    return -0.5 * float(np.log(ratio) / sd) ** 2
