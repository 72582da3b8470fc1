"""Depth and groups against a count over all keys."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.errors import BadInputError
from planner.report.tables import picture
from planner.tables.groups import groups_of, in_partition
from planner.tables.layout import DataFile
from planner.tables.overlap import clusters, keys_of, overlap_of, ranges_of

SCHEMA = pa.schema([("k", pa.int64()), ("f", pa.float64()), ("l", pa.list_(pa.int64()))])
ENDS = st.tuples(st.integers(0, 12), st.integers(0, 12)).map(sorted)


def file(number: int, low: Any, high: Any, *, size: int = 100, nulls: int = 0, rows: int = 10) -> DataFile:
    return DataFile(path=f"f{number:03}", bytes=size, rows=rows, bounds={"k": (low, high)}, nulls={"k": nulls})


def files_of(ends: list[list[int]]) -> list[DataFile]:
    return [file(number, low, high) for number, (low, high) in enumerate(ends)]


@given(st.lists(ENDS, max_size=9))
def test_the_depth_is_the_most_files_with_a_key_between_two_ends(ends: list[list[int]]) -> None:
    found = overlap_of(files_of(ends), keys_of(["k"], SCHEMA))
    between = [place / 2 for place in range(25)]
    inner = [sum(low < key < high or low == key == high for low, high in ends) for key in between]
    open_only = [sum(low < key < high for low, high in ends) for key in between]
    if ends:
        assert max(*open_only, 1) <= found.depth <= max(*inner, 1)


@given(st.lists(ENDS, max_size=9))
def test_clusters_do_not_overlap_and_hold_every_file(ends: list[list[int]]) -> None:
    keys = keys_of(["k"], SCHEMA)
    found = list(clusters(ranges_of(files_of(ends), keys)))
    assert sorted(each.file.path for cluster in found for each in cluster) == [f"f{n:03}" for n in range(len(ends))]
    for before, after in pairwise(found):
        assert max(each.high for each in before) <= min(each.low for each in after)


def test_nulls_lie_where_the_key_says() -> None:
    files = [file(0, 1, 5), file(1, 5, 9, nulls=1), file(2, None, None, nulls=10)]
    files[2] = DataFile(path="f002", bytes=1, rows=10, nulls={"k": 10})
    for text, depth in (("k", 1), ("k:desc", 2), ("k:first", 2), ("k:desc:first", 1)):
        assert overlap_of(files, keys_of([text], SCHEMA)).depth == depth, text


def test_a_later_key_counts_where_the_first_has_one_value() -> None:
    schema = pa.schema([("a", pa.int64()), ("b", pa.int64())])
    none = {"a": 0, "b": 0}
    files = [
        DataFile(path=str(n), bytes=1, rows=9, bounds={"a": (7, 7), "b": (n, n + size)}, nulls=none)
        for n, size in ((0, 3), (3, 3), (6, 9))
    ]
    assert overlap_of(files, keys_of(["a", "b"], schema)).depth == 1
    assert overlap_of([*files, files[1]], keys_of(["a", "b"], schema)).depth == 2


def test_files_with_one_value_lie_between_those_that_only_touch_it() -> None:
    schema = pa.schema([("a", pa.int64()), ("b", pa.int64())])
    ends = [((10, 20), (0, 9)), ((20, 20), (3, 5)), ((20, 20), (5, 8)), ((20, 27), (0, 9))]
    files = [
        DataFile(path=str(n), bytes=1, rows=9, bounds={"a": a, "b": b}, nulls={"a": 0, "b": 0})
        for n, (a, b) in enumerate(ends)
    ]
    for keys in (["a", "b"], ["a:desc", "b"]):
        assert overlap_of(files, keys_of(keys, schema)).depth == 1


def test_files_without_bounds_may_hold_every_key() -> None:
    files = [file(0, 1, 5), file(1, 5, 9), DataFile(path="x", bytes=1, rows=10)]
    found = overlap_of(files, keys_of(["k"], SCHEMA))
    assert (found.depth, found.partitions[0].unknown) == (2, 1)


@pytest.mark.parametrize(
    ("key", "code"), [("l", "no-order"), ("nosuch", "unknown-column"), ("k:sideways", "unknown-word")]
)
def test_a_key_that_is_none_is_refused(key: str, code: str) -> None:
    with pytest.raises(BadInputError) as refused:
        keys_of([key], SCHEMA)
    assert refused.value.code == code


def test_a_partition_that_is_none_is_refused() -> None:
    files = [DataFile(path="x", bytes=1, rows=1, partition=(("day", "1"),))]
    assert in_partition(files, "day=1", partitioned_by=["day"]) == files
    with pytest.raises(BadInputError, match="there are day=1"):
        in_partition(files, "day=2", partitioned_by=["day"])
    with pytest.raises(BadInputError, match="partitioned by day, not by 'hour'"):
        in_partition(files, "hour=2", partitioned_by=["day"])


def test_large_files_without_overlap_are_left_and_small_ones_join() -> None:
    files = [file(0, 0, 1, size=900), file(1, 1, 2, size=10), file(2, 2, 3, size=10), file(3, 3, 4, size=900)]
    (group,) = groups_of(files, keys_of(["k"], SCHEMA), target_bytes=1000)
    assert [each.path for each in group.files] == ["f001", "f002"]


def test_the_deepest_groups_come_first_within_the_limit() -> None:
    files = [file(n, 0, 9, size=100) for n in range(4)] + [file(9, 20, 30, size=50), file(10, 25, 30, size=50)]
    keys = keys_of(["k"], SCHEMA)
    assert [group.depth for group in groups_of(files, keys, target_bytes=10)] == [4, 2]
    assert [group.bytes for group in groups_of(files, keys, target_bytes=10, most_bytes=500)] == [400, 100]
    assert [group.bytes for group in groups_of(files, keys, target_bytes=10, most_bytes=450)] == [400]
    assert [len(each.files) for each in groups_of(files, keys, target_bytes=10, most_bytes=300)] == [3]


def test_the_picture_shows_where_files_lie() -> None:
    part = overlap_of([file(0, 0, 50), file(1, 50, 100)], keys_of(["k"], SCHEMA)).partitions[0]
    assert picture(part, width=10) == ["-----", "     -----"]
