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

from planner.arrays import Floats
from planner.statistics.order_statistics import Duration

_MOST: Final = 50.0
"""Limit on expected interruptions within the work: at e^50 times as long the job never ends, but its time is finite."""

_PARTS: Final = 512
_STEPS: Final = 400


@dataclass(frozen=True, kw_only=True)
class Risk:
    """Interruptions per node and second, the seconds to replace a node, the loss (one of `RECOVERY`), and the source of
    the rate.
    """

    per_node_s: float
    replacement_s: float
    recovery: str
    evidence: str
    alternatives_s: tuple[float, ...] = ()
    """Equally likely rates, including `per_node_s`, if the true one is unknown; empty if it is known."""

    @property
    def _each(self) -> list[Risk]:
        """The risk at each of the possible rates."""
        return [replace(self, per_node_s=rate, alternatives_s=()) for rate in self.alternatives_s]

    def expected_s(self, job_s: Floats, *, nodes: Floats, load_s: ArrayLike) -> Floats:
        """Return the expected time of jobs that take `job_s` uninterrupted, after `load_s` of loading; broadcasts."""
        if len(self.alternatives_s) > 1:
            times = [risk.expected_s(job_s, nodes=nodes, load_s=load_s) for risk in self._each]
            return np.asarray(np.mean(times, axis=0))
        if self.recovery == "redo":
            return job_s * (1 + self.per_node_s * (job_s / 2 + self.replacement_s))
        loading = np.asarray(load_s) if self.recovery == "reload" else 0.0
        unit = job_s + loading
        rate = nodes * self.per_node_s
        hit = rate * unit
        tries = np.expm1(np.minimum(hit, _MOST)) * np.maximum(hit / _MOST, 1.0)
        whole = (1 / rate + self.replacement_s) * tries
        return np.asarray(np.where(np.isfinite(job_s), np.maximum(whole, unit) - loading, job_s))

    def duration(self, job: Duration, *, nodes: int, load_s: float) -> Duration:
        """Return the distribution of the time with interruptions.

        The chance of no interruption and the mean are exact; the delay of some, beyond a replacement, is assumed
        exponential, which it is in the limit of many restarts. With `redo` each time is stretched to its mean.
        """
        if len(self.alternatives_s) > 1:
            return _mixed([risk.duration(job, nodes=nodes, load_s=load_s) for risk in self._each])
        if self.recovery == "redo":
            return Duration(times_s=self.expected_s(job.times_s, nodes=np.array(float(nodes)), load_s=0), cdf=job.cdf)
        work = job.quantile_s((np.arange(_PARTS) + 0.5) / _PARTS)
        unit = work + (load_s if self.recovery == "reload" else 0.0)
        spared = np.exp(-nodes * self.per_node_s * unit)
        delay = self.expected_s(work, nodes=np.array(float(nodes)), load_s=load_s) - work
        further = np.maximum(delay / np.maximum(1 - spared, 1e-12) - self.replacement_s, 1e-9)
        end = work[-1] + self.replacement_s + 20 * further[-1]
        some = np.geomspace(work[0], end, _STEPS)
        late = np.maximum(some[:, None] - work - self.replacement_s, 0)
        hit = (-(1 - spared) * np.expm1(-late / further)).mean(axis=1)
        times = np.unique(np.concatenate([some, job.times_s]))
        cdf = self._cdf_undisturbed(job, times, work, spared) + np.interp(times, some, hit)
        return Duration(times_s=times, cdf=cdf / cdf[-1])

    @staticmethod
    def _cdf_undisturbed(job: Duration, times: Floats, work: Floats, spared: Floats) -> Floats:
        """Return the probability that a job has ended by each of `times` (G,) without interruption, where `spared` is
        the chance of that for `work`: the job's own distribution, with each step weighted.
        """
        done = np.interp(times, job.times_s, job.cdf, left=0.0, right=1.0)
        chance = np.interp((times[1:] + times[:-1]) / 2, work, spared)
        first = done[0] * np.interp(times[0], work, spared)
        return np.asarray(np.concatenate(([first], first + np.cumsum(np.diff(done) * chance))))


def _mixed(durations: Sequence[Duration]) -> Duration:
    """Return the equal mixture of several distributions of a time."""
    times = np.unique(np.concatenate([duration.times_s for duration in durations]))
    cdf = np.mean([np.interp(times, d.times_s, d.cdf, left=0.0, right=1.0) for d in durations], axis=0)
    return Duration(times_s=times, cdf=cdf)
