"""A map task groups its slice, stores its own node's block, and writes the others to a segment.

Errors name a line or cell that needs more memory than a partition has, where it is read.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from refusals import refused

from planner.distributed_sort.content.base import Splitting
from planner.distributed_sort.content.content import RecordSplitting, split
from planner.distributed_sort.content.table_content import Tables
from planner.distributed_sort.content.text_content import TextSplitting
from planner.distributed_sort.dataset import partition_reader
from planner.distributed_sort.dataset.dataset import Dataset, Layout, Partition, TextFormat, grid_of
from planner.distributed_sort.dataset.file_versions import versions_of
from planner.distributed_sort.dataset.partition_reader import Slice, slices
from planner.distributed_sort.dataset.readable_input import flips
from planner.distributed_sort.dataset.table_dataset import tables_of
from planner.distributed_sort.dataset.text_dataset import lines_of, rows_of
from planner.distributed_sort.node_files.node_environment import NODE_DIRECTORY, NODE_NAME, JobFiles
from planner.distributed_sort.node_files.run_files import Block, head_bytes
from planner.distributed_sort.node_tasks import node_tasks
from planner.distributed_sort.node_tasks.node_tasks import MapOrder, Mapped, map_slice
from planner.errors import BadInputError, InputChangedError
from planner.native import core
from planner.sorting.text.text_job import CsvColumns
from tests.distributed_sort.segment_files import read_segment

LAYOUT = Layout()
FILES = JobFiles(job="j", output="out")
PARTITIONS = 5
RANGES = (("node-1", 0, 2), ("node-2", 2, PARTITIONS))
TAKEN = Slice(number=0, partition=0, first=700, records=300)


def splitting_of(partition: Partition) -> RecordSplitting:
    return split(b"".join(node_tasks.sample(partition, LAYOUT, 2000)), partitions=PARTITIONS, layout=LAYOUT)


def order_for(
    partition: Partition, *, ranges: tuple[tuple[str, int, int], ...] = RANGES, sums: bool = False
) -> MapOrder:
    return MapOrder(
        slice=TAKEN, partition=partition, layout=LAYOUT, files=FILES, ranges=ranges, segment="s-0", sums=sums
    )


def block(mapped: Mapped, first: int, *, partitions: int) -> tuple[list[int], bytes]:
    """Return the block of the segment: the number of records in each partition, and the records."""
    content = np.frombuffer(read_segment(FILES, "s-0"), np.uint8)[mapped.offsets[first] :]
    parsed = Block.parse(content[: head_bytes(partitions) + mapped.sizes[first]], partitions=partitions)
    assert parsed.is_intact
    return parsed.counts.tolist(), parsed.records.tobytes()


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
    """Node-1 is lost, and Ray repeats its task on node-2."""
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
        read_segment(FILES, "s-0")
    assert read_segment(FILES, "s-1")


def test_a_file_that_changes_while_it_is_read_is_named(partition: Partition, monkeypatch: pytest.MonkeyPatch) -> None:
    version, read = versions_of({partition.uri: None})[partition.uri], partition_reader.read_exactly
    known = replace(partition, copies=(replace(partition.copies[0], version=version),))
    splitting = splitting_of(partition)
    assert map_slice(order_for(known), splitting).content_checksum == (
        map_slice(order_for(replace(known, copies=())), splitting).content_checksum
    ), "the recipe makes the same"

    def growing(*arguments: Any, **options: Any) -> Any:
        read(*arguments, **options)
        with Path(partition.uri).open("ab") as file:
            file.write(b"more")

    monkeypatch.setattr(partition_reader, "read_exactly", growing)
    with pytest.raises(InputChangedError, match=partition.uri):
        map_slice(order_for(known), splitting)


LONG = 50_000
ONE_RANGE = TextSplitting(boundaries=(), pieces=(1,), weights=(1.0,))
LINES = TextFormat()


@pytest.fixture(autouse=True)
def node(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(NODE_NAME, "a")
    monkeypatch.setenv(NODE_DIRECTORY, str(tmp_path))


def group(source: Dataset, splitting: Splitting, *, memory_bytes: int, slice_records: int) -> None:
    for slice_ in slices(source, slice_records):
        order = MapOrder(
            slice=slice_,
            partition=source.partitions[0],
            layout=source.layout,
            files=JobFiles(job="j", output="out"),
            ranges=(),
            memory_bytes=memory_bytes,
        )
        map_slice(order, splitting)


@pytest.mark.parametrize("is_csv", [False, True], ids=["lines", "csv"])
def test_a_line_is_named_by_file_and_byte(tmp_path: Path, is_csv: bool) -> None:
    path, header, others = tmp_path / "in", b"a,b\n" * is_csv, b"x,y\n" * 10_000
    long = b'1,"' + b"\nz" * 99 + b"z" * LONG + b'"\n' if is_csv else b"z" * LONG + b"\n"
    path.write_bytes(header + others + long + others)
    source = rows_of([str(path)], CsvColumns(keys=("b",)), unique=False) if is_csv else lines_of([str(path)], LINES)
    quotes = grid_of([flips(source.partitions[0], source.layout, 0, 1000)], 1000)
    source = replace(source, partitions=(replace(source.partitions[0], quotes=quotes),))
    told = rf"{path}: the line that begins at byte {len(header + others)} has {len(long)} bytes"
    group(source, ONE_RANGE, memory_bytes=4 * LONG, slice_records=200_000)
    for slice_records in (200_000, len(others) + 100):
        with pytest.raises(BadInputError, match=told):
            group(source, ONE_RANGE, memory_bytes=2 * LONG, slice_records=slice_records)


def test_a_cell_is_named_by_file_column_and_row(tmp_path: Path) -> None:
    texts = ["short"] * 1000 + ["z" * LONG] + ["short"] * 99
    pq.write_table(pa.table({"k": list(range(1100)), "t": texts}), tmp_path / "in.parquet", row_group_size=300)
    source = tables_of([str(tmp_path / "in.parquet")], ["k"])
    splitting, _ = Tables(source.layout, source.layout.table).split([[]], 1)  # type: ignore[arg-type]
    group(source, splitting, memory_bytes=4 * LONG, slice_records=350)
    with refused("memory", f"{tmp_path}/in.parquet", "column t of row 1001", f"{LONG} bytes"):
        group(source, splitting, memory_bytes=2 * LONG, slice_records=350)
