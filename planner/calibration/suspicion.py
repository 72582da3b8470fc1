"""Runs that do not fit with the others: single outliers, two populations under one name, contradictory repeats.

Each suspicion must pay for itself: it is kept if the evidence for the runs grows by more than its prior odds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import comb, log
from typing import Final

import numpy as np

from planner.arrays import Flags, Floats
from planner.calibration.history import JobRow
from planner.calibration.posterior import Explanation, Runs, explain_runs, refit, surprises, total_log_evidence
from planner.calibration.priors import Family

SURPRISING: Final = 2.5
"""Standard deviations from which a run is examined."""
OUTLIER_COST: Final = 3.5
"""Log odds against a given run being an outlier: 33 to 1."""
POPULATIONS_COST: Final = 3.0
"""Log odds against two populations, 20 to 1; the assignment of runs costs log C(n, k) on top."""
MOST_OUTLIERS: Final = 5
"""Limit on outliers: at most one run in five; more are a population."""
MOST_RETHOUGHT: Final = 100
"""Up to this many runs, every explanation is tried again without an outlier, which may have ruled out the right one."""
CONTRADICTION: Final = 1.5
"""Ratio at which two repeats of one configuration contradict each other."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Verdict:
    """The runs as used, and their explanations. `population` (rows,) is True for the smaller of two populations, if
    any. `log_evidence` is the explanations', less the price of the suspicions.
    """

    runs: Runs
    explanations: tuple[Explanation, ...]
    population: Flags
    log_evidence: float


def explain_without_outliers(runs: Runs, families: tuple[Family, ...], *, contradictory: Flags) -> Verdict:
    """Explain the runs, excluding those that do not fit; `contradictory` runs are never treated as outliers."""
    plain = explain_runs(runs, families)
    nobody = np.zeros(len(runs), bool)
    best = _without_outliers(runs, plain, families, spare=contradictory)
    if (split := _two_groups(plain, nobody)) is None:
        return best
    options = with_population(runs.options, np.where(split, 1.0, -1.0))
    apart = replace(runs, options=options, least_noise=0.0)
    explained = explain_runs(apart, families)
    evidence = total_log_evidence(explained) - POPULATIONS_COST - log(comb(len(runs), int(split.sum())))
    groups = Verdict(runs=apart, explanations=explained, population=split, log_evidence=evidence)
    return max(best, groups, key=lambda verdict: verdict.log_evidence)


def with_population(options: Floats, population: Floats | float) -> Floats:
    """Return options with a column for the population of a row: -1 the larger, 1 the smaller."""
    return np.column_stack([options, np.broadcast_to(population, len(options))])


def contradictions(jobs: Sequence[JobRow]) -> tuple[Flags, float]:
    """Return the runs in pairs of repeats that differ by CONTRADICTION, without a third to decide, and the implied
    scatter of log time.
    """
    groups: dict[tuple[object, ...], list[int]] = {}
    for row, job in enumerate(jobs):
        groups.setdefault((job.instance_type, job.nodes, job.data_gb, *sorted(job.options.items())), []).append(row)
    times = np.log([job.runtime_s or 1.0 for job in jobs])
    pairs = [
        rows for rows in groups.values() if len(rows) == 2 and abs(times[rows[0]] - times[rows[1]]) > log(CONTRADICTION)
    ]
    rows = [row for pair in pairs for row in pair]
    gaps = [times[a] - times[b] for a, b in pairs]
    return np.isin(np.arange(len(jobs)), rows), float(np.sqrt(np.mean(np.square(gaps)) / 2)) if gaps else 0.0


def _without_outliers(
    runs: Runs, explanations: tuple[Explanation, ...], families: tuple[Family, ...], *, spare: Flags
) -> Verdict:
    """Exclude the most surprising run as long as that explains the others better."""
    nobody = np.zeros(len(runs), bool)
    best = Verdict(
        runs=runs, explanations=explanations, population=nobody, log_evidence=total_log_evidence(explanations)
    )
    for _ in range(len(runs) // MOST_OUTLIERS if len(runs) >= MOST_OUTLIERS else len(runs) // 3):
        surprise = _greatest_surprise(best.explanations)
        surprise[best.runs.outlier | spare] = 0.0
        worst = int(surprise.argmax())
        if surprise[worst] < SURPRISING:
            break
        outlier = best.runs.outlier.copy()
        outlier[worst] = True
        fewer = best.runs.without(outlier)
        thorough = len(runs) <= MOST_RETHOUGHT
        explained = explain_runs(fewer, families) if thorough else refit(fewer, best.explanations)
        evidence = total_log_evidence(explained) - OUTLIER_COST * outlier.sum()
        if evidence < best.log_evidence:
            break
        best = replace(best, runs=fewer, explanations=explained, log_evidence=evidence)
    if best.runs is runs or len(runs) <= MOST_RETHOUGHT:
        return best
    return replace(best, explanations=explain_runs(best.runs, families))


def _greatest_surprise(explanations: tuple[Explanation, ...]) -> Floats:
    """Return the largest surprise of each run under any family, in standard deviations, shape (rows,).

    A family with weight only because of an outlier would not find it surprising.
    """
    likeliest = {each.family.name: each for each in sorted(explanations, key=lambda each: each.log_evidence)}
    return np.asarray(np.max([np.abs(surprises(each)) for each in likeliest.values()], axis=0), np.float64)


def _two_groups(explanations: tuple[Explanation, ...], nobody: Flags) -> Flags | None:
    """Return the smaller of two groups by the runs' surprises, or None if nothing suggests two."""
    likeliest = _likeliest(explanations)
    if len(nobody) < 6 or likeliest.noise_sd < 2 * likeliest.family.scatter:
        return None
    surprise = surprises(likeliest)
    order = np.argsort(surprise)
    cut = max(range(2, len(order) - 1), key=lambda k: _between(surprise[order], k))
    group = nobody.copy()
    group[order[cut:] if len(order) - cut <= cut else order[:cut]] = True
    return group


def _between(ordered: Floats, k: int) -> float:
    """Return the variance between the first k values and the rest."""
    return float(k * (len(ordered) - k) * (ordered[:k].mean() - ordered[k:].mean()) ** 2)


def _likeliest(explanations: tuple[Explanation, ...]) -> Explanation:
    return max(explanations, key=lambda explanation: explanation.log_evidence)
