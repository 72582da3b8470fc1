"""Runs of one framework fitted by the physics: the posterior, and the distribution of the time of any job."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Self

import numpy as np

from planner.arrays import Floats
from planner.calibration.history import JobRow, Records
from planner.calibration.machines import NodeSpec, machine, read_specs
from planner.calibration.options import OptionSet, Scaling, learn_options
from planner.calibration.physics import Workload
from planner.calibration.posterior import Runs
from planner.calibration.prediction import CHARGED_WHERE_IT_RAN, MOST_CHARGED, Mixture, few_runs_factor, predict
from planner.calibration.priors import families
from planner.calibration.seen_memory import with_seen_memory
from planner.calibration.suspicion import Verdict, contradictions, judge, with_population
from planner.calibration.workloads import workload


@dataclass(frozen=True, kw_only=True, eq=False)
class Fit:
    """Runs of one framework with the machines they ran on; all that they taught follows from these.

    `model` names the prior (`framework`, `spark`, `hadoop`, `native`, `own`), `specs` are the machines' specifications
    by type. `read_as` says how to read further columns for the sake of one query; it is not stored.
    """

    name: str
    model: str
    runs: tuple[JobRow, ...]
    specs: Mapping[str, Mapping[str, Any]] = field(repr=False)
    read_as: Mapping[str, Scaling] = field(default_factory=dict, repr=False)

    def mixture(
        self, jobs: Sequence[JobRow], *, instances: Mapping[str, Mapping[str, Any]] | Records = None
    ) -> Mixture:
        """Return the distribution of log seconds of each job: what `predict` takes its columns from.

        After few runs it is wider than the posterior, as these hold too few of the runs to come.
        """
        fit = self._beside(jobs)
        known = fit._posterior(jobs, instances)
        known = replace(known, mean=known.mean + fit.options.expected(jobs), most_charged=self._most_charged(jobs))
        return known.widened(few_runs_factor(len(self.runs)))

    def _most_charged(self, jobs: Sequence[JobRow]) -> Floats:
        """Return the charge of each job for data that may not fit: of more data than ran nobody knows whether it
        does, the less the more it is.
        """
        most_run_gb = max((run.data_gb for run in self.runs), default=0.0)
        more = np.array([job.data_gb for job in jobs]) / (most_run_gb or 1e-9)
        return np.clip(CHARGED_WHERE_IT_RAN * np.cbrt(more), CHARGED_WHERE_IT_RAN, MOST_CHARGED)

    def _beside(self, jobs: Sequence[JobRow]) -> Self:
        """Return the fit with columns read as the values of a query need it."""
        read_as = self.options.beside(jobs)
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
        """The runs (from 0) that were set aside because the others contradict them."""
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
        """What the further columns of the runs taught."""
        slots = [job.nodes * self.machines[job.instance_type].cores for job in self.runs]
        return learn_options(self.runs, slots=slots, read_as=self.read_as)

    def workload(self, jobs: Sequence[JobRow], machines: Mapping[str, NodeSpec] | None = None) -> Workload:
        """Return jobs as arrays of the physics."""
        return workload(jobs, self.machines if machines is None else machines, share_option=self.options.share)

    @cached_property
    def verdict(self) -> Verdict:
        """The posterior, with what was set apart; until something ran, a job is taken to fit into memory."""
        contradictory, scatter = contradictions(self.runs)
        options, _ = self.options.encode(self.runs, ())
        nobody = np.zeros(len(self.runs), bool)
        log_s = np.log([job.runtime_s or 1.0 for job in self.runs]) - self.options.expected(self.runs)
        runs = Runs(work=self.workload(self.runs), options=options, log_s=log_s, outlier=nobody, least_noise=scatter)
        believed = families(self.model, share_option=self.options.share, holding=bool(self.runs))
        known = with_seen_memory(believed, self.runs, self.machines)
        return judge(runs, known, contradictory=contradictory)

    def _arrays(self, options: np.ndarray, *, like: Runs) -> Runs:
        """Return the runs with options in the coordinates of a query, which may know more names."""
        return replace(like, options=options)


def _machines(specs: Mapping[str, Mapping[str, Any]]) -> dict[str, NodeSpec]:
    return {name: machine(name, spec) for name, spec in specs.items()}
