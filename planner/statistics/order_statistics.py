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

from planner.arrays import Flags, Floats, Rows, distinct

_STEPS: Final = 401
_REACH: Final = 8.0
"""Standard deviations that a lognormal grid spans on either side: the slowest of 10^6 nodes is at 4.9."""

_SMALLEST_SIGMA: Final = 1e-9
"""Stand-in for zero variation, so that fixed rates need no separate path."""

_NEVER: Final = -20.0
"""Log probability that vanishes beside 1."""
_MISSED: Final = 1e-6
"""Chance that a grid leaves out at its end."""
_INSTANT: Final = 1e-9
"""Width of a jump, in the logarithm of the time."""

_GRID: Final = 64
"""Times at which the end of a phase is evaluated."""
_JOB_GRID: Final = 128
"""The same for a job, whose time spreads more widely."""
_PARTS: Final = 128
"""Number of equally likely values that represent the distribution of a job, or of its only phase."""
_FACTORS: Final = 12
"""Number of values of the factor that the phases share."""
_PHASE_PARTS: Final = 16
"""The same for each of several phases, whose sums are then taken of all pairs."""


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

    @property
    def has_jumps(self) -> bool:
        """Whether a share of the nodes is exactly as slow as the fastest, or as the slowest."""
        return bool(self.log_cdf[0] > _NEVER)

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
    grid = distinct(np.concatenate([spread.log_slowness, shifted]))
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


@dataclass(frozen=True, kw_only=True, eq=False)
class Loads:
    """One resource in a phase of M clusters: a node's `median_s` in each of D equally likely ways, shape (M, D), the
    nodes to wait for (`count`, M), and the number of slowest nodes dropped before (`spares`, M). `spreads` divides the
    clusters by how their nodes differ.
    """

    median_s: Floats
    spreads: Sequence[tuple[Spread, Rows]]
    count: Floats
    spares: Floats

    def times(self, factors: Floats) -> Loads:
        """Return the loads with medians multiplied, in as many ways as `factors` (M, D) has."""
        return self.lasting(self.median_s * factors)

    def lasting(self, median_s: Floats) -> Loads:
        """Return the loads with other medians."""
        return Loads(median_s=median_s, spreads=self.spreads, count=self.count, spares=self.spares)

    @property
    def mean_s(self) -> Floats:
        """The expected seconds until the slowest of the counted nodes is done, (M, D)."""
        slowest = np.ones(len(self.count))
        for spread, rows in self.spreads:
            slowest[rows] = slowest_mean(spread, self.count[rows])
        means = self.median_s * slowest[:, None]
        return np.where(self.spares[:, None] > 0, barriers([self]).mean_s, means) if self.spares.any() else means

    def edges(self) -> tuple[Floats, Floats]:
        """Return the log seconds between which the last counted node ends, but for a chance of about one in a million,
        (M, D): -inf without work.
        """
        low, high = np.zeros(len(self.count)), np.zeros(len(self.count))
        for spread, rows in self.spreads:
            low[rows] = np.interp(_NEVER / self.count[rows], spread.log_cdf, spread.log_slowness)
            high[rows] = np.interp(-_MISSED / self.count[rows], spread.log_cdf, spread.log_slowness)
            for at in rows[self.spares[rows] > 0].tolist():
                done = _with_spares(spread.log_cdf, count=float(self.count[at]), spares=int(self.spares[at]))
                low[at], high[at] = np.interp([_NEVER, -_MISSED], done, spread.log_slowness)
        with np.errstate(divide="ignore"):
            middle = np.log(self.median_s)
        return middle + low[:, None], middle + high[:, None]

    @property
    def has_jumps(self) -> bool:
        """Whether nodes share a fastest or slowest time."""
        return any(spread.has_jumps for spread, _ in self.spreads)

    def jumps(self) -> Floats:
        """Return the log seconds around the fastest and the slowest time that nodes share, (M, D, 4)."""
        ends = np.zeros((len(self.count), 4))
        for spread, rows in self.spreads:
            ends[rows] = spread.log_slowness[[0, 0, -1, -1]] - [_INSTANT, 0, _INSTANT, 0]
        with np.errstate(divide="ignore"):
            return np.log(self.median_s)[..., None] + ends[:, None, :]

    def log_cdf_at(self, log_times: Floats, late: Flags) -> Floats:
        """Return ln P(done by each time), (M, D, G), where `late` (M, D); 0 elsewhere. Of N + k nodes N are done if N
        successes come before k + 1 failures.
        """
        total = np.zeros(log_times.shape)
        for spread, rows in self.spreads:
            place, way = np.nonzero(late[rows])
            cluster = rows[place]
            middle = np.log(self.median_s[cluster, way])
            of_node = spread.log_cdf_at(log_times[cluster, way] - middle[:, None])
            total[cluster, way] = self.count[cluster, None] * of_node
            for at in np.flatnonzero(self.spares[cluster]).tolist():
                spares, count = int(self.spares[cluster[at]]), float(self.count[cluster[at]])
                total[cluster[at], way[at]] = _with_spares(of_node[at], count=count, spares=spares)
        return total


def _with_spares(node_log_cdf: Floats, *, count: float, spares: int) -> Floats:
    """Return ln P(`count` of `count + spares` nodes are done), (G,)."""
    failed = np.arange(spares + 1.0)
    ways = [math.lgamma(count + j) - math.lgamma(j + 1) - math.lgamma(count) for j in failed.tolist()]
    log_late = np.log(np.maximum(-np.expm1(node_log_cdf), 1e-300))
    terms = np.array(ways)[:, None] + failed[:, None] * log_late
    most = terms.max(axis=0)
    return np.asarray(np.minimum(most + np.log(np.exp(terms - most).sum(axis=0)) + count * node_log_cdf, 0.0))


@dataclass(frozen=True, kw_only=True, eq=False)
class Durations:
    """Distributions of times: `cdf[..., g]` = P(time <= `times_s[..., g]`), both (..., G), rising to 1."""

    times_s: Floats
    cdf: Floats

    @cached_property
    def mean_s(self) -> Floats:
        """The expected times, (...)."""
        times, cdf = self.times_s, self.cdf
        middles = (times[..., 1:] + times[..., :-1]) / 2
        return np.asarray(cdf[..., 0] * times[..., 0] + (np.diff(cdf, axis=-1) * middles).sum(axis=-1))

    def later_by(self, seconds: Floats) -> Durations:
        """Return the times plus `seconds` (...)."""
        return replace(self, times_s=self.times_s + seconds[..., None]) if seconds.any() else self

    def probability_by(self, time_s: Floats) -> Floats:
        """Return the probability that each of M times is at most `time_s` (M,)."""
        limits = zip(time_s.tolist(), self.times_s, self.cdf, strict=True)
        return np.array([np.interp(limit, times, cdf, left=0.0, right=1.0) for limit, times, cdf in limits])

    def parts_s(self, parts: int) -> Floats:
        """Return equally likely values of each time with the same mean, (..., parts): the means of equal parts."""
        times = self.times_s.reshape(-1, self.times_s.shape[-1])
        cdf = np.concatenate([np.zeros((len(times), 1)), self.cdf.reshape(times.shape)], axis=1)
        middles = np.concatenate([times[:, :1], (times[:, 1:] + times[:, :-1]) / 2], axis=1)
        below = np.cumsum(np.diff(cdf, axis=1) * middles, axis=1)
        below = np.concatenate([np.zeros((len(times), 1)), below], axis=1)
        made = _interpolated(np.linspace(0.0, 1.0, parts + 1), cdf, below)
        return (np.diff(made, axis=1) * parts).reshape(*self.cdf.shape[:-1], parts)

    def quantile_s(self, probabilities: ArrayLike) -> Floats:
        """Return each of M times at the same quantiles (Q,), shape (M, Q)."""
        wanted, steps = np.asarray(probabilities, float), self.cdf.shape[-1]
        made = _interpolated(wanted, self.cdf.reshape(-1, steps), self.times_s.reshape(-1, steps))
        return made.reshape(*self.cdf.shape[:-1], *wanted.shape)


def _interpolated(at: Floats, places: Floats, values: Floats) -> Floats:
    """Return `np.interp(at, places[row], values[row])` of each row, (R, len(at)); `places` and `values` are (R, G)."""
    after = (places[:, None, :] <= at[None, :, None]).sum(axis=-1).clip(1, places.shape[1] - 1)
    (low, high), (first, last) = (
        [np.take_along_axis(of, side, axis=1) for side in (after - 1, after)] for of in (places, values)
    )
    share = np.divide(at - low, high - low, out=np.zeros(low.shape), where=high > low).clip(0.0, 1.0)
    return np.asarray(first + (last - first) * share)


def barriers(loads: Sequence[Loads]) -> Durations:
    """Return the durations of a phase that ends with the slowest resource of the slowest node, (M, D, `_GRID`).

    All loads are independent: P(T <= t) is the product over resources of F(t / median)^count, without spares. The grid
    of a cluster spans the times at which the slowest load can end; loads that always end before are left out.
    """
    edges = [load.edges() for load in loads]
    start, end = (np.maximum.reduce(list(side)) for side in zip(*edges, strict=True))
    is_idle = ~np.isfinite(start)
    start, end = np.where(is_idle, 0.0, start), np.where(is_idle, 0.0, end)
    log_times = start[..., None] + (end - start)[..., None] * np.linspace(0.0, 1.0, _GRID)
    jumps = [load.jumps() for load in loads if load.has_jumps]
    if jumps:
        between = np.clip(np.concatenate(jumps, axis=-1), start[..., None], end[..., None])
        log_times = np.sort(np.concatenate([log_times, between], axis=-1), axis=-1)
    log_cdf = np.zeros(log_times.shape)
    for load, (_, latest) in zip(loads, edges, strict=True):
        log_cdf += load.log_cdf_at(log_times, (latest > start) & ~is_idle)
    cdf = np.exp(log_cdf)
    cdf[..., -1] = 1.0
    return Durations(times_s=np.where(is_idle[..., None], 0.0, np.exp(log_times)), cdf=cdf)


def sums_s(phases: Sequence[Durations]) -> Floats:
    """Return equally likely values of the times of M jobs of consecutive independent phases, each (M, D, G) over
    equally likely ways, with the same mean: (M, `_PARTS`), rising.
    """
    parts = _PARTS if len(phases) == 1 else _PHASE_PARTS
    sums = np.zeros((*phases[0].mean_s.shape, 1))
    for phase in phases:
        steps = phase.parts_s(parts)
        both = (sums[..., :, None] + steps[..., None, :]).reshape(*sums.shape[:-1], -1)
        sums = _representatives(both, parts=parts) if phase is not phases[-1] else both
    return _representatives(sums.reshape(len(sums), -1), parts=_PARTS)


def durations_of(sums: Floats, *, shared_sigma: float) -> Durations:
    """Return the durations of M jobs that take one of `sums` (M, P), equally likely and rising, times a lognormal
    factor (median 1) that all their phases share. The means are those of the values; quantiles are right to 2 in 1000.
    """
    if shared_sigma <= 0 or not sums.any():
        cdf = np.broadcast_to(np.append(_middles(sums.shape[1]), 1.0), (len(sums), sums.shape[1] + 1))
        return Durations(times_s=np.append(sums, sums[:, -1:], axis=1), cdf=cdf)
    logs = np.log(np.maximum(sums, 1e-300))
    reach = 4 * shared_sigma
    steps = np.linspace(0.0, 1.0, _JOB_GRID)
    log_times = (logs[:, :1] - reach) + (logs[:, -1:] - logs[:, :1] + 2 * reach) * steps
    normal, log_cdf = _standard_normal()
    deviations = (log_times[:, :, None] - logs[:, None, :]) / shared_sigma
    cdf = np.interp(deviations, normal, np.exp(log_cdf)).mean(axis=2)
    return Durations(times_s=np.exp(log_times), cdf=cdf / cdf[:, -1:])


def shared_factors(shared_sigma: float) -> tuple[Floats, Floats]:
    """Return values of the factor that all phases of a run share, and their probabilities, both (F,): those of
    Gauss-Hermite quadrature, with which the mean of a smooth function of the factor is right to many digits.
    """
    deviates, weights = np.polynomial.hermite_e.hermegauss(_FACTORS)
    return np.exp(shared_sigma * deviates), weights / weights.sum()


def _middles(parts: int) -> Floats:
    return (np.arange(parts) + 0.5) / parts


def _representatives(values: Floats, *, parts: int) -> Floats:
    """Return equally likely values with the same mean in each row (the last axis): the means of equal parts of the
    sorted values; all values if they are few.
    """
    ordered = np.sort(values, axis=-1)
    if values.shape[-1] <= parts or values.shape[-1] % parts:
        return ordered
    return np.asarray(ordered.reshape(*values.shape[:-1], parts, -1).mean(axis=-1))


@lru_cache(maxsize=1)
def _standard_normal() -> tuple[Floats, Floats]:
    grid = np.linspace(-_REACH, _REACH, _STEPS)
    cdf = np.array([0.5 * math.erfc(-z / math.sqrt(2)) for z in grid])
    return grid, np.log(cdf)


def _mean(cdf: Floats, values: Floats) -> Floats:
    """Integrate `values` against the steps of `cdf` (last axis); the mass below the grid sits at its first point. It is
    a sum by row: a product of matrices rounds a row's last digit by how many rows there are.
    """
    middles = (values[1:] + values[:-1]) / 2
    return np.asarray(cdf[..., 0] * values[0] + (np.diff(cdf, axis=-1) * middles).sum(axis=-1))


EXACT_TO: Final = 200.0
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
