"""Records are read from the nearest copy, or made again, and errors name what cannot be read."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
from refusals import refused

from planner.distributed_sort.content.content import content_of
from planner.distributed_sort.dataset import partition_reader
from planner.distributed_sort.dataset.dataset import Copy, Layout, Partition
from planner.errors import IoFailureError

LAYOUT = Layout()


def test_a_recipe_makes_the_same_records_again(partition: Partition) -> None:
    lost = partition.without_nodes(frozenset({"node-1"}))
    assert lost.copies == ()
    read, made = (partition_reader.read_records(source, LAYOUT, first=700, records=300) for source in (partition, lost))
    assert np.array_equal(read, made)


@pytest.mark.parametrize(
    ("copies", "nodes"), [((), []), ((Copy(uri="/a", node="a"),), ["a"]), ((Copy(uri="s3://b/c"),), [""])]
)
def test_partitions_are_read_where_they_lie(copies: tuple[Copy, ...], nodes: list[str]) -> None:
    assert partition_reader.nodes_with(Partition(records=1, copies=copies)) == nodes


@pytest.mark.usefixtures("this_node")
def test_without_copy_and_recipe_there_is_an_error() -> None:
    gone = Partition(records=5, copies=())
    with refused("no-recipe", "node-1", kind=IoFailureError):
        partition_reader.read_records(gone, LAYOUT, first=0, records=5)


def test_a_truncated_partition_is_named(partition: Partition) -> None:
    os.truncate(partition.uri, 499_950)
    with pytest.raises(IoFailureError, match=rf"node-1: {partition.uri} ends 50 bytes too early"):
        content_of(LAYOUT).read_output(partition)


def test_a_missing_partition_is_named(partition: Partition) -> None:
    Path(partition.uri).unlink()
    with pytest.raises(IoFailureError, match=rf"node-1: cannot read {partition.uri}: No such file"):
        content_of(LAYOUT).read_output(partition)
