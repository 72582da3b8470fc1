"""Tasks that read the input before the sort: each where its partition lies, and elsewhere if that node is lost or fails
to read it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from planner.distributed_sort.dataset.dataset import Dataset, Partition
from planner.distributed_sort.dataset.partition_reader import nodes_with
from planner.distributed_sort.dataset.unreadable_input import UnreadableCopy, require_intact_copy, unreadable_copy
from planner.distributed_sort.job.events import Emit
from planner.distributed_sort.job.memory_kills import KilledForMemoryError
from planner.distributed_sort.job.nodes import LOST, Nodes
from planner.errors import InputChangedError, IoFailureError
from planner.units import count_of

_MOST_ATTEMPTS: Final = 10
_READS_AGAIN_S: Final = (0.0, 1.0)
"""Pauses before unreadable input is read again, from the next copy."""

Restore = Callable[[Dataset, Collection[int], Sequence[UnreadableCopy]], Dataset]
"""Returns a dataset whose partitions, given by number, can be read although nodes were lost and copies are bad."""


@dataclass(frozen=True, kw_only=True)
class InputTask:
    """A call with a partition of the input, given by its number, and other arguments; preferably not on the node
    `avoided`, where any can do it.
    """

    partition: int
    task: Callable[..., Any]
    arguments: tuple[Any, ...]
    avoided: str = ""


def _unchanged(source: Dataset, numbers: Collection[int], faults: Sequence[UnreadableCopy]) -> Dataset:
    del numbers, faults
    return source


def outcomes(
    tasks: Sequence[InputTask], source: Dataset, nodes: Nodes, emit: Emit, *, failed: str, restore: Restore = _unchanged
) -> list[Any]:
    """Return the outcomes of tasks in their order. Work that is lost with a node, or whose input cannot be read, is
    done elsewhere, from partitions that `restore` makes readable.

    Raises the error of a task's last attempt, BadInputError when all copies of a partition are damaged, and
    IoFailureError, which begins with `failed`, when a partition is unavailable.
    """
    whole, damages = source, list[UnreadableCopy]()
    missing, done, pauses_s = dict(enumerate(tasks)), dict[int, Any](), iter(_READS_AGAIN_S)
    for attempt in range(_MOST_ATTEMPTS):
        ended, failures = _run_attempt(missing, source, nodes, attempt=attempt)
        done |= ended
        missing = {number: task for number, task in missing.items() if number not in done}
        if not missing:
            return [done[number] for number in range(len(tasks))]
        if lost_nodes := nodes.detect_losses(at_once=True):
            emit({"event": "lost", "nodes": sorted(lost_nodes), "left": nodes.names})
        faults = [failure.fault for failure in failures if failure.fault is not None]
        damages += [fault for fault in faults if fault.is_damaged]
        for number in {fault.partition for fault in damages}:
            require_intact_copy(number, whole.partitions[number].readable_from(nodes.names), damages)
        passing = [failure for failure in failures if failure.fault is None or not failure.fault.is_damaged]
        if passing and not lost_nodes:
            if (pause_s := next(pauses_s, None)) is None:
                raise passing[0].error
            time.sleep(pause_s)
        source = restore(source, {task.partition for task in missing.values()}, faults)
    lost = {task.partition: source.partitions[task.partition] for task in missing.values()}
    unit = source.layout.unit
    raise IoFailureError(
        f"{failed} in {_MOST_ATTEMPTS} attempts",
        [f"{part.uri if part.copies else 'a recipe'}: {count_of(part.records, unit)}" for part in lost.values()],
        code="attempts-failed",
    )


@dataclass(frozen=True, kw_only=True)
class _Failure:
    error: IoFailureError
    fault: UnreadableCopy | None


def _run_attempt(
    tasks: Mapping[int, InputTask], source: Dataset, nodes: Nodes, *, attempt: int
) -> tuple[dict[int, Any], list[_Failure]]:
    """Do tasks and return their outcomes, without lost ones, and the reasons of failures; none still runs."""
    began, ended, failures = {}, dict[int, Any](), list[_Failure]()
    for number, task in tasks.items():
        spared = [name for name in nodes.names if name != task.avoided] or nodes.names
        anywhere = spared[(number + attempt) % len(spared)]
        reachable, node = _choose_reader(source.partitions[task.partition], nodes, anywhere, attempt=attempt)
        began[number] = reachable, node, nodes.run(node, task.task, reachable, *task.arguments)
    for number, (reachable, node, reference) in began.items():
        try:
            if (outcome := nodes.wait_for(reference, nodes=(node,))) is not LOST:
                ended[number] = outcome
        except (InputChangedError, KilledForMemoryError):
            raise
        except IoFailureError as error:
            fault = unreadable_copy(tasks[number].partition, node, reachable, error)
            failures.append(_Failure(error=error, fault=fault))
    return ended, failures


def _choose_reader(partition: Partition, nodes: Nodes, anywhere: str, *, attempt: int) -> tuple[Partition, str]:
    """Return a partition with copies that the cluster reaches, and a node to read it on: each with a copy by turns,
    then `anywhere` if all nodes reach or can make it. Raises IoFailureError.
    """
    reachable = partition.readable_from(nodes.names)
    if not (holders := nodes_with(reachable)):
        absent = ", ".join(sorted(copy.node for copy in partition.copies))
        raise IoFailureError(f"{partition.uri} lies on {absent}, which is not in the cluster", code="node-absent")
    shared = replace(reachable, copies=tuple(copy for copy in reachable.copies if not copy.node))
    is_shared = shared.recipe is not None or any(not copy.compression for copy in shared.copies)
    if is_shared and "" not in holders:
        holders = [*holders, ""]
    holder = holders[attempt % len(holders)]
    return (reachable, holder) if holder else (shared if is_shared else reachable, anywhere)
