"""Whatever is lost, and whenever, the shuffle continues until every slice is stored with its owners."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, cast
from unittest.mock import Mock

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from refusals import refused

from planner.distributed_sort.dataset.dataset import Copy, Dataset, Partition, Recipe
from planner.distributed_sort.dataset.partition_reader import slices
from planner.distributed_sort.exchange.block_fetch import PackedParts, Part
from planner.distributed_sort.exchange.parcels import Block
from planner.distributed_sort.job.job import Job, SortRequest
from planner.distributed_sort.job.ledger import Journal, Ledger
from planner.distributed_sort.job.nodes import LOST, Nodes
from planner.distributed_sort.node_files.node_environment import JobFiles
from planner.distributed_sort.node_tasks.node_tasks import MapOrder, Mapped, Stored, map_slice
from planner.distributed_sort.phases import shuffle
from planner.distributed_sort.phases.shuffle import PausedSlices, Shuffle
from planner.errors import InputChangedError, IoFailureError
from planner.sort_policy.concurrency import Concurrency
from planner.sort_policy.sizing import Sizes

RECORDS, SLICE_RECORDS = 40_000, 10_000
PARTITIONS_EACH = 3
STORE_BYTES = 40_000_000


@pytest.fixture(autouse=True)
def no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shuffle, "_LONGEST_PAUSE_S", 0.0)


Sizing = Callable[[str, MapOrder], dict[int, int]]


class Reference:
    """Reference of a task that groups into a segment of the node `source`, or of one that stores, which has neither."""

    def __init__(self, outcome: Callable[[], Any], *, source: str = "", segment: str = "") -> None:
        self.outcome = outcome
        self.source = source
        self.segment = segment


class FakeNodes:
    """A `Nodes` that does nothing but reports success; it loses one task in `losing`, and now and then a node.

    `most_held_bytes` is the most data grouped on a node and not yet stored elsewhere, `most_held` the same in blocks.
    `readable` counts, by segment, the blocks that may still be fetched: those of lost tasks for ever.
    """

    def __init__(
        self, names: list[str], chance: random.Random, *, losing: int, doomed: list[str], sizes: Sizing | None = None
    ) -> None:
        self.names = names
        self.cpus = dict.fromkeys(names, 1.0)
        self.store_bytes = dict.fromkeys(names, STORE_BYTES)
        self.concurrency = Concurrency.of([1.0])
        self.lost = frozenset[str]()
        self.parcels: list[int] = []
        self.most_held = self.most_held_bytes = 0
        self.readable: Counter[str] = Counter()
        self._held: Counter[str] = Counter()
        self._held_bytes: Counter[str] = Counter()
        self._chance, self._losing, self._doomed, self._sizes = chance, losing, doomed, sizes or _even

    def threads(self, _: str) -> int:
        return 1

    def have_arrived(self, blocks: list[Block]) -> list[bool]:
        return [bool(self._chance.getrandbits(1)) for _ in blocks]

    def address(self, node: str) -> tuple[str, int]:
        return node, 0

    def ask_address(self, node: str) -> None:
        assert node not in self.lost

    def report_silent_nodes(self, *_: Any, **__: Any) -> None:
        """All of them are busy."""

    def detect_losses(self, **_: Any) -> frozenset[str]:
        if not self._doomed or self._chance.randrange(10):
            return frozenset()
        gone = frozenset({self._doomed.pop()})
        self.lost |= gone
        self.names = [name for name in self.names if name not in gone]
        return gone

    def run(self, node: str, task: Any, order: MapOrder, *_: Any, **__: Any) -> Reference:
        assert task is map_slice
        assert not self.readable[order.segment], "nobody reads what is written anew"
        sizes = self._sizes(node, order)
        return Reference(lambda: self._map(node, order, sizes), source=node, segment=order.segment)

    def call(self, node: str, method: str, _: JobFiles, first: int, packed: PackedParts) -> Reference:
        del node, first
        assert method == "store"
        parts = packed.unpack()
        self.parcels.append(len(parts))
        return Reference(lambda: self._store(parts))

    def _map(self, node: str, order: MapOrder, sizes: dict[int, int]) -> Mapped:
        own = {first: _stored([order.slice.number]) for owner, first, _ in order.ranges if owner == node}
        self._held[node] += len(sizes) - len(own)
        self.most_held = max(self.most_held, self._held[node])
        self._held_bytes[node] += sum(size for first, size in sizes.items() if first not in own)
        self.most_held_bytes = max(self.most_held_bytes, self._held_bytes[node])
        self.readable[order.segment] += len(sizes) - len(own)
        return mapped_by(node, order, stored=own, sizes=sizes)

    def _store(self, parts: list[Part]) -> Stored:
        """Store a parcel, now and then without part of it, as a restarted service does."""
        assert len({part.partitions for part in parts}) == 1
        came = [part for part in parts if not self._losing or self._chance.randrange(self._losing)]
        for part in came:
            self._held[part.address[0]] -= 1
            self._held_bytes[part.address[0]] -= part.size_bytes - 8 * part.partitions
            self.readable[part.segment] -= 1
        return _stored([part.slice for part in came])

    def outcome(self, reference: Reference) -> Any:
        if self._losing and not self._chance.randrange(self._losing):
            self.readable[reference.segment] += bool(reference.segment)
            return LOST
        return reference.outcome()

    def wait(self, references: list[Any], *, num_returns: int, **_: Any) -> tuple[list[Any], list[Any]]:
        ended = self._chance.sample(references, 1 if num_returns == 1 else self._chance.randint(1, len(references)))
        return ended, [reference for reference in references if reference not in ended]


def mapped_by(node: str, order: MapOrder, *, stored: dict[int, Stored], sizes: dict[int, int]) -> Mapped:
    """Return the report of a map task that did nothing."""
    return Mapped(
        node=node,
        read_bytes=0,
        remade_bytes=0,
        seconds=0.1,
        checksum=0,
        stored=stored,
        offsets={first: 0 for first in sizes if first not in stored},
        sizes=sizes,
    )


def _even(_: str, order: MapOrder) -> dict[int, int]:
    """Return the bytes of each block of a slice, by first partition, for keys spread evenly."""
    return {first: order.slice.records * 100 * (end - first) // 25 for _, first, end in order.ranges}


def _of_one_node(_: str, order: MapOrder) -> dict[int, int]:
    """Return the same where all keys of a slice are in the last range."""
    return {first: 0 for _, first, _ in order.ranges} | {order.ranges[-1][1]: order.slice.records * 100}


def _of_its_own(node: str, order: MapOrder) -> dict[int, int]:
    """Return the same where all keys of a slice belong to the node that groups it."""
    return {first: order.slice.records * 100 * (owner == node) for owner, first, _ in order.ranges}


def _stored(numbers: list[int]) -> Stored:
    return Stored(slices=tuple(numbers), written_bytes=0)


class SlowLinks(FakeNodes):
    """Blocks stay under way as long as any slice is to be grouped; `most_waiting` is their maximum."""

    most_waiting = 0

    def wait(self, references: list[Any], **_: Any) -> tuple[list[Any], list[Any]]:
        ended = max(references, key=lambda reference: reference.source)
        return [ended], [reference for reference in references if reference is not ended]


def job_of(nodes: FakeNodes, folder: Path, *, records: int = RECORDS) -> Job:
    owner = [name for name in nodes.names for _ in range(PARTITIONS_EACH)]
    source = Dataset(
        partitions=tuple(Partition(records=records, copies=(), recipe=Recipe(start=0)) for _ in nodes.names)
    )
    cut = list(slices(source, SLICE_RECORDS))
    sizes = Sizes(slice_records=SLICE_RECORDS, slices=8, parcel_bytes=500_000, partitions=len(owner), sort_bytes=10**9)
    nodes.ray = Mock(wait=nodes.wait)
    return Job(
        request=SortRequest(source=source, output="out"),
        emit=lambda _: None,
        nodes=cast("Nodes", nodes),
        files=JobFiles(job="j", output="out"),
        source=source,
        sizes=sizes,
        slices=cut,
        splitting_reference=None,
        ledger=Ledger(slices=len(cut), owner=owner),
        journal=Journal(folder / "journal"),
    )


@given(
    node_count=st.integers(1, 6),
    losing=st.sampled_from([0, 0, 20, 10]),
    lost=st.integers(0, 2),
    seed=st.integers(0, 10**6),
)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60, deadline=None)
def test_every_slice_is_stored_in_the_end(tmp_path: Path, node_count: int, losing: int, lost: int, seed: int) -> None:
    names = [f"node-{number}" for number in range(node_count)]
    nodes = FakeNodes(names, random.Random(seed), losing=losing, doomed=names[1:][:lost])
    job = job_of(nodes, tmp_path)
    Shuffle(job).run()
    assert job.ledger.missing_slices() == []
    assert job.ledger.stored_records == SLICE_RECORDS // 25 * len(job.slices) * len(job.ledger.owner)
    assert not nodes.lost.intersection(job.ledger.owner)
    if not losing and not nodes.lost:
        assert sum(nodes.parcels) == len(job.slices) * (node_count - 1), "each block that leaves its node, once"
        assert job.retries == 0


@pytest.mark.parametrize("sizes", [_of_one_node, _of_its_own])
def test_a_node_holds_no_more_of_clustered_keys(tmp_path: Path, sizes: Sizing) -> None:
    """Most blocks of a slice are empty; they are stored at once, or still wait when its data has been stored."""
    names = [f"node-{number}" for number in range(6)]
    nodes = SlowLinks(names, random.Random(1), losing=0, doomed=[], sizes=sizes)
    job = job_of(nodes, tmp_path, records=40 * SLICE_RECORDS)
    Shuffle(job).run()
    assert job.ledger.missing_slices() == []
    assert nodes.most_held_bytes <= job.sizes.slices * SLICE_RECORDS * 100
    assert nodes.most_held <= 4 * job.sizes.slices * len(names)


def test_blocks_leave_in_fewer_parcels(tmp_path: Path) -> None:
    nodes = FakeNodes([f"node-{number}" for number in range(12)], random.Random(1), losing=0, doomed=[])
    job = job_of(nodes, tmp_path)
    Shuffle(job).run()
    assert len(nodes.parcels) < sum(nodes.parcels) / 2


def test_a_slice_that_is_lost_again_and_again_is_an_error(tmp_path: Path) -> None:
    nodes = FakeNodes(["node-0", "node-1"], random.Random(1), losing=1, doomed=[])
    with refused("attempts-failed", "10 times", "node-", kind=IoFailureError):
        Shuffle(job_of(nodes, tmp_path)).run()


class BadDisks(FakeNodes):
    """Some nodes cannot read their copies; `asked` has the node of each try."""

    bad = frozenset({"node-0"})

    def __init__(self, names: list[str]) -> None:
        super().__init__(names, random.Random(1), losing=0, doomed=[])
        self.asked: list[str] = []

    def _map(self, node: str, order: MapOrder, sizes: dict[int, int]) -> Mapped:
        self.asked.append(node)
        if node in self.bad:
            raise IoFailureError(f"{node}: a bad sector")
        return super()._map(node, order, sizes)


def on_two_nodes(nodes: BadDisks, folder: Path) -> Job:
    """Return a job whose input is one slice that both nodes have a copy of."""
    job = job_of(nodes, folder, records=SLICE_RECORDS)
    copies = tuple(Copy(uri="/in", node=name) for name in nodes.names)
    source = Dataset(partitions=(Partition(records=SLICE_RECORDS, copies=copies),))
    job.source = source
    job.slices = list(slices(source, SLICE_RECORDS))
    job.ledger = Ledger(slices=1, owner=job.ledger.owner)
    return job


def test_a_slice_that_cannot_be_read_is_read_where_the_next_copy_is(tmp_path: Path) -> None:
    nodes = BadDisks(["node-0", "node-1"])
    job = on_two_nodes(nodes, tmp_path)
    Shuffle(job).run()
    assert (job.ledger.missing_slices(), nodes.asked, job.retries) == ([], ["node-0", "node-1"], 1)


def test_a_slice_that_nobody_can_read_ends_the_job(tmp_path: Path) -> None:
    nodes = BadDisks(["node-0", "node-1"])
    nodes.bad = frozenset(nodes.names)
    with pytest.raises(IoFailureError, match="a bad sector"):
        Shuffle(on_two_nodes(nodes, tmp_path)).run()
    assert nodes.asked == ["node-0", "node-1", "node-0"]


class Rewriting(FakeNodes):
    """Every read of a slice finds other content."""

    def _map(self, node: str, order: MapOrder, sizes: dict[int, int]) -> Mapped:
        mapped = super()._map(node, order, sizes)
        return replace(mapped, content_checksum={order.slice.number: random.getrandbits(64)})


def test_a_slice_that_is_read_again_with_other_content_ends_the_job(tmp_path: Path) -> None:
    nodes = Rewriting(["node-0", "node-1"], random.Random(0), losing=0, doomed=[])
    job = job_of(nodes, tmp_path)
    Shuffle(job).run()
    job.ledger.forget_nodes(frozenset(["node-1"]), ["node-0"])
    with pytest.raises(InputChangedError):
        Shuffle(job).run()


class SlowService(FakeNodes):
    """The service of node-1 died, and restarts only a minute later: until then it stores nothing."""

    now_s = 0.0

    def call(self, node: str, method: str, files: JobFiles, first: int, parts: list[Part]) -> Reference:
        if node == "node-1" and self.now_s < 60:
            return Reference(lambda: LOST)
        return super().call(node, method, files, first, parts)

    def sleep(self, seconds: float) -> None:
        self.now_s += seconds


def test_a_service_that_is_slow_to_begin_anew_is_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    nodes = SlowService(["node-0", "node-1"], random.Random(0), losing=0, doomed=[])
    clock = Mock(monotonic=lambda: nodes.now_s, sleep=nodes.sleep)
    monkeypatch.setattr(shuffle, "time", clock)
    monkeypatch.setattr(shuffle, "time", clock)
    monkeypatch.setattr(shuffle, "_LONGEST_PAUSE_S", 30.0)
    job = job_of(nodes, tmp_path)
    Shuffle(job).run()
    assert job.ledger.missing_slices() == []


def test_a_slice_that_was_lost_again_rests_longer_each_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shuffle, "_LONGEST_PAUSE_S", 30.0)
    now_s = 100.0
    monkeypatch.setattr(shuffle.time, "monotonic", lambda: now_s)
    paused = PausedSlices()
    for number, attempts in enumerate((1, 2, 3, 4, 10)):
        paused.add(number, attempts=attempts)
    assert paused.pop_ready() == [0, 1], "the first two attempts follow each other at once"
    rested = list[tuple[float, list[int]]]()
    for now_s in (100.9, 101.0, 101.9, 102.0, 129.9, 130.0):
        if numbers := paused.pop_ready():
            rested.append((now_s, numbers))
    assert rested == [(101.0, [2]), (102.0, [3]), (130.0, [4])]
    assert len(paused) == 0


def test_what_is_forgotten_never_rests() -> None:
    paused = PausedSlices()
    paused.add(1, attempts=9)
    paused.clear()
    assert (len(paused), paused.pop_ready()) == (0, [])
