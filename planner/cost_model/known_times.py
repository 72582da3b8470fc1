"""Times of a job that real runs teach, in place of the equations': the equations then say which clusters hold the data,
and how a what-if changes the time.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np

from planner.arrays import Flags, Floats, Rows
from planner.catalog.instances import split_weighting
from planner.cost_model.capacity import fewest_nodes
from planner.cost_model.duration import JobTimes
from planner.cost_model.estimate import undisturbed_s
from planner.cost_model.workload import JobContext
from planner.statistics.taught_times import Z_KEPT, TaughtJobs

UNSURE: Final = 0.5
"""Widening of the range by a what-if: standard deviation of ln(time) per unit of ln(ratio)."""


@dataclass(frozen=True, kw_only=True, eq=False)
class KnownTimes:
    """Seconds of a job on T types, `rows` by name, at some numbers of `nodes` (N,): expected, median and high, (T, N).

    `as_is` is the job on machines as they were in the runs: how much longer the equations' time is than there, on the
    best layout of a type, the known time becomes, too; None until the context of the job is known.
    """

    rows: Mapping[str, int]
    nodes: Floats
    usual_s: Floats
    median_s: Floats
    high_s: Floats
    as_is: JobContext | None = None

    def estimated(self, context: JobContext, nodes: Floats, after_s: Floats) -> TaughtJobs:
        """Return the jobs on every layout at each of `nodes` (N,), which take `after_s` (R, N) by the estimates."""
        before_s = self._least_s[context.layouts.type_row[:, None], self._columns(nodes)]
        return self._stretched(context, nodes, after_s=after_s, before_s=before_s)

    def exactly(self, context: JobContext, nodes: Floats, after_s: Floats) -> TaughtJobs:
        """Return the jobs of clusters of `nodes` (M,) on a layout each, which take `after_s` (M,) by the equations."""
        before_s = self._before_s(context.layouts.type_row, nodes)[:, None]
        jobs = self._stretched(context, nodes[:, None], after_s=after_s[:, None], before_s=before_s)
        return TaughtJobs(**{name: of[:, 0] for name, of in vars(jobs).items()})

    def _stretched(self, context: JobContext, nodes: Floats, *, after_s: Floats, before_s: Floats) -> TaughtJobs:
        """Return the jobs, (R, N), lengthened as the equations' time is: how far the real time follows the equations is
        unknown, so the range widens by half of the change, in ln.
        """
        rows, columns = self._type_rows[context.layouts.type_row][:, None], self._columns(nodes)
        usual_s, median_s, high_s = (of[rows, columns] for of in (self.usual_s, self.median_s, self.high_s))
        ratio = what_if_ratio(usual_s, before_s, after_s)
        wider = np.hypot(np.log(high_s / usual_s), Z_KEPT * UNSURE * np.log(ratio))
        return TaughtJobs(
            usual_s=usual_s * ratio, median_s=median_s * ratio, high_s=usual_s * ratio * np.exp(wider), ratio=ratio
        )

    def _columns(self, nodes: Floats) -> Rows:
        return np.searchsorted(self.nodes, nodes).clip(max=len(self.nodes) - 1)

    @property
    def _home(self) -> JobContext:
        if self.as_is is None:
            raise ValueError("no context: see `as_is`")
        return self.as_is

    @cached_property
    def _type_rows(self) -> Rows:
        """The row of each type of the catalog, 0 for others."""
        return np.array([self.rows.get(split_weighting(name)[0], 0) for name in self._home.catalog.instances.names])

    def tells(self, type_rows: Rows) -> Flags:
        """Return whether the times of types of the catalog (R,) can be carried over to what-ifs, at any size."""
        return np.asarray(np.isfinite(self._least_s[type_rows]).any(axis=1))

    @cached_property
    def _least_s(self) -> Floats:
        """The estimated seconds of each type of the catalog, (T, N), on its best layout as it was that holds the data;
        NaN where there is none.
        """
        holds, seconds = self.nodes >= self._fewest[:, None], undisturbed_s(self._home, self.nodes)
        least_s = np.full((len(self._home.catalog.instances), len(self.nodes)), np.nan)
        np.fmin.at(least_s, self._home.layouts.type_row, np.where(holds, seconds, np.nan))
        return least_s

    @cached_property
    def _fewest(self) -> Floats:
        return fewest_nodes(self._home)

    def _before_s(self, type_rows: Rows, nodes: Floats) -> Floats:
        """Return the seconds of clusters (M,) on the best layout of their types as they were that holds the data."""
        known = self._home.layouts.type_row  # rising
        first, end = (np.searchsorted(known, type_rows, side=side) for side in ("left", "right"))
        of = np.repeat(np.arange(len(nodes)), end - first)
        rows = np.arange(len(of)) - np.repeat(np.cumsum(end - first) - (end - first), end - first) + first[of]
        holds = nodes[of] >= self._fewest[rows]
        of, rows, least_s = of[holds], rows[holds], np.full(len(nodes), np.nan)
        if len(of):
            times = JobTimes.planned(self._home.only(rows), nodes[of])
            np.fmin.at(least_s, of, sum(times.phases_s, start=np.zeros(len(of))))
        return least_s


def what_if_ratio(usual_s: Floats | float, before_s: Floats | float, after_s: Floats | float) -> Floats:
    """Return the factor of a what-if on a known time: that of the equations' time, or more if the seconds it adds to
    them are more. The equations may make a job wait for something that the runs show to be fast.
    """
    ratio = np.asarray(after_s / np.asarray(before_s))
    return np.where(ratio > 1, np.maximum(ratio, 1 + (after_s - before_s) / usual_s), ratio)
