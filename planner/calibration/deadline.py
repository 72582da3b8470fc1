"""The cheapest cluster that meets a deadline with the upper end of its range, not with its median."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from planner.calibration.history import Job
from planner.calibration.profile import Profile
from planner.errors import BadInputError, InfeasibleError
from planner.units import format_duration


@dataclass(frozen=True, kw_only=True)
class Choice:
    """A cluster with its predicted time and range, in seconds, and the cost of the median."""

    instance_type: str
    nodes: int
    runtime_s: float
    lo_s: float
    hi_s: float
    cost_usd: float


def cheapest_within(
    profile: Profile,
    *,
    deadline_s: float,
    data_gb: float,
    nodes: Iterable[int],
    instance_types: Iterable[str] | None = None,
    options: Mapping[str, Any] | None = None,
) -> Choice:
    """Return the cheapest cluster whose `hi_s` is within the deadline; types without a price do not compete.

    Raises InfeasibleError naming the fastest when none is, and BadInputError when there is nothing to choose from.
    """
    types = list(profile.machines if instance_types is None else instance_types)
    jobs = [
        Job(instance_type=name, nodes=count, data_gb=data_gb, options=dict(options or {}))
        for name in types
        for count in nodes
    ]
    if not jobs:
        raise BadInputError("no cluster to choose from: name node counts and machine types")
    choices = choices_of(profile, jobs)
    within = [choice for choice in choices if choice.hi_s <= deadline_s and np.isfinite(choice.cost_usd)]
    if not within:
        fastest = min(choices, key=lambda choice: choice.hi_s)
        raise InfeasibleError(
            f"no cluster surely finishes within {format_duration(deadline_s)}",
            [f"nearest: {fastest.nodes} x {fastest.instance_type}, {format_duration(fastest.hi_s)} at its range's end"],
        )
    return min(within, key=lambda choice: choice.cost_usd)


def choices_of(profile: Profile, jobs: list[Job]) -> list[Choice]:
    """Return every job as a choice, in order."""
    runtime_s, lo, hi = profile.mixture(jobs).range_s()
    hours = (
        np.array([job.nodes * profile.machines[job.instance_type].price_usd_per_hour for job in jobs])
        * runtime_s
        / 3600
    )
    return [
        Choice(
            instance_type=job.instance_type,
            nodes=job.nodes,
            runtime_s=float(runtime_s[i]),
            lo_s=float(lo[i]),
            hi_s=float(hi[i]),
            cost_usd=float(hours[i]),
        )
        for i, job in enumerate(jobs)
    ]
