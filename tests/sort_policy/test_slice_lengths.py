"""Slices are short at both ends, and none is longer than it may be."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from planner.sort_policy.slice_lengths import slice_lengths


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
