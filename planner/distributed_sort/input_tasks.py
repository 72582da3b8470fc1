"""Tasks that read the input before the sort: each where its partition lies, and elsewhere if that node is lost."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from planner.distributed_sort.dataset import Dataset, Partition
from planner.distributed_sort.events import Emit
from planner.distributed_sort.nodes import LOST, Nodes
from planner.distributed_sort.partition_reader import nodes_with
from planner.errors import IoFailureError

_MOST_ATTEMPTS: Final = 10


@dataclass(frozen=True, kw_only=True)
class InputTask:
    """A call with a partition of the input, given by its number, and other arguments."""

    partition: int
    task: Callable[..., Any]
    arguments: tuple[Any, ...]


def outcomes(tasks: Sequence[InputTask], source: Dataset, nodes: Nodes, emit: Emit, *, failed: str) -> list[Any]:
    """Return the outcomes of tasks in their order. What is lost with a node is done elsewhere.

    Raises IoFailureError, which begins with `failed`, when a partition cannot be had.
    """
    missing, done = dict(enumerate(tasks)), dict[int, Any]()
    for _ in range(_MOST_ATTEMPTS):
        began = {}
        for number, task in missing.items():
            reachable, node = _reachable(source.partitions[task.partition], nodes, number)
            began[number] = node, nodes.run(node, task.task, reachable, *task.arguments)
        ended = {number: nodes.awaited(reference, nodes=(node,)) for number, (node, reference) in began.items()}
        done |= {number: outcome for number, outcome in ended.items() if outcome is not LOST}
        missing = {number: task for number, task in missing.items() if number not in done}
        if not missing:
            return [done[number] for number in range(len(tasks))]
        if gone := nodes.newly_lost(at_once=True):
            emit({"event": "lost", "nodes": sorted(gone), "left": nodes.names})
    lost = {task.partition: source.partitions[task.partition] for task in missing.values()}
    raise IoFailureError(
        f"{failed} in {_MOST_ATTEMPTS} attempts",
        [f"{part.uri if part.copies else 'a recipe'}: {part.records} {source.layout.unit}" for part in lost.values()],
    )


def _reachable(partition: Partition, nodes: Nodes, turn: int) -> tuple[Partition, str]:
    """Return a partition with the copies that the cluster reaches, and a node to read it on. Raises IoFailureError."""
    reachable = partition.reached_from(nodes.names)
    if not (holders := nodes_with(reachable)):
        absent = ", ".join(sorted(copy.node for copy in partition.copies))
        raise IoFailureError(f"{partition.uri} lies on {absent}, which is not in the cluster")
    return reachable, holders[0] or nodes.names[turn % len(nodes.names)]
