"""Cutting the input into slices.

The first slices are short, so that links soon have something to carry; the last are short, so that all nodes end
together.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise, zip_longest
from typing import Final

import numpy as np

from planner.distributed_sort.dataset import Dataset, Partition
from planner.distributed_sort.partition_reader import Slice

_SHORTEST_SHARE: Final = 4
"""The shortest slices are this part of the longest."""
_LEAST_BYTES: Final = 1_000_000
"""Shorter slices cost more to order than to group."""


def slices(source: Dataset, slice_records: int) -> Iterator[Slice]:
    """Yield slices of at most `slice_records` records of all partitions in turn: those of one node lie on different
    disks, which then all are read.
    """
    least_records = max(1, _LEAST_BYTES // source.layout.record_size)
    shortest = max(slice_records // _SHORTEST_SHARE, min(slice_records, least_records))
    cuts = [_cuts_of(partition, longest=slice_records, shortest=shortest) for partition in source.partitions]
    number = 0
    for turn in zip_longest(*cuts):
        for index, cut in enumerate(turn):
            if cut is not None:
                first, records = cut
                yield Slice(number=number, partition=index, first=first, records=records)
                number += 1


def _cuts_of(partition: Partition, *, longest: int, shortest: int) -> Iterator[tuple[int, int]]:
    """Yield (first record, records) of the slices of a partition: of tables whole row groups."""
    cuts = _cuts(partition.records, longest=longest, shortest=shortest)
    return _of_groups(cuts, partition.groups) if partition.groups else cuts


def _of_groups(cuts: Iterator[tuple[int, int]], groups: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Yield the cuts as they are where groups begin: a group is in the slice that it begins in."""
    begins = np.cumsum([0, *groups[:-1]])
    total = int(begins[-1]) + groups[-1]
    edges = [int(begins[at]) for first, _ in cuts if (at := int(np.searchsorted(begins, first))) < len(begins)]
    edges = sorted(set(edges))
    yield from ((begin, end - begin) for begin, end in pairwise([*edges, total]))


def _cuts(total: int, *, longest: int, shortest: int) -> Iterator[tuple[int, int]]:
    """Yield (first record, records) of the slices of a partition: each as long as all before it, or half of what is
    left, within bounds.
    """
    first = 0
    while (left := total - first) > 0:
        records = min(left, longest, max(shortest, first), max(shortest, -(-left // 2)))
        yield first, records
        first += records
