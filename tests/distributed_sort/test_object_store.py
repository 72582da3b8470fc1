"""Ranges of objects, without a server: obstore has a store in memory."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from obstore.store import MemoryStore

from planner.distributed_sort import object_store
from planner.distributed_sort.dataset import Copy, Layout, Partition
from planner.distributed_sort.object_store import read_ranges
from planner.distributed_sort.partition_reader import read_windows
from planner.errors import IoFailureError

CONTENT = bytes(range(200))


@pytest.fixture(autouse=True)
def store(monkeypatch: pytest.MonkeyPatch) -> Iterator[MemoryStore]:
    kept = MemoryStore()
    monkeypatch.setattr(object_store, "_store", lambda _: kept)
    object_store.write_object("s3://bucket/in", np.frombuffer(CONTENT, np.uint8))
    yield kept


def test_ranges_come_in_the_order_they_are_asked_in() -> None:
    ranges = read_ranges("s3://bucket/in", starts=[150, 0, 7, 7], length=10)
    assert [content.tobytes() for content in ranges] == [CONTENT[start : start + 10] for start in (150, 0, 7, 7)]


def test_windows_of_an_object_are_as_those_of_a_file() -> None:
    partition = Partition(records=19, copies=(Copy(uri="s3://bucket/in", offset=5),))
    windows = read_windows(partition, Layout(record_size=10, key_size=2), starts=[0, 18], records=1)
    assert [window.tobytes() for window in windows] == [CONTENT[5:15], CONTENT[185:195]]


@pytest.mark.parametrize("start", [191, 195])
def test_an_object_that_ends_too_early_is_named(start: int) -> None:
    with pytest.raises(IoFailureError, match="s3://bucket/in"):
        read_ranges("s3://bucket/in", starts=[0, start], length=10)


def test_an_object_that_is_not_there_is_named() -> None:
    with pytest.raises(IoFailureError, match="cannot read s3://bucket/absent"):
        read_ranges("s3://bucket/absent", starts=[0], length=10)
