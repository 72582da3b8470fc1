"""Work on every partition of a dataset, from another copy where the first one fails; reading it back copy by copy."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Final

from planner.distributed_sort.content.content import content_of, merge_summaries
from planner.distributed_sort.dataset.dataset import Copy, Dataset, Partition
from planner.distributed_sort.job.nodes import LOST, Nodes
from planner.distributed_sort.job.waiting import KilledForMemoryError
from planner.distributed_sort.node_tasks import node_tasks
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


@dataclass(frozen=True, kw_only=True)
class Validation:
    """The content of one copy of the output. `lost` counts the partitions whose copy is missing or unreadable."""

    records: int
    checksum: str
    sorted: bool
    duplicates: int
    lost: int


def validate_first_copies(nodes: Nodes, dataset: Dataset) -> Validation:
    """Read the first copy of every partition where it lies. Raises IoFailureError when one cannot be read."""
    summaries = copy_summaries(nodes, dataset, copy=0)
    summaries.complete(doing="a dataset was validated")
    return validation_of(summaries, dataset)


def copy_summaries(nodes: Nodes, dataset: Dataset, *, copy: int) -> Outcomes:
    """Read one copy of every partition that has it, where it lies, and return valsort's summaries, serialized."""
    have = {
        number: partition.copies[copy : copy + 1]
        for number, partition in enumerate(dataset.partitions)
        if copy < len(partition.copies)
    }
    is_on_disks = all(place.node for copies in have.values() for place in copies)
    return run_on_each_copy(
        nodes,
        have,
        dataset,
        lambda node, alone, _: nodes.run(node, node_tasks.validate, alone, dataset.layout, nodes.threads(node)),
        pauses_s=DISK_PAUSES_S if is_on_disks else PAUSES_S,
    )


def validation_of(summaries: Outcomes, dataset: Dataset) -> Validation:
    """Return the validation of the copies that were read; the other partitions are counted as lost."""
    read = [summaries.done[number] for number in sorted(summaries.done)]
    content = content_of(dataset.layout)
    whole = merge_summaries(iter(read), dataset.layout) if read else content.empty_summary()
    return Validation(
        records=whole.records,
        checksum=f"{whole.checksum:x}",
        sorted=whole.unordered == 0,
        duplicates=whole.duplicates,
        lost=len(dataset.partitions) - len(read),
    )


@dataclass(frozen=True, kw_only=True)
class CopyCheck:
    """The content of one copy of a dataset, and `problems`: its partitions that cannot be read, or whose checksum
    differs from the manifest's.
    """

    validation: Validation
    problems: tuple[str, ...]


def check_copies(nodes: Nodes, dataset: Dataset) -> list[CopyCheck]:
    """Read every copy of a dataset back where it lies, and compare it with the manifest."""
    copies = max((len(partition.copies) for partition in dataset.partitions), default=0)
    return [_check(copy_summaries(nodes, dataset, copy=copy), dataset, copy=copy) for copy in range(copies)]


def _check(summaries: Outcomes, dataset: Dataset, *, copy: int) -> CopyCheck:
    problems = summaries.failed | _changed_partitions(summaries, dataset, copy=copy)
    named = (f"copy {copy + 1} of partition {number}: {why}" for number, why in sorted(problems.items()))
    return CopyCheck(validation=validation_of(summaries, dataset), problems=tuple(named))


def _changed_partitions(summaries: Outcomes, dataset: Dataset, *, copy: int) -> dict[int, str]:
    """Return the partitions of a copy that were read and differ from the manifest, with the reasons."""
    content, problems = content_of(dataset.layout), dict[int, str]()
    for number, summary in summaries.done.items():
        partition = dataset.partitions[number]
        checksum = f"{content.parse_summary(summary).checksum:x}"
        if partition.checksum not in ("", checksum):
            where = partition.copies[copy]
            place = f"{where.node}: {where.uri}" if where.node else where.uri
            problems[number] = f"{place} has the checksum {checksum}, the manifest says {partition.checksum}"
    return problems


def drop_changed_copies(by_copy: Sequence[Outcomes], dataset: Dataset) -> list[Outcomes]:
    """Return the summaries of the copies; one that differs from what was written counts as lost where another copy
    exists.
    """
    changed = [_changed_partitions(outcomes, dataset, copy=copy) for copy, outcomes in enumerate(by_copy)]
    intact = {number for own, why in zip(by_copy, changed, strict=True) for number in own.done.keys() - why.keys()}
    lost = [{number: reason for number, reason in why.items() if number in intact} for why in changed]
    return [
        Outcomes(
            done={number: summary for number, summary in own.done.items() if number not in lost_nodes},
            failed=own.failed | lost_nodes,
        )
        for own, lost_nodes in zip(by_copy, lost, strict=True)
    ]


def unchanged_copies(nodes: Nodes, dataset: Dataset) -> Dataset:
    """Return the dataset with only the copies that can be read and have the manifest's checksum."""
    copies = range(max((len(partition.copies) for partition in dataset.partitions), default=0))
    read = [copy_summaries(nodes, dataset, copy=copy) for copy in copies]
    changed = [_changed_partitions(outcomes, dataset, copy=copy) for copy, outcomes in enumerate(read)]

    def is_intact(number: int, copy: int) -> bool:
        return number in read[copy].done and number not in changed[copy]

    partitions = (
        replace(partition, copies=tuple(own for copy, own in enumerate(partition.copies) if is_intact(number, copy)))
        for number, partition in enumerate(dataset.partitions)
    )
    return replace(dataset, partitions=tuple(partitions))


def keep_intact_copies(dataset: Dataset, by_copy: Sequence[Outcomes]) -> tuple[Dataset, Validation]:
    """Return the dataset with only the copies that could be read, and the content of the first of each partition.

    Raises IoFailureError when a partition has none.
    """
    first = Outcomes()
    partitions = []
    for number, partition in enumerate(dataset.partitions):
        intact = [copy for copy, outcomes in enumerate(by_copy) if number in outcomes.done]
        partitions.append(replace(partition, copies=tuple(partition.copies[copy] for copy in intact)))
        if intact:
            first.done[number] = by_copy[intact[0]].done[number]
        else:
            reasons = [outcomes.failed[number] for outcomes in by_copy if number in outcomes.failed]
            first.failed[number] = "; ".join(reasons) or "it has no copy"
    first.complete(doing="the output was validated")
    return replace(dataset, partitions=tuple(partitions)), validation_of(first, dataset)
