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
from planner.calibration.posterior import Runs
from planner.calibration.prediction import CHARGED_WHERE_IT_RAN, MOST_CHARGED, Mixture, few_runs_factor, predict
from planner.calibration.priors import families
from planner.calibration.suspicion import Verdict, contradictions, explain_without_outliers, with_population
from planner.calibration.workloads import workload


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

    def mixture(
        self, jobs: Sequence[JobRow], *, instances: Mapping[str, Mapping[str, Any]] | Records = None
    ) -> Mixture:
        """Return the distribution of log seconds of each job, from which `predict` takes its columns.

        After few runs it is wider than the posterior, as these include too few of the possible outcomes.
        """
        fit = self._for_query(jobs)
        known = fit._posterior(jobs, instances)
        known = replace(known, mean=known.mean + fit.options.expected(jobs), most_charged=self._most_charged(jobs))
        return known.widened(few_runs_factor(len(self.runs)))

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
        work, (ours, theirs) = self.workload(jobs, machines), self.options.encode(self.runs, jobs)
        verdict = self.verdict
        share = float(verdict.population.mean()) if self.runs else 0.0
        if not share:
            return predict(verdict.explanations, self._arrays(ours, like=verdict.runs), work, theirs)
        past = self._arrays(with_population(ours, np.where(verdict.population, 1.0, -1.0)), like=verdict.runs)
        larger, smaller = (
            predict(verdict.explanations, past, work, with_population(theirs, side)) for side in (-1.0, 1.0)
        )
        return larger.joined(smaller, share=share)

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

    @cached_property
    def options(self) -> OptionSet:
        """The learned options, from the further columns of the runs."""
        slots = [job.nodes * self.machines[job.instance_type].cores for job in self.runs]
        return learn_options(self.runs, slots=slots, read_as=self.read_as)

    def workload(self, jobs: Sequence[JobRow], machines: Mapping[str, NodeSpec] | None = None) -> Workload:
        """Return jobs as arrays of the physics."""
        known = self.machines if machines is None else machines
        return workload(jobs, known, share_option=self.options.share, records=self.options.work_by_records(jobs))

    @cached_property
    def verdict(self) -> Verdict:
        """The posterior, with excluded runs; without runs, a job is assumed to fit in memory."""
        contradictory, scatter = contradictions(self.runs)
        options, _ = self.options.encode(self.runs, ())
        nobody = np.zeros(len(self.runs), bool)
        log_s = np.log([job.runtime_s or 1.0 for job in self.runs]) - self.options.expected(self.runs)
        runs = Runs(work=self.workload(self.runs), options=options, log_s=log_s, outlier=nobody, least_noise=scatter)
        believed = families(self.model, share_option=self.options.share, holding=bool(self.runs))
        known = with_observed_memory(believed, self.runs, self.machines)
        return explain_without_outliers(runs, known, contradictory=contradictory)

    def _arrays(self, options: np.ndarray, *, like: Runs) -> Runs:
        """Return the runs with options in the coordinates of a query, which may have more names."""
        return replace(like, options=options)


def _machines(specs: Mapping[str, Mapping[str, Any]]) -> dict[str, NodeSpec]:
    return {name: machine(name, spec) for name, spec in specs.items()}
