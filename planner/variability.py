"""How much slower than its median a node is, and how slow the slowest of N is: a barrier waits for it.

For independent nodes P(phase <= t) = F(t)^N exactly. A `Spread` holds F of one node's slowness (time over median
time) on a grid.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from statistics import NormalDist
from typing import Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]

_STEPS: Final = 401
_REACH: Final = 8.0
"""Standard deviations that a lognormal grid spans on either side: the slowest of 10^6 nodes lies at 4.9."""

_SMALLEST_SIGMA: Final = 1e-9
"""Stands for no variation at all, so that certain rates need no path of their own."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Spread:
    """Distribution of slowness: `log_cdf[i]` = ln P(ln slowness <= `log_slowness[i]`), both of shape (G,),
    increasing.
    """

    log_slowness: Floats
    log_cdf: Floats

    def log_cdf_at(self, log_slowness: Floats) -> Floats:
        """Return ln F at any points: -inf below the grid, 0 above it."""
        return np.asarray(np.interp(log_slowness, self.log_slowness, self.log_cdf, left=-np.inf, right=0.0))


@lru_cache(maxsize=64)
def lognormal(sigma: float) -> Spread:
    """Return a lognormal slowness with median 1; `sigma` is the standard deviation of its logarithm, 0 for none."""
    grid, log_cdf = _standard_normal()
    return Spread(log_slowness=grid * max(sigma, _SMALLEST_SIGMA), log_cdf=log_cdf)


def slowest_mean(spread: Spread, count: ArrayLike) -> Floats:
    """Return the expected slowness of the slowest of `count` independent nodes, elementwise over `count`."""
    powers = np.exp(np.multiply.outer(np.asarray(count, float), spread.log_cdf))
    return _mean(powers, np.exp(spread.log_slowness))


def slowest_quantile(spread: Spread, *, count: float, probability: float) -> float:
    """Return the slowness that the slowest of `count` nodes stays below with `probability`."""
    needed = math.log(probability) / count
    return math.exp(float(np.interp(needed, spread.log_cdf, spread.log_slowness)))


@dataclass(frozen=True, kw_only=True)
class Moments:
    """Mean and variance of a time in seconds (seconds squared)."""

    mean: float
    variance: float


@dataclass(frozen=True, kw_only=True)
class Load:
    """One resource in a phase: a node's median seconds, the spread around it, and of how many nodes the slowest
    counts.
    """

    median_s: float
    spread: Spread
    count: float


def barrier(loads: Sequence[Load]) -> Moments:
    """Return the moments of a phase that ends when the slowest resource of the slowest node does.

    All loads are independent: P(T <= t) is the product over resources of F(t / median)^count.
    """
    working = [load for load in loads if load.median_s > 0]
    if not working:
        return Moments(mean=0.0, variance=0.0)
    log_times = _common_grid(working)
    log_cdf = sum(
        (load.count * load.spread.log_cdf_at(log_times - math.log(load.median_s)) for load in working),
        start=np.zeros_like(log_times),
    )
    cdf, times = np.exp(log_cdf), np.exp(log_times)
    mean = float(_mean(cdf, times))
    return Moments(mean=mean, variance=max(0.0, float(_mean(cdf, (times - mean) ** 2))))


def shared_factor(moments: Sequence[Moments], *, sigma: float) -> Moments:
    """Return the moments of a sum of independent phases times one lognormal factor (median 1) that they all share."""
    mean = sum(phase.mean for phase in moments)
    variance = sum(phase.variance for phase in moments)
    factor_mean, factor_second = math.exp(sigma**2 / 2), math.exp(2 * sigma**2)
    second = (variance + mean**2) * factor_second
    return Moments(mean=mean * factor_mean, variance=max(0.0, second - (mean * factor_mean) ** 2))


def quantile(moments: Moments, probability: float) -> float:
    """Return a quantile of the lognormal that has these moments."""
    if moments.mean <= 0 or moments.variance <= 0:
        return moments.mean
    sigma = math.sqrt(math.log1p(moments.variance / moments.mean**2))
    return moments.mean * math.exp(sigma * NormalDist().inv_cdf(probability) - sigma**2 / 2)


@lru_cache(maxsize=1)
def _standard_normal() -> tuple[Floats, Floats]:
    grid = np.linspace(-_REACH, _REACH, _STEPS)
    cdf = np.array([0.5 * math.erfc(-z / math.sqrt(2)) for z in grid])
    return grid, np.log(cdf)


def _common_grid(loads: Sequence[Load]) -> Floats:
    """Cover the times at which the slowest load can end, densely where any of them ends."""
    grids = [math.log(load.median_s) + load.spread.log_slowness for load in loads]
    start = max(grid[0] for grid in grids)
    merged = np.unique(np.concatenate(grids))
    return np.asarray(merged[merged >= start])


def _mean(cdf: Floats, values: Floats) -> Floats:
    """Integrate `values` against the steps of `cdf` (last axis); the mass below the grid sits at its first point."""
    middles = (values[1:] + values[:-1]) / 2
    return np.asarray(cdf[..., 0] * values[0] + np.diff(cdf, axis=-1) @ middles)
