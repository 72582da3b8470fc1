"""The sort that the head of a rented cluster does by itself, with all that a report of it needs, kept as one file."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import Any, Final

from planner.clusters.provisioning.run_directory import RunDirectory
from planner.clusters.runs.report import cluster_report
from planner.config.atomic_file import replace_file
from planner.schemas.json_values import from_jsonable, to_jsonable
from planner.schemas.plan import Plan
from planner.schemas.run_report import RunReport

JOB: Final = "job.json"
"""In the run's directory, from before the job begins."""


@dataclass(frozen=True, kw_only=True)
class SortJob:
    """The driver's `order` on the Ray cluster at `address`. `first_plan` is what the machines were rented for, `plan`
    was made with what was measured on them, `machine` is that. `steps_s` are the steps before; `keep` leaves the
    machines there in the end.
    """

    plan: Plan
    first_plan: Plan
    machine: dict[str, Any]
    order: dict[str, Any]
    address: str
    steps_s: dict[str, float]
    predicted_usd: float
    keep: bool

    def report(self, done: dict[str, Any]) -> RunReport:
        """Return the report of what the driver answered."""
        report = cluster_report(self.plan, machine=self.machine, done=done)
        return replace(report, first_plan=self.first_plan)


def keep_job(job: SortJob, directory: RunDirectory) -> None:
    """Write a job into the run's directory."""
    replace_file(directory.path / JOB, json.dumps(to_jsonable(job)) + "\n")


def kept_job(directory: RunDirectory) -> SortJob | None:
    """Return the job of a run; None when the run has not come so far."""
    path = directory.path / JOB
    if not path.exists():
        return None
    job: SortJob = from_jsonable(SortJob, json.loads(path.read_text(encoding="utf-8")), where=JOB)
    return job
