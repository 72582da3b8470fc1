"""Runs of one framework fitted by the physics: the posterior, and the time distribution of any job.

A reading says which further columns matter. Each must pay for itself, and so must the runs: constants learned from a
few of them may predict worse than the assumptions did. Observed memory use replaces the prior belief.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Final, Self

import numpy as np

from planner.arrays import Floats
from planner.calibration.history import JobRow, Records
from planner.calibration.machines import NodeSpec, machine, read_specs
from planner.calibration.options import OptionSet, Scaling, learn_options
from planner.calibration.physics import FITS, WorkingSet, Workload
from planner.calibration.posterior import NEGLIGIBLE, Runs, left_out_gaps
from planner.calibration.prediction import CHARGED_WHERE_IT_RAN, MOST_CHARGED, Mixture, few_runs_factor, joined, predict
from planner.calibration.priors import Family, families
from planner.calibration.suspicion import (
    MOST_RETHOUGHT,
    Verdict,
    contradictions,
    explain_without_outliers,
    with_population,
)
from planner.schemas.door import checked


@dataclass(frozen=True, kw_only=True, eq=False)
class Fit:
    """Runs of one framework and their machines; the posterior follows from these.

    `model` names the prior (`framework`, `spark`, `hadoop`, `native`, `own`), `specs` are the machines' specifications
    by type. `read_as` overrides how columns are read for one query; it is not stored.
    """

    name: str
    model: str
    runs: tuple[JobRow, ...]
    specs: Mapping[str, Mapping[str, Any]] = field(repr=False)
    read_as: Mapping[str, Scaling] = field(default_factory=dict, repr=False)

    @checked
    def mixture(
        self, jobs: Sequence[JobRow], *, instances: Mapping[str, Mapping[str, Any]] | Records = None
    ) -> Mixture:
        """Return the distribution of log seconds of each job, from which `predict` takes its columns.

        After few runs it is wider than the posterior, as these include too few of the possible outcomes.
        """
        known = self._for_query(jobs)._posterior(jobs, instances)
        known = replace(known, most_charged=self._most_charged(jobs)).widened(few_runs_factor(len(self.runs)))
        if self.trust == 1:
            return known
        assumed_s = self._before_any_run._posterior(jobs, instances).expected_s()
        alike = np.array([self.options.are_alike(job, self.runs[0]) for job in jobs])
        return known.moved(alike * (1 - self.trust) * np.log(assumed_s / known.expected_s()))

    def _most_charged(self, jobs: Sequence[JobRow]) -> Floats:
        """Return the charge of each job for data that may not fit in memory: the more its data exceeds that of the
        runs, the less certain it is that it fits.
        """
        most_run_gb = max((run.data_gb for run in self.runs), default=0.0)
        more = np.array([job.data_gb for job in jobs]) / (most_run_gb or 1e-9)
        return np.clip(CHARGED_WHERE_IT_RAN * np.cbrt(more), CHARGED_WHERE_IT_RAN, MOST_CHARGED)

    def _for_query(self, jobs: Sequence[JobRow]) -> Self:
        """Return the fit with columns read as a query's values require."""
        read_as = self.options.for_query(jobs)
        return replace(self, read_as=read_as) if read_as else self

    def _posterior(self, jobs: Sequence[JobRow], instances: Mapping[str, Mapping[str, Any]] | Records) -> Mixture:
        machines = {**self.machines, **_machines({} if instances is None else read_specs(instances))}
        likeliest, *others = self.readings
        read = [likeliest, *(reading for reading in others if reading.options.answers_as(likeliest.options, jobs))]
        share = np.exp([reading.log_evidence - likeliest.log_evidence for reading in read])
        heavy = [
            (weight, reading) for weight, reading in zip(share / share.sum(), read, strict=True) if weight > NEGLIGIBLE
        ]
        return joined([(weight, reading.mixture(self.runs, jobs, machines)) for weight, reading in heavy])

    @cached_property
    def _before_any_run(self) -> Self:
        return replace(self, runs=(), read_as={})

    @cached_property
    def trust(self) -> float:
        """The weight of the runs against the assumptions before any run: how much better each run is predicted by the
        others. It is 1 for a single run, and if a further column matters, which the assumptions do not know.
        """
        if len(self.runs) < 2 or self.options.doubtful:
            return 1.0
        usual = ~self.verdict.runs.outlier
        assumed_s = self._before_any_run._posterior(self.runs, None).expected_s()
        gaps = np.log([run.runtime_s or 1.0 for run in self.runs] / assumed_s)
        return trust(left_out_gaps(self.verdict.explanations)[usual], gaps[usual])

    @property
    def outliers(self) -> tuple[int, ...]:
        """The runs (from 0) that were excluded because the others contradict them."""
        return tuple(np.flatnonzero(self.verdict.runs.outlier).tolist()) if self.runs else ()

    @property
    def populations(self) -> tuple[tuple[int, ...], tuple[int, ...]] | None:
        """The runs (from 0) of two populations, the larger first, if the runs are a mixture; a prediction then spans
        both.
        """
        smaller = self.verdict.population
        if not smaller.any():
            return None
        return tuple(np.flatnonzero(~smaller).tolist()), tuple(np.flatnonzero(smaller).tolist())

    @cached_property
    def machines(self) -> dict[str, NodeSpec]:
        """The known machines by type."""
        return _machines(self.specs)

    @property
    def options(self) -> OptionSet:
        """The options of the likeliest reading."""
        return self.readings[0].options

    @property
    def verdict(self) -> Verdict:
        """The posterior of the likeliest reading."""
        return self.readings[0].verdict

    @cached_property
    def readings(self) -> tuple[Reading, ...]:
        """The runs read with all further columns and with ever fewer, the one that explains least left out first; the
        likeliest reading comes first.
        """
        slots = [job.nodes * self.machines[job.instance_type].cores for job in self.runs]
        found = [self._read(learn_options(self.runs, slots=slots, read_as=self.read_as))]
        while found[-1].options.doubtful and len(self.runs) <= MOST_RETHOUGHT:
            fewer = [self._read(found[-1].options.without(name)) for name in found[-1].options.doubtful]
            found.append(max(fewer, key=lambda reading: reading.log_evidence))
        return tuple(sorted(found, key=lambda reading: -reading.log_evidence))

    def workload(self, jobs: Sequence[JobRow], machines: Mapping[str, NodeSpec] | None = None) -> Workload:
        """Return jobs as arrays of the physics."""
        return self.options.workload(jobs, self.machines if machines is None else machines)

    def _read(self, options: OptionSet) -> Reading:
        contradictory, scatter = contradictions(self.runs)
        columns, _ = options.encode(self.runs, ())
        nobody = np.zeros(len(self.runs), bool)
        log_s = np.log([job.runtime_s or 1.0 for job in self.runs]) - options.expected(self.runs)
        work = options.workload(self.runs, self.machines)
        runs = Runs(work=work, options=columns, log_s=log_s, outlier=nobody, least_noise=scatter)
        believed = families(self.model, share_option=options.share, holding=bool(self.runs))
        known = with_observed_memory(believed, self.runs, self.machines)
        return Reading(options=options, verdict=explain_without_outliers(runs, known, contradictory=contradictory))


def _machines(specs: Mapping[str, Mapping[str, Any]]) -> dict[str, NodeSpec]:
    return {name: machine(name, spec) for name, spec in specs.items()}


COLUMN_COST: Final = 0.5
"""Log odds against a column that the runs differ in: a run's number or date is as usual as a parameter."""
_LEAST_ERROR: Final = 0.1
_MOST_ERROR: Final = 0.2
"""Usual errors of log time, by which learned constants and assumptions are compared."""
_MOST_LEFT_OUT: Final = 0.3
"""Largest error that counts against learned constants: all runs predict better than all but one."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Reading:
    """The columns that count, and the posterior of the runs read with them."""

    options: OptionSet
    verdict: Verdict

    @property
    def log_evidence(self) -> float:
        """The log evidence of the runs, less the price of the columns."""
        return self.verdict.log_evidence - COLUMN_COST * len(self.options.doubtful)

    def mixture(self, runs: Sequence[JobRow], jobs: Sequence[JobRow], machines: Mapping[str, NodeSpec]) -> Mixture:
        """Return the distribution of log seconds of each job; one of two populations, if the runs are a mixture."""
        work, (ours, theirs) = self.options.workload(jobs, machines), self.options.encode(runs, jobs)
        explanations, share = self.verdict.explanations, float(self.verdict.population.mean()) if runs else 0.0
        expected = self.options.expected(jobs)
        if not share:
            return predict(explanations, replace(self.verdict.runs, options=ours), work, theirs).moved(expected)
        grouped = with_population(ours, np.where(self.verdict.population, 1.0, -1.0))
        past = replace(self.verdict.runs, options=grouped)
        sides = (predict(explanations, past, work, with_population(theirs, side)) for side in (-1.0, 1.0))
        return joined(list(zip((1 - share, share), sides, strict=True))).moved(expected)


def trust(ours: Floats, assumed: Floats) -> float:
    """Return the weight of learned constants, from 0 to 1, by the gaps to the log times of the runs: of predictions by
    the other runs, and of the assumptions before any run. Equal gaps give 0.5.
    """
    learned, before = min(float(ours @ ours), len(ours) * _MOST_LEFT_OUT**2), float(assumed @ assumed)
    variance = np.clip((learned + before) / 2 / len(ours), _LEAST_ERROR**2, _MOST_ERROR**2)
    return float(1 / (1 + np.exp(np.clip((learned - before) / 2 / variance, -50, 50))))


Odds = dict[float, float]
"""Odds by GB for each GB of data, or by GB for each core."""

_FULL: Final = 0.9
"""Share of usable memory above which kept data may have been cut by lack of room: execution takes some of it."""
_MOST_VALUES: Final = 5
"""Limit on runs with logs, evenly spaced: the number of explanations is proportional to it."""


def with_observed_memory(
    families: tuple[Family, ...], runs: Sequence[JobRow], machines: Mapping[str, NodeSpec]
) -> tuple[Family, ...]:
    """Return the families with the working sets that runs showed in place of believed ones; the total odds of each
    family stay the same.

    All runs count equally. Data that filled the memory gives only a lower bound, so that larger beliefs stay.
    """
    cached = [(run, run.memory.cached_gb / run.data_gb) for run in runs if run.memory.cached_gb is not None]
    whole = [share for run, share in cached if not _is_full(run, machines[run.instance_type])]
    least = max((share for _, share in cached), default=0.0)
    by_core = [run.memory.task_memory_gb for run in runs if run.memory.task_memory_gb is not None]
    if not cached and not by_core:
        return families
    believed: dict[Family, list[Family]] = defaultdict(list)
    for family in families:
        believed[replace(family, working_set=FITS, odds=1.0)].append(family)
    return tuple(
        replace(family, working_set=WorkingSet(gb, core), odds=of_data * of_core)
        for alike in believed.values()
        for family in alike[:1]
        for gb, of_data in _by_data(alike, whole=whole, least=least if cached else None).items()
        for core, of_core in _by_core(alike, by_core).items()
    )


def _is_full(run: JobRow, machine: NodeSpec) -> bool:
    usable_gb = run.memory.usable_gb or run.nodes * machine.usable_gb
    return (run.memory.cached_gb or 0.0) > _FULL * usable_gb


def _by_data(alike: Sequence[Family], *, whole: Sequence[float], least: float | None) -> Odds:
    """Return odds of the memory for each GB of data, with the same sum as the families' odds."""
    total, believed = sum(family.odds for family in alike), _marginal(alike, by_core=False)
    if len(alike) == 1 or least is None:
        return believed
    if whole:
        return {share: total * odds for share, odds in _alike(whole).items()}
    larger = {gb: odds for gb, odds in believed.items() if gb >= least} or {least: 1.0}
    return {gb: total * odds / sum(larger.values()) for gb, odds in larger.items()}


def _by_core(alike: Sequence[Family], seen: Sequence[float]) -> Odds:
    """Return shares of the memory for each core, which sum to 1."""
    if len(alike) > 1 and seen:
        return _alike(seen)
    believed = _marginal(alike, by_core=True)
    return {core: odds / sum(believed.values()) for core, odds in believed.items()}


def _marginal(alike: Sequence[Family], *, by_core: bool) -> Odds:
    odds: Odds = defaultdict(float)
    for family in alike:
        odds[family.working_set.gb_per_core if by_core else family.working_set.gb_per_gb] += family.odds
    return dict(odds)


def _alike(values: Sequence[float]) -> Odds:
    """Return the values, or an evenly spaced choice of many, with equal shares."""
    ordered = sorted(values)
    count = min(len(ordered), _MOST_VALUES)
    chosen = [ordered[round(k * (len(ordered) - 1) / max(count - 1, 1))] for k in range(count)]
    return {value: chosen.count(value) / count for value in chosen}
