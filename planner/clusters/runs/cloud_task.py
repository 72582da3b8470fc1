"""The task of rented machines, saved in the run's directory before it starts, so that any process can continue it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from planner.clusters.provisioning.run_directory import RunDirectory
from planner.clusters.remote.wheelhouse import Wheelhouse
from planner.clusters.runs.node_benchmarks import Effort
from planner.clusters.runs.report import cluster_report
from planner.config.atomic_file import replace_file
from planner.cost_model.model_reader import load_model
from planner.errors import BadInputError
from planner.schemas.json_values import from_jsonable, to_jsonable
from planner.schemas.plan import Plan
from planner.schemas.run_report import RunReport

TASK: Final = "task.json"
"""File name in the run's directory."""


@dataclass(frozen=True, kw_only=True)
class CloudTask:
    """The job of `plan`, on `source`, a manifest, if it has an input in an object store. `memory_bytes` of each machine
    may be used, all of it otherwise; `keep` leaves the machines running at the end. `is_lent` means that the machines
    borrow the caller's keys to the store. `asked` are the words after `planner` that repeat the run.
    """

    plan: Plan
    effort: Effort = field(default_factory=Effort)
    memory_bytes: int | None = None
    skew: bool = False
    keep: bool = False
    source: dict[str, Any] | None = None
    is_lent: bool = False
    asked: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class CloudRun:
    """A task and its prerequisites: the software, and the environment in which machines reach the object store. The
    latter may be secret and is not written anywhere.
    """

    task: CloudTask
    wheelhouse: Wheelhouse
    store: Mapping[str, str] = field(default_factory=dict, repr=False)


def save_task(task: CloudTask, directory: RunDirectory) -> None:
    """Write a task into the run's directory."""
    replace_file(directory.path / TASK, json.dumps(to_jsonable(task)) + "\n")


def load_task(directory: RunDirectory) -> CloudTask:
    """Return the task of a run. Raises BadInputError for a cluster rented without one."""
    try:
        text = (directory.path / TASK).read_text(encoding="utf-8")
    except FileNotFoundError as error:
        raise BadInputError(
            f"run {directory.path.name} has no job: `planner cluster up` rented its machines", code="no-job"
        ) from error
    task: CloudTask = from_jsonable(CloudTask, json.loads(text), where=TASK)
    return task


def is_in_place(plan: Plan) -> bool:
    """Return whether the sort itself reads from the object store and writes to it, so that no staging is needed."""
    model = plan.request.model if plan.best is None else plan.best.model
    return load_model(model).storage["data"] == "object-store"


JOB: Final = "job.json"
"""File name in the run's directory; written before the job begins."""


@dataclass(frozen=True, kw_only=True)
class SortJob:
    """The driver's `order` on the Ray cluster at `address`. The machines were rented for `first_plan`; `plan` was made
    from `machine`, the measurements on them. `steps_s` are the durations of the steps before; `keep` leaves the
    machines running at the end; `asked` are the words after `planner` that repeat the run.
    """

    plan: Plan
    first_plan: Plan
    machine: dict[str, Any]
    order: dict[str, Any]
    address: str
    steps_s: dict[str, float]
    predicted_usd: float
    keep: bool
    asked: tuple[str, ...] = ()

    def report(self, done: dict[str, Any]) -> RunReport:
        """Return the report of the driver's answer."""
        report = cluster_report(self.plan, machine=self.machine, done=done)
        return replace(report, first_plan=self.first_plan, asked=self.asked)


def save_job(job: SortJob, directory: RunDirectory) -> None:
    """Write a job into the run's directory."""
    replace_file(directory.path / JOB, json.dumps(to_jsonable(job)) + "\n")


def load_job(directory: RunDirectory) -> SortJob | None:
    """Return the job of a run; None when the run has not got that far."""
    path = directory.path / JOB
    if not path.exists():
        return None
    job: SortJob = from_jsonable(SortJob, json.loads(path.read_text(encoding="utf-8")), where=JOB)
    return job
