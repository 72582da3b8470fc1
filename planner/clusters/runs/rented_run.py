"""The course of a run on a cluster that has come up: begin its job, follow it, account for it, and take all down,
unless only the machines have the result or the head cannot be reached.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, Final

from planner.clouds.order import Order
from planner.clusters.provisioning.cluster_lifecycle import ProviderSession, down
from planner.clusters.provisioning.cost_to_date import bill_of
from planner.clusters.provisioning.launch import Cluster
from planner.clusters.provisioning.reconciliation import Reconciliation
from planner.clusters.provisioning.run_directory import RunDirectory
from planner.clusters.ray.driver_session import OnEvent
from planner.clusters.remote.ssh import Ssh, TimeIsUp
from planner.clusters.runs.cloud_task import SortJob, is_in_place, load_job, save_job
from planner.clusters.runs.head_job import HeadJob, OutOfSightError
from planner.clusters.runs.preparation import Prepared
from planner.config.atomic_file import replace_file
from planner.distributed_sort.dataset.dataset import Dataset, dataset_of, read_manifest, write_manifest
from planner.distributed_sort.job.stopwatch import Stopwatch
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


@dataclass(frozen=True, kw_only=True)
class RentedRun:
    """A run on its cluster. `is_attached` means that another process began it: an interrupt then only leaves it.
    `follows_another` means that the machines have done another job before.
    """

    order: Order
    cluster: Cluster
    directory: RunDirectory
    session: ProviderSession
    stopwatch: Stopwatch
    is_attached: bool = False
    follows_another: bool = False

    def carry_out(
        self, prepared: Callable[[Ssh], Prepared], *, keep: bool, listening: Listening, is_detached: bool = False
    ) -> RunReport | None:
        """Begin the job that `prepared` returns, follow it to its end, take the cluster down unless `keep`, and return
        the report. With `is_detached`, return None as soon as the job has begun: the head goes on alone.
        """
        try:
            with self.ssh() as ssh, self._time_limit(ssh):
                begun = prepared(ssh)
                job, head = begun.job, self.head_job(ssh)
                self._begin(job, head)
                if is_detached:
                    self.session.say(_continues_text(self.order))
                    return None
                with begun.replacement.run_in_background(ssh) if begun.replacement else nullcontext():
                    done = self._result(job, head, listening)
                report = self._report_of(job, head, done)
        except TimeIsUp:
            raise self._end_out_of_time() from None
        except BaseException as error:
            self._end_after(error, keep=keep)
            raise
        return self._close(report, job)

    @contextmanager
    def _time_limit(self, ssh: Ssh) -> Iterator[None]:
        """Raise TimeIsUp in the body shortly before the machines shut down automatically."""
        left_s = (self.order.expires_at - datetime.now(UTC)).total_seconds()
        timer = threading.Timer(max(0.0, left_s - min(_END_EARLY_S, _MOST_EARLY * left_s)), ssh.give_up)
        timer.daemon = True
        timer.start()
        try:
            yield
        finally:
            timer.cancel()

    def _end_out_of_time(self) -> OutOfTimeError:
        """Stop the job, take everything down, and return the error to raise, with what is lost and what remains."""
        ends_at = f"{self.order.expires_at:%Y-%m-%d %H:%M} UTC"
        self.session.say(f"the run ends: its machines end by themselves at {ends_at}")
        job = self._known_job()
        if job is not None:
            with suppress(IoFailureError, OSError), self.ssh() as ssh:
                self.head_job(ssh).stop()
                self._keep_log(self.head_job(ssh))
        losses = [
            *self._losses(job),
            f"the machines' end, {ends_at}, follows from --max-hours and --max-cost: allow more",
        ]
        try:
            down(self.directory, self.session)
        except LeftBehindError as left:
            raise LeftBehindError(left.message, [*left.details, *losses]) from left
        return OutOfTimeError(
            f"run {self.order.run}: its machines' time was over before the sort was done; all is removed", losses
        )

    def _losses(self, job: SortJob | None) -> list[str]:
        """Return lines on what is lost with the machines and what stays."""
        output, log = "" if job is None else job.order["request"].get("output", ""), self.directory.path / LOG
        lost = "the sorted output, which lay on their disks" if self._has_result() else "what they had sorted"
        kept = [f"what was written below {output} so far stays there, without a manifest"] if output else []
        return [f"lost: {lost}", *kept, *([f"the driver's log: {log}"] if log.exists() else [])]

    def ssh(self) -> Ssh:
        """Return the SSH access to the machines."""
        return Ssh(self.cluster.nodes, directory=self.directory.path, key=self.directory.key, jump=self.order.jump)

    def head_job(self, ssh: Ssh) -> HeadJob:
        """Return the job on the head, begun or not."""
        return HeadJob(ssh=ssh, policy=self.session.policy, say=self.session.say)

    def _begin(self, job: SortJob, head: HeadJob) -> None:
        """Begin the job unless it has begun. It is recorded here before it starts there."""
        save_job(job, self.directory)
        self._begin_on(head, job, job.order, after_another=self.follows_another)
        self.directory.note("job")

    def _begin_on(self, head: HeadJob, job: SortJob, order: dict[str, Any], *, after_another: bool = False) -> None:
        ends_unclaimed = self.order.cloud in _ENDED_BY_POWER_OFF and not job.keep
        head.begin(order, address=job.address, ends_unclaimed=ends_unclaimed, after_another=after_another)

    def _result(self, job: SortJob, head: HeadJob, listening: Listening) -> dict[str, Any]:
        """Return the job's result. If it failed after its sort, an attached process retries the remaining steps."""
        try:
            return self._follow(head, listening)
        except OutOfSightError:
            raise
        except PlannerError as error:
            stored = self.directory.path / SORTED
            if not (self.is_attached and self._has_result() and stored.exists()):
                raise
            self.session.say(f"{error}\ntrying again what follows the sort")
        order = {"do": "finish", "request": job.order["request"], "sorted": json.loads(stored.read_text("utf-8"))}
        return self._run_another_order(job, order, head, listening)

    def run_another_order(self, job: SortJob, order: dict[str, Any], ssh: Ssh, listening: Listening) -> dict[str, Any]:
        """Have the head carry out another order once its job has ended, and return the result."""
        head = self.head_job(ssh)
        done = self._run_another_order(job, order, head, listening)
        head.claim()
        return done

    def _run_another_order(
        self, job: SortJob, order: dict[str, Any], head: HeadJob, listening: Listening
    ) -> dict[str, Any]:
        self._begin_on(head, job, order, after_another=True)
        return self._follow(head, listening)

    def _follow(self, head: HeadJob, listening: Listening) -> dict[str, Any]:
        try:
            with listening() as on_event:
                return head.result(lambda event: self._hear(event, on_event))
        except OutOfSightError as error:
            if self._head_is_gone():
                if datetime.now(UTC) >= self.order.expires_at:
                    raise TimeIsUp from error
                raise IoFailureError(
                    f"the head {self.cluster.head.id} is gone, and with it the sort", code="head-lost"
                ) from error
            raise
        except PlannerError:
            self._keep_log(head)
            raise

    def _report_of(self, job: SortJob, head: HeadJob, done: dict[str, Any]) -> RunReport:
        head.claim()
        self._keep_log(head)
        self.directory.note("sorted", **done["steps_s"])
        self.stopwatch.seconds.update(done["steps_s"])
        write_manifest(dataset_of(done["dataset"]), self.directory.path / MANIFEST)
        return job.report(done)

    def _hear(self, event: dict[str, Any], on_event: OnEvent) -> None:
        """Record the place of the output as soon as it is known, and pass the event on."""
        if event["event"] == "sorted":
            write_manifest(dataset_of(event["dataset"]), self.directory.path / MANIFEST)
            replace_file(self.directory.path / SORTED, json.dumps(event))
            self.directory.note("output", partitions=len(event["dataset"]["partitions"]))
        on_event(event)

    def _keep_log(self, head: HeadJob) -> None:
        """Keep the driver's log before its machine ends."""
        with suppress(IoFailureError, OSError):
            (self.directory.path / LOG).write_text(head.log(), encoding="utf-8")

    def _head_is_gone(self) -> bool:
        """Return whether the cloud proves that the head no longer works; False if the cloud cannot be asked."""
        head, session = self.cluster.head, self.session
        account = Reconciliation.of(self.directory, provider=session.provider, policy=session.policy)
        try:
            nodes = account.settled_nodes(region=head.region)
        except PlannerError:
            return False
        return any(node.id == head.id and node.is_lost for node in nodes)

    def _end_after(self, error: BaseException, *, keep: bool) -> None:
        """Take everything down after a failure, except what must stay. Raises InterruptedRunError after an interrupt,
        and LeftBehindError.
        """
        if isinstance(error, KeyboardInterrupt | InterruptedRunError):
            self._end_interrupted(error)
        self.session.say(f"the run ends: {error}")
        if isinstance(error, OutOfSightError):
            self.session.say(_continues_text(self.order))
        elif self._has_result():
            self.session.say(self._result_text())
        elif keep:
            self.session.say(_kept_text(self.order))
        else:
            down(self.directory, self.session)

    def _end_interrupted(self, error: BaseException) -> None:
        if self.is_attached:
            raise InterruptedRunError(f"left; {_continues_text(self.order)}") from error
        self.session.say("the run ends: interrupted")
        if self.follows_another:
            raise InterruptedRunError(f"interrupted; {_kept_text(self.order)}") from error
        down(self.directory, self.session)
        raise InterruptedRunError(
            f"run {self.order.run}: interrupted; all that was created has been removed"
        ) from error

    def _known_job(self) -> SortJob | None:
        """Return the run's job; None also where it cannot be read, as a take-down must not depend on this disk."""
        with suppress(PlannerError, OSError, ValueError):
            return load_job(self.directory)
        return None

    def _has_result(self) -> bool:
        """Return whether a sorted output exists only on the machines."""
        job = self._known_job()
        return job is not None and (self.directory.path / MANIFEST).exists() and not is_in_place(job.first_plan)

    def _result_text(self) -> str:
        """Return text on where the output is and how to fetch it."""
        return (
            f"the sort is done and its output lies on the machines. Try the rest again: planner cluster attach "
            f"{self.order.run}. Or {_saving_text(self.order)}\n{_kept_text(self.order)}"
        )

    def _close(self, report: RunReport, job: SortJob) -> RunReport:
        """Account for the run, take the cluster down unless it is kept, and account again: then a full disk raises."""
        with suppress(PlannerError, OSError):
            self._add_cost(report, job)
            if is_unsaved(self.directory):
                lost = f"the output on the machines' disks goes with them; {KEEPING}"
                self.session.say(_saving_text(self.order) if job.keep else lost)
        if job.keep:
            self.session.say(_kept_text(self.order))
        else:
            self.stopwatch.measure("take down", lambda: down(self.directory, self.session))
        return self._add_cost(report, job)

    def _add_cost(self, report: RunReport, job: SortJob) -> RunReport:
        """Return the report with all steps so far and their cost, and write it into the run's directory."""
        bill = bill_of(self.directory.events(), now=datetime.now(UTC))
        cost = RunCost(node_hours=bill.node_hours, usd=bill.usd, predicted_usd=job.predicted_usd)
        whole = replace(report, steps_s=dict(self.stopwatch.seconds), cost=cost)
        (self.directory.path / REPORT).write_text(whole.to_json() + "\n", encoding="utf-8")
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
