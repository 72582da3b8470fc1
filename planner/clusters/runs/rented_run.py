"""A run on a cluster that has come up: prepare, begin its job, follow it, account for it, and take all down,
unless only the machines have the result or the head cannot be reached.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, Final

from planner.clouds.order import Order
from planner.clusters.provisioning.cluster_lifecycle import down
from planner.clusters.provisioning.cost_to_date import bill_of
from planner.clusters.provisioning.run_directory import RunDirectory
from planner.clusters.ray.driver_session import OnEvent
from planner.clusters.remote.ssh import Ssh, TimeIsUp
from planner.clusters.runs.cloud_task import SortJob, is_in_place, load_job, save_job
from planner.clusters.runs.head_job import HeadJob, OutOfSightError
from planner.clusters.runs.preparation import prepare
from planner.clusters.runs.replacement import Replacement
from planner.clusters.runs.run import Run
from planner.config.atomic_file import replace_file
from planner.distributed_sort.dataset.dataset import Dataset, dataset_of, read_manifest, write_manifest
from planner.errors import InterruptedRunError, IoFailureError, LeftBehindError, PlannerError
from planner.schemas.run_report import RunCost, RunReport

REPORT: Final = "report.json"
MANIFEST: Final = "output.json"
SORTED: Final = "sorted.json"
LOG: Final = "driver.log"
"""Files in the run's directory: its report, each output partition's place, the sort's result, and the driver's log."""

_ENDED_BY_POWER_OFF: Final = ("aws",)
"""Clouds where a machine that powers itself off is deleted. Elsewhere it would cost money until it expires."""
KEEPING: Final = "--output stores it, and --keep leaves the machines for `planner cluster fetch`"
"""Hint on how a run keeps its output."""
_END_EARLY_S: Final = 120.0
_MOST_EARLY: Final = 0.1
"""A run ends in order _END_EARLY_S before its machines do, or this share of its time left, if that is less."""
Listening = Callable[[], AbstractContextManager[OnEvent]]


class OutOfTimeError(IoFailureError):
    """The run took longer than its machines may live."""

    code = "out-of-time"


def carry_out(run: Run, *, listening: Listening, is_detached: bool = False) -> RunReport | None:
    """Prepare the machines unless their job is ready, begin it, follow it to its end, take the cluster down unless
    it is kept, and return the report. With `is_detached`, return None as soon as the job has begun: the head goes
    on alone.
    """
    try:
        with run.ssh() as ssh, _time_limit(run, ssh):
            job, ray = (run.job, None) if run.job else prepare(run, ssh)
            head = run.head_job(ssh)
            _begin(run, job, head)
            if is_detached:
                run.session.say(_continues_text(run.order))
                return None
            with Replacement.of(run, ray).run_in_background(ssh) if ray else nullcontext():
                done = _result(run, job, head, listening)
            report = _report_of(run, job, head, done)
    except TimeIsUp:
        raise _end_out_of_time(run) from None
    except BaseException as error:
        _end_after(run, error)
        raise
    return _close(run, report, job)


@contextmanager
def _time_limit(run: Run, ssh: Ssh) -> Iterator[None]:
    """Raise TimeIsUp in the body shortly before the machines shut down automatically."""
    left_s = (run.order.expires_at - datetime.now(UTC)).total_seconds()
    timer = threading.Timer(max(0.0, left_s - min(_END_EARLY_S, _MOST_EARLY * left_s)), ssh.give_up)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def _end_out_of_time(run: Run) -> OutOfTimeError:
    """Stop the job, take everything down, and return the error to raise, with what is lost and what remains."""
    ends_at = f"{run.order.expires_at:%Y-%m-%d %H:%M} UTC"
    run.session.say(f"the run ends: its machines end by themselves at {ends_at}")
    job = _known_job(run)
    if job is not None:
        with suppress(IoFailureError, OSError), run.ssh() as ssh:
            run.head_job(ssh).stop()
            _keep_log(run, run.head_job(ssh))
    losses = [*_losses(run, job), f"the machines' end, {ends_at}, follows from --max-hours and --max-cost: allow more"]
    try:
        down(run.directory, run.session)
    except LeftBehindError as left:
        raise LeftBehindError(left.message, [*left.details, *losses]) from left
    return OutOfTimeError(
        f"run {run.order.run}: its machines' time was over before the sort was done; all is removed", losses
    )


def _losses(run: Run, job: SortJob | None) -> list[str]:
    """Return lines on what is lost with the machines and what stays."""
    output, log = "" if job is None else job.order["request"].get("output", ""), run.directory.path / LOG
    lost = "the sorted output, which lay on their disks" if _has_result(run) else "what they had sorted"
    kept = [f"what was written below {output} so far stays there, without a manifest"] if output else []
    return [f"lost: {lost}", *kept, *([f"the driver's log: {log}"] if log.exists() else [])]


def _begin(run: Run, job: SortJob, head: HeadJob) -> None:
    """Begin the job unless it has begun. It is recorded here before it starts there."""
    save_job(job, run.directory)
    _begin_on(run, head, job, job.order, after_another=run.follows_another)
    run.directory.note("job")


def _begin_on(run: Run, head: HeadJob, job: SortJob, order: dict[str, Any], *, after_another: bool = False) -> None:
    ends_unclaimed = run.order.cloud in _ENDED_BY_POWER_OFF and not job.keep
    head.begin(order, address=job.address, ends_unclaimed=ends_unclaimed, after_another=after_another)


def _result(run: Run, job: SortJob, head: HeadJob, listening: Listening) -> dict[str, Any]:
    """Return the job's result. If it failed after its sort, an attached process retries the remaining steps."""
    try:
        return _follow(run, head, listening)
    except OutOfSightError:
        raise
    except PlannerError as error:
        stored = run.directory.path / SORTED
        if not (run.is_attached and _has_result(run) and stored.exists()):
            raise
        run.session.say(f"{error}\ntrying again what follows the sort")
    order = {"do": "finish", "request": job.order["request"], "sorted": json.loads(stored.read_text("utf-8"))}
    return _run_another_order(run, job, order, head, listening)


def run_another_order(run: Run, job: SortJob, order: dict[str, Any], ssh: Ssh, listening: Listening) -> dict[str, Any]:
    """Have the head carry out another order once its job has ended, and return the result."""
    head = run.head_job(ssh)
    done = _run_another_order(run, job, order, head, listening)
    head.claim()
    return done


def _run_another_order(
    run: Run, job: SortJob, order: dict[str, Any], head: HeadJob, listening: Listening
) -> dict[str, Any]:
    _begin_on(run, head, job, order, after_another=True)
    return _follow(run, head, listening)


def _follow(run: Run, head: HeadJob, listening: Listening) -> dict[str, Any]:
    try:
        with listening() as on_event:
            return head.result(lambda event: _hear(run, event, on_event))
    except OutOfSightError as error:
        if _head_is_gone(run):
            if datetime.now(UTC) >= run.order.expires_at:
                raise TimeIsUp from error
            raise IoFailureError(
                f"the head {run.cluster.head.id} is gone, and with it the sort", code="head-lost"
            ) from error
        raise
    except PlannerError:
        _keep_log(run, head)
        raise


def _report_of(run: Run, job: SortJob, head: HeadJob, done: dict[str, Any]) -> RunReport:
    head.claim()
    _keep_log(run, head)
    run.directory.note("sorted", **done["steps_s"])
    run.stopwatch.seconds.update(done["steps_s"])
    write_manifest(dataset_of(done["dataset"]), run.directory.path / MANIFEST)
    return job.report(done)


def _hear(run: Run, event: dict[str, Any], on_event: OnEvent) -> None:
    """Record the place of the output as soon as it is known, and pass the event on."""
    if event["event"] == "sorted":
        write_manifest(dataset_of(event["dataset"]), run.directory.path / MANIFEST)
        replace_file(run.directory.path / SORTED, json.dumps(event))
        run.directory.note("output", partitions=len(event["dataset"]["partitions"]))
    on_event(event)


def _keep_log(run: Run, head: HeadJob) -> None:
    """Keep the driver's log before its machine ends."""
    with suppress(IoFailureError, OSError):
        (run.directory.path / LOG).write_text(head.log(), encoding="utf-8")


def _head_is_gone(run: Run) -> bool:
    """Return whether the cloud proves that the head no longer works; False if the cloud cannot be asked."""
    head = run.cluster.head
    try:
        nodes = run.account().settled_nodes(region=head.region)
    except PlannerError:
        return False
    return any(node.id == head.id and node.is_lost for node in nodes)


def _end_after(run: Run, error: BaseException) -> None:
    """Take everything down after a failure, except what must stay. Raises InterruptedRunError after an interrupt,
    and LeftBehindError.
    """
    if isinstance(error, KeyboardInterrupt | InterruptedRunError):
        _end_interrupted(run, error)
    run.session.say(f"the run ends: {error}")
    if isinstance(error, OutOfSightError):
        run.session.say(_continues_text(run.order))
    elif _has_result(run):
        run.session.say(_result_text(run))
    elif run.keeps:
        run.session.say(_kept_text(run.order))
    else:
        down(run.directory, run.session)


def _end_interrupted(run: Run, error: BaseException) -> None:
    if run.is_attached:
        raise InterruptedRunError(f"left; {_continues_text(run.order)}") from error
    run.session.say("the run ends: interrupted")
    if run.follows_another:
        raise InterruptedRunError(f"interrupted; {_kept_text(run.order)}") from error
    down(run.directory, run.session)
    raise InterruptedRunError(f"run {run.order.run}: interrupted; all that was created has been removed") from error


def _known_job(run: Run) -> SortJob | None:
    """Return the run's job; None also where it cannot be read, as a take-down must not depend on this disk."""
    with suppress(PlannerError, OSError, ValueError):
        return load_job(run.directory)
    return None


def _has_result(run: Run) -> bool:
    """Return whether a sorted output exists only on the machines."""
    job = _known_job(run)
    return job is not None and (run.directory.path / MANIFEST).exists() and not is_in_place(job.first_plan)


def _result_text(run: Run) -> str:
    """Return text on where the output is and how to fetch it."""
    return (
        f"the sort is done and its output lies on the machines. Try the rest again: planner cluster attach "
        f"{run.order.run}. Or {_saving_text(run.order)}\n{_kept_text(run.order)}"
    )


def _close(run: Run, report: RunReport, job: SortJob) -> RunReport:
    """Account for the run, take the cluster down unless it is kept, and account again: then a full disk raises."""
    with suppress(PlannerError, OSError):
        _add_cost(run, report, job)
        if is_unsaved(run.directory):
            lost = f"the output on the machines' disks goes with them; {KEEPING}"
            run.session.say(_saving_text(run.order) if job.keep else lost)
    if job.keep:
        run.session.say(_kept_text(run.order))
    else:
        run.stopwatch.measure("take down", lambda: down(run.directory, run.session))
    return _add_cost(run, report, job)


def _add_cost(run: Run, report: RunReport, job: SortJob) -> RunReport:
    """Return the report with all steps so far and their cost, and write it into the run's directory."""
    bill = bill_of(run.directory.events(), now=datetime.now(UTC))
    cost = RunCost(node_hours=bill.node_hours, usd=bill.usd, predicted_usd=job.predicted_usd, bill=bill.lines)
    whole = replace(report, steps_s=dict(run.stopwatch.seconds), cost=cost)
    (run.directory.path / REPORT).write_text(whole.to_json() + "\n", encoding="utf-8")
    return whole


def output_on_machines(directory: RunDirectory) -> Dataset | None:
    """Return the sorted output of a run if it lies on its machines' disks."""
    manifest = directory.path / MANIFEST
    output = read_manifest(manifest) if manifest.exists() else None
    is_there = output and any(copy.node for partition in output.partitions for copy in partition.copies)
    return output if is_there else None


def is_unsaved(directory: RunDirectory) -> bool:
    """Return whether the sorted output of a run would be lost with its machines."""
    last = [event.what for event in directory.events() if event.what in ("output", "saved", "down")][-1:]
    return last == ["output"] and output_on_machines(directory) is not None


def _continues_text(order: Order) -> str:
    return (
        f"run {order.run} goes on by itself, and its machines end at {order.expires_at:%Y-%m-%d %H:%M} UTC at the "
        f"latest. Its result: planner cluster attach {order.run}; its end: planner cluster down {order.run}"
    )


def _saving_text(order: Order) -> str:
    return f"save the output, which lies on the machines alone: planner cluster fetch {order.run} FOLDER"


def _kept_text(order: Order) -> str:
    return (
        f"run {order.run} is kept and costs money until {order.expires_at:%Y-%m-%d %H:%M} UTC, or until: "
        f"planner cluster down {order.run}"
    )
