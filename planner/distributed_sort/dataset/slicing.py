"""Cutting the input into slices."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate, pairwise, zip_longest

import numpy as np

from planner.distributed_sort.dataset.dataset import Dataset, Partition
from planner.distributed_sort.dataset.partition_reader import Slice
from planner.sort_policy.sizing import slice_lengths


def slices(source: Dataset, slice_records: int) -> Iterator[Slice]:
    """Yield slices of at most `slice_records` records of all partitions in turn: those of one node lie on different
    disks, so that all disks are read. Slices of tables have whole row groups, and may be longer.
    """
    record_size = source.layout.record_size
    lengths = [_lengths(partition, longest=slice_records, record_size=record_size) for partition in source.partitions]
    number, begins = 0, [0] * len(lengths)
    for turn in zip_longest(*lengths):
        for partition, records in enumerate(turn):
            if records is not None:
                yield Slice(number=number, partition=partition, first=begins[partition], records=records)
                begins[partition] += records
                number += 1


def _lengths(partition: Partition, *, longest: int, record_size: int) -> Iterator[int]:
    lengths = slice_lengths(partition.records, longest=longest, record_size=record_size)
    return _of_groups(lengths, partition.groups) if partition.groups else lengths


def _of_groups(lengths: Iterable[int], groups: Sequence[int]) -> Iterator[int]:
    """Yield lengths that end where groups end: a group belongs to the slice that it begins in."""
    *begins, total = accumulate(groups, initial=0)
    at = np.searchsorted(begins, list(accumulate(lengths, initial=0)))
    edges = sorted({begins[group] for group in at.tolist() if group < len(begins)})
    yield from (end - begin for begin, end in pairwise([*edges, total]))
