"""One row for each application of a fleet: cores held, waste, possible saving, and headroom for more data."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from planner.errors import BadInputError
from planner.schemas.plan import Request
from planner.spark.application.application import Application
from planner.spark.application.completeness import LEAST_SHARE
from planner.spark.application.stage import Stage
from planner.spark.model.bounds import explain
from planner.spark.model.configuration import first_changes
from planner.spark.model.from_log import catalogs_of, plan_application


@dataclass(frozen=True, kw_only=True)
class FleetRow:
    """An application, or a log that could not be read: then `failure` gives the reason. None is unknown.

    `core_s` are the core-seconds that executors held; `idle_core_s` of them ran no task, and `waste_core_s` ran none,
    collected garbage or ran stages that failed. `cost_usd` is that of the machines, `saving_usd` what `move_to` saves,
    and `saving_unknown` the reason where no saving is known. `data_headroom` is by what factor a task's data may grow
    before it spills; below 1 where it spilled.
    """

    log: str
    failure: str = ""
    app_id: str = ""
    name: str = ""
    attempt: str = ""
    spark_version: str = ""
    platform: str = ""
    started_at_s: float | None = None
    duration_s: float | None = None
    ended: bool = True
    complete_share: float | None = None
    gaps: int = 0
    executors: int | None = None
    cores: int | None = None
    tasks: int = 0
    failed_tasks: int = 0
    input_bytes: float | None = None
    shuffle_bytes: float | None = None
    spill_bytes: float | None = None
    core_s: float | None = None
    idle_core_s: float | None = None
    waste_core_s: float | None = None
    bound: str = ""
    first_change: str = ""
    data_headroom: float | None = None
    machines: str = ""
    cost_usd: float | None = None
    move_to: str = ""
    saving_usd: float | None = None
    saving_unknown: str = ""

    @property
    def data_bytes(self) -> float | None:
        """Bytes that grow with the data: the input, or without one, the shuffle; None where tasks are lost."""
        lost = self.complete_share is not None and self.complete_share < LEAST_SHARE
        return None if lost else self.input_bytes or self.shuffle_bytes

    @property
    def waste_share(self) -> float | None:
        """Wasted share of the core time held; None if unknown."""
        return self.waste_core_s / self.core_s if self.core_s and self.waste_core_s is not None else None


def row_of(application: Application, *, log: str, request: Request, ran_on: Sequence[str]) -> FleetRow:
    """Return the row of an application; `ran_on` names its machines where its log does not."""
    explained = explain(application)
    held, sums = held_core_s(application), application.sums
    busy = sum(stage.task_cpus * stage.sums.elapsed_s for stage in application.stages)
    idle = None if held is None else max(0.0, held - busy)
    lost = sum(stage.task_cpus * _lost_s(stage) for stage in application.stages)
    machines, cost, move_to, saving, unknown = _saving(application, request, ran_on)
    return FleetRow(
        log=log,
        app_id=application.app_id,
        name=application.name,
        attempt=application.attempt,
        spark_version=application.spark_version,
        platform=application.cluster.platform,
        started_at_s=application.started_at_s,
        duration_s=application.duration_s,
        ended=application.ended,
        complete_share=explained.completeness.share,
        gaps=len(explained.completeness.gaps),
        executors=application.cluster.executors,
        cores=application.cluster.cores,
        tasks=application.tasks,
        failed_tasks=sum(stage.failed for stage in application.stages),
        input_bytes=_or_none(sums.input_bytes),
        shuffle_bytes=_or_none(sums.shuffle_write_bytes),
        spill_bytes=_or_none(sums.spill_disk_bytes),
        core_s=held,
        idle_core_s=idle,
        waste_core_s=None if idle is None or held is None else min(held, idle + lost),
        bound=next(iter(explained.seconds_by_bound), ""),
        first_change=next(iter(first_changes(explained)), ""),
        data_headroom=data_headroom(application),
        machines=machines,
        cost_usd=cost,
        move_to=move_to,
        saving_usd=saving,
        saving_unknown=unknown,
    )


def _lost_s(stage: Stage) -> float:
    """Return the seconds of a stage's tasks that did no work: all if it failed, else those of garbage collection."""
    return stage.sums.elapsed_s if stage.status == "failed" else _known(stage.sums.gc_s)


def held_core_s(application: Application) -> float | None:
    """Return the core-seconds that executors held, from their start to their end or the application's; None if the log
    lacks cores or times.
    """
    end_s = application.ended_at_s
    executors = [e for e in application.executors if e.executor_id != "driver" or len(application.executors) == 1]
    if not executors or end_s is None:
        return None
    held = 0.0
    for executor in executors:
        if not executor.cores or executor.there_from_s is None:
            return None
        gone_s = min(executor.removed_at_s if executor.removed_at_s is not None else end_s, end_s)
        held += executor.cores * max(0.0, gone_s - executor.there_from_s)
    return held


_LEAST_PEAK_BYTES: Final = 16 << 20
"""Smaller peaks do not depend on the data: Spark's operators take pages of up to 64 MB before any row comes."""


def data_headroom(application: Application) -> float | None:
    """Return by what factor the data of the fullest stage's tasks may grow before they spill, below 1 where one did.

    A task's share of an executor's memory is the whole, as its block manager reports it, over the tasks that run at
    once (Spark's tuning guide: of N tasks each gets 1/N). With twice the data in as many partitions, a task holds twice
    as much. None if the log lacks either figure, or no task held much.
    """
    pools = [e.storage_memory_bytes / e.cores for e in application.executors if e.storage_memory_bytes and e.cores]
    peaks = [stage.peak_execution_memory_bytes / stage.task_cpus for stage in application.stages]
    peak = max((peak for peak in peaks if not math.isnan(peak)), default=0.0)
    if not pools or peak < _LEAST_PEAK_BYTES:
        return None
    headroom = min(pools) / peak
    return min(headroom, 0.99) if _known(application.sums.spill_disk_bytes) > 0 else headroom


def _saving(
    application: Application, request: Request, ran_on: Sequence[str]
) -> tuple[str, float | None, str, float | None, str]:
    """Return the machines, their cost, the cheaper cluster, its saving, and the reason if the saving is unknown."""
    try:
        at_home = replace(request, catalogs=catalogs_of(application, request.catalogs, ran_on=ran_on))
        plan = plan_application(application, at_home, ran_on=ran_on)
    except BadInputError as error:
        return "", None, "", None, error.message
    cost = _or_none(plan.logged.cost_usd)
    if plan.best is None or cost is None or math.isnan(plan.best.cost_usd):
        return plan.logged.name, cost, "", None, "a price is unknown" if plan.best else "no cluster ends as early"
    if plan.keep:
        return plan.logged.name, cost, "", 0.0, ""
    return plan.logged.name, cost, plan.best.name, cost - plan.best.cost_usd, ""


def _known(amount: float) -> float:
    return 0.0 if math.isnan(amount) else amount


def _or_none(amount: float) -> float | None:
    return None if math.isnan(amount) else amount
