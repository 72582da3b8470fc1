"""Partition boundaries of tables."""

from __future__ import annotations

import json
from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pytest

from planner.distributed_sort.content.content import splitting_of
from planner.distributed_sort.content.table_content import TableSplitting, pack_rows, split_tables
from planner.distributed_sort.content.text_content import TextSplitting
from planner.sorting.tables.table_keys import ColumnKey

KEYS = [ColumnKey(0, descending=True, nulls_first=True)]


def sampled(values: Sequence[int | None]) -> bytes:
    return pack_rows(pa.table({"0": pa.array(values, pa.int64())}))


def test_equal_weights() -> None:
    splitting = split_tables(
        [sampled(list(range(50))), sampled(list(range(50, 100)))], KEYS, partitions=4, unique=False
    )
    assert (splitting.pieces, splitting.weights) == ((1, 1, 1, 1), (0.25,) * 4)
    order, edges = splitting.order(pa.table({"0": pa.array([10, 99, 74, 75, None, 0], pa.int64())}), KEYS)
    assert order.tolist() == [4, 1, 3, 2, 0, 5]
    assert edges.tolist() == [0, 3, 4, 4, 6]


def test_a_frequent_key_has_pieces_of_its_own() -> None:
    values = [5] * 60 + list(range(100, 140))
    splitting = split_tables([sampled(values)], KEYS, partitions=10, unique=False)
    assert splitting.behind == (False, False, False, False, True)
    assert splitting.pieces == (1, 1, 1, 1, 6, 1)
    values = [*values, *range(-40, 0)]
    splitting = split_tables([sampled(values)], KEYS, partitions=10, unique=False)
    assert sum(splitting.behind) == 1
    assert max(splitting.pieces) == 4
    rows = pa.table({"0": pa.array([5] * 8 + [6, 4], pa.int64())})
    order, edges = splitting.order(rows, KEYS)
    assert order.tolist() == [8, 0, 1, 2, 3, 4, 5, 6, 7, 9]
    assert np.diff(edges).max() == 2
    assert max(split_tables([sampled(values)], KEYS, partitions=10, unique=True).pieces) == 1


@pytest.mark.parametrize("partitions", [1, 2, 3])
@pytest.mark.parametrize("others", [0, 30])
def test_a_frequent_key_is_divided_among_few_partitions(partitions: int, others: int) -> None:
    """It may be chosen as a boundary only once."""
    values = [5] * 100 + list(range(100, 100 + others))
    splitting = split_tables([sampled(values)], KEYS, partitions=partitions, unique=False)
    _, edges = splitting.order(pa.table({"0": pa.array(values, pa.int64())}), KEYS)
    assert np.diff(edges).max() <= 1.6 * len(values) / partitions


def test_no_sample() -> None:
    splitting = split_tables([sampled([])], KEYS, partitions=4, unique=False)
    order, edges = splitting.order(pa.table({"0": pa.array([2, 1], pa.int64())}), KEYS)
    assert (splitting.partitions, order.tolist(), edges.tolist()) == (1, [0, 1], [0, 2])


@pytest.mark.parametrize(
    "splitting",
    [
        split_tables([sampled([1, None, 2, 3])], KEYS, partitions=3, unique=False),
        TextSplitting(boundaries=((b"\xff", True),), pieces=(1, 1), weights=(0.5, 0.5)),
    ],
    ids=["tables", "text"],
)
def test_a_journal_gives_back_what_it_got(splitting: TableSplitting | TextSplitting) -> None:
    assert splitting_of(json.loads(json.dumps(splitting.document()))) == splitting
