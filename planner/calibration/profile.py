"""A calibrated profile: the fit of one framework, its predictions, and the clusters that meet a deadline."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Final

import numpy as np

from planner.calibration.experiment import USUAL_REPEATS, NextRun, best_experiment
from planner.calibration.explanation import explain
from planner.calibration.fit import Fit
from planner.calibration.history import JobRow, Records, describe, parse_jobs
from planner.calibration.machines import read_specs
from planner.calibration.priors import families
from planner.calibration.workloads import workload
from planner.errors import BadInputError, InfeasibleError
from planner.schemas.door import Between, checked
from planner.units import format_duration

if TYPE_CHECKING:
    import pandas as pd


Repeats = Annotated[float, Between(0, 1e9)]
"""How often a job will run."""
FORMAT: Final = 1
"""Version of `Profile.to_dict`."""

MOST_STORED_SPECS: Final = 100
"""Limit on stored specifications; above it (a whole catalog) only machines that ran are stored."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Profile(Fit):
    """A fit with predictions, the next run, an explanation, and storage."""

    def predict(self, query: Records, *, instances: Mapping[str, Mapping[str, Any]] | Records = None) -> pd.DataFrame:
        """Return `runtime_s` (the mean over explanations), `lo` and `hi` (the range of 90% of new runs), one row per
        row of `query`.

        `query` has the columns of the runs without `runtime_s`; `instances` adds specifications of types that the
        profile lacks. Raises BadInputError for bad cells, unknown types, and a missing column in which the runs differ.
        """
        import pandas as pd

        jobs = parse_jobs(query, what="query", timed=False)
        index = query.index if hasattr(query, "index") and hasattr(query, "columns") else None
        runtime_s, lo, hi = self.mixture(jobs, instances=instances).range_s()
        return pd.DataFrame({"runtime_s": runtime_s, "lo": lo, "hi": hi}, index=index)

    @checked
    def next_run(
        self, query: Records = None, *, candidates: Records = None, repeats: Repeats = USUAL_REPEATS
    ) -> NextRun:
        """Return the best further run: its outcome saves most when the cheapest cluster of `query` then runs the job
        `repeats` times, less its own price. If none `pays`, it is the one that narrows the ranges most.

        Both tables default to a grid over the machine types, node counts and sizes of the runs, up to twice the largest
        of each.
        """
        targets = None if query is None else parse_jobs(query, what="query", timed=False)
        choices = None if candidates is None else parse_jobs(candidates, what="candidates", timed=False)
        return best_experiment(self, targets, choices, repeats=repeats)

    def explain(self) -> dict[str, Any]:
        """Return the results as plain values: coefficients against the prior, shares of the time, scatter, outliers and
        warnings.
        """
        return explain(self)

    def with_runs(self, runs: Records, *, instances: Mapping[str, Mapping[str, Any]] | Records = None) -> Profile:
        """Return the profile with further runs."""
        more = parse_jobs(runs, what="runs", timed=True)
        specs = {**self.specs, **({} if instances is None else read_specs(instances))}
        return _profile(name=self.name, model=self.model, runs=(*self.runs, *more), specs=specs)

    def to_dict(self) -> dict[str, Any]:
        """Return the data needed to rebuild the profile, as JSON-able values."""
        used = {job.instance_type for job in self.runs} if len(self.specs) > MOST_STORED_SPECS else set(self.specs)
        specs = {name: {key: _json_value(value) for key, value in self.specs[name].items()} for name in sorted(used)}
        return {
            "format": FORMAT,
            "name": self.name,
            "model": self.model,
            "runs": [job.to_dict() for job in self.runs],
            "instances": specs,
        }

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Profile:
        """Return the profile from the values of `to_dict`. Raises BadInputError for anything else."""
        if not isinstance(values, Mapping) or values.get("format") != FORMAT:
            given_format = values.get("format") if isinstance(values, Mapping) else type(values).__name__
            raise BadInputError(
                f"not a calibration profile of format {FORMAT}: found {given_format!r}", code="wrong-version"
            )
        missing = [key for key in ("name", "model", "runs", "instances") if key not in values]
        if missing:
            raise BadInputError(f"calibration profile: missing {', '.join(missing)}", code="missing-field")
        return calibrate(values["runs"], instances=values["instances"], model=values["model"], name=values["name"])

    def __repr__(self) -> str:
        return f"Profile({self.name!r}, model {self.model!r}, {describe(self.runs)})"


def calibrate(
    runs: Records,
    *,
    instances: Mapping[str, Mapping[str, Any]] | Records,
    model: str = "framework",
    name: str | None = None,
) -> Profile:
    """Learn a profile from runs: a DataFrame or list of dicts with `instance_type`, `nodes`, `data_gb`, `runtime_s` and
    further columns.

    Without runs the profile is the prior. `instances` holds machine specifications by type, as `machines.machine` reads
    them. Raises BadInputError for bad cells (all of them together), for types without specification, and for an unknown
    model.
    """
    jobs = parse_jobs(runs, what="runs", timed=True)
    return _profile(name=name or model, model=model, runs=jobs, specs=read_specs(instances))


def _profile(*, name: str, model: str, runs: tuple[JobRow, ...], specs: Mapping[str, Mapping[str, Any]]) -> Profile:
    profile = Profile(name=name, model=model, runs=runs, specs=specs)
    families(model)
    workload(runs, profile.machines)
    return profile


def _json_value(value: Any) -> Any:
    """Return numpy scalars as Python's own, NaN as None."""
    value = value.item() if hasattr(value, "item") else value
    return None if isinstance(value, float) and not np.isfinite(value) else value


@dataclass(frozen=True, kw_only=True)
class DeadlineChoice:
    """A cluster with its predicted time and range, in seconds, and its cost."""

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
) -> DeadlineChoice:
    """Return the cheapest cluster whose `hi_s` is within the deadline; types without a price are excluded.

    Raises InfeasibleError naming the fastest cluster if none is, and BadInputError if there are no candidates.
    """
    types = list(profile.machines if instance_types is None else instance_types)
    jobs = [
        JobRow(instance_type=name, nodes=count, data_gb=data_gb, options=dict(options or {}))
        for name in types
        for count in nodes
    ]
    if not jobs:
        raise BadInputError("no cluster to choose from: name node counts and machine types", code="nothing-to-choose")
    choices = deadline_choices(profile, jobs)
    within = [choice for choice in choices if choice.hi_s <= deadline_s and np.isfinite(choice.cost_usd)]
    if not within:
        fastest = min(choices, key=lambda choice: choice.hi_s)
        raise InfeasibleError(
            f"no cluster surely finishes within {format_duration(deadline_s)}",
            [f"nearest: {fastest.nodes} x {fastest.instance_type}, {format_duration(fastest.hi_s)} at its range's end"],
            code="deadline",
        )
    return min(within, key=lambda choice: choice.cost_usd)


def deadline_choices(profile: Profile, jobs: list[JobRow]) -> list[DeadlineChoice]:
    """Return every job as a choice, in order."""
    runtime_s, lo, hi = profile.mixture(jobs).range_s()
    hours = (
        np.array([job.nodes * profile.machines[job.instance_type].price_usd_per_hour for job in jobs])
        * runtime_s
        / 3600
    )
    return [
        DeadlineChoice(
            instance_type=job.instance_type,
            nodes=job.nodes,
            runtime_s=float(runtime_s[i]),
            lo_s=float(lo[i]),
            hi_s=float(hi[i]),
            cost_usd=float(hours[i]),
        )
        for i, job in enumerate(jobs)
    ]
