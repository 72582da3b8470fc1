"""A map task groups its slice, stores its own node's block, and writes the others to a segment."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from planner.distributed_sort.content.partitioning import Splitting, split
from planner.distributed_sort.dataset import partition_reader
from planner.distributed_sort.dataset.dataset import Layout, Partition
from planner.distributed_sort.dataset.partition_reader import Slice
from planner.distributed_sort.exchange.segments import open_segment
from planner.distributed_sort.node_files.node_environment import JobFiles
from planner.distributed_sort.node_tasks import node_tasks
from planner.distributed_sort.node_tasks.map_task import MapOrder, Mapped, map_slice
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
    return MapOrder(
        slice=TAKEN, partition=partition, layout=LAYOUT, files=FILES, ranges=ranges, segment="s-0", sums=sums
    )


def block(mapped: Mapped, first: int, *, partitions: int) -> tuple[list[int], bytes]:
    """Return a block of the segment: how many records there are for each partition, and these."""
    with os.fdopen(open_segment(FILES, "s-0"), "rb") as segment:
        segment.seek(mapped.offsets[first])
        return np.frombuffer(segment.read(8 * partitions), "<i8").tolist(), segment.read(mapped.sizes[first])


def test_blocks_hold_the_slice_in_the_order_of_partitions(partition: Partition) -> None:
    ranges = (("node-2", 0, 2), ("node-3", 2, PARTITIONS))
    mapped = map_slice(order_for(partition, ranges=ranges, sums=True), splitting_of(partition))
    counts, records = zip(block(mapped, 0, partitions=2), block(mapped, 2, partitions=3), strict=True)
    assert sum(map(sum, counts)) == 300
    assert (
        mapped.sizes == {0: sum(counts[0]) * 100, 2: sum(counts[1]) * 100} == {0: len(records[0]), 2: len(records[1])}
    )
    whole = partition_reader.read_records(partition, LAYOUT, first=700, records=300)
    rows = np.frombuffer(b"".join(records), np.uint8).reshape(-1, 100)
    assert sorted(map(bytes, rows)) == sorted(map(bytes, whole.reshape(-1, 100)))
    assert mapped.checksum == core.validate_records(whole.data).checksum
    assert mapped.stored == {}


def test_a_lost_partition_is_made_again_from_its_recipe(partition: Partition) -> None:
    splitting, ranges = splitting_of(partition), (("node-2", 0, PARTITIONS),)
    read = map_slice(order_for(partition, ranges=ranges), splitting)
    from_disk = block(read, 0, partitions=PARTITIONS)
    lost = partition.without_nodes(frozenset({"node-1"}))
    remade = map_slice(order_for(lost, ranges=ranges), splitting)
    assert from_disk == block(remade, 0, partitions=PARTITIONS)
    assert (read.read_bytes, read.remade_bytes, remade.read_bytes, remade.remade_bytes) == (30_000, 0, 0, 30_000)


def test_a_repeated_task_stores_what_its_new_node_owns(partition: Partition, monkeypatch: pytest.MonkeyPatch) -> None:
    """Node-1 is lost, and Ray happens to repeat its task on node-2."""
    splitting, order = splitting_of(partition), order_for(partition)
    first = map_slice(order, splitting)
    assert (list(first.stored), list(first.offsets)) == ([0], [2])
    monkeypatch.setenv("PLANNER_NODE_NAME", "node-2")
    repeated = map_slice(order, splitting)
    assert (list(repeated.stored), list(repeated.offsets)) == ([2], [0])


def test_segments_that_nobody_shall_read_are_deleted(partition: Partition) -> None:
    splitting, order = splitting_of(partition), order_for(partition)
    map_slice(order, splitting)
    map_slice(replace(order, segment="s-1", dropped=("s-0",)), splitting)
    with pytest.raises(FileNotFoundError):
        open_segment(FILES, "s-0")
    os.close(open_segment(FILES, "s-1"))


def test_versions_tell_of_a_file_that_changes_while_it_is_read(
    partition: Partition, monkeypatch: pytest.MonkeyPatch
) -> None:
    splitting, read = splitting_of(partition), partition_reader.read_records
    before, after = map_slice(order_for(partition), splitting).versions
    assert before == after is not None

    def growing(*arguments: Any, **options: Any) -> Any:
        records = read(*arguments, **options)
        with Path(partition.uri).open("ab") as file:
            file.write(b"more")
        return records

    monkeypatch.setattr(partition_reader, "read_records", growing)
    before, after = map_slice(order_for(partition), splitting).versions
    assert before is not None
    assert after is not None
    assert after.size_bytes == before.size_bytes + 4
