"""Running tasks, and the callbacks for their ends."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Final

from planner.distributed_sort.job.nodes import LOST, Nodes
from planner.distributed_sort.job.waiting import LEAST_PATIENCE_S, KilledForMemoryError, Silence
from planner.distributed_sort.node_files.run_files import DiskFullError
from planner.errors import IoFailureError

_LONGEST_WAIT_S: Final = 0.5
"""Longest wait, so that progress is shown and lost nodes are noticed while no task ends."""
_WAITED_FOR: Final = 1 / 50
"""Share of the running tasks that are waited for at a time, if there are many: Ray looks at all of them at each
call.
"""
_GATHERING_S: Final = 50e-6
"""Longest wait for several tasks, per running task: Ray takes a few microseconds to look at each."""
_LONGEST_UPLOAD_S: Final = 30.0
_ENDS_SOON_S: Final = 1.0
_LONGEST_CANCEL_S: Final = 10.0
"""Longest wait for cancelled tasks: a killed process ends within a second or two; a task of a lost node may never be
reported.
"""

OnEnd = Callable[[Any], None]
"""Called with the result of a task, or LOST."""
OnFailure = Callable[[IoFailureError], None]
"""Called with the error of a task; raises it again where that ends the job."""
OnFullDisk = Callable[[str, IoFailureError], None]
"""Called with a node and the error of its task when a disk is full."""


def _raise(error: IoFailureError) -> None:
    raise error


def _raise_full(_: str, error: IoFailureError) -> None:
    raise error


@dataclass(frozen=True, kw_only=True)
class _Task:
    """A task on `node`, which reads data from the nodes it `needs`; a call of a service cannot be cancelled."""

    on_end: OnEnd
    on_failure: OnFailure
    node: str
    needs: frozenset[str]
    is_call: bool
    began_s: float


class PendingTasks:
    """References of running tasks, each with callbacks for its end.

    A node may be silent for `limit_s` or longer. Where a disk is full, `on_full_disk` leaves out its node, or raises
    the error. A task that `uploads` is not killed at once.
    """

    def __init__(
        self,
        ray: Any,
        nodes: Nodes,
        *,
        limit_s: float = LEAST_PATIENCE_S,
        on_full_disk: OnFullDisk = _raise_full,
        uploads: bool = False,
    ) -> None:
        self._ray = ray
        self._nodes = nodes
        self._on_full_disk = on_full_disk
        self._uploads = uploads
        self._tasks: dict[Any, _Task] = {}
        self._lost_before = frozenset[str]()
        self._doomed: list[Any] = []
        """Tasks added although nodes which they need were already lost."""
        self._silence = Silence(limit_s=limit_s)
        self._next_look_s = 0.0

    def __len__(self) -> int:
        return len(self._tasks)

    def add(
        self,
        reference: Any,
        on_end: OnEnd,
        *,
        node: str,
        sources: Iterable[str] = (),
        on_failure: OnFailure = _raise,
        is_call: bool = False,
    ) -> None:
        """Watch a task, or a call of a service, that runs on `node` and reads from `sources`."""
        needs = frozenset((node, *sources))
        self._tasks[reference] = _Task(
            on_end=on_end, on_failure=on_failure, node=node, needs=needs, is_call=is_call, began_s=self._silence.now()
        )
        self._silence.begin(node)
        if needs & self._lost_before:
            self._doomed.append(reference)

    def wait(self) -> None:
        """Abandon tasks that need lost nodes, wait half a second at most for others to end, and report all that have.
        Silent nodes are named, and one that is silent for long counts as lost.

        Raises the errors of tasks, except for handled failures.
        """
        self._give_up(self._nodes.lost)
        running = list(self._tasks)
        if not running:
            return
        several = max(1, int(len(running) * _WAITED_FOR))
        timeout_s = _LONGEST_WAIT_S if several == 1 else min(_LONGEST_WAIT_S, len(running) * _GATHERING_S)
        ended, _ = self._ray.wait(running, num_returns=several, timeout=timeout_s, fetch_local=False)
        if ended:
            ended, _ = self._ray.wait(running, num_returns=len(running), timeout=0, fetch_local=False)
        for reference in ended:
            task = self._tasks.pop(reference)
            self._silence.hear(task.node, took_s=self._silence.now() - task.began_s)
            try:
                outcome = self._nodes.outcome(reference)
            except DiskFullError as error:
                if task.node not in self._nodes.lost:
                    self._on_full_disk(task.node, error)
                task.on_end(LOST)
            except KilledForMemoryError:  # Ray has tried it several times
                raise
            except IoFailureError as error:
                task.on_failure(error)
            else:
                task.on_end(outcome)
        if (now := self._silence.now()) >= self._next_look_s:
            tasks = self._tasks.values()
            ordered = {task.node for task in tasks if not task.is_call}
            self._nodes.report_silent_nodes(self._silence, {task.node for task in tasks}, ordered=ordered)
            self._next_look_s = now + _LONGEST_WAIT_S

    def _give_up(self, lost: frozenset[str]) -> None:
        """Cancel the tasks that need lost nodes, best effort, and report them as LOST.

        After a link was cut, Ray reports the node as gone ten seconds before the tasks there. It then recreates the
        data that others wait for, which this job does itself.
        """
        looked_at = self._doomed if lost == self._lost_before else list(self._tasks)
        self._lost_before, self._doomed = lost, []
        for reference in looked_at:
            if (task := self._tasks.get(reference)) is None or not lost & task.needs:
                continue
            del self._tasks[reference]
            if not task.is_call:
                self._ray.cancel(reference, force=task.node in lost)  # without force a task's process goes on
            task.on_end(LOST)

    def cancel_all(self) -> None:
        """Cancel every task and wait a while for their processes to end, so that none writes after a clean-up.

        Tasks first get time to end on their own: those that may be uploading, as a killed one leaves parts in the
        store, and all others a moment, as Ray ends the driver where it cancels a task that is just ending (ray-project/
        ray pull request 54798 has mended one such race).
        """
        if any(task.is_call for task in self._tasks.values()):
            self._nodes.give_up()
        if orders := [reference for reference, task in self._tasks.items() if not task.is_call]:
            longest_s = _LONGEST_UPLOAD_S if self._uploads else _ENDS_SOON_S
            _, orders = self._ray.wait(orders, num_returns=len(orders), timeout=longest_s, fetch_local=False)
        for reference in orders:
            self._ray.cancel(reference, force=True)
        if running := list(self._tasks):
            self._ray.wait(running, num_returns=len(running), timeout=_LONGEST_CANCEL_S, fetch_local=False)
        self._tasks.clear()
