"""Cutting the input into slices."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import zip_longest

from planner.distributed_sort.dataset import Dataset
from planner.distributed_sort.partition_reader import Slice
from planner.sort_policy.slice_lengths import slice_lengths


def slices(source: Dataset, slice_records: int) -> Iterator[Slice]:
    """Yield slices of at most `slice_records` records of all partitions in turn: those of one node lie on different
    disks, which then all are read.
    """
    lengths = [
        slice_lengths(partition.records, longest=slice_records, record_size=source.layout.record_size)
        for partition in source.partitions
    ]
    number, begins = 0, [0] * len(lengths)
    for turn in zip_longest(*lengths):
        for partition, records in enumerate(turn):
            if records is not None:
                yield Slice(number=number, partition=partition, first=begins[partition], records=records)
                begins[partition] += records
                number += 1
