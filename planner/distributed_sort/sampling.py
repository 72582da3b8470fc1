"""A sample of a dataset's keys, read on the nodes that hold it, and the splitters chosen from it."""

from __future__ import annotations

from typing import Any

from planner.distributed_sort import node_tasks
from planner.distributed_sort.content import content_of
from planner.distributed_sort.dataset import Dataset, Layout
from planner.distributed_sort.events import Emit
from planner.distributed_sort.input_tasks import InputTask, outcomes
from planner.distributed_sort.job import SortRequest
from planner.distributed_sort.nodes import Nodes
from planner.distributed_sort.partitioning import SAMPLE_PER_PARTITION, split
from planner.errors import BadInputError


def splitting_of(
    request: SortRequest, source: Dataset, nodes: Nodes, emit: Emit, *, partitions: int
) -> tuple[Any, int]:
    """Return splitters chosen from a sample of `source`, the input as it can be read, and the bytes read for it.

    Larger partitions give more of the sample. `request.uniform` reads nothing: keys are then taken as spread evenly.
    Raises IoFailureError when a partition cannot be had.
    """
    if request.uniform and (source.layout.text or source.layout.table):
        raise BadInputError("text and tables are not evenly spread over all values: sort them without --uniform")
    if request.uniform:
        return split(_even_keys(partitions, source.layout), partitions=partitions, layout=source.layout), 0
    sampled = _sampled(source, nodes, emit, key_count=SAMPLE_PER_PARTITION * partitions)
    return content_of(source.layout).split(sampled, partitions)


def _sampled(source: Dataset, nodes: Nodes, emit: Emit, *, key_count: int) -> list[list[bytes]]:
    """Return about `key_count` keys by partition. Raises IoFailureError when a partition cannot be had."""
    tasks = [
        InputTask(
            partition=number,
            task=node_tasks.sample,
            arguments=(source.layout, max(1, round(key_count * partition.records / source.records))),
        )
        for number, partition in enumerate(source.partitions)
        if partition.records
    ]
    return outcomes(tasks, source, nodes, emit, failed="keys could not be sampled")


def _even_keys(partitions: int, layout: Layout) -> bytes:
    """Return keys that are evenly spread over all values, as Indy may assume."""
    width = min(layout.key_size, 8)
    numbers = (number * 256**width // (partitions * 16) for number in range(partitions * 16))
    return b"".join(number.to_bytes(width, "big").ljust(layout.key_size, b"\0") for number in numbers)
