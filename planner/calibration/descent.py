"""Gauss-Newton on generalised least squares, for many explanations of the runs at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Final

import numpy as np

from planner.arrays import Flags, Floats
from planner.calibration.physics import UnitSeconds, log_seconds

_STEPS: Final = 30
_SETTLED: Final = 1e-3
_SHORTEST: Final = 1e-3


@dataclass(frozen=True, kw_only=True, eq=False)
class Whitening:
    """Inverse Cholesky factors of the runs' covariance, one for each level of scatter and deviation (levels, rows,
    rows), and the level of each way (ways,).

    Many ways share a level, so that one matrix product applies a factor to all of them.
    """

    factors: Floats
    level: np.ndarray

    @classmethod
    def of_covariance(cls, covariance: Floats, level: np.ndarray) -> Whitening:
        """Return the factors of covariances of shape (levels, rows, rows)."""
        return cls(factors=np.linalg.inv(np.linalg.cholesky(covariance)), level=level)

    @property
    def log_determinant(self) -> Floats:
        """The log of each way's determinant, shape (ways,): minus half that of its covariance."""
        return np.log(np.diagonal(self.factors, axis1=1, axis2=2)).sum(axis=1)[self.level]  # type: ignore[no-any-return]

    def of_hypothesis(self, hypothesis: int) -> Floats:
        """Return the factor of one way, shape (rows, rows)."""
        return self.factors[self.level[hypothesis]]  # type: ignore[no-any-return]

    def only(self, hypotheses: Flags) -> Whitening:
        """Return the whitening of some of the ways."""
        return Whitening(factors=self.factors, level=self.level[hypotheses])

    def apply(self, series: Floats) -> Floats:
        """Return the whitened series of runs, shape (ways, series, rows)."""
        white = np.empty_like(series)
        for level in sorted(set(self.level.tolist())):
            hypotheses = np.flatnonzero(self.level == level)
            some = series[hypotheses]
            stacked = some.reshape(some.shape[0] * some.shape[1], some.shape[2])
            white[hypotheses] = (stacked @ self.factors[level].T).reshape(some.shape)
        return white


@dataclass(frozen=True, kw_only=True, eq=False)
class Problem:
    """Input of the descent for each way: prior mean and sd (ways, 8), terms and whitening of the runs."""

    log_s: Floats
    units: UnitSeconds
    whitening: Whitening
    mean: Floats
    sd: Floats

    @classmethod
    def of(
        cls, log_s: Floats, units: Sequence[UnitSeconds], whitening: Whitening, priors: Sequence[tuple[Floats, Floats]]
    ) -> Problem:
        """Return the problem of ways with the given terms, and prior means and deviations (ways, 2, 8)."""
        mean, sd = np.array(priors).swapaxes(0, 1)
        columns = (np.array(column) for column in zip(*units, strict=True))
        return cls(log_s=log_s, units=UnitSeconds(*columns), whitening=whitening, mean=mean, sd=sd)

    def only(self, hypotheses: Flags) -> Problem:
        """Return the problem of some of the ways."""
        units = UnitSeconds(*(column[hypotheses] for column in self.units))
        return Problem(
            log_s=self.log_s,
            units=units,
            whitening=self.whitening.only(hypotheses),
            mean=self.mean[hypotheses],
            sd=self.sd[hypotheses],
        )

    def at(self, coefficients: Floats) -> Fit:
        """Return the misfit and its derivatives at the given coefficients (ways, 8)."""
        log_s, jacobian = log_seconds(coefficients, self.units)
        white = self.whitening.apply(np.concatenate([jacobian, (self.log_s - log_s)[:, None]], axis=1))
        white_jacobian, white_gap = white[:, :-1], white[:, -1]
        off = (coefficients - self.mean) / self.sd
        loss = 0.5 * ((white_gap**2).sum(axis=1) + (off**2).sum(axis=1))
        return Fit(coefficients, loss, off / self.sd, white_gap, white_jacobian, self.sd)


@dataclass(frozen=True, eq=False)
class Fit:
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
        """The precision of each way's posterior, shape (ways, 8, 8)."""
        transposed = self.white_jacobian.transpose(0, 2, 1)
        return self.white_jacobian @ transposed + self.sd[:, :, None] ** -2 * np.eye(self.sd.shape[1])

    @property
    def log_mass(self) -> Floats:
        """The log of each way's posterior mass by Laplace's method, up to a constant."""
        _, log_precision = np.linalg.slogdet(self.precision)
        return -self.loss - 0.5 * log_precision  # type: ignore[no-any-return]

    @property
    def step(self) -> Floats:
        """The full step of Gauss-Newton, shape (ways, 8)."""
        descent = (self.white_jacobian @ self.white_gap[:, :, None])[:, :, 0] - self.pull
        return np.asarray(np.linalg.solve(self.precision, descent[:, :, None])[:, :, 0], np.float64)

    def replaced(self, rows: Flags, other: Fit) -> Fit:
        """Return this with some ways taken from `other`, which has only those."""
        values = {field.name: getattr(self, field.name).copy() for field in fields(self)}
        for name, value in values.items():
            value[rows] = getattr(other, name)
        return Fit(**values)

    def where(self, better: Flags, other: Fit) -> Fit:
        """Return `other` where it is better."""
        if better.all():
            return other

        def pick(a: Floats, b: Floats) -> Floats:
            return np.where(better.reshape(-1, *(1,) * (a.ndim - 1)), b, a)

        return Fit(*(pick(getattr(self, field.name), getattr(other, field.name)) for field in fields(self)))


def descend(problem: Problem, start: Floats, steps: int = _STEPS) -> Fit:
    """Descend to the most probable coefficients of every way, shortening steps that would climb.

    Once half of the ways have settled, only the others continue.
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
            rest = descend(problem.only(~settled), fit.coefficients[~settled], steps - done - 1)
            return fit.replaced(~settled, rest)
    return fit
