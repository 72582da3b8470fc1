"""Copies go to the node with fewest under way, and all partitions end with the required number of copies."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path
from typing import Any, cast
from unittest.mock import Mock

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from planner.distributed_sort.dataset.dataset import Copy, Dataset, Partition, Recipe
from planner.distributed_sort.exchange.block_fetch import Part
from planner.distributed_sort.job.job import Job, SortRequest
from planner.distributed_sort.job.ledger import Journal, Ledger
from planner.distributed_sort.job.nodes import LOST, Nodes
from planner.distributed_sort.node_files.node_environment import JobFiles
from planner.distributed_sort.node_tasks import node_tasks
from planner.distributed_sort.node_tasks.node_tasks import Sorted, SortOrder
from planner.distributed_sort.phases.reduce import Reduce
from planner.sort_policy.concurrency import Concurrency
from planner.sort_policy.sizing import Sizes

CONCURRENCY = Concurrency.of([1.0])


class FakeNodes:
    """A `Nodes` that does nothing but reports success; `in_progress` counts sorts and copies by node, `most` most."""

    def __init__(self, names: list[str], chance: random.Random) -> None:
        self.names = names
        self.store_bytes = dict.fromkeys(names, 10**9)
        self.lost = frozenset[str]()
        self.concurrency = CONCURRENCY
        self.copied: Counter[str] = Counter()
        self.most: Counter[str] = Counter()
        self.most_behind = 0
        self._in_progress: Counter[str] = Counter()
        self._waiting: set[str] = set()  # segments not fetched yet
        self._chance = chance

    def threads(self, _: str) -> int:
        return 1

    def report_silent_nodes(self, *_: Any, **__: Any) -> None:
        """All of them are busy."""

    def detect_losses(self, **_: Any) -> frozenset[str]:
        return frozenset()

    def address(self, node: str) -> tuple[str, int]:
        return node, 0

    def run(self, node: str, task: Any, *arguments: Any) -> Any:
        order: SortOrder = arguments[-1]
        assert order.segment not in self._waiting, "nobody reads what is written anew"
        self._waiting |= {order.segment} - {""}
        return self._begin(task.__name__, node, order)

    def call(self, node: str, method: str, order: SortOrder, part: Part) -> Any:
        self._note(node, source=part.address[0])
        self._waiting.remove(part.segment)
        return self._begin(method, node, order)

    def _begin(self, name: str, node: str, order: SortOrder) -> tuple[str, str, int]:
        self._in_progress[f"{name} {node}"] += 1
        self.most[name] = max(self.most[name], self._in_progress[f"{name} {node}"])
        return name, node, order.number

    def _note(self, node: str, *, source: str) -> None:
        """Record a copy, and how many more are under way to its node than to the one with fewest."""
        self.copied[node] += 1
        to = {name: self._in_progress[f"copy {name}"] for name in self.names if name != source}
        self.most_behind = max(self.most_behind, to[node] - min(to.values()))

    def outcome(self, reference: tuple[str, str, int]) -> Any:
        name, node, number = reference
        self._in_progress[f"{name} {node}"] -= 1
        if name == node_tasks.offer_partition.__name__:
            return 1
        return Sorted(partition=written(number, node), read_bytes=0, written_bytes=0, summary=b"")

    def wait(self, references: list[Any], **_: Any) -> tuple[list[Any], list[Any]]:
        ended = self._chance.choice(references)
        return [ended], [reference for reference in references if reference != ended]


def written(number: int, *nodes: str) -> Partition:
    return Partition(records=1, copies=tuple(Copy(uri=f"/{number}", node=node) for node in nodes))


def job_of(nodes: FakeNodes, folder: Path, *, partitions: int, copies: int) -> Job:
    owner = [nodes.names[number * len(nodes.names) // partitions] for number in range(partitions)]
    ledger = Ledger(slices=1, owner=owner)
    source = Dataset(partitions=(Partition(records=1, copies=(), recipe=Recipe(start=0)),))
    nodes.ray = Mock(wait=nodes.wait)
    return Job(
        request=SortRequest(source=source, output="out", copies=copies),
        emit=lambda _: None,
        nodes=cast("Nodes", nodes),
        files=JobFiles(job="j", output="out"),
        source=source,
        sizes=Sizes(slice_records=1, slices=1, parcel_bytes=1, partitions=partitions, sort_bytes=10**9),
        slices=[],
        splitting_reference=None,
        ledger=ledger,
        journal=Journal(folder / "journal"),
    )


@given(node_count=st.integers(2, 6), share=st.integers(1, 12), lost=st.booleans(), seed=st.integers(0, 10**6))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60, deadline=None)
def test_copies_go_where_least_is_under_way(tmp_path: Path, node_count: int, share: int, lost: bool, seed: int) -> None:
    """Also copies made again after a loss, of partitions that have one copy left."""
    nodes = FakeNodes([f"node-{number}" for number in range(node_count)], random.Random(seed))
    job = job_of(nodes, tmp_path, partitions=node_count * share, copies=2)
    if lost:
        job.ledger.done = {number: (written(number, node), b"") for number, node in enumerate(job.ledger.owner)}
    assert Reduce(job).run()
    assert all(len({copy.node for copy in partition.copies}) == 2 for partition, _ in job.ledger.done.values())
    assert nodes.copied.total() == node_count * share
    assert nodes.most_behind == 0
    assert nodes.most["sort_partition"] <= CONCURRENCY.sorts(copied=True)
    assert nodes.most["copy"] <= 2 * CONCURRENCY.partitions(copied=True)


class NodesWithoutService(FakeNodes):
    """The service of one node restarts all the time, while its tasks run."""

    def call(self, node: str, method: str, order: SortOrder, part: Part) -> Any:
        if node != self.names[-1]:
            return super().call(node, method, order, part)
        self.copied[node] += 1
        return "lost", node, order.number

    def outcome(self, reference: tuple[str, str, int]) -> Any:
        return LOST if reference[0] == "lost" else super().outcome(reference)

    def ask_address(self, _: str) -> None:
        """Return nothing."""


def test_copies_go_elsewhere_while_a_service_begins_anew(tmp_path: Path) -> None:
    """Sorted partitions are not sorted again."""
    nodes = NodesWithoutService(["a", "b", "c"], random.Random(1))
    job = job_of(nodes, tmp_path, partitions=9, copies=2)
    assert Reduce(job).run()
    assert job.retries == 0
    assert {node for partition, _ in job.ledger.done.values() for node in [partition.copies[1].node]} == {"a", "b"}
    assert 1 <= nodes.copied["c"] <= 6, "each partition tries it once at most"


def test_a_copy_that_nobody_can_have_is_left_to_the_next_round(tmp_path: Path) -> None:
    nodes = NodesWithoutService(["a", "c"], random.Random(1))
    job = job_of(nodes, tmp_path, partitions=4, copies=2)
    assert not Reduce(job).run()
    assert set(job.ledger.done) == {2, 3}, "those of c, which a has copies of"


def test_without_copies_nothing_is_sent(tmp_path: Path) -> None:
    nodes = FakeNodes(["a", "b"], random.Random(1))
    job = job_of(nodes, tmp_path, partitions=20, copies=1)
    assert Reduce(job).run()
    assert nodes.copied.total() == 0
    assert nodes.most["sort_partition"] == CONCURRENCY.sorts(copied=False)
