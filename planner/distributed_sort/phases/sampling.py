"""A sample of a dataset's keys, read on the nodes that hold it, and the splitters chosen from it."""

from __future__ import annotations

import math
from typing import Any, Final

from planner.distributed_sort.content.content import content_of
from planner.distributed_sort.content.partitioning import SAMPLE_PER_PARTITION, split
from planner.distributed_sort.content.text_content import Text
from planner.distributed_sort.content.text_splitting import TextSplitting
from planner.distributed_sort.dataset.dataset import Layout
from planner.distributed_sort.dataset.readable_input import ReadableInput
from planner.distributed_sort.node_tasks import node_tasks
from planner.distributed_sort.node_tasks.input_tasks import InputTask
from planner.errors import BadInputError
from planner.sort_policy.sizing import Sizes

_PLANNED_SHARE: Final = 3 / 4
"""Share of a sort task's memory for the size that the sample predicts."""
_MOST_TIMES: Final = 4.0
"""Largest factor by which the number of partitions grows at a time."""
_LEAST_GAIN: Final = 0.9


def choose_splitting(readable: ReadableInput, *, sizes: Sizes, is_uniform: bool) -> tuple[Any, int]:
    """Return splitters chosen from a sample of the input, and the number of bytes read for it.

    Text of short lines gets more partitions than the `sizes` have. Larger input partitions contribute more to the
    sample. Where it `is_uniform`, nothing is read, and keys are assumed to be evenly spread. Raises IoFailureError when
    a partition is unavailable.
    """
    source = readable.source
    if is_uniform and (source.layout.text or source.layout.table):
        raise BadInputError(
            "text and tables are not evenly spread over all values: sort them without --uniform", code="not-uniform"
        )
    partitions = sizes.partitions
    if is_uniform:
        return split(_even_keys(partitions, source.layout), partitions=partitions, layout=source.layout), 0
    sampled = _sample_keys(readable, key_count=SAMPLE_PER_PARTITION * partitions)
    content = content_of(source.layout)
    if isinstance(content, Text):
        most_bytes = sizes.sort_bytes * _PLANNED_SHARE / max(1, source.bytes)
        return split_to_fit(content, sampled, partitions=partitions, most_bytes=most_bytes)
    return content.split(sampled, partitions)


def split_to_fit(
    content: Text, sampled: list[list[bytes]], *, partitions: int, most_bytes: float
) -> tuple[TextSplitting, int]:
    """Split text as `Text.split` does, into more partitions where one would take more memory than `most_bytes` for each
    byte of the input, as short lines do, unless that does not help: lines that must stay together are not divided.
    """
    best, read_bytes = content.split(sampled, partitions)
    needed_bytes = content.peak_bytes_per_byte(sampled, best)
    while needed_bytes > most_bytes:
        partitions = math.ceil(partitions * min(_MOST_TIMES, needed_bytes / most_bytes))
        other, _ = content.split(sampled, partitions)
        before_bytes, needed_bytes = needed_bytes, content.peak_bytes_per_byte(sampled, other)
        if needed_bytes > _LEAST_GAIN * before_bytes:
            break
        best = other
    return best, read_bytes


def _sample_keys(readable: ReadableInput, *, key_count: int) -> list[list[bytes]]:
    """Return about `key_count` keys by partition. Raises IoFailureError when a partition is unavailable."""
    source = readable.source
    tasks = [
        InputTask(
            partition=number,
            task=node_tasks.sample,
            arguments=(source.layout, max(1, round(key_count * partition.records / source.records))),
        )
        for number, partition in enumerate(source.partitions)
        if partition.records
    ]
    return readable.outcomes(tasks, failed="keys could not be sampled")


def _even_keys(partitions: int, layout: Layout) -> bytes:
    """Return keys that are evenly spread over all values, as Indy may assume."""
    width = min(layout.key_size, 8)
    numbers = (number * 256**width // (partitions * 16) for number in range(partitions * 16))
    return b"".join(number.to_bytes(width, "big").ljust(layout.key_size, b"\0") for number in numbers)
