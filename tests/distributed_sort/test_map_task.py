"""A map task groups its slice, stores its own node's block, and returns the others."""

from __future__ import annotations

import numpy as np
import pytest

from planner.distributed_sort import node_tasks, partition_reader
from planner.distributed_sort.dataset import Layout, Partition
from planner.distributed_sort.map_task import MapOrder, Mapped, map_slice
from planner.distributed_sort.node_environment import JobFiles
from planner.distributed_sort.partition_reader import Slice
from planner.distributed_sort.partitioning import Splitting, split
from planner.native import core

LAYOUT = Layout()
FILES = JobFiles(job="j", output="out")
PARTITIONS = 5
RANGES = (("node-1", 0, 2), ("node-2", 2, PARTITIONS))
TAKEN = Slice(number=0, partition=0, first=700, records=300)


def splitting_of(partition: Partition) -> Splitting:
    return split(b"".join(node_tasks.sample(partition, LAYOUT, 2000)), partitions=PARTITIONS, layout=LAYOUT)


def order_for(
    partition: Partition, *, ranges: tuple[tuple[str, int, int], ...] = RANGES, sums: bool = False
) -> MapOrder:
    return MapOrder(slice=TAKEN, partition=partition, layout=LAYOUT, files=FILES, ranges=ranges, sums=sums)


def test_blocks_hold_the_slice_in_the_order_of_partitions(partition: Partition) -> None:
    ranges = (("node-2", 0, 2), ("node-3", 2, PARTITIONS))
    mapped, *blocks = map_slice(order_for(partition, ranges=ranges, sums=True), splitting_of(partition))
    assert isinstance(mapped, Mapped)
    counts, records = zip(*(block for block in blocks if isinstance(block, tuple)), strict=True)
    assert [len(count) for count in counts] == [2, 3]
    assert sum(int(count.sum()) for count in counts) == 300
    assert mapped.sizes == {0: len(records[0]), 2: len(records[1])}
    whole = partition_reader.read_records(partition, LAYOUT, first=700, records=300)
    rows = np.concatenate(records).reshape(-1, 100)
    assert sorted(map(bytes, rows)) == sorted(map(bytes, whole.reshape(-1, 100)))
    assert mapped.checksum == core.validate_records(whole.data).checksum
    assert mapped.stored == {}


def test_a_lost_partition_is_made_again_from_its_recipe(partition: Partition) -> None:
    splitting, ranges = splitting_of(partition), (("node-2", 0, PARTITIONS),)
    read, (_, from_disk) = map_slice(order_for(partition, ranges=ranges), splitting)  # type: ignore[misc]
    from_disk = from_disk.tobytes()  # the next task of this process overwrites it
    lost = partition.without_nodes(frozenset({"node-1"}))
    remade, (_, from_recipe) = map_slice(order_for(lost, ranges=ranges), splitting)  # type: ignore[misc]
    assert from_disk == from_recipe.tobytes()
    assert (read.read_bytes, read.remade_bytes, remade.read_bytes, remade.remade_bytes) == (30_000, 0, 0, 30_000)


def test_a_block_that_a_repeated_task_stored_elsewhere_is_missing_here(
    partition: Partition, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Node-1 is lost, and Ray happens to repeat its task on node-2."""
    splitting, order = splitting_of(partition), order_for(partition)
    first, to_node_1, to_node_2 = map_slice(order, splitting)
    assert isinstance(first, Mapped) and list(first.stored) == [0]
    assert to_node_1 is None and to_node_2 is not None
    monkeypatch.setenv("PLANNER_NODE_NAME", "node-2")
    repeated, to_node_1, to_node_2 = map_slice(order, splitting)
    assert isinstance(repeated, Mapped) and list(repeated.stored) == [2]
    assert to_node_1 is not None and to_node_2 is None
    stored = node_tasks.store(FILES, 2, [0], to_node_2)
    assert (stored.slices, stored.written_bytes) == ((), 0)
