"""One job over weeks: the growth of its time and data, and when they no longer fit."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from planner.spark.fleet.rows import FleetRow

_WEEK_S: Final = 7 * 86400.0
_LEAST_RUNS: Final = 3
_LEAST_WEEKS: Final = 1.0
_VARYING: Final = re.compile(r"\d+")
"""Dates and numbers in a job's name, which change from run to run."""
_NUMBERED: Final = re.compile(r"job-\d+")
"""Placeholder for a job whose name was left out."""


@dataclass(frozen=True, kw_only=True)
class Trend:
    """Runs of one job, earliest first. Growths are factors per week, from a straight line through the logarithms; None
    is unknown.
    """

    job: str
    runs: tuple[FleetRow, ...]
    weeks: float
    time_growth: float | None
    data_growth: float | None
    data_headroom: float | None

    @property
    def weeks_until_spill(self) -> float | None:
        """Weeks until a task exceeds its share of memory, 0 where one does; None if unknown or never."""
        if self.data_headroom is None:
            return None
        if self.data_headroom < 1:
            return 0.0
        if self.data_growth is None or self.data_growth <= 1:
            return None
        return math.log(self.data_headroom) / math.log(self.data_growth)

    @property
    def twice(self) -> str:
        """Effect of twice the data on the same cluster, in words."""
        return at_twice_the_data(self.data_headroom)


def at_twice_the_data(headroom: float | None) -> str:
    """Return in words whether twice the data fits, given by what factor a task's data may grow."""
    if headroom is None:
        return "unknown"
    if headroom < 1:
        return "already spills"
    return "fits" if headroom >= 2 else "no longer fits: tasks spill"


def job_name(name: str) -> str:
    """Return the common part of the names of a job's runs: `etl 2026-11-01` and `etl 2026-11-02` are `etl #-#-#`."""
    return name if _NUMBERED.fullmatch(name) else _VARYING.sub("#", name)


def trends(rows: Iterable[FleetRow]) -> tuple[Trend, ...]:
    """Return the jobs with at least three runs over a week or more, fastest growing run time first."""
    jobs: dict[str, list[FleetRow]] = {}
    for row in rows:
        if row.name and row.started_at_s is not None and row.duration_s:
            jobs.setdefault(job_name(row.name), []).append(row)
    found = [trend for job, runs in jobs.items() if (trend := _trend(job, runs))]
    return tuple(sorted(found, key=lambda trend: -(trend.time_growth or 0.0)))


def _trend(job: str, runs: list[FleetRow]) -> Trend | None:
    runs.sort(key=lambda row: row.started_at_s or 0.0)
    at = [(row.started_at_s or 0.0) / _WEEK_S for row in runs]
    if len(runs) < _LEAST_RUNS or at[-1] - at[0] < _LEAST_WEEKS:
        return None
    return Trend(
        job=job,
        runs=tuple(runs),
        weeks=at[-1] - at[0],
        time_growth=_growth(at, [row.duration_s if row.ended else None for row in runs]),
        data_growth=_growth(at, [row.data_bytes for row in runs]),
        data_headroom=next((row.data_headroom for row in reversed(runs) if row.data_headroom is not None), None),
    )


def _growth(weeks: Sequence[float], amounts: Sequence[float | None]) -> float | None:
    """Return the factor by which amounts grow each week; None with fewer than three known ones, or all at one time."""
    known = [(at, math.log(amount)) for at, amount in zip(weeks, amounts, strict=True) if amount]
    if len(known) < _LEAST_RUNS or known[-1][0] <= known[0][0]:
        return None
    at, logarithms = zip(*known, strict=True)
    return math.exp(float(np.polyfit(at, logarithms, deg=1)[0]))
