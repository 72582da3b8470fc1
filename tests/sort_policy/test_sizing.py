"""Sizes of slices, parcels and partitions fit in a node's memory and object store."""

from __future__ import annotations

import pytest

from planner.errors import BadInputError
from planner.sort_policy.concurrency import Concurrency
from planner.sort_policy.send_queue import FEWEST_PARCELS, STORE_SHARE
from planner.sort_policy.sizing import choose_sizes


@pytest.mark.parametrize(
    ("link_bytes_per_s", "slices", "slice_bytes", "least_bytes"),
    [
        (None, 8, 15_625_000, 0),
        (50e6, 8, 15_625_000, 5_000_000),
        (100e6, 4, 31_250_000, 10_000_000),
        (1e9, 4, 60_000_000, 80_000_000),
    ],
)
def test_slices_are_fewer_the_faster_links_are(
    link_bytes_per_s: float | None, slices: int, slice_bytes: int, least_bytes: int
) -> None:
    """A node has 250 MB, in 2 x 8 slices; links of 100 MB/s want 20 MB, so 2 x 4; the fastest want 200 MB, and get the
    most that its store has room for: 2/5 of 600 MB for 4. What leaves at once keeps a link busy for 0.1 s, but a third
    of what the store has room for from others, 80 MB, is enough.
    """
    sizes = choose_sizes(
        data_bytes=10**9, record_size=100, node_count=4, memory_bytes=600_000_000, store_bytes=600_000_000,
        replicated=False, concurrency=Concurrency.of([3]), link_bytes_per_s=link_bytes_per_s,
    )  # fmt: skip
    assert (sizes.slices, sizes.slice_records * 100) == (slices, slice_bytes)
    assert sizes.least_parcel_bytes == least_bytes


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
    later = sizes.resumed(slice_records=2 * sizes.slice_records, record_size=100, store_bytes=store_bytes)
    assert later.slice_records == 2 * sizes.slice_records
    assert later.slices == 1 or later.slices * 2 * slice_bytes <= 0.4 * store_bytes
    with pytest.raises(BadInputError):
        choose_sizes(
            data_bytes=1, record_size=100, node_count=1, memory_bytes=9, store_bytes=9, replicated=replicated,
            concurrency=concurrency,
        )  # fmt: skip


@pytest.mark.parametrize(("data_bytes", "partitions"), [(1000, 1), (30_000_000, 3), (60_000_000, 8), (10**9, 32)])
def test_small_data_makes_few_files(data_bytes: int, partitions: int) -> None:
    """Eight for each of four nodes if they have 8 MB each, of which rounding up to the nodes takes half at most."""
    sizes = choose_sizes(
        data_bytes=data_bytes, record_size=100, node_count=4, memory_bytes=600_000_000, store_bytes=600_000_000,
        replicated=False, concurrency=Concurrency.of([3]),
    )  # fmt: skip
    assert sizes.partitions == partitions
