"""Coordinators together do the driver's work, whichever of them, or of the nodes, is lost meanwhile."""

from __future__ import annotations

import copy
import math
import random
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, cast
from unittest.mock import Mock

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from refusals import refused

from planner.distributed_sort.dataset.dataset import Copy, Dataset, Partition, Recipe
from planner.distributed_sort.dataset.partition_reader import InputUnreadableError, slices
from planner.distributed_sort.job.job import Job, SortRequest
from planner.distributed_sort.job.ledger import Journal, Ledger
from planner.distributed_sort.job.nodes import LOST, Nodes
from planner.distributed_sort.node_files.node_environment import JobFiles
from planner.distributed_sort.node_tasks import node_tasks
from planner.distributed_sort.node_tasks.node_tasks import MapOrder, Mapped, Sorted, SortOrder, Stored, map_slice
from planner.distributed_sort.phases import coordination
from planner.distributed_sort.phases.coordination import Coordinator, run_coordinators
from planner.distributed_sort.phases.reduce import unfinished_partitions
from planner.distributed_sort.phases.shuffle import Shuffle
from planner.distributed_sort.sort import run_round, run_rounds
from planner.errors import IoFailureError
from planner.sort_policy.concurrency import Concurrency
from planner.sort_policy.sizing import Sizes
from planner.statistics.slow_node_screening import DroppedNode

RECORDS, SLICE_RECORDS, PARTITIONS_EACH = 40_000, 10_000, 3


class InstantRay:
    """Tasks and reports end at once or, where it is stuck, never."""

    def __init__(self, chance: random.Random | None = None) -> None:
        self.cancelled = 0
        self.is_stuck = False
        self._chance = chance
        """Draws the number and choice of ended tasks; without it all have ended."""

    def cancel(self, _: Any, *, force: bool) -> None:
        self.cancelled += force

    def wait(self, references: list[Any], **_: Any) -> tuple[list[Any], list[Any]]:
        if self._chance:
            ended = self._chance.sample(references, self._chance.randint(0, len(references)))
            return ended, [reference for reference in references if reference not in ended]
        return ([], references) if self.is_stuck else (references, [])

    def put(self, value: Any) -> Any:
        return value

    def kill(self, _: Any) -> None:
        return None


class Reference:
    def __init__(self, outcome: Any) -> None:
        self.outcome = outcome


class Actor:
    """A coordinator on a node; it ends with its node, and now and then on its own."""

    def __init__(self, nodes: InstantNodes, node: str, coordinator: Coordinator) -> None:
        self._nodes, self._node, self.coordinator = nodes, node, coordinator
        self.advance = self.end = self

    def remote(self, seconds: float | None = None) -> Reference:
        if seconds is None:
            return Reference(self.coordinator.end())
        self._nodes.reports += 1
        if self._nodes.loses_coordinator() or self._node in self._nodes.doomed:
            return Reference(LOST)
        report = self.coordinator.advance(0)
        slow = self._nodes.slow
        if not slow:
            return Reference(report)
        drop = DroppedNode(node=slow, metric="transfers", rate_per_s=1.0, limit_per_s=5.0, reason="slow")
        return Reference(replace(report, slow=[drop]))


class InstantNodes:
    """Nodes whose tasks do nothing and report success. `doomed` ones are lost after a number of reports of
    coordinators, or tasks ordered by the driver. The input on `unreadable` ones cannot be read. `is_whole` must allow
    each sort.
    """

    is_whole: Callable[[int], bool] = staticmethod(lambda _: True)

    def __init__(
        self,
        names: list[str],
        *,
        doomed_after: dict[str, int],
        ended_after: set[int],
        slow: str = "",
        free_bytes: int = 0,
        chance: random.Random | None = None,
        unreadable: frozenset[str] = frozenset(),
    ) -> None:
        self._unreadable = unreadable
        self.slow, self.facts = slow, {name: Mock(free_bytes=free_bytes) for name in names}
        self.ray = InstantRay(chance)
        self._names, self._doomed_after, self._ended_after = names, doomed_after, ended_after
        self.cpus = dict.fromkeys(names, 1.0)
        self.store_bytes = dict.fromkeys(names, 40_000_000)
        self.concurrency = Concurrency.of([1.0])
        self.lost = self.excluded = self.stuck = frozenset[str]()
        self.tasks = self.reports = 0
        self.copies_fail_until = 0.0
        """Number of tasks ordered before copies arrive."""
        self.order: list[str] = []
        """The names of tasks, in the order of their start."""

    @property
    def names(self) -> list[str]:
        return [name for name in self._names if name not in self.lost]

    @property
    def doomed(self) -> set[str]:
        done = self.reports + self.tasks
        return {name for name, after in self._doomed_after.items() if done > after}

    def exclude_node(self, node: str) -> None:
        self.excluded |= {node}
        self.lost |= {node}

    def loses_coordinator(self) -> bool:
        return self.reports in self._ended_after

    def threads(self, _: str) -> int:
        return 1

    def have_arrived(self, blocks: list[Any]) -> list[bool]:
        return [True for _ in blocks]

    def report_silent_nodes(self, *_: Any, **__: Any) -> None:
        """All of them are busy."""

    def detect_losses(self, **_: Any) -> frozenset[str]:
        gone = frozenset(self.doomed) - self.lost
        self.lost |= gone
        return gone

    def begin_actor(self, node: str, _: type, phase: Any, shared: Any, group: Any) -> Actor:
        assert node in group.members
        own = copy.copy(shared.nodes)
        own.tasks = 0
        return Actor(self, node, Coordinator(phase, copy.deepcopy(shared, {id(shared.nodes): own}), group))

    def run(self, node: str, task: Any, *arguments: Any, returns: int = 1, **_: Any) -> Any:
        self.tasks += 1
        self.order.append(task.__name__)
        if task is map_slice:
            own = {copy.node for copy in arguments[0].partition.copies}
            if node in own & self._unreadable:
                return Reference(InputUnreadableError(f"{node}: cannot read /in"))
            return Reference(_mapped(node, cast("MapOrder", arguments[0])))
        if task is node_tasks.sort_partition:
            assert self.is_whole(arguments[0].number), "a partition is sorted when all of it is stored"
            return Reference(_sorted(node, arguments[0]))
        assert task is node_tasks.offer_partition
        return Reference(1)

    def call(self, node: str, method: str, *arguments: Any) -> Reference:
        self.tasks += 1
        if method == "copy":
            if self.tasks < self.copies_fail_until:
                return Reference(LOST)
            return Reference(_sorted(node, arguments[0]))
        assert method == "store"
        return Reference(Stored(slices=tuple(arguments[2].slices), written_bytes=1))

    def outcome(self, reference: Reference) -> Any:
        if isinstance(reference.outcome, Exception):
            raise reference.outcome
        return reference.outcome

    def address(self, node: str) -> tuple[str, int]:
        return node, 0

    def give_up(self) -> None:
        return None

    def ask_address(self, _: str) -> None:
        return None


def _mapped(node: str, order: MapOrder) -> Mapped:
    own = {
        first: Stored(slices=(order.slice.number,), written_bytes=1) for who, first, _ in order.ranges if who == node
    }
    sizes = {first: order.slice.records * 100 * (end - first) // 25 for _, first, end in order.ranges}
    return Mapped(
        node=node,
        read_bytes=order.slice.records * 100,
        remade_bytes=0,
        seconds=0.1,
        checksum=order.slice.number,
        stored=own,
        offsets={first: 0 for first in sizes if first not in own},
        sizes=sizes,
    )


def _sorted(node: str, order: SortOrder) -> Sorted:
    partition = Partition(records=1, copies=(Copy(uri=f"/out/{order.number}", node=node),), checksum="0")
    return Sorted(partition=partition, read_bytes=1, written_bytes=1, summary=b"s")


def job_of(nodes: InstantNodes, folder: Path, *, copies: int = 1, nodes_per_coordinator: int = 2) -> Job:
    owner = [name for name in nodes.names for _ in range(PARTITIONS_EACH)]
    partitions = tuple(
        Partition(records=RECORDS, copies=(Copy(uri="/in", node=name),), recipe=Recipe(start=0)) for name in nodes.names
    )
    source = Dataset(partitions=partitions)
    cut = list(slices(source, SLICE_RECORDS))
    sizes = Sizes(slice_records=SLICE_RECORDS, slices=8, parcel_bytes=500_000, partitions=len(owner), sort_bytes=10**9)
    return Job(
        request=SortRequest(source=source, output="out", copies=copies, nodes_per_coordinator=nodes_per_coordinator),
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
    node_count=st.integers(3, 7),
    doomed=st.dictionaries(st.integers(1, 6), st.integers(0, 20), max_size=2),
    ended=st.sets(st.integers(1, 30), max_size=3),
    copies=st.integers(1, 2),
    unreadable=st.sets(st.integers(0, 6), max_size=3),
)
@example(node_count=3, doomed={1: 14}, ended=set(), copies=2, unreadable=set())
@example(node_count=4, doomed={}, ended=set(), copies=1, unreadable={0, 1, 3})
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=30, deadline=None)
def test_everything_is_done_in_the_end(
    tmp_path: Path, node_count: int, doomed: dict[int, int], ended: set[int], copies: int, unreadable: set[int]
) -> None:
    """Also input that nodes cannot read, which is made again."""
    names = [f"node-{number}" for number in range(node_count)]
    after = {names[number]: count for number, count in doomed.items() if number < node_count}
    bad = frozenset(names[number] for number in unreadable if number < node_count)
    nodes = InstantNodes(names, doomed_after=after, ended_after=ended, unreadable=bad)
    job = job_of(nodes, tmp_path, copies=copies)
    while not run_round(job):
        pass
    assert job.ledger.missing_slices() == []
    assert unfinished_partitions(job) == []
    assert sorted(job.input_checksums) == list(range(len(job.slices)))
    assert nodes.lost.isdisjoint(copy.node for partition, _ in job.ledger.done.values() for copy in partition.copies)
    assert set(job.suspected.values()) <= bad
    if not nodes.lost and not ended:
        assert job.suspicions.total() == len(bad), "each copy is given up once"
        assert job.ledger.stored_records == SLICE_RECORDS // 25 * len(job.slices) * len(job.ledger.owner)
        assert bad or job.moved.input_read == RECORDS * node_count * 100, "each slice is mapped once"
        assert job.moved.output_written == len(job.ledger.owner)
        assert job.coordinated["tasks"] >= len(job.slices) + copies * len(job.ledger.owner)


@given(
    node_count=st.integers(2, 6),
    doomed=st.dictionaries(st.integers(1, 5), st.integers(0, 150), max_size=3),
    copies=st.integers(1, 2),
    seed=st.integers(0, 10**6),
)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60, deadline=None)
def test_the_driver_alone_does_everything_in_the_end(
    tmp_path: Path, node_count: int, doomed: dict[int, int], copies: int, seed: int
) -> None:
    names = [f"node-{number}" for number in range(node_count)]
    after = {names[number]: count for number, count in doomed.items() if number < node_count}
    nodes = InstantNodes(names, doomed_after=after, ended_after=set(), chance=random.Random(seed))
    job = job_of(nodes, tmp_path, copies=copies, nodes_per_coordinator=16)
    nodes.is_whole = lambda number: number in job.ledger.complete_partitions()
    while not run_round(job):
        pass
    assert unfinished_partitions(job) == []
    assert nodes.lost.isdisjoint(copy.node for partition, _ in job.ledger.done.values() for copy in partition.copies)


def test_what_was_not_lost_goes_on_while_the_rest_is_made_again(tmp_path: Path) -> None:
    """A node is lost when all is sorted but two partitions. One was its own, so slices are grouped again. Copies that
    were on it are made meanwhile, and the other partition is sorted.
    """
    names = ["a", "b", "c", "d"]
    nodes = InstantNodes(names, doomed_after={}, ended_after=set(), chance=random.Random(1))
    job = job_of(nodes, tmp_path, copies=2, nodes_per_coordinator=16)
    assert run_round(job)
    of_a, of_d = job.ledger.owner.index("a"), job.ledger.owner.index("d")
    del job.ledger.done[of_a], job.ledger.done[of_d]
    nodes._doomed_after["d"] = 0
    job.notice_losses(at_once=True)
    nodes.order.clear()
    assert run_round(job)
    last_map = len(nodes.order) - nodes.order[::-1].index("map_slice")
    assert {"offer_partition", "sort_partition"} <= set(nodes.order[:last_map])
    assert unfinished_partitions(job) == []


def test_copies_that_fail_for_a_while_are_tried_again_after_pauses(tmp_path: Path) -> None:
    nodes, pauses = InstantNodes(["a", "b"], doomed_after={}, ended_after=set()), list[float]()
    job = job_of(nodes, tmp_path, copies=2)
    nodes.copies_fail_until = 150
    run_rounds(job, pause=pauses.append)
    assert unfinished_partitions(job) == []
    assert pauses[:4] == [1.0, 2.0, 3.0, 4.0]


def test_a_sort_that_gets_no_further_ends_with_an_error(tmp_path: Path) -> None:
    """A node answers, but its service does not start again."""
    nodes, pauses = InstantNodes(["a", "b"], doomed_after={}, ended_after=set()), list[float]()
    nodes.copies_fail_until = math.inf
    with refused("no-progress", "20 tries", kind=IoFailureError):
        run_rounds(job_of(nodes, tmp_path, copies=2), pause=pauses.append)
    assert 60 < sum(pauses) < 120


def shuffle(job: Job) -> None:
    while job.ledger.missing_slices():
        run_coordinators(job, Shuffle)


def test_coordinators_that_always_end_are_an_error(tmp_path: Path) -> None:
    nodes = InstantNodes(["a", "b", "c"], doomed_after={}, ended_after=set(range(1000)))
    with refused("coordinators-ended", "11 times", kind=IoFailureError):
        shuffle(job_of(nodes, tmp_path))


def test_a_coordinator_that_is_told_to_end_cancels_its_tasks(tmp_path: Path) -> None:
    nodes = InstantNodes(["a", "b", "c"], doomed_after={}, ended_after=set())
    nodes.ray.is_stuck = True
    job = job_of(nodes, tmp_path)
    for actor in coordination._start_coordinators(job, Shuffle).values():
        actor.coordinator.end()
        cancelled, report = nodes.ray.cancelled, actor.coordinator.advance(60.0)
        assert (report.is_stopped, report.is_over) == (True, False)
        assert nodes.ray.cancelled > cancelled


@pytest.mark.parametrize("free_bytes", [10**12, 0])
def test_a_slow_node_is_left_out_where_others_have_room(tmp_path: Path, free_bytes: int) -> None:
    """A coordinator reports it; the driver decides."""
    nodes = InstantNodes(["a", "b", "c"], doomed_after={}, ended_after=set(), slow="b", free_bytes=free_bytes)
    job = job_of(nodes, tmp_path)
    shuffle(job)
    assert job.ledger.missing_slices() == []
    assert set(job.ledger.owner) == ({"a", "c"} if free_bytes else {"a", "b", "c"})
    assert job.slow_nodes == {"b": f"slow, {'left out' if free_bytes else 'kept'}"}


def test_a_few_nodes_need_no_coordinators(tmp_path: Path) -> None:
    nodes = InstantNodes(["a", "b"], doomed_after={}, ended_after=set())
    job = job_of(nodes, tmp_path)
    assert run_round(job)
    assert (nodes.reports, job.coordinated) == (0, {})


def test_slices_that_any_node_reads_are_shared_out(tmp_path: Path) -> None:
    nodes = InstantNodes(["a", "b", "c", "d"], doomed_after={}, ended_after=set())
    job = job_of(nodes, tmp_path)
    anywhere = tuple(Partition(records=RECORDS, copies=(Copy(uri="s3://b/in"),)) for _ in range(4))
    job.source = Dataset(partitions=anywhere)
    counts = [len(numbers) for numbers in coordination._divide_slices(job, [("a", "b"), ("c", "d")])]
    assert counts == [len(job.slices) // 2] * 2
