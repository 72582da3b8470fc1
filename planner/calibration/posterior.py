"""Bayesian inference: log times with their uncertainty from prior and runs.

For each way to explain the runs (prior family x noise x size of the deviation from the physics), Gauss-Newton on
generalised least squares finds the posterior of the coefficients, which a normal approximates. The ways are weighted by
their evidence, and a prediction is their mixture: scatter between repeats favours noise, and runs that cannot separate
two causes leave both uncertain.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields, replace
from functools import cached_property
from itertools import compress, product
from typing import Final, TypeAlias

import numpy as np

from planner.arrays import Flags, Floats
from planner.calibration.descent import Problem, Whitening, descend
from planner.calibration.physics import Shape, UnitSeconds, Workload, unit_seconds
from planner.calibration.priors import Family
from planner.calibration.residual import Coordinates, Kinship, coordinates

NOISE_SD: Final = (0.015, 0.03, 0.06, 0.12, 0.2, 0.4)
"""Candidate scatter of log time between repeats; a family's own scatter is the likeliest."""
NOISE_DOUBT: Final = 0.6
AMPLITUDES: Final = (0.03, 0.08, 0.2, 0.4)
"""Candidate sizes of the smooth deviation from the physics."""
USUAL_AMPLITUDE: Final = 0.08
AMPLITUDE_DOUBT: Final = 1.0
_FIRST_AMPLITUDE: Final = 0.2
_FIRST_NOISE_SD: Final = 0.06
"""Deviation and scatter at which every family is first tried: wide enough to keep near fits."""
OUTLIER_SD: Final = 1.0
"""Noise of an outlier: it may be off by a factor e and carries almost no information."""
NEGLIGIBLE: Final = 1e-2
MOST_EXPLANATIONS: Final = 300
"""Limit on explanations, heaviest first: the rest changes no displayed figure, and a choice over 1,000 types stays
fast.
"""
_SAMPLES: Final = (24, 64)
"""Sample sizes of the runs, if these are more than twice as many, for rejecting hopeless ways early."""
_FIRST_STEPS: Final = 3
_HOPELESS: Final = 12.0
"""Families whose log evidence after the first steps is this far below the best are rejected; those with weight end
within 5.
"""

_TRIED_AT_ALL_LEVELS: Final = 12
_HOPELESS_LEVEL: Final = 6.0
"""Number of ways tried at all sizes of deviation and scatter, and the log evidence below the best at which these are
rejected: they have no weight in the end (NEGLIGIBLE is 4.6).
"""

Hypothesis: TypeAlias = tuple[float, float, Family]
"""An explanation of runs: size of the smooth deviation, scatter, prior."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Runs:
    """Runs as arrays: the workload, encoded options (rows, k), log seconds (rows,) and which rows are treated as
    outliers (rows,).

    `least_noise` bounds the scatter from below where repeats contradict each other.
    """

    work: Workload
    options: Floats
    log_s: Floats
    outlier: Flags
    least_noise: float = 0.0

    def __len__(self) -> int:
        return len(self.log_s)

    @cached_property
    def where(self) -> Coordinates:
        """The runs' coordinates."""
        return coordinates(self.work, self.options)

    @cached_property
    def _units(self) -> dict[Shape, UnitSeconds]:
        return {}

    def units(self, shape: Shape) -> UnitSeconds:
        """Return the runs' terms of the physics."""
        if shape not in self._units:
            self._units[shape] = unit_seconds(self.work, shape)
        return self._units[shape]

    @cached_property
    def kinship(self) -> Kinship:
        """The similarity of the runs to each other."""
        return Kinship(self.where, self.where, self.where)

    def sample(self, count: int) -> Runs:
        """Return `count` of the runs, evenly spaced from few nodes to many."""
        order = np.lexsort([self.log_s, self.work.data_gb, self.work.nodes])
        rows = order[np.linspace(0, len(self) - 1, count).round().astype(int)]
        work = Workload(**{field.name: getattr(self.work, field.name)[rows] for field in fields(Workload)})
        return replace(self, work=work, options=self.options[rows], log_s=self.log_s[rows], outlier=self.outlier[rows])

    def without(self, outlier: Flags) -> Runs:
        """Return the same runs with other rows treated as outliers."""
        same = replace(self, outlier=outlier)
        vars(same).update({name: vars(self)[name] for name in ("where", "_units", "kinship") if name in vars(self)})
        return same


@dataclass(frozen=True, kw_only=True, eq=False)
class Explanation:
    """One way to explain the runs: `coefficients` (8,) with covariance `spread` (8, 8).

    `whitening` (rows, rows) is the inverse Cholesky factor of the runs' covariance; `white_gap` (rows,) is the residual
    of the physics and `white_jacobian` (rows, 8) its derivative, both whitened.
    """

    family: Family
    noise_sd: float
    amplitude: float
    log_evidence: float
    coefficients: Floats
    spread: Floats
    whitening: Floats
    white_gap: Floats
    white_jacobian: Floats


def explain_runs(runs: Runs, families: tuple[Family, ...]) -> tuple[Explanation, ...]:
    """Return the explanations whose posterior weight is not negligible; without runs these are the prior's.

    All families are first tried at a usual scatter and deviation, and only promising ones at all values of both.
    """
    levels = _levels(runs.least_noise)
    twins = _alike(runs, families)
    hypotheses: list[Hypothesis] = [(_FIRST_AMPLITUDE, max(_FIRST_NOISE_SD, levels[0]), family) for family in twins]
    start = np.array([family.mean for family in twins])
    for size in _SAMPLES:
        if len(runs) > 2 * size:
            hypotheses, start = _screen(runs.sample(size), hypotheses, start)
    hypotheses, start = _screen(runs, hypotheses, start)
    pairs = _likely_levels(runs, hypotheses, start, list(product(AMPLITUDES, levels)))
    finer = [(amplitude, noise_sd, hypothesis[2]) for hypothesis in hypotheses for amplitude, noise_sd in pairs]
    found = _explain(runs, finer, np.repeat(start, len(pairs), axis=0))
    told_apart = [
        (hypothesis.log_evidence + math.log(twin.odds / hypothesis.family.odds), hypothesis, twin)
        for hypothesis in found
        for twin in twins[hypothesis.family]
    ]
    heaviest = sorted(told_apart, key=lambda entry: -entry[0])[:MOST_EXPLANATIONS]
    return tuple(replace(hypothesis, family=twin, log_evidence=evidence) for evidence, hypothesis, twin in heaviest)


def _alike(runs: Runs, families: tuple[Family, ...]) -> dict[Family, list[Family]]:
    """Return the families that the runs cannot separate, under one with the summed odds: working sets that fit in every
    run need only one fit.
    """
    groups: dict[tuple[Family, bytes], list[Family]] = {}
    for family in families:
        spill = runs.units(family.shape).second[-1].tobytes()
        groups.setdefault((family.in_any_memory, spill), []).append(family)
    return {replace(alike[0], odds=sum(family.odds for family in alike)): alike for alike in groups.values()}


def refit(runs: Runs, explanations: tuple[Explanation, ...]) -> tuple[Explanation, ...]:
    """Return the same explanations for slightly different runs, starting from the previous fit."""
    hypotheses = [(hypothesis.amplitude, hypothesis.noise_sd, hypothesis.family) for hypothesis in explanations]
    problem, log_weight = _problem(runs, hypotheses)
    return _make_explanation(
        problem, log_weight, hypotheses, np.array([hypothesis.coefficients for hypothesis in explanations])
    )


def surprises(explanation: Explanation) -> Floats:
    """Return how far each run lies from its prediction by the others, in standard deviations (positive: slower), shape
    (rows,).
    """
    pull, precision = _left_out(explanation)
    return np.asarray(pull / np.sqrt(precision))


def left_out_gaps(explanations: tuple[Explanation, ...]) -> Floats:
    """Return how far the log time of each run lies from its prediction by the others, shape (rows,): the mean over the
    explanations, each weighted by its evidence without the run.
    """
    pull, precision = np.array([_left_out(explanation) for explanation in explanations]).swapaxes(0, 1)
    log_evidence = np.array([[explanation.log_evidence] for explanation in explanations])
    log_weight = log_evidence + pull**2 / precision / 2 - np.log(precision) / 2
    weight = np.exp(log_weight - log_weight.max(axis=0))
    return np.asarray((weight * pull / precision).sum(axis=0) / weight.sum(axis=0))


def _left_out(explanation: Explanation) -> Floats:
    """Return each run's gap to its prediction by the others times the precision of that prediction, and the precision,
    shape (2, rows).
    """
    learned = explanation.whitening.T @ explanation.white_jacobian
    precision = (explanation.whitening**2).sum(axis=0) - ((learned @ explanation.spread) * learned).sum(axis=1)
    return np.array([explanation.whitening.T @ explanation.white_gap, np.maximum(precision, 1e-12)])


def weights(explanations: tuple[Explanation, ...]) -> Floats:
    """Return the posterior weights, which sum to 1."""
    log_evidence = np.array([explanation.log_evidence for explanation in explanations])
    weight = np.exp(log_evidence - log_evidence.max())
    return weight / weight.sum()  # type: ignore[no-any-return]


def total_log_evidence(explanations: tuple[Explanation, ...]) -> float:
    """Return the log of the explanations' summed evidence."""
    return float(np.logaddexp.reduce([explanation.log_evidence for explanation in explanations]))


def _levels(least: float) -> tuple[float, ...]:
    return tuple(level for level in NOISE_SD if level > least) or (least,)


def _screen(sample: Runs, hypotheses: list[Hypothesis], start: Floats) -> tuple[list[Hypothesis], Floats]:
    """Return the ways that a sample of the runs does not reject, and the end point of their descent."""
    problem, log_weight = _problem(sample, hypotheses)
    fit = descend(problem, start, 2 * _FIRST_STEPS)
    hopeful = _shortlist(log_weight + fit.log_mass)
    return list(compress(hypotheses, hopeful)), fit.coefficients[hopeful]


def _likely_levels(
    runs: Runs, hypotheses: list[Hypothesis], start: Floats, pairs: list[tuple[float, float]]
) -> list[tuple[float, float]]:
    """Return the plausible sizes of deviation and scatter for a few of the ways, evenly spaced: the runs' scatter
    hardly depends on the explanation.
    """
    few = np.linspace(0, len(hypotheses) - 1, min(_TRIED_AT_ALL_LEVELS, len(hypotheses))).round().astype(int)
    tried = [(*pair, hypotheses[i][2]) for pair in pairs for i in few]
    problem, log_weight = _problem(runs, tried)
    fit = descend(problem, np.tile(start[few], (len(pairs), 1)), 1)
    best = (log_weight + fit.log_mass).reshape(len(pairs), len(few)).max(axis=1)
    return list(compress(pairs, _shortlist(best, within=_HOPELESS_LEVEL)))


def _shortlist(log_evidence: Floats, *, within: float = _HOPELESS) -> Flags:
    return np.asarray(log_evidence > log_evidence.max() - within)


def _problem(runs: Runs, hypotheses: list[Hypothesis]) -> tuple[Problem, Floats]:
    """Return the descent's problem, and the log weight of each way without the descent's contribution."""
    whitening = _whitening(runs, hypotheses)
    terms = [runs.units(family.shape) for _, _, family in hypotheses]
    priors = [(family.mean, family.sd) for _, _, family in hypotheses]
    log_weight = np.array([_log_prior(hypothesis) for hypothesis in hypotheses]) + whitening.log_determinant
    return Problem.of(runs.log_s, terms, whitening, priors), log_weight


def _explain(runs: Runs, hypotheses: list[Hypothesis], start: Floats) -> tuple[Explanation, ...]:
    """Fit all ways at once, each from its row of `start`, and return those with weight."""
    problem, log_weight = _problem(runs, hypotheses)
    first = descend(problem, start, 1)
    hopeful = _shortlist(log_weight + first.log_mass, within=-np.log(NEGLIGIBLE))
    some = list(compress(hypotheses, hopeful))
    return _make_explanation(problem.only(hopeful), log_weight[hopeful], some, first.coefficients[hopeful])


def _make_explanation(
    problem: Problem, log_weight: Floats, hypotheses: list[Hypothesis], start: Floats
) -> tuple[Explanation, ...]:
    """Complete the descent and return the ways with weight."""
    fit = descend(problem, start)
    log_evidence = log_weight + fit.log_mass
    spread = np.linalg.inv(fit.precision)
    return tuple(
        Explanation(
            family=hypotheses[i][2],
            noise_sd=hypotheses[i][1],
            amplitude=hypotheses[i][0],
            log_evidence=float(log_evidence[i]),
            coefficients=fit.coefficients[i],
            spread=spread[i],
            whitening=problem.whitening.of_hypothesis(int(i)),
            white_gap=fit.white_gap[i],
            white_jacobian=fit.white_jacobian[i].T,
        )
        for i in np.flatnonzero(log_evidence > log_evidence.max() + np.log(NEGLIGIBLE))
    )


def _whitening(runs: Runs, hypotheses: list[Hypothesis]) -> Whitening:
    """Return the whitening of the runs under each way; ways of one amplitude and scatter share it."""
    levels = list(dict.fromkeys((amplitude, noise_sd) for amplitude, noise_sd, _ in hypotheses))
    variance = [np.where(runs.outlier, OUTLIER_SD, noise_sd) ** 2 for _, noise_sd in levels]
    smooth = {amplitude: runs.kinship.covariance(amplitude) for amplitude in {level[0] for level in levels}}
    covariance = [smooth[level[0]] + np.diag(v) for level, v in zip(levels, variance, strict=True)]
    return Whitening.of_covariance(
        np.array(covariance), np.array([levels.index((amplitude, noise_sd)) for amplitude, noise_sd, _ in hypotheses])
    )


def _log_prior(hypothesis: Hypothesis) -> float:
    """Return the log weight of a way before the runs, less the volume of its prior."""
    amplitude, noise_sd, family = hypothesis
    doubt = _log_bell(noise_sd / family.scatter, NOISE_DOUBT) + _log_bell(amplitude / USUAL_AMPLITUDE, AMPLITUDE_DOUBT)
    return doubt + family.log_density


def _log_bell(ratio: float, sd: float) -> float:
    return -0.5 * (math.log(ratio) / sd) ** 2
