"""Bayesian model of network scaling: laws with priors, conditioned on measured points.

A law gives the fraction of its two-node rate that a node keeps in a cluster of n, as a loss -ln(fraction). None of the
published laws fits every network, so four families share the prior evenly: Gunther's Universal Scalability Law (2007)
of contention and coherence, a power law, a plateau, and a knee (no loss up to one switch, a power law beyond). Measured
rates are law x level x discrepancy x noise: the discrepancy, a Gaussian process in ln n, covers the deviations from all
families. Level and noise are integrated out in closed form, the families' parameters by weighting fixed draws of the
prior.

The prior is wide on purpose. SoCC 2015, Figure 8: without a placement group eight of nine types fell below 80% at some
size; with one, 81% was left at 178 nodes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

import numpy as np

from planner.arrays import Floats, Rows

BASELINE_NODES: Final = 2.0
_DRAWS_PER_FAMILY: Final = 2000
_KEPT: Final = 1000
_SEED: Final = 20150827

_REACH: Final = 1.5
"""In ln n: the discrepancies of two cluster sizes are similar within a factor of about four."""
_NOISE: Final = 0.04
"""Expected relative scatter of repeats; its prior counts as much as 2 x _NOISE_WEIGHT points."""
_NOISE_WEIGHT: Final = 2.0
_DISCREPANCY: Final = 1.0
"""Standard deviation of the discrepancy, in units of the noise."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Draws:
    """K laws, grouped by family; each row of `parameters` is (first, second)."""

    parameters: dict[str, Floats]

    def loss(self, nodes: Floats) -> Floats:
        """Return -ln(fraction of the two-node rate), shape (K, len(nodes)); 0 at two nodes and fewer."""
        count = np.maximum(nodes, BASELINE_NODES)[None, :]
        losses = [_FAMILIES[name](p[:, :1], p[:, 1:], count) for name, p in self.parameters.items()]
        return np.concatenate(losses)

    def select(self, index: Rows) -> Draws:
        """Return the laws at `index`, which must be sorted."""
        starts = np.cumsum([0, *(len(p) for p in self.parameters.values())])
        split = np.split(index, np.searchsorted(index, starts[1:-1]))
        parts = zip(self.parameters.items(), split, starts, strict=False)
        return Draws(parameters={name: p[own - start] for (name, p), own, start in parts})


@dataclass(frozen=True, kw_only=True, eq=False)
class Posterior:
    """Equally likely laws, each with the level and discrepancy it needs to meet the measured points.

    `residuals` (K, P) are ln rate + loss at the points, `level` and `noise` are (K,), `factor` is the Cholesky factor
    of the points' covariance in units of the noise.
    """

    laws: Draws
    log_nodes: Floats
    residuals: Floats
    level: Floats
    noise: Floats
    factor: Floats
    deviate: Floats

    def log_rates(self, nodes: Floats) -> Floats:
        """Return ln of plausible rates at each cluster size, shape (K, len(nodes)), not to be modified."""
        return _log_rates(self, np.asarray(nodes, float).tobytes())

    def log_slowdowns(self, nodes: Floats) -> Floats:
        """Compute `log_rates` without its cache."""
        near = _DISCREPANCY**2 * _likeness(self.log_nodes, np.log(nodes))
        half = np.linalg.solve(self.factor, near)
        pull = np.linalg.solve(self.factor.T, half)
        ones = np.linalg.solve(self.factor, np.ones(len(self.log_nodes)))
        unexplained = 1.0 - pull.sum(axis=0)
        variance = _DISCREPANCY**2 - (half**2).sum(axis=0) + unexplained**2 / (ones @ ones)
        rates = np.asarray((self.residuals - self.level[:, None]) @ pull)
        rates += self.level[:, None]  # in place: new arrays of this size cost more than the sums
        rates -= self.laws.loss(nodes)
        rates += (self.deviate * self.noise)[:, None] * np.sqrt(np.maximum(variance, 0.0))
        return rates

    def log_fall(self, *, start: float, nodes: Floats) -> Floats:
        """Return the median of ln rate(nodes) - ln rate(start) by the laws alone."""
        return np.asarray(np.median(self.laws.loss(np.array([start])) - self.laws.loss(nodes), axis=0))


@lru_cache(maxsize=1)
def _log_rates(posterior: Posterior, nodes: bytes) -> Floats:
    """Return rates, cached for the last arguments, which often recur."""
    return posterior.log_slowdowns(np.frombuffer(nodes))


def condition(nodes: Floats, log_rates: Floats) -> Posterior:
    """Return the posterior after P measured points, both of shape (P,), P >= 1. Equal points give equal results."""
    rng = np.random.default_rng(_SEED)
    laws, log_nodes = prior(), np.log(nodes)
    factor = np.asarray(
        np.linalg.cholesky(np.eye(len(nodes)) + _DISCREPANCY**2 * _likeness(log_nodes, log_nodes)), float
    )
    residuals = log_rates[None, :] + laws.loss(nodes)
    white = np.linalg.solve(factor, residuals.T).T
    ones = np.linalg.solve(factor, np.ones(len(nodes)))
    level = white @ ones / (ones @ ones)
    squares = 2 * _NOISE_WEIGHT * _NOISE**2 + ((white - level[:, None] * ones) ** 2).sum(axis=1)
    freedom = 2 * _NOISE_WEIGHT + len(nodes) - 1
    resampled = _resample(-freedom / 2 * np.log(squares), rng)
    return Posterior(
        laws=laws.select(resampled),
        log_nodes=log_nodes,
        residuals=residuals[resampled],
        level=level[resampled],
        noise=np.sqrt(squares[resampled] / freedom),
        factor=factor,
        deviate=rng.standard_t(freedom, _KEPT),
    )


@lru_cache(maxsize=1)
def prior() -> Draws:
    """Return the prior laws, before any measurement."""
    rng = np.random.default_rng(_SEED)

    def normal(middle: float, spread: float) -> Floats:
        return np.exp(rng.normal(np.log(middle), spread, _DRAWS_PER_FAMILY))

    def log_uniform(least: float, most: float) -> Floats:
        return np.asarray(10 ** rng.uniform(np.log10(least), np.log10(most), _DRAWS_PER_FAMILY))

    pairs = {
        "usl": (log_uniform(3e-5, 1e-2), log_uniform(1e-8, 5e-6)),
        "power": (normal(0.06, 0.9), np.zeros(_DRAWS_PER_FAMILY)),
        "plateau": (normal(0.3, 0.8), normal(1.5, 0.6)),
        "knee": (normal(0.12, 0.8), rng.uniform(0, 5, _DRAWS_PER_FAMILY)),
    }
    return Draws(parameters={name: np.stack(pair, axis=1) for name, pair in pairs.items()})


def _resample(log_weight: Floats, rng: np.random.Generator) -> Rows:
    """Return sorted indexes drawn in proportion to the weights, by systematic resampling."""
    total = np.cumsum(np.exp(log_weight - log_weight.max()))
    ticks = (np.arange(_KEPT) + rng.random()) / _KEPT * total[-1]
    return np.asarray(np.minimum(np.searchsorted(total, ticks), len(total) - 1), np.intp)


def _likeness(first: Floats, second: Floats) -> Floats:
    return np.asarray(np.exp(-0.5 * ((first[:, None] - second[None, :]) / _REACH) ** 2))


def _usl(contention: Floats, coherence: Floats, nodes: Floats) -> Floats:
    def slowdown(count: Floats | float) -> Floats:
        return np.log1p(contention * (count - 1) + coherence * count * (count - 1))

    return np.asarray(slowdown(nodes) - slowdown(BASELINE_NODES))


def _power(exponent: Floats, _: Floats, nodes: Floats) -> Floats:
    return np.asarray(exponent * np.log(nodes / BASELINE_NODES))


def _plateau(depth: Floats, reach: Floats, nodes: Floats) -> Floats:
    return np.asarray(-depth * np.expm1(-np.log(nodes / BASELINE_NODES) / reach))


def _knee(exponent: Floats, knee: Floats, nodes: Floats) -> Floats:
    return np.asarray(exponent * np.maximum(0.0, np.log(nodes / BASELINE_NODES) - knee))


_FAMILIES: Final[dict[str, Callable[[Floats, Floats, Floats], Floats]]] = {
    "usl": _usl,
    "power": _power,
    "plateau": _plateau,
    "knee": _knee,
}
