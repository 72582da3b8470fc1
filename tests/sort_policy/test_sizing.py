"""Sizes of slices, parcels and partitions fit in a node's memory and object store."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.errors import BadInputError
from planner.sort_policy.concurrency import Concurrency
from planner.sort_policy.send_queue import FEWEST_PARCELS, STORE_SHARE
from planner.sort_policy.sizing import Sizes, choose_sizes, coordinator_sizes, groups, slice_lengths


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
    """A node has 250 MB, in 2 x 8 slices. Links of 100 MB/s want 20 MB, so 2 x 4; the fastest want 200 MB, and get the
    most that the store can hold: 2/5 of 600 MB for 4. Parcels sent at once keep a link busy for 0.1 s, but a third of
    the store's room for other nodes' data, 80 MB, is enough.
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
    """Each of four nodes makes eight files of 8 MB or more; rounding up to the nodes takes at most half of that."""
    sizes = choose_sizes(
        data_bytes=data_bytes, record_size=100, node_count=4, memory_bytes=600_000_000, store_bytes=600_000_000,
        replicated=False, concurrency=Concurrency.of([3]),
    )  # fmt: skip
    assert sizes.partitions == partitions


@pytest.mark.parametrize(("partition_bytes", "partitions"), [(10**9, 12), (5 * 10**7, 20), (3 * 10**6, 336)])
def test_files_have_about_the_size_that_is_asked_for_if_memory_holds_them(
    partition_bytes: int, partitions: int
) -> None:
    sizes = choose_sizes(
        data_bytes=10**9, record_size=100, node_count=4, memory_bytes=1_200_000_000, store_bytes=600_000_000,
        replicated=False, concurrency=Concurrency.of([3]), partition_bytes=partition_bytes,
    )  # fmt: skip
    assert sizes.partitions == partitions


def lengths(records: int, longest: int) -> list[int]:
    return list(slice_lengths(records, longest=longest, record_size=100))


def test_slices_grow_and_shrink() -> None:
    cut = lengths(1_000_000, 160_000)
    assert cut[:4] == [40_000, 40_000, 80_000, 160_000]
    assert cut[-4:] == [100_000, 50_000, 40_000, 10_000]


def test_small_slices_stay_whole() -> None:
    assert lengths(25_000, 10_000) == [10_000, 10_000, 5_000]


@given(st.integers(0, 10**6), st.integers(1000, 10**6))
def test_all_records_are_in_slices(records: int, longest: int) -> None:
    cut = lengths(records, longest)
    assert sum(cut) == records
    assert all(0 < length <= longest for length in cut)


@given(count=st.integers(1, 2000), most=st.integers(1, 40))
def test_groups_are_of_about_equal_size(count: int, most: int) -> None:
    names = [f"node-{number}" for number in range(count)]
    divided = groups(names, most=most)
    assert [name for group in divided for name in group] == names
    sizes = {len(group) for group in divided}
    assert max(sizes) <= most
    assert max(sizes) - min(sizes) <= 1


def test_parcels_get_smaller_where_a_coordinator_has_a_part_of_the_store() -> None:
    """2/5 of 600 bytes are for data in flight, 80 for each of three parcels; with two coordinators 40."""
    sizes = Sizes(slice_records=1, slices=8, parcel_bytes=70, least_parcel_bytes=60, partitions=8, sort_bytes=1)
    assert coordinator_sizes(sizes, store_bytes=600) == sizes
    half = coordinator_sizes(sizes, store_bytes=300)
    assert (half.parcel_bytes, half.least_parcel_bytes) == (40, 40)
    assert half.parcel_bytes * FEWEST_PARCELS <= 300 * STORE_SHARE
