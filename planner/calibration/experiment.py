"""Choice of the next run: the one whose outcome saves most on the cluster chosen afterwards, less its own price.

If no run pays for itself, the one that narrows the ranges most is chosen.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any, Final

import numpy as np

from planner.arrays import Floats
from planner.calibration.fit import Fit
from planner.calibration.history import JobRow
from planner.calibration.physics import log_seconds, unit_seconds
from planner.calibration.posterior import Explanation, weights
from planner.calibration.prediction import few_runs_factor
from planner.calibration.residual import Kinship, coordinates
from planner.calibration.suspicion import with_population
from planner.errors import BadInputError
from planner.units import format_duration, format_usd

_NODES: Final = (2, 4, 8, 16)
_SIZES_GB: Final = (10.0, 100.0)
_MOST_TYPES: Final = 8
USUAL_REPEATS: Final = 10
"""Number of runs of a job on the chosen cluster, unless the caller gives it."""
_PARTICLES: Final = 256
_Z95: Final = 1.645


WIDE: Final = 2.0
"""Ratio of a range's ends above which a type that never ran deserves its own run."""


@dataclass(frozen=True, kw_only=True)
class NextRun:
    """A recommended run. `cost_usd` is NaN without a price; the ratios are hi/lo of the 90% ranges in question, before
    and after it. `saves_usd` is the reduction in expected cost of the later runs from knowing its outcome, and it
    `pays` if that exceeds its cost.
    """

    instance_type: str
    nodes: int
    data_gb: float
    options: dict[str, Any]
    runtime_s: float
    cost_usd: float
    range_ratio_before: float
    range_ratio_after: float
    saves_usd: float

    def settles(self) -> str:
        """Return a sentence on the run's effect on a range that is too wide."""
        cost = f" ({format_usd(self.cost_usd)})" if math.isfinite(self.cost_usd) else ""
        does = "settle it" if self.range_ratio_after <= WIDE else "narrow it most"
        on = f"{self.nodes} x {self.instance_type} with {self.data_gb:.4g} GB"
        return (
            f"{self.instance_type} never ran, and its range spans a factor of {self.range_ratio_before:.2g}: a run of "
            f"{format_duration(self.runtime_s)}{cost} on {on} would {does}, to {self.range_ratio_after:.2g}"
        )

    @property
    def pays(self) -> bool:
        """True if the run is expected to save more than it costs."""
        return self.saves_usd > self.cost_usd


def best_experiment(
    profile: Fit, targets: Sequence[JobRow] | None, candidates: Sequence[JobRow] | None, *, repeats: float
) -> NextRun:
    """Return the candidate that saves most over `repeats` later runs on the cheapest target of each size, less its own
    price; if none saves its price, the one that reduces the targets' mean standard deviation of log time most.

    Disagreement between competing explanations counts as uncertainty, so that a run that separates them is preferred.
    """
    choices = list(candidates or _grid(profile))
    aims = list(targets or _grid(profile))
    if not choices or not aims:
        raise BadInputError(
            "no run to choose from: the profile knows no machine type; hand in specifications with instances=",
            code="nothing-to-choose",
        )
    covariance, noise = _mixture_covariance(profile, [*aims, *choices])
    own = np.diag(covariance)[: len(aims)] + noise
    cross, theirs = covariance[: len(aims), len(aims) :], np.diag(covariance)[len(aims) :] + noise
    after = np.sqrt(np.maximum(own[:, None] - cross**2 / theirs, noise))
    saves_usd, price_usd = _savings_usd(profile, aims, choices, repeats=repeats)
    net_usd = np.nan_to_num(saves_usd - price_usd, nan=-np.inf)
    best = int(net_usd.argmax()) if net_usd.max() > 0 else int(after.mean(axis=0).argmin())
    ends = {"before": float(np.sqrt(own).mean()), "after": float(after[:, best].mean())}
    return _next_run(profile, choices[best], **ends, saves_usd=float(saves_usd[best]))


def settling_run(
    profile: Fit, target: JobRow, *, instances: Mapping[str, Mapping[str, Any]] | None = None
) -> NextRun | None:
    """Return the cheapest run on the target's type that reduces its range below WIDE, or the one that comes nearest.

    None if the type ran before, or its range is already that narrow. `instances` adds specifications, as in `mixture`.
    """
    _, low, high = profile.mixture([target], instances=instances).range_s()[:, 0]
    if any(run.instance_type == target.instance_type for run in profile.runs) or high / low <= WIDE:
        return None
    asked = _knowing(profile, instances or {})
    counts = {run.nodes for run in profile.runs if run.nodes < target.nodes} | {target.nodes}
    sizes = {run.data_gb for run in profile.runs if run.data_gb < target.data_gb} | {target.data_gb}
    choices = [replace(target, nodes=n, data_gb=gb) for n, gb in product(_spread(counts), _spread(sizes))]
    covariance, noise = _mixture_covariance(asked, [target, *choices])
    own, cross, theirs = covariance[0, 0] + noise, covariance[0, 1:], np.diag(covariance)[1:] + noise
    after = np.sqrt(np.maximum(own - cross**2 / theirs, noise)) * few_runs_factor(len(profile.runs) + 1)
    node_s = np.array([job.nodes for job in choices]) * asked.mixture(choices).range_s()[0]
    narrow = np.flatnonzero(2 * _Z95 * after <= math.log(WIDE))
    best = int(narrow[node_s[narrow].argmin()]) if len(narrow) else int(after.argmin())
    run = _next_run(asked, choices[best], before=float(np.sqrt(own)), after=float(after[best]), saves_usd=0.0)
    return replace(run, range_ratio_before=float(high / low))


def _knowing(profile: Fit, instances: Mapping[str, Mapping[str, Any]]) -> Fit:
    """Return a fit with more machines and the same posterior, as none of its runs was on them."""
    more = replace(profile, specs={**instances, **profile.specs})
    vars(more).update({"readings": profile.readings})
    return more


def _spread(values: Collection[float]) -> list[Any]:
    """Return the minimum, the middle and the maximum of some values."""
    ordered = sorted(values)
    return sorted({ordered[0], ordered[len(ordered) // 2], ordered[-1]})


def _savings_usd(
    profile: Fit, aims: Sequence[JobRow], choices: Sequence[JobRow], *, repeats: float
) -> tuple[Floats, Floats]:
    """Return the savings of each choice's outcome on the aims, and its expected price, shapes (choices,).

    Posterior draws represent the possible truths. After an outcome, the draws near it count, and the cheapest aim of
    each job is chosen by their mean.
    """
    hourly = np.array([job.nodes * profile.machines[job.instance_type].price_usd_per_hour for job in (*aims, *choices)])
    log_s, scatter = _draws(profile, [*aims, *choices])
    cost_usd = np.exp(log_s) * hourly / 3600
    jobs: dict[tuple[float, str], list[int]] = {}
    for row, aim in enumerate(aims):
        if np.isfinite(hourly[row]):
            jobs.setdefault((aim.data_gb, repr(sorted(aim.options.items()))), []).append(row)
    saves_usd = np.zeros(len(choices))
    for k in range(len(choices)):
        seen = log_s[:, len(aims) + k]
        near = np.exp(-(((seen[:, None] - seen[None, :]) / scatter) ** 2) / 4)
        after = near / near.sum(axis=1, keepdims=True)
        for rows in jobs.values():
            cost = cost_usd[:, rows]
            saves_usd[k] += cost.mean(axis=0).min() - (after @ cost).min(axis=1).mean()
    return np.maximum(saves_usd, 0) * repeats / max(len(jobs), 1), cost_usd[:, len(aims) :].mean(axis=0)


def _draws(profile: Fit, jobs: Sequence[JobRow]) -> tuple[Floats, float]:
    """Return possible log times of the jobs, shape (draws, jobs), and the mean scatter between repeats."""
    explanations = profile.verdict.explanations
    weight, rng = weights(explanations), np.random.default_rng(0)
    drawn = []
    for which, count in zip(*np.unique(rng.choice(len(weight), _PARTICLES, p=weight), return_counts=True), strict=True):
        mean, covariance = posterior_moments(profile, explanations[which], jobs)
        size, direction = np.linalg.eigh(covariance)
        root = direction * np.sqrt(np.maximum(size, 0))
        drawn.append(mean + rng.standard_normal((count, len(jobs))) @ root.T)
    return np.concatenate(drawn), float(weight @ [explanation.noise_sd for explanation in explanations])


def likeliest_of_each_family(explanations: Sequence[Explanation]) -> list[tuple[Explanation, float]]:
    """Return the likeliest explanation of each family with the family's weight, heaviest first."""
    weight = weights(tuple(explanations))
    best: dict[str, tuple[Explanation, float]] = {}
    for explanation, share in zip(explanations, weight, strict=True):
        rival, total = best.get(explanation.family.name, (explanation, 0.0))
        likelier = explanation if explanation.log_evidence > rival.log_evidence else rival
        best[explanation.family.name] = (likelier, total + float(share))
    return sorted(best.values(), key=lambda pair: -pair[1])


def _mixture_covariance(profile: Fit, jobs: Sequence[JobRow]) -> tuple[Floats, float]:
    """Return the covariance of the jobs' log times over the families (within and between them), and the noise's
    variance.
    """
    families = likeliest_of_each_family(profile.verdict.explanations)
    share = np.array([weight for _, weight in families])
    moments = [posterior_moments(profile, explanation, jobs) for explanation, _ in families]
    gap = np.array([mean for mean, _ in moments]) - share @ np.array([mean for mean, _ in moments])
    within = np.tensordot(share, np.array([covariance for _, covariance in moments]), axes=1)
    return within + (gap.T * share) @ gap, float(share @ [explanation.noise_sd**2 for explanation, _ in families])


def _next_run(profile: Fit, job: JobRow, *, before: float, after: float, saves_usd: float) -> NextRun:
    runtime_s = float(profile.mixture([job]).range_s()[0, 0])
    price = profile.machines[job.instance_type].price_usd_per_hour
    return NextRun(
        instance_type=job.instance_type,
        nodes=job.nodes,
        data_gb=job.data_gb,
        options=dict(job.options),
        runtime_s=runtime_s,
        cost_usd=job.nodes * price * runtime_s / 3600,
        range_ratio_before=float(np.exp(2 * _Z95 * before)),
        range_ratio_after=float(np.exp(2 * _Z95 * after)),
        saves_usd=saves_usd,
    )


def posterior_moments(profile: Fit, explanation: Explanation, jobs: Sequence[JobRow]) -> tuple[Floats, Floats]:
    """Return mean (jobs,) and covariance (jobs, jobs) of the jobs' log times given the runs, without noise."""
    work, (ours, theirs) = profile.workload(jobs), profile.options.encode(profile.runs, jobs)
    if profile.verdict.population.any():
        ours, theirs = (
            with_population(ours, np.where(profile.verdict.population, 1.0, -1.0)),
            with_population(theirs, -1.0),
        )
    past = coordinates(profile.verdict.runs.work, ours)
    where = coordinates(work, theirs)
    white = Kinship(where, past, past).covariance(explanation.amplitude) @ explanation.whitening.T
    log_s, jacobian = log_seconds(explanation.coefficients, unit_seconds(work, explanation.family.shape))
    gradient = jacobian.T - white @ explanation.white_jacobian
    prior = Kinship(where, where, past).covariance(explanation.amplitude)
    covariance = prior - white @ white.T + gradient @ explanation.spread @ gradient.T
    return log_s + white @ explanation.white_gap + profile.options.expected(jobs), covariance


def _grid(profile: Fit) -> list[JobRow]:
    """Return jobs over the runs' types, node counts and sizes, up to twice the largest of each, with the last run's
    options; machines that are not rented are limited to the number that ran.
    """
    runs = profile.runs
    types = list(dict.fromkeys(job.instance_type for job in runs)) or list(profile.machines)
    nodes = _reach([job.nodes for job in runs]) if runs else _NODES
    sizes = _reach([job.data_gb for job in runs]) if runs else _SIZES_GB
    options = runs[-1].options if runs else {}
    most_ran = {name: max((job.nodes for job in runs if job.instance_type == name), default=1) for name in types}
    return [
        JobRow(instance_type=instance_type, nodes=round(count), data_gb=float(size), options=options)
        for instance_type, count, size in product(types[:_MOST_TYPES], nodes, sizes)
        if profile.machines[instance_type].is_rented or count <= most_ran[instance_type]
    ]


def _reach(values: Sequence[float]) -> list[float]:
    """Return the smallest, the middle, the largest and twice the largest of some values."""
    ordered = sorted(set(values))
    return sorted({ordered[0], ordered[len(ordered) // 2], ordered[-1], 2 * ordered[-1]})
