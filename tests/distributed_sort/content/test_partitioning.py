"""Partitions of equal weight from a sample, frequent keys cut into pieces, shares by the nodes' speed."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.distributed_sort.content.content import SAMPLE_PER_PARTITION, RecordSplitting, split
from planner.distributed_sort.dataset.dataset import Layout
from planner.native import Splitters, core

LAYOUT = Layout(record_size=10, key_size=10)


def keys(count: int, *, equal: float = 0.0, seed: int = 1) -> bytes:
    """Return random keys, a share of them equal."""
    rng = np.random.default_rng(seed)
    made = rng.integers(0, 256, (count, 10), np.uint8)
    made[rng.random(count) < equal] = 77
    return made.tobytes()


def sizes(data: bytes, *, partitions: int) -> list[int]:
    """Split by a sample of the data, partition all of it, and return the records of each partition."""
    sample = core.sample_keys(data, count=SAMPLE_PER_PARTITION * partitions, record_bytes=10, key_bytes=10)
    splitting = split(sample, partitions=partitions, layout=LAYOUT)
    grouped = bytearray(len(data))
    at = core.partition_records(data, grouped, splitting.splitters, record_bytes=10)
    return [int(size) for size in np.diff(splitting.offsets(at))]


def test_even_keys_are_balanced_to_a_tenth() -> None:
    records = np.array(sizes(keys(400_000), partitions=16))
    assert len(records) == 16
    assert np.abs(records / records.mean() - 1).max() < 0.1


@pytest.mark.parametrize("equal", [0.5, 0.9, 1.0])
def test_a_frequent_key_is_cut_into_pieces(equal: float) -> None:
    records = np.array(sizes(keys(400_000, equal=equal), partitions=16))
    assert records.sum() == 400_000
    assert records.max() < 1.6 * 400_000 / 16


def test_no_keys_make_one_partition() -> None:
    splitting = split(b"", partitions=8, layout=LAYOUT)
    assert splitting.partitions == 1
    assert splitting.offsets([0, 0]).tolist() == [0, 0]


@given(
    ranges=st.lists(st.integers(0, 1000), min_size=1, max_size=20),
    pieces=st.lists(st.integers(1, 5), min_size=20, max_size=20),
)
def test_pieces_cover_their_range_in_order_and_evenly(ranges: list[int], pieces: list[int]) -> None:
    cut = tuple(pieces[: len(ranges)])
    splitting = RecordSplitting(splitters=Splitters.parse(b"", key_bytes=10), pieces=cut, weights=(1.0,) * sum(cut))
    at = [0, *np.cumsum(ranges).tolist()]
    offsets = splitting.offsets(at)
    parts = np.diff(offsets)
    assert len(parts) == splitting.partitions
    assert set(at) <= set(offsets.tolist())
    first = 0
    for size, count in zip(ranges, cut, strict=True):
        own = parts[first : first + count]
        assert own.sum() == size
        assert own.max() - own.min() <= 1
        first += count
