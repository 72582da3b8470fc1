"""Tasks of the nodes, called here: slices are grouped, stored, gathered, sorted, and errors name node and file."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from refusals import refused

from planner.distributed_sort.content.content import RecordSplitting, split
from planner.distributed_sort.dataset.dataset import Layout, Partition
from planner.distributed_sort.dataset.partition_reader import Slice
from planner.distributed_sort.node_files.node_environment import JobFiles
from planner.distributed_sort.node_files.run_files import Block, RunsDamagedError, head_bytes, pieces_of, run_files
from planner.distributed_sort.node_tasks import node_tasks
from planner.distributed_sort.node_tasks.node_tasks import MapOrder, Mapped, SortOrder, map_slice
from planner.errors import IoFailureError
from planner.native import core
from tests.distributed_sort.segment_files import read_segment

LAYOUT = Layout()
FILES = JobFiles(job="j", output="out")
PARTITIONS = 5
RANGES = (("node-1", 0, 2), ("node-2", 2, PARTITIONS))


def splitting_of(partition: Partition) -> RecordSplitting:
    return split(b"".join(node_tasks.sample(partition, LAYOUT, 2000)), partitions=PARTITIONS, layout=LAYOUT)


def shuffle(partition: Partition, splitting: RecordSplitting, *, slice_records: int = 1200) -> int:
    """Store every slice, in part by the map task, and return the number of slices."""
    slices = 0
    for number, first in enumerate(range(0, partition.records, slice_records)):
        taken = Slice(number=number, partition=0, first=first, records=min(slice_records, partition.records - first))
        order = MapOrder(
            slice=taken, partition=partition, layout=LAYOUT, files=FILES, ranges=RANGES, segment=f"s-{number}"
        )
        mapped = map_slice(order, splitting)
        assert list(mapped.stored) == [0]
        sent = node_tasks.store(FILES, 2, {number: sent_block(order, mapped, 2)})
        assert mapped.stored[0].slices == sent.slices == (number,)
        slices += 1
    return slices


def test_records_of_a_repeated_map_task_count_once(partition: Partition, monkeypatch: pytest.MonkeyPatch) -> None:
    splitting, half = splitting_of(partition), partition.records // 2
    cut = [Slice(number=number, partition=0, first=number * half, records=half) for number in range(2)]
    first = MapOrder(slice=cut[0], partition=partition, layout=LAYOUT, files=FILES, ranges=RANGES, segment="s-0")
    monkeypatch.setenv("PLANNER_NODE_NAME", "node-2")
    map_slice(first, splitting)  # node-1 is lost: Ray repeats the task, on node-2, which now owns all partitions
    for slice_ in cut:
        again = replace(first, slice=slice_, ranges=(("node-2", 0, splitting.partitions),))
        mapped = map_slice(again, splitting)
        assert mapped.stored[0].slices == (slice_.number,)
    assert len(run_files(FILES.run_folders())) == 3
    done = [node_tasks.sort_partition(order(number, 2)) for number in range(splitting.partitions)]
    whole = sum(int(result.partition.checksum, 16) for result in done)
    assert whole == core.validate_file(partition.uri).checksum


def sent_block(order: MapOrder, mapped: Mapped, first: int) -> Block:
    """Return the block of a segment that begins with the partition `first`."""
    partitions = {begin: end - begin for _, begin, end in order.ranges}[first]
    content = np.frombuffer(read_segment(order.files, order.segment), np.uint8)[mapped.offsets[first] :]
    return Block.parse(content[: head_bytes(partitions) + mapped.sizes[first]], partitions=partitions)


def blocks_of(partition: Partition, splitting: RecordSplitting, *, slices: int) -> dict[int, Block]:
    """Return the block of each slice, all for node-2."""
    length = partition.records // slices
    blocks = {}
    for number in range(slices):
        taken = Slice(number=number, partition=0, first=number * length, records=length)
        ranges = (("node-2", 0, PARTITIONS),)
        order = MapOrder(
            slice=taken, partition=partition, layout=LAYOUT, files=FILES, ranges=ranges, segment=f"s-{number}"
        )
        blocks[number] = sent_block(order, map_slice(order, splitting), 0)
    return blocks


def test_a_parcel_is_one_file_with_each_partition_in_one_piece(partition: Partition) -> None:
    blocks = blocks_of(partition, splitting_of(partition), slices=4)
    stored = node_tasks.store(FILES, 0, blocks)
    (run,) = run_files(FILES.run_folders())
    assert stored.written_bytes == run.path.stat().st_size
    totals = sum(block.counts for block in blocks.values())
    for number, records in enumerate(totals):
        ((_, piece),) = pieces_of(number, FILES.run_folders(), set())
        assert piece.stop - piece.start == records
    done = [node_tasks.sort_partition(order(number, 4)) for number in range(PARTITIONS)]
    assert sum(int(sorted_.partition.checksum, 16) for sorted_ in done) == core.validate_file(partition.uri).checksum
    wanted = {(number, 0, PARTITIONS, int(counts.sum())) for number, (counts, _, _) in blocks.items()}
    assert set(node_tasks.inventory(FILES).runs) == wanted


@given(parcels=st.lists(st.lists(st.integers(0, 5), min_size=1, unique=True), min_size=1, max_size=6))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=30)
def test_each_slice_counts_once_however_often_it_was_sent(partition: Partition, parcels: list[list[int]]) -> None:
    node_tasks.clean(FILES)
    blocks = blocks_of(partition, splitting_of(partition), slices=6)
    sent = sorted({number for parcel in parcels for number in parcel})
    for parcel in parcels:
        node_tasks.store(FILES, 0, {number: blocks[number] for number in parcel})
    for number in range(PARTITIONS):
        read = []
        for run, piece in pieces_of(number, FILES.run_folders(), set()):
            into = np.empty((piece.stop - piece.start) * LAYOUT.record_size, np.uint8)
            run.read(piece, into, record_size=LAYOUT.record_size)
            read += [into[at : at + 100].tobytes() for at in range(0, len(into), 100)]
        expected = []
        for counts, _, records in (blocks[slice_number] for slice_number in sent):
            start = int(counts[:number].sum())
            expected += [records[at * 100 :][:100].tobytes() for at in range(start, start + int(counts[number]))]
        assert sorted(read) == sorted(expected)


def order(number: int, slices: int, *, memory_bytes: int = 10**9, threads: int = 2) -> SortOrder:
    return SortOrder(
        number=number, slices=slices, layout=LAYOUT, files=FILES, memory_bytes=memory_bytes, threads=threads
    )


def test_slices_become_sorted_partitions(partition: Partition) -> None:
    count = shuffle(partition, splitting_of(partition))
    done = [node_tasks.sort_partition(order(number, count)) for number in range(PARTITIONS)]
    whole = core.Summary.parse(done[0].summary)
    for sorted_ in done[1:]:
        whole.append(core.Summary.parse(sorted_.summary))
    before = core.validate_file(partition.uri)
    assert (whole.records, whole.checksum, whole.unordered) == (5000, before.checksum, 0)
    assert sum(sorted_.read_bytes for sorted_ in done) == sum(sorted_.written_bytes for sorted_ in done) == 500_000
    keys = [key for sorted_ in done for key in (sorted_.partition.first_key, sorted_.partition.last_key)]
    assert keys == sorted(keys)


def test_what_is_to_be_copied_waits_in_a_segment(partition: Partition) -> None:
    count = shuffle(partition, splitting_of(partition))
    done = node_tasks.sort_partition(replace(order(1, count), segment="s-9"))
    output = Path(done.partition.uri).read_bytes()
    assert read_segment(FILES, "s-9") == output
    assert done.sent_bytes == len(output)
    again = replace(order(1, count), segment="s-10", dropped=("s-9",))
    assert node_tasks.offer_partition(done.partition, again) == len(output)
    assert read_segment(FILES, "s-10") == output
    with pytest.raises(FileNotFoundError):
        read_segment(FILES, "s-9")


def test_every_disk_holds_its_part(this_node: Path, partition: Partition) -> None:
    """Output is on the data disks, intermediate files on the disks set apart for them; all are removed."""
    count = shuffle(partition, splitting_of(partition))
    runs = [run.path for run in run_files(FILES.run_folders())]
    assert len(runs) == 10, "five slices, two runs of each"
    assert {path.parent.parent.name for path in runs} == {"disk1", "disk2"}
    done = [node_tasks.sort_partition(order(number, count)).partition for number in range(PARTITIONS)]
    assert [Path(written.uri).parent.parent.name for written in done] == ["disk0", "disk1", "disk0", "disk1", "disk0"]
    node_tasks.undo(FILES)
    assert {path.name for path in this_node.glob("disk*/*")} == {"in"}


def test_a_bit_that_flips_on_the_disk_is_no_record(partition: Partition) -> None:
    """The file is deleted, so that its records are made again."""
    count = shuffle(partition, splitting_of(partition))
    path = run_files(FILES.run_folders())[0].path
    content, status = bytearray(path.read_bytes()), path.stat()
    content[50] ^= 1
    path.write_bytes(content)
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    with refused("runs-damaged", ".run", kind=RunsDamagedError):
        for number in range(PARTITIONS):
            node_tasks.sort_partition(order(number, count))
    assert not path.exists()


def test_lost_runs_are_noticed(partition: Partition) -> None:
    count = shuffle(partition, splitting_of(partition))
    run_files(FILES.run_folders())[0].path.unlink()
    with refused("runs-damaged", kind=IoFailureError):
        node_tasks.sort_partition(order(0, count))


def test_too_little_memory_is_refused_before_it_is_used(partition: Partition) -> None:
    count = shuffle(partition, splitting_of(partition))
    with refused("memory"):
        node_tasks.sort_partition(order(0, count, memory_bytes=1000))


def test_a_full_disk_leaves_nothing_half_written(this_node: Path, partition: Partition) -> None:
    block = Block.of(np.array([10], np.int64), np.zeros(1000, np.uint8))
    node_tasks.store(FILES, 0, {0: block})
    (path,) = (run.path for run in run_files(FILES.run_folders()))
    path.unlink()
    path.mkdir()  # a write that must fail
    with pytest.raises(IoFailureError, match=rf"node-1: cannot write {path}"):
        node_tasks.store(FILES, 0, {0: block})
    assert list(path.parent.iterdir()) == [path]


def test_a_run_file_that_was_cut_short_is_named_and_forgotten(partition: Partition) -> None:
    count = shuffle(partition, splitting_of(partition))
    whole = node_tasks.inventory(FILES).runs
    path = run_files(FILES.run_folders())[0].path
    os.truncate(path, path.stat().st_size - 8)
    with refused("runs-damaged", "node-1", str(path), kind=IoFailureError):
        node_tasks.sort_partition(order(0, count))
    assert len(node_tasks.inventory(FILES).runs) == len(whole) - 1
    assert not path.exists()


def test_an_inventory_has_whole_files_and_drops_halves(partition: Partition) -> None:
    count = shuffle(partition, splitting_of(partition))
    for folder in FILES.run_folders():
        (folder / ".x.run.1234.partial").write_bytes(b"half")
    inventory = node_tasks.inventory(FILES)
    assert len(inventory.runs) == 2 * count
    assert sum(records for _, _, _, records in inventory.runs) == partition.records
    assert not [half for folder in FILES.run_folders() for half in folder.glob(".*")]
    node_tasks.clean(FILES)
    assert node_tasks.inventory(FILES).runs == ()
