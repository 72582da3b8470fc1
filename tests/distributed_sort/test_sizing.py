"""Sizes of slices, parcels and partitions fit in a node's memory and object store."""

from __future__ import annotations

import pytest

from planner.distributed_sort.concurrency import Concurrency
from planner.distributed_sort.send_queue import FEWEST_PARCELS, STORE_SHARE
from planner.distributed_sort.sizing import choose_sizes
from planner.errors import BadInputError


@pytest.mark.parametrize("data_bytes", [100, 10**6, 10**9, 10**13])
@pytest.mark.parametrize("replicated", [False, True])
@pytest.mark.parametrize("cpus", [1, 32])
def test_sizes_fit_in_memory(data_bytes: int, replicated: bool, cpus: float) -> None:
    memory_bytes = store_bytes = 300_000_000
    concurrency = Concurrency.of([cpus])
    sizes = choose_sizes(
        data_bytes=data_bytes, record_size=100, node_count=4, memory_bytes=memory_bytes, store_bytes=store_bytes,
        replicated=replicated, concurrency=concurrency,
    )  # fmt: skip
    partition_bytes = data_bytes / sizes.partitions
    assert 2.2 * partition_bytes <= sizes.sort_bytes
    assert concurrency.sorts(copied=replicated) * sizes.sort_bytes <= memory_bytes
    if replicated:
        assert 2 * concurrency.partitions(copied=True) * partition_bytes <= 2 / 3 * store_bytes + 1
    slice_bytes = sizes.slice_records * 100
    assert sizes.slices * slice_bytes <= 0.4 * store_bytes
    assert 2 * slice_bytes <= sizes.sort_bytes
    assert FEWEST_PARCELS * sizes.parcel_bytes <= STORE_SHARE * store_bytes
    later = sizes.going_on(slice_records=2 * sizes.slice_records, record_size=100, store_bytes=store_bytes)
    assert later.slice_records == 2 * sizes.slice_records
    assert later.slices == 1 or later.slices * 2 * slice_bytes <= 0.4 * store_bytes
    with pytest.raises(BadInputError):
        choose_sizes(
            data_bytes=1, record_size=100, node_count=1, memory_bytes=9, store_bytes=9, replicated=replicated,
            concurrency=concurrency,
        )  # fmt: skip
