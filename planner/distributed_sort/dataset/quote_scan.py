"""Scan of CSV before it is sorted, to find where its rows begin: every node counts the quotes of its stretches."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import numpy as np

from planner.distributed_sort.dataset import partition_reader
from planner.distributed_sort.dataset.dataset import Layout, Partition
from planner.distributed_sort.dataset.quote_grid import grid_of, step_bytes_of
from planner.distributed_sort.dataset.readable_input import ReadableInput
from planner.distributed_sort.node_tasks.input_tasks import InputTask
from planner.native import core

_STEPS_PER_TASK: Final = 256


def find_quotes(readable: ReadableInput) -> int:
    """Add the positions of quotes to partitions of CSV, and return the number of bytes read.

    Raises IoFailureError when a partition cannot be read.
    """
    source = readable.source
    if source.layout.text is None or source.layout.text.csv is None:
        return 0
    step = step_bytes_of(source.bytes)
    tasks = [
        InputTask(partition=number, task=flips, arguments=(source.layout, first, step))
        for number, partition in enumerate(source.partitions)
        for first in range(0, partition.records, step * _STEPS_PER_TASK)
    ]
    counted = readable.outcomes(tasks, failed="the quotes of CSV could not be counted")
    of_partition: list[list[bytes]] = [[] for _ in source.partitions]
    for task, odd in zip(tasks, counted, strict=True):
        of_partition[task.partition].append(odd)
    partitions = (
        replace(partition, quotes=grid_of(odd, step))
        for partition, odd in zip(readable.source.partitions, of_partition, strict=True)
    )
    readable.source = replace(readable.source, partitions=tuple(partitions))
    return source.bytes


def flips(partition: Partition, layout: Layout, first: int, step_bytes: int) -> bytes:
    """Return for each step of a stretch whether it has an odd number of quotes. Raises IoFailureError."""
    if layout.text is None:
        raise ValueError("only text has quotes")
    order, end = layout.text.order().for_core(), min(partition.records, first + step_bytes * _STEPS_PER_TASK)
    odd = bytearray()
    room = np.empty(min(step_bytes, end - first), np.uint8)
    for begin in range(first, end, step_bytes):
        count = min(step_bytes, end - begin)
        with partition_reader.naming_file(partition):
            step = partition_reader.read_records(partition, layout, first=begin, records=count, into=room[:count])
        odd.append(core.is_within_quotes_behind(step.data, order))
    return bytes(odd)
