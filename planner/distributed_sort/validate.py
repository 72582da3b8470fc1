"""Reading a dataset back where it lies, copy by copy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from planner.distributed_sort.content.content import content_of, merge_summaries
from planner.distributed_sort.dataset.copies import DISK_PAUSES_S, PAUSES_S, Outcomes, run_on_each_copy
from planner.distributed_sort.dataset.dataset import Dataset
from planner.distributed_sort.job.nodes import Nodes
from planner.distributed_sort.node_tasks import node_tasks


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
