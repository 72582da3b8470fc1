"""Order statistics of node slowness: a barrier waits for the slowest of N nodes.

For independent nodes P(phase <= t) = F(t)^N exactly, whatever the distribution F. A `Spread` holds F of one node's
slowness (time over median time) on a grid; a `Duration` holds the distribution of a time.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache, partial
from typing import Final

import numpy as np
from numpy.typing import ArrayLike

from planner.arrays import Floats

_STEPS: Final = 401
_REACH: Final = 8.0
"""Standard deviations that a lognormal grid spans on either side: the slowest of 10^6 nodes is at 4.9."""

_SMALLEST_SIGMA: Final = 1e-9
"""Stand-in for zero variation, so that fixed rates need no separate path."""

_NEVER: Final = -40.0
"""Log probability that vanishes when added to 1."""

_PARTS: Final = 64
"""Number of equally likely values that represent a distribution in a sum of several."""
_WAYS_PARTS: Final = 256
"""The same for one of several ways, so that each still has some values beyond the 99th percentile."""


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

    def sample(self, shape: tuple[int, ...], rng: np.random.Generator) -> Floats:
        """Draw independent slownesses."""
        return np.exp(np.interp(np.log(rng.random(shape)), self.log_cdf, self.log_slowness))


@lru_cache(maxsize=64)
def lognormal(sigma: float) -> Spread:
    """Return a lognormal slowness with median 1; `sigma` is the standard deviation of its logarithm, 0 for none."""
    grid, log_cdf = _standard_normal()
    return Spread(log_slowness=grid * max(sigma, _SMALLEST_SIGMA), log_cdf=log_cdf)


def from_bandwidths(
    *, probabilities: Sequence[float], bytes_per_s: Sequence[float], median_bytes_per_s: float
) -> Spread:
    """Return the slowness of a link whose bandwidth has these quantiles, linear between them, with jumps at both ends:
    P(slowness <= s) = P(bandwidth >= median / s).
    """
    rates = np.unique(np.concatenate([np.linspace(bytes_per_s[0], bytes_per_s[-1], _STEPS), bytes_per_s]))[::-1]
    cdf = 1 - np.interp(rates, bytes_per_s, probabilities)
    log_slowness = np.log(median_bytes_per_s / rates)
    end = log_slowness[-1] + 1e-9
    return Spread(log_slowness=np.append(log_slowness, end), log_cdf=np.log(np.append(cdf, 1.0)))


@lru_cache(maxsize=64)
def with_tail(spread: Spread, *, fraction: float, factor: float) -> Spread:
    """Return the slowness of nodes if `fraction` of them take `factor` times as long."""
    shifted = spread.log_slowness + math.log(factor)
    grid = np.unique(np.concatenate([spread.log_slowness, shifted]))
    ordinary, slow = spread.log_cdf_at(grid), spread.log_cdf_at(grid - math.log(factor))
    cdf = (1 - fraction) * np.exp(ordinary) + fraction * np.exp(slow)
    return Spread(log_slowness=grid, log_cdf=np.log(cdf))


def slowest_mean(spread: Spread, count: ArrayLike) -> Floats:
    """Return the expected slowness of the slowest of `count` independent nodes, elementwise over `count`."""
    powers = np.exp(np.multiply.outer(np.asarray(count, float), spread.log_cdf))
    return _mean(powers, np.exp(spread.log_slowness))


@lru_cache(maxsize=64)
def slowest_mean_cached(spread: Spread, counts: bytes) -> Floats:
    """Return `slowest_mean` for counts given as the bytes of an array of float64; the same counts recur often."""
    return on_ladder(partial(slowest_mean, spread), np.frombuffer(counts))


@dataclass(frozen=True, kw_only=True)
class Load:
    """One resource in a phase: a node's median seconds, the spread around it, and the `count` of nodes to wait for,
    after the `spares` slowest of all launched nodes are dropped.
    """

    median_s: float
    spread: Spread
    count: float
    spares: int = 0

    @property
    def mean_s(self) -> float:
        """The expected seconds until the slowest of the counted nodes is done."""
        if self.spares:
            return barrier([self]).mean_s
        return self.median_s * float(slowest_mean(self.spread, self.count))

    @property
    def first_step(self) -> int:
        """The last step of the spread's grid at which the probability that all nodes are done vanishes in double
        precision; 0 with spares, for which it is not computed.
        """
        never = 0 if self.spares else int(self.spread.log_cdf.searchsorted(_NEVER / self.count))
        return max(0, never - 1)

    def log_cdf_at(self, log_times: Floats) -> Floats:
        """Return ln P(done by each time): N of N + k nodes are, that is N successes come before k + 1 failures."""
        node_log_cdf = self.spread.log_cdf_at(log_times - math.log(self.median_s))
        if self.spares == 0:
            return np.asarray(self.count * node_log_cdf)
        failed = np.arange(self.spares + 1.0)
        ways = [math.lgamma(self.count + j) - math.lgamma(j + 1) - math.lgamma(self.count) for j in failed.tolist()]
        log_late = np.log(np.maximum(-np.expm1(node_log_cdf), 1e-300))
        terms = np.array(ways)[:, None] + failed[:, None] * log_late[None, :]
        most = terms.max(axis=0)
        total = most + np.log(np.exp(terms - most).sum(axis=0))
        return np.asarray(np.minimum(total + self.count * node_log_cdf, 0.0))


@dataclass(frozen=True, kw_only=True, eq=False)
class Duration:
    """Distribution of a time: `cdf[i]` = P(time <= `times_s[i]`), both of shape (G,), increasing to 1."""

    times_s: Floats
    cdf: Floats

    @cached_property
    def mean_s(self) -> float:
        """The expected time."""
        return float(_mean(self.cdf, self.times_s))

    def later_by(self, seconds: float) -> Duration:
        """Return the time plus `seconds`."""
        return replace(self, times_s=self.times_s + seconds) if seconds else self

    def probability_by(self, time_s: float) -> float:
        """Return the probability that the time is at most `time_s`."""
        return float(np.interp(time_s, self.times_s, self.cdf, left=0.0, right=1.0))

    def quantile_s(self, probability: ArrayLike) -> Floats:
        """Return the time at quantile `probability`, elementwise."""
        return np.asarray(np.interp(np.asarray(probability, float), self.cdf, self.times_s))


def barrier(loads: Sequence[Load]) -> Duration:
    """Return the duration of a phase that ends with the slowest resource of the slowest node.

    All loads are independent: P(T <= t) is the product over resources of F(t / median)^count, without spares.
    """
    working = [load for load in loads if load.median_s > 0]
    if not working:
        return Duration(times_s=np.zeros(1), cdf=np.ones(1))
    log_times, working = _common_grid(working)
    log_cdf = sum((load.log_cdf_at(log_times) for load in working), start=np.zeros_like(log_times))
    return Duration(times_s=np.exp(log_times), cdf=np.exp(log_cdf))


def sum_of(ways: Sequence[Sequence[Duration]], *, shared_sigma: float) -> Duration:
    """Return the duration of consecutive independent phases, in one of several equally likely `ways`, times one
    lognormal factor (median 1) that they all share. The mean is that of its parts to about 1 in 1000, quantiles to 2 in
    1000, since a finite number of values represents each.
    """
    sums = np.sort(_sums(ways), axis=None)
    if len(sums) > _WAYS_PARTS and len(sums) % _WAYS_PARTS == 0:
        sums = sums.reshape(_WAYS_PARTS, -1).mean(axis=1)
    if shared_sigma <= 0 or not sums.any():
        return Duration(times_s=np.append(sums, sums[-1]), cdf=np.append(_middles(len(sums)), 1.0))
    normal, log_cdf = _standard_normal()
    low, high = math.log(sums[0]) - 4 * shared_sigma, math.log(sums[-1]) + 4 * shared_sigma
    log_times = np.linspace(low, high, 2 * _PARTS)
    deviations = (log_times[:, None] - np.log(sums)[None, :]) / shared_sigma
    cdf = np.interp(deviations, normal, np.exp(log_cdf)).mean(axis=1)
    return Duration(times_s=np.exp(log_times), cdf=cdf / cdf[-1])


def _sums(ways: Sequence[Sequence[Duration]]) -> Floats:
    """Return equally likely values of the total time of consecutive independent phases, by way: (W, P)."""
    sums = np.zeros((len(ways), 1))
    for phases in zip(*ways, strict=True):
        distinct = {id(phase): phase for phase in phases}
        quantiles = {key: phase.quantile_s(_middles(_PARTS)) for key, phase in distinct.items()}
        steps = np.stack([quantiles[id(phase)] for phase in phases])
        sums = _representatives((sums[:, :, None] + steps[:, None, :]).reshape(len(ways), -1))
    return sums


def _middles(parts: int) -> Floats:
    return (np.arange(parts) + 0.5) / parts


def _representatives(values: Floats) -> Floats:
    """Return equally likely values with the same mean in each row: the means of equal parts of the sorted values."""
    ordered = np.sort(values, axis=1)
    return ordered.reshape(len(values), _PARTS, -1).mean(axis=2) if values.shape[1] > _PARTS else ordered


@lru_cache(maxsize=1)
def _standard_normal() -> tuple[Floats, Floats]:
    grid = np.linspace(-_REACH, _REACH, _STEPS)
    cdf = np.array([0.5 * math.erfc(-z / math.sqrt(2)) for z in grid])
    return grid, np.log(cdf)


def _common_grid(loads: Sequence[Load]) -> tuple[Floats, list[Load]]:
    """Return a grid of the times at which the slowest load can end, dense where any load ends, and the loads that can
    end in it: the others have always ended before.
    """
    medians = [math.log(load.median_s) for load in loads]
    start = max(median + load.spread.log_slowness[load.first_step] for median, load in zip(medians, loads, strict=True))
    late = [at for at, load in enumerate(loads) if medians[at] + load.spread.log_slowness[-1] > start]
    grids = [medians[at] + loads[at].spread.log_slowness for at in late]
    merged = np.sort(np.concatenate([grid[grid.searchsorted(start) :] for grid in grids]))
    return np.asarray(merged[np.append(True, merged[1:] != merged[:-1])]), [loads[at] for at in late]


def _mean(cdf: Floats, values: Floats) -> Floats:
    """Integrate `values` against the steps of `cdf` (last axis); the mass below the grid sits at its first point."""
    middles = (values[1:] + values[:-1]) / 2
    return np.asarray(cdf[..., 0] * values[0] + np.diff(cdf, axis=-1) @ middles)


EXACT_TO: Final = 1000.0
"""Number of nodes up to which every size is computed."""

_PER_DOUBLING: Final = 64
"""Rungs per doubling of the size: for a law that falls as a power of the size the error is below 1 in 10^5."""


def on_ladder(law: Callable[[Floats], Floats], sizes: Floats) -> Floats:
    """Return law(sizes), shape (N,): exact up to `EXACT_TO` nodes, and beyond if there are no more sizes than rungs of
    the ladder; else linear in the logarithm of the size between two rungs. The rungs do not depend on `sizes`.
    """
    beyond = sizes > EXACT_TO
    doublings = np.log2(np.max(sizes, initial=EXACT_TO) / EXACT_TO)
    rungs = EXACT_TO * 2 ** (np.arange(np.ceil(doublings * _PER_DOUBLING) + 1) / _PER_DOUBLING)
    if beyond.sum() <= len(rungs):
        return law(sizes)
    values = np.empty(len(sizes))
    values[~beyond] = law(sizes[~beyond])
    values[beyond] = np.interp(np.log(sizes[beyond]), np.log(rungs), law(rungs))
    return values
