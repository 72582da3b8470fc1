"""The cost of interrupted spot nodes: repeated work, and waiting for replacements.

Interruptions are independent, at a constant rate for each node. Their cost depends on the model's `recovery`. A job
that must start over (`reload`, `restart`) takes, for U seconds of uninterrupted work on N nodes interrupted a times a
second each and R seconds to replace a node, an expected

    E = (1 / (N a) + R) (exp(N a U) - 1)

seconds, the exact mean of a restarted job under Poisson failures (Daly, "A higher order estimate of the optimum
checkpoint interval for restart dumps", FGCS 22, 2006, for a single segment); with `reload` U includes loading the
input. With `redo` all nodes repeat an interrupted node's work: on average half the job's time and R per interrupted
node, T a (T / 2 + R) seconds in all. Delays from the last repeated tasks are not included.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.typing import ArrayLike

from planner.arrays import Floats, Rows
from planner.statistics.order_statistics import Durations

_MOST: Final = 50.0
"""Limit on expected interruptions within the work: at e^50 times as long the job never ends, but its time is finite."""

_PARTS: Final = 64
_STEPS: Final = 256


@dataclass(frozen=True, kw_only=True)
class Risk:
    """Interruptions per node and second, of all jobs or of each, (M,); the seconds to replace a node, the loss (one of
    `RECOVERY`), and the source of the rate.
    """

    per_node_s: float | Floats
    replacement_s: float
    recovery: str
    evidence: str
    alternatives_s: tuple[float, ...] = ()
    """Equally likely rates, including `per_node_s`, if the true one is unknown; empty if it is known."""

    def of(self, rows: Rows) -> Risk:
        """Return the risk to jobs of these rows, of which each has its rate."""
        return self if np.ndim(self.per_node_s) == 0 else replace(self, per_node_s=np.asarray(self.per_node_s)[rows])

    def _rates(self, like: ArrayLike) -> Floats:
        """Return the rates as the first axis of an array of jobs."""
        rates = np.asarray(self.per_node_s)
        return rates.reshape(-1, *[1] * (np.ndim(like) - 1)) if rates.ndim else rates

    @property
    def _each(self) -> list[Risk]:
        """The risk at each of the possible rates."""
        return [replace(self, per_node_s=rate, alternatives_s=()) for rate in self.alternatives_s]

    def times_begun(self, expected_s: Floats, *, nodes: Floats) -> Floats:
        """Return the mean number of times that jobs of an expected time, with their interruptions, begin until they
        end: between two beginnings are the time to an interruption and a replacement.
        """
        per_s = nodes * self._rates(expected_s)
        return np.asarray(1 + expected_s * per_s / (1 + per_s * self.replacement_s))

    def expected_s(self, job_s: Floats, *, nodes: Floats, load_s: ArrayLike) -> Floats:
        """Return the expected time of jobs that take `job_s` uninterrupted, after `load_s` of loading; broadcasts."""
        if len(self.alternatives_s) > 1:
            times = [risk.expected_s(job_s, nodes=nodes, load_s=load_s) for risk in self._each]
            return np.asarray(np.mean(times, axis=0))
        if self.recovery == "redo":
            return job_s * (1 + self._rates(job_s) * (job_s / 2 + self.replacement_s))
        loading = np.asarray(load_s) if self.recovery == "reload" else 0.0
        unit = job_s + loading
        rate = nodes * self._rates(job_s)
        hit = rate * unit
        tries = np.expm1(np.minimum(hit, _MOST)) * np.maximum(hit / _MOST, 1.0)
        whole = (1 / rate + self.replacement_s) * tries
        return np.asarray(np.where(np.isfinite(job_s), np.maximum(whole, unit) - loading, job_s))

    def durations(self, job: Durations, *, nodes: Floats, load_s: Floats) -> Durations:
        """Return the distributions of M times with interruptions, on `nodes` (M,) after `load_s` (M,) of loading.

        The chance of no interruption and the mean are exact; the delay of some, beyond a replacement, is assumed
        exponential, which it is in the limit of many restarts. With `redo` each time is stretched to its mean.
        """
        if len(self.alternatives_s) > 1:
            return _mixed([risk.durations(job, nodes=nodes, load_s=load_s) for risk in self._each])
        if self.recovery == "redo":
            return Durations(times_s=self.expected_s(job.times_s, nodes=nodes[:, None], load_s=0), cdf=job.cdf)
        work = job.parts_s(_PARTS)
        unit = work + (load_s[:, None] if self.recovery == "reload" else 0.0)
        spared = np.exp(-nodes[:, None] * self._rates(unit) * unit)
        delay = self.expected_s(work, nodes=nodes[:, None], load_s=load_s[:, None]) - work
        further = np.maximum(delay / np.maximum(1 - spared, 1e-12) - self.replacement_s, 1e-9)
        end = work[:, -1] + self.replacement_s + 20 * further[:, -1]
        some = np.geomspace(work[:, 0], end, _STEPS, axis=1)
        late = np.maximum(some[:, :, None] - work[:, None, :] - self.replacement_s, 0)
        hit = (-(1 - spared)[:, None, :] * np.expm1(-late / further[:, None, :])).mean(axis=2)
        times = np.sort(np.concatenate([some, job.times_s], axis=1), axis=1)
        rows = zip(job.times_s, job.cdf, times, work, spared, some, hit, strict=True)
        cdf = np.array([_cdf_undisturbed(*of_job) + np.interp(of_job[2], at, by) for *of_job, at, by in rows])
        return Durations(times_s=times, cdf=cdf / cdf[:, -1:])


def _cdf_undisturbed(job_times: Floats, job_cdf: Floats, times: Floats, work: Floats, spared: Floats) -> Floats:
    """Return the probability that a job has ended by each of `times` (G,) without interruption, where `spared` is the
    chance of that for `work`: the job's own distribution, with each step weighted.
    """
    done = np.interp(times, job_times, job_cdf, left=0.0, right=1.0)
    chance = np.interp((times[1:] + times[:-1]) / 2, work, spared)
    first = done[0] * np.interp(times[0], work, spared)
    return np.asarray(np.concatenate(([first], first + np.cumsum(np.diff(done) * chance))))


def _mixed(durations: Sequence[Durations]) -> Durations:
    """Return the equal mixture of several distributions of each of M times."""
    times = np.sort(np.concatenate([of.times_s for of in durations], axis=1), axis=1)
    cdf = np.mean([_cdf_at(times, of) for of in durations], axis=0)
    return Durations(times_s=times, cdf=cdf)


def _cdf_at(times: Floats, durations: Durations) -> Floats:
    """Return the probability that each of M jobs has ended by its `times` (M, G)."""
    rows = zip(times, durations.times_s, durations.cdf, strict=True)
    return np.array([np.interp(at, own, cdf, left=0.0, right=1.0) for at, own, cdf in rows])
