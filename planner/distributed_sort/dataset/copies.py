"""Work on every partition of a dataset, from another copy where the first one fails."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Final

from planner.distributed_sort.dataset.dataset import Copy, Dataset, Partition
from planner.distributed_sort.job.memory_kills import KilledForMemoryError
from planner.distributed_sort.job.nodes import LOST, Nodes
from planner.errors import InputChangedError, IoFailureError, PlannerError

PAUSES_S: Final = (0.0, 2.0, 10.0, 30.0)
"""Pause before each try; failures of a busy store or disk go away."""
_MOST_LOSSES_IN_TURN: Final = 5
DISK_PAUSES_S: Final = (0.0, 1.0, 1.0)
"""The same for failures of a node's own disk alone."""

Begin = Callable[[str, Partition, int], Any]
"""Begins a task on a node with a partition, whose only copy is there, and its number; returns its reference."""
Turns = Callable[[int], int]
"""By partition: index, among all nodes by name, of the node that first takes shared data; the next one tries again."""


@dataclass(kw_only=True)
class Outcomes:
    """Outcomes of the partitions, by number, and the reasons of failures."""

    done: dict[int, Any] = field(default_factory=dict)
    failed: dict[int, str] = field(default_factory=dict)

    def note(self, number: int, node: str, outcome: Callable[[], Any]) -> None:
        """Wait for the outcome of a partition on a node, and keep it, or the reason of its failure."""
        try:
            result = outcome()
        except (InputChangedError, KilledForMemoryError):  # for all who read it, or after several tries
            raise
        except PlannerError as error:
            self.failed[number] = str(error)
            return
        if result is LOST:
            self.failed[number] = f"{node} was lost"
        else:
            self.done[number] = result
            del self.failed[number]

    def complete(self, *, doing: str) -> list[Any]:
        """Return all outcomes in order. Raises IoFailureError naming partitions without one."""
        if self.failed:
            reasons = [f"partition {number}: {why}" for number, why in sorted(self.failed.items())][:10]
            whole = len(self.done) + len(self.failed)
            raise IoFailureError(
                f"{len(self.failed)} of {whole} partitions failed while {doing}", reasons, code="partitions-failed"
            )
        return [self.done[number] for number in sorted(self.done)]


def run_on_each_copy(
    nodes: Nodes,
    copies: Mapping[int, tuple[Copy, ...]],
    dataset: Dataset,
    begin: Begin,
    *,
    turn: Turns = lambda number: number,
    pauses_s: Sequence[float] | None = None,
) -> Outcomes:
    """Run a task on partitions of a dataset, by number, each from one of the `copies` given for it.

    A task that fails, or is lost with its node, is tried again after a pause, from the next copy whose node is alive. A
    copy that all nodes reach is taken by each node in turn. The number of tries is that of `pauses_s`, by default
    `PAUSES_S`.
    """
    outcomes = Outcomes(failed=dict.fromkeys(copies, "no node is left that has it"))

    def choose_copy(number: int, attempt: int) -> tuple[str, Partition] | None:
        """Return a node and the partition with the copy to read."""
        usable = [copy for copy in copies[number] if not copy.node or copy.node in nodes.names]
        if not usable:
            return None
        copy = usable[attempt % len(usable)]
        node = copy.node or nodes.names[(turn(number) + attempt) % len(nodes.names)]
        return node, replace(dataset.partitions[number], copies=(copy,))

    for attempt, pause_s in enumerate(PAUSES_S if pauses_s is None else pauses_s):
        if not any(choose_copy(number, attempt) for number in outcomes.failed):
            break  # nothing is left to do, or no node is left to do it
        time.sleep(pause_s)
        taken = {number: work for number in outcomes.failed if (work := choose_copy(number, attempt))}
        begun = {number: (node, begin(node, partition, number)) for number, (node, partition) in taken.items()}
        for number, (node, reference) in begun.items():
            outcomes.note(number, node, partial(nodes.wait_for, reference, nodes=(node,)))
        nodes.detect_losses(at_once=True)
    return outcomes


def retry_on_nodes(nodes: Nodes, task: Callable[..., Any], *arguments: Any, doing: str) -> Any:
    """Return the result of a task that any node can do; each try is by the next node, after a pause. Raises
    IoFailureError naming the failure.
    """
    outcomes = Outcomes(failed={0: "no node is left"})
    for attempt, pause_s in enumerate(PAUSES_S):
        time.sleep(pause_s)
        if not nodes.names:
            break
        node = nodes.names[attempt % len(nodes.names)]
        outcomes.note(0, node, partial(nodes.wait_for, nodes.run(node, task, *arguments), nodes=(node,)))
        if outcomes.done:
            return outcomes.done[0]
        nodes.detect_losses(at_once=True)
    raise IoFailureError(f"{len(PAUSES_S)} attempts failed while {doing}", [outcomes.failed[0]], code="attempts-failed")


def run_on_any(nodes: Nodes, task: Callable[..., Any], *arguments: Any, doing: str) -> Any:
    """Return the result of a task that any node can do, by another node where one is lost meanwhile.

    Raises the task's errors, and IoFailureError when several nodes were lost with it, or none is left.
    """
    for attempt in range(_MOST_LOSSES_IN_TURN):
        node = nodes.names[attempt % len(nodes.names)]
        result = nodes.wait_for(nodes.run(node, task, *arguments), nodes=(node,))
        if result is not LOST:
            return result
        nodes.detect_losses(at_once=True)
    raise IoFailureError(
        f"{_MOST_LOSSES_IN_TURN} times a node was lost while {doing}", [f"last {node}"], code="nodes-lost"
    )
