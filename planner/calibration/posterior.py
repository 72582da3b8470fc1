"""Bayes: from prior and runs to log times with their uncertainty.

For each way to explain the runs (prior family x noise x size of what the physics misses) the posterior of the
coefficients is found by Gauss-Newton on generalised least squares and approximated by a normal. The ways are weighed by
their evidence, and a prediction is their mixture: repeats that scatter favour noise, and runs that cannot tell two
causes apart leave both uncertain.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from functools import cached_property
from itertools import compress, product
from typing import Final, TypeAlias

import numpy as np

from planner.arrays import Flags, Floats
from planner.calibration.physics import Stream, UnitSeconds, Workload, log_seconds, unit_seconds_by_serial_part
from planner.calibration.priors import Family
from planner.calibration.residual import Coordinates, Kinship, coordinates

NOISE_SD: Final = (0.015, 0.03, 0.06, 0.12, 0.2, 0.4)
"""Scatter of log time between repeats that is considered; a family's own scatter is the likeliest."""
NOISE_DOUBT: Final = 0.6
AMPLITUDES: Final = (0.03, 0.08, 0.2, 0.4)
"""Sizes of the smooth deviation from the physics that are considered."""
USUAL_AMPLITUDE: Final = 0.12
AMPLITUDE_DOUBT: Final = 1.0
OUTLIER_SD: Final = 1.0
"""Noise of a run taken for an outlier: it may be off by a factor e and teaches next to nothing."""
NEGLIGIBLE: Final = 1e-3
_FIRST_STEPS: Final = 3
_HOPELESS: Final = 12.0
"""Ways whose log evidence after the first steps is this far below the best are given up; those with weight end within
7.
"""
_STEPS: Final = 30
_SETTLED: Final = 1e-3
_SHORTEST: Final = 1e-3

Way: TypeAlias = tuple[float, float, Family]
"""A way to explain runs: size of the smooth deviation, scatter, prior."""


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
    def units(self) -> dict[tuple[Stream, bool], UnitSeconds]:
        """The runs' terms of the physics, by `Family.serial_part`."""
        return unit_seconds_by_serial_part(self.work)

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
    ways = list(product(AMPLITUDES, _levels(runs.least_noise), families))
    return _explain(runs, ways, np.array([family.mean for _, _, family in ways]))


def explain_again(runs: Runs, explanations: tuple[Explanation, ...]) -> tuple[Explanation, ...]:
    """Return the same ways to explain for slightly other runs, starting from what was learned."""
    ways = [(way.amplitude, way.noise_sd, way.family) for way in explanations]
    return _explain(runs, ways, np.array([way.coefficients for way in explanations]))


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


def _explain(runs: Runs, ways: list[Way], start: Floats) -> tuple[Explanation, ...]:
    """Fit all ways at once, each from its row of `start`, and return those with weight."""
    cholesky, whitening = _whitening(runs, ways)
    problem = _Problem.of(runs, [family for _, _, family in ways], whitening)
    log_weight = np.array([_log_prior(way) for way in ways])
    log_weight -= np.log(np.diagonal(cholesky, axis1=1, axis2=2)).sum(axis=1)
    first = _gauss_newton(problem, start, _FIRST_STEPS)
    rough = log_weight + first.log_mass
    hopeful = rough > rough.max() - _HOPELESS
    ways, whitening = list(compress(ways, hopeful)), whitening[hopeful]
    fit = _gauss_newton(problem.only(hopeful), first.coefficients[hopeful])
    log_evidence = log_weight[hopeful] + fit.log_mass
    spread = np.linalg.inv(fit.precision)
    return tuple(
        Explanation(
            family=ways[i][2],
            noise_sd=ways[i][1],
            amplitude=ways[i][0],
            log_evidence=float(log_evidence[i]),
            coefficients=fit.coefficients[i],
            spread=spread[i],
            whitening=whitening[i],
            white_gap=fit.white_gap[i],
            white_jacobian=fit.white_jacobian[i],
        )
        for i in np.flatnonzero(log_evidence > log_evidence.max() + np.log(NEGLIGIBLE))
    )


def _whitening(runs: Runs, ways: list[Way]) -> tuple[Floats, Floats]:
    """Return the Cholesky factor of the runs' covariance under each way and its inverse, shapes (ways, rows, rows)."""
    levels = list(dict.fromkeys((amplitude, noise_sd) for amplitude, noise_sd, _ in ways))
    variance = [np.where(runs.outlier, OUTLIER_SD, noise_sd) ** 2 for _, noise_sd in levels]
    smooth = {amplitude: runs.kinship.covariance(amplitude) for amplitude in {level[0] for level in levels}}
    cholesky = np.linalg.cholesky(
        np.array([smooth[level[0]] + np.diag(v) for level, v in zip(levels, variance, strict=True)])
    )
    of_way = [levels.index((amplitude, noise_sd)) for amplitude, noise_sd, _ in ways]
    return cholesky[of_way], np.linalg.inv(cholesky)[of_way]


def _log_prior(way: Way) -> float:
    """Return the log weight of a way before the runs, less the volume of its prior."""
    amplitude, noise_sd, family = way
    doubt = _log_bell(noise_sd / family.scatter, NOISE_DOUBT) + _log_bell(amplitude / USUAL_AMPLITUDE, AMPLITUDE_DOUBT)
    return float(doubt - np.log(family.sd).sum())


@dataclass(frozen=True, kw_only=True, eq=False)
class _Problem:
    """What the descent needs of each way: prior mean and sd (ways, 7), terms and whitening of the runs."""

    log_s: Floats
    units: UnitSeconds
    whitening: Floats
    mean: Floats
    sd: Floats

    @classmethod
    def of(cls, runs: Runs, families: list[Family], whitening: Floats) -> _Problem:
        columns = zip(*(runs.units[family.serial_part] for family in families), strict=True)
        return cls(
            log_s=runs.log_s,
            units=UnitSeconds(*(np.array(column) for column in columns)),
            whitening=whitening,
            mean=np.array([family.mean for family in families]),
            sd=np.array([family.sd for family in families]),
        )

    def only(self, ways: Flags) -> _Problem:
        """Return the problem of some of the ways."""
        units = UnitSeconds(*(column[ways] for column in self.units))
        return _Problem(
            log_s=self.log_s, units=units, whitening=self.whitening[ways], mean=self.mean[ways], sd=self.sd[ways]
        )

    def at(self, coefficients: Floats) -> _Fit:
        log_s, jacobian = log_seconds(coefficients, self.units)
        white_gap = np.einsum("wij,wj->wi", self.whitening, self.log_s - log_s)
        off = (coefficients - self.mean) / self.sd
        loss = 0.5 * ((white_gap**2).sum(axis=1) + (off**2).sum(axis=1))
        return _Fit(coefficients, loss, off / self.sd, white_gap, self.whitening @ jacobian, self.sd)


@dataclass(frozen=True, eq=False)
class _Fit:
    """A point of the descent of every way: coefficients, minus log posterior up to a constant, pull of the prior, and
    the whitened misfit with its derivative.
    """

    coefficients: Floats
    loss: Floats
    pull: Floats
    white_gap: Floats
    white_jacobian: Floats
    sd: Floats

    @property
    def precision(self) -> Floats:
        transposed = self.white_jacobian.transpose(0, 2, 1)
        return transposed @ self.white_jacobian + self.sd[:, :, None] ** -2 * np.eye(self.sd.shape[1])

    @property
    def log_mass(self) -> Floats:
        """The log of each way's posterior mass by Laplace's method, up to a constant."""
        _, log_precision = np.linalg.slogdet(self.precision)
        return -self.loss - 0.5 * log_precision  # type: ignore[no-any-return]

    @property
    def step(self) -> Floats:
        descent = np.einsum("wij,wi->wj", self.white_jacobian, self.white_gap) - self.pull
        return np.asarray(np.linalg.solve(self.precision, descent[:, :, None])[:, :, 0], np.float64)

    def replaced(self, rows: Flags, other: _Fit) -> _Fit:
        """Return this with some ways taken from `other`, which has those only."""
        values = {field.name: getattr(self, field.name).copy() for field in fields(self)}
        for name, value in values.items():
            value[rows] = getattr(other, name)
        return _Fit(**values)

    def where(self, better: Flags, other: _Fit) -> _Fit:
        """Return `other` where it is better."""

        def pick(a: Floats, b: Floats) -> Floats:
            return np.where(better.reshape(-1, *(1,) * (a.ndim - 1)), b, a)

        return _Fit(*(pick(getattr(self, field.name), getattr(other, field.name)) for field in fields(self)))


def _gauss_newton(problem: _Problem, start: Floats, steps: int = _STEPS) -> _Fit:
    """Descend to the most probable coefficients of every way, shortening a step that would climb.

    Once half of the ways have settled only the others go on.
    """
    fit, share = problem.at(start), np.ones(len(start))
    for done in range(steps):
        trial = problem.at(fit.coefficients + share[:, None] * fit.step)
        gain = fit.loss - trial.loss
        fit, share = fit.where(gain > 0, trial), np.where(gain > 0, 1.0, share / 3)
        settled = (np.abs(gain) < _SETTLED) | (share < _SHORTEST)
        if settled.all():
            break
        if 2 * settled.sum() >= len(settled):
            rest = _gauss_newton(problem.only(~settled), fit.coefficients[~settled], steps - done - 1)
            return fit.replaced(~settled, rest)
    return fit


def _log_bell(ratio: float, sd: float) -> float:
    return -0.5 * float(np.log(ratio) / sd) ** 2
