"""Which one further run would teach most: the one whose outcome narrows the ranges that matter, before it is made."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from planner.arrays import Floats
from planner.calibration.history import Job
from planner.calibration.physics import log_seconds, unit_seconds
from planner.calibration.posterior import Explanation, Runs
from planner.calibration.residual import Kinship, coordinates
from planner.calibration.suspicion import with_population
from planner.calibration.workloads import workload
from planner.errors import BadInputError

if TYPE_CHECKING:
    from planner.calibration.profile import Profile

_NODES: Final = (2, 4, 8, 16)
_SIZES_GB: Final = (10.0, 100.0)
_MOST_TYPES: Final = 8


@dataclass(frozen=True, kw_only=True)
class NextRun:
    """A run worth making. `cost_usd` is NaN without a price; the ratios are hi/lo of the 90% ranges asked about, before
    and after it.
    """

    instance_type: str
    nodes: int
    data_gb: float
    options: dict[str, Any]
    runtime_s: float
    cost_usd: float
    range_ratio_before: float
    range_ratio_after: float


def best_experiment(profile: Profile, targets: Sequence[Job] | None, candidates: Sequence[Job] | None) -> NextRun:
    """Return the candidate that shrinks the targets' mean standard deviation of log time most (under the likeliest
    explanation).
    """
    choices = list(candidates or _grid(profile))
    aims = list(targets or _grid(profile))
    if not choices or not aims:
        raise BadInputError(
            "no run to choose from: the profile knows no machine type; hand in specifications with instances="
        )
    likeliest = max(profile.verdict.explanations, key=lambda explanation: explanation.log_evidence)
    covariance = _posterior_covariance(profile, likeliest, [*aims, *choices])
    own = np.diag(covariance)[: len(aims)] + likeliest.noise_sd**2
    cross, theirs = covariance[: len(aims), len(aims) :], np.diag(covariance)[len(aims) :] + likeliest.noise_sd**2
    after = np.sqrt(np.maximum(own[:, None] - cross**2 / theirs, likeliest.noise_sd**2))
    best = int(after.mean(axis=0).argmin())
    return _next_run(profile, choices[best], before=float(np.sqrt(own).mean()), after=float(after[:, best].mean()))


def _next_run(profile: Profile, job: Job, *, before: float, after: float) -> NextRun:
    runtime_s = float(profile.mixture([job]).quantiles_s(0.5)[0, 0])
    price = profile.machines[job.instance_type].price_usd_per_hour
    return NextRun(
        instance_type=job.instance_type,
        nodes=job.nodes,
        data_gb=job.data_gb,
        options=dict(job.options),
        runtime_s=runtime_s,
        cost_usd=job.nodes * price * runtime_s / 3600,
        range_ratio_before=float(np.exp(2 * 1.645 * before)),
        range_ratio_after=float(np.exp(2 * 1.645 * after)),
    )


def _posterior_covariance(profile: Profile, explanation: Explanation, jobs: Sequence[Job]) -> Floats:
    """Return the covariance of the jobs' log times given the runs, shape (jobs, jobs)."""
    work, (ours, theirs) = workload(jobs, profile.machines), profile.options.encode(profile.runs, jobs)
    if profile.verdict.population.any():
        ours, theirs = (
            with_population(ours, np.where(profile.verdict.population, 1.0, -1.0)),
            with_population(theirs, -1.0),
        )
    past = _where(profile.verdict.runs, ours)
    where = coordinates(work, theirs)
    white = Kinship(where, past, past).covariance(explanation.amplitude) @ explanation.whitening.T
    gradient = log_seconds(explanation.coefficients, unit_seconds(work, explanation.family.stream))[1] - white @ explanation.white_jacobian
    prior = Kinship(where, where, past).covariance(explanation.amplitude)
    return prior - white @ white.T + gradient @ explanation.spread @ gradient.T


def _where(runs: Runs, options: Floats) -> Any:
    return coordinates(runs.work, options)


def _grid(profile: Profile) -> list[Job]:
    """Return jobs over the runs' types, node counts and sizes, up to twice the largest of each, with the last run's
    options.
    """
    runs = profile.runs
    types = list(dict.fromkeys(job.instance_type for job in runs)) or list(profile.machines)
    nodes = _reach([job.nodes for job in runs]) if runs else _NODES
    sizes = _reach([job.data_gb for job in runs]) if runs else _SIZES_GB
    options = runs[-1].options if runs else {}
    return [
        Job(instance_type=instance_type, nodes=round(count), data_gb=float(size), options=options)
        for instance_type, count, size in product(types[:_MOST_TYPES], nodes, sizes)
    ]


def _reach(values: Sequence[float]) -> list[float]:
    """Return the smallest, the middle, the largest and twice the largest of some values."""
    ordered = sorted(set(values))
    return sorted({ordered[0], ordered[len(ordered) // 2], ordered[-1], 2 * ordered[-1]})
