"""The service of a node stores the blocks it fetches from others, and reports those that have come meanwhile."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import numpy as np
import pytest

from planner.distributed_sort.dataset.dataset import Layout
from planner.distributed_sort.exchange import block_fetch
from planner.distributed_sort.exchange.block_fetch import PackedParts, Part
from planner.distributed_sort.exchange.segments import write_segment
from planner.distributed_sort.node_files.node_environment import JobFiles, track_request
from planner.distributed_sort.node_files.run_files import Block, run_files
from planner.distributed_sort.node_tasks.node_service import NodeService
from planner.distributed_sort.node_tasks.node_tasks import SortOrder

FILES: Final = JobFiles(job="j", output="out")
COUNTS: Final = np.array([2, 0, 1], "<i8")
RECORDS: Final = np.arange(300, dtype=np.uint8)
BLOCK: Final = Block.of(COUNTS, RECORDS)
SIZE_BYTES: Final = BLOCK.head.nbytes + RECORDS.nbytes


@pytest.fixture
def services(this_node: Path) -> Iterator[list[NodeService]]:
    """Two services of the same node: s-0 has a block of three partitions behind ten other bytes."""
    del this_node
    write_segment(FILES, "s-0", [np.zeros(10, np.uint8), BLOCK.head, RECORDS], reserve_bytes=0)
    both = [NodeService("127.0.0.1", token=b"t", seed=seed) for seed in (3, 4)]
    yield both
    for service in both:
        service._fetcher.close()
        service._server.close()


def packed(*parts: Part) -> PackedParts:
    slices, addresses, segments, offsets, sizes_bytes, (partitions, *_) = map(list, zip(*parts, strict=True))
    whole = PackedParts(
        slices=slices, addresses=addresses, segments=segments, offsets=offsets, sizes_bytes=sizes_bytes,
        partitions=partitions,
    )  # fmt: skip
    assert [part._replace(partitions=partitions) for part in parts] == whole.unpack()
    return whole


def part_from(service: NodeService, number: int, *, segment: str = "s-0") -> Part:
    return Part(number, service.address(), segment, offset=10, size_bytes=SIZE_BYTES, partitions=len(COUNTS))


def test_its_pulse_says_what_the_tasks_of_its_node_wait_for(services: list[NodeService], this_node: Path) -> None:
    with track_request("the store has yet to let it write s3://b/x"):
        (note,) = (this_node / "memory").rglob(f"{os.getpid()}-*")
        os.utime(note, (0, time.time() - 20))
        pulse = services[0].pulse()
    assert pulse.awaits == "the store has yet to let it write s3://b/x" and 20 <= pulse.awaits_s < 60
    assert pulse.idle_s >= 0
    assert services[0].pulse().awaits == ""


def test_a_parcel_becomes_one_file(services: list[NodeService]) -> None:
    stored = services[0].store(FILES, 4, packed(part_from(services[1], 7), part_from(services[0], 9)))
    (run,) = run_files(FILES.run_folders())
    assert stored.slices == (7, 9)
    assert stored.written_bytes == run.path.stat().st_size == 2 * SIZE_BYTES + 2 * 8
    assert (run.first, run.end) == (4, 7)
    assert {number: counts.tolist() for number, counts in run.counts().items()} == {7: [2, 0, 1], 9: [2, 0, 1]}
    into = np.empty(400, np.uint8)
    run.read(slice(0, 4), into, record_size=100)
    assert into.tobytes() == 2 * RECORDS[:200].tobytes(), "each partition in one piece"


def test_what_is_not_to_be_had_is_left_out(services: list[NodeService]) -> None:
    gone = part_from(services[1], 8, segment="s-9")
    assert services[0].store(FILES, 0, packed(gone, part_from(services[1], 9))).slices == (9,)
    nothing = services[0].store(FILES, 0, packed(gone))
    assert (nothing.slices, nothing.written_bytes) == ((), 0)


@pytest.mark.parametrize("at", [10, 10 + 24, -1], ids=["count", "checksum", "record"])
def test_what_has_changed_on_the_way_is_left_out(services: list[NodeService], at: int) -> None:
    changed = np.concatenate([np.zeros(10, np.uint8), BLOCK.head.reshape(-1).view(np.uint8), RECORDS])
    changed[at] ^= 1
    write_segment(FILES, "s-2", [changed], reserve_bytes=0)
    parts = part_from(services[1], 8, segment="s-2"), part_from(services[1], 9)
    assert services[0].store(FILES, 0, packed(*parts)).slices == (9,)


def test_a_partition_is_copied_as_it_is(services: list[NodeService]) -> None:
    records = np.sort(np.arange(3, dtype=np.uint8)).repeat(100)
    write_segment(FILES, "s-1", [records], reserve_bytes=0)
    order = SortOrder(number=5, slices=1, layout=Layout(), files=FILES, memory_bytes=1)
    part = Part(5, services[1].address(), "s-1", offset=0, size_bytes=300, partitions=0)
    copied = services[0].copy(order, part)
    assert copied is not None
    assert Path(copied.partition.uri).read_bytes() == records.tobytes()
    assert (copied.partition.records, copied.written_bytes) == (3, 300)
    assert services[0].copy(order, part._replace(segment="s-9")) is None


def test_blocks_that_wait_for_others_have_arrived(services: list[NodeService], monkeypatch: pytest.MonkeyPatch) -> None:
    """The second source is lost; its service is asked until it is given up."""
    monkeypatch.setattr(block_fetch, "_AGAIN_FOR_S", 600.0)
    slow = Part(8, ("127.0.0.1", 1), "s-0", offset=0, size_bytes=10, partitions=0)
    stored: list[tuple[int, ...]] = []
    storing = threading.Thread(
        target=lambda: stored.append(services[0].store(FILES, 4, packed(part_from(services[1], 7), slow)).slices)
    )
    storing.start()
    end_s = time.monotonic() + 60
    while services[0].arrived_blocks() != {(7, 4)} and time.monotonic() < end_s:
        time.sleep(0.01)
    assert services[0].arrived_blocks() == {(7, 4)}
    services[0].give_up([slow.address])
    storing.join(60)
    assert (stored, services[0].arrived_blocks()) == ([(7,)], set())


def test_a_probe_takes_as_long_as_its_link(services: list[NodeService]) -> None:
    services[1].begin_probe(FILES, 100_000)
    seconds = services[0].probe_seconds(FILES, services[1].address(), 100_000)
    assert seconds is not None and seconds > 0
    services[0].give_up([services[1].address()])
    assert services[0].probe_seconds(FILES, services[1].address(), 100_000) is None


def test_a_service_samples_what_its_node_uses(services: list[NodeService]) -> None:
    end_s = time.monotonic() + 60
    while not services[0].samples() and time.monotonic() < end_s:
        time.sleep(0.1)
    assert "cpu_cores" in services[0].samples()[0]
