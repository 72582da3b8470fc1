"""Runs of one framework fitted by the physics: the posterior, and the time distribution of any job."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Self

import numpy as np

from planner.arrays import Floats
from planner.calibration.history import JobRow, Records
from planner.calibration.machines import NodeSpec, machine, read_specs
from planner.calibration.observed_memory import with_observed_memory
from planner.calibration.options import OptionSet, Scaling, learn_options
from planner.calibration.physics import Workload
from planner.calibration.posterior import NEGLIGIBLE, Runs, left_out_gaps
from planner.calibration.prediction import CHARGED_WHERE_IT_RAN, MOST_CHARGED, Mixture, few_runs_factor, joined
from planner.calibration.priors import families
from planner.calibration.reading import Reading, trust
from planner.calibration.suspicion import MOST_RETHOUGHT, Verdict, contradictions, explain_without_outliers
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
