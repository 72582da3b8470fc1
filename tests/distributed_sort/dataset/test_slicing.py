"""Slices cover the input once, and take partitions in turn."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from planner.distributed_sort.dataset.dataset import Dataset, Partition
from planner.distributed_sort.dataset.partition_reader import slices


def dataset(*records: int) -> Dataset:
    return Dataset(partitions=tuple(Partition(records=slice_, copies=()) for slice_ in records))


def test_partitions_take_turns() -> None:
    assert [slice_.partition for slice_ in slices(dataset(20_000, 10_000, 30_000), 10_000)] == [0, 1, 2, 0, 2, 2]


@given(st.lists(st.integers(0, 10**6), max_size=5), st.integers(1, 10**6))
def test_each_record_is_in_one_slice(records: list[int], slice_records: int) -> None:
    cut = list(slices(dataset(*records), max(slice_records, 1000)))
    assert [slice_.number for slice_ in cut] == list(range(len(cut)))
    for index, total in enumerate(records):
        own = [slice_ for slice_ in cut if slice_.partition == index]
        edges = [0, *(slice_.first + slice_.records for slice_ in own)]
        assert [slice_.first for slice_ in own] == edges[:-1]
        assert edges[-1] == total
        assert all(0 < slice_.records <= max(slice_records, 1000) for slice_ in own)
