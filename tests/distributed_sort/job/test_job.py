"""A job's reaction to lost and slow nodes, and the times that it records."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import pytest

from planner.distributed_sort.dataset.dataset import Copy, Dataset, Partition, Recipe
from planner.distributed_sort.dataset.partition_reader import Slice
from planner.distributed_sort.job.job import Job, SortRequest
from planner.distributed_sort.job.ledger import Journal, Ledger
from planner.distributed_sort.job.nodes import Nodes
from planner.distributed_sort.node_files.node_environment import JobFiles, NodeFacts
from planner.errors import IoFailureError
from planner.sort_policy.sizing import Sizes
from planner.statistics.slow_node_screening import DroppedNode

GONE = "c"
SLOW = DroppedNode(node="b", metric="transfers", rate_per_s=1.0, limit_per_s=5.0, reason="at 10% of the median")


class FakeNodes:
    """Three nodes; `GONE` is reported lost when asked."""

    def __init__(self, *, free_bytes: int = 10**9) -> None:
        self.lost = frozenset[str]()
        facts = NodeFacts(
            name="", data_disks=1, free_bytes=free_bytes, memory_bytes=1, available_bytes=1, machine="", versions={}
        )
        self.facts = dict.fromkeys("abc", facts)

    @property
    def names(self) -> list[str]:
        return sorted(set("abc") - self.lost)

    def detect_losses(self, *, at_once: bool = False) -> frozenset[str]:
        new = frozenset({GONE}) - self.lost if at_once else frozenset[str]()
        self.lost |= new
        return new

    def exclude_node(self, node: str) -> None:
        self.lost |= {node}


def job_of(folder: Path, nodes: FakeNodes, *, recipe: Recipe | None = None, copies: int = 1) -> tuple[Job, list[Any]]:
    partitions = tuple(Partition(records=10, copies=(Copy(uri="/in", node=name),), recipe=recipe) for name in "abc")
    events: list[dict[str, Any]] = []
    source = Dataset(partitions=partitions)
    job = Job(
        request=SortRequest(source=source, output="out", copies=copies),
        emit=events.append,
        nodes=cast("Nodes", nodes),
        files=JobFiles(job="j", output="out"),
        source=source,
        sizes=Sizes(slice_records=10, slices=1, parcel_bytes=1, partitions=3, sort_bytes=1),
        slices=[Slice(number=number, partition=number, first=0, records=10) for number in range(3)],
        splitting_reference=None,
        ledger=Ledger(slices=3, owner=["a", "b", "c"]),
        journal=Journal(folder / "journal"),
    )
    return job, events


def test_a_lost_nodes_partitions_get_new_owners(tmp_path: Path) -> None:
    job, events = job_of(tmp_path, FakeNodes(), recipe=Recipe(start=0))
    assert job.notice_losses() == frozenset()
    assert job.notice_losses(at_once=True) == {GONE}
    assert job.ledger.owner == ["a", "b", "a"]
    assert events == [{"event": "lost", "nodes": [GONE], "left": ["a", "b"]}]
    assert job.input_of(job.slices[2]).copies == ()


def test_lost_input_is_named(tmp_path: Path) -> None:
    job, _ = job_of(tmp_path, FakeNodes())
    with pytest.raises(IoFailureError, match="lost with c") as caught:
        job.notice_losses(at_once=True)
    assert caught.value.details == ("/in on c: 10 records",)


@pytest.mark.parametrize(
    ("recipe", "free_bytes", "copies", "is_left_out"),
    [
        (Recipe(start=0), 10**9, 1, True),
        (None, 10**9, 1, False),
        (Recipe(start=0), 2999, 1, False),
        (Recipe(start=0), 3000, 1, True),
        (Recipe(start=0), 10**9, 3, False),
    ],
)
def test_a_slow_node_is_left_out_if_the_others_can_do_its_work(
    tmp_path: Path, recipe: Recipe | None, free_bytes: int, copies: int, is_left_out: bool
) -> None:
    """Two nodes need 3000 bytes each for intermediate files and output of 3000 bytes of input."""
    job, _ = job_of(tmp_path, FakeNodes(free_bytes=free_bytes), recipe=recipe, copies=copies)
    assert job.exclude_node("b") is is_left_out
    assert ("b" in job.ledger.owner) is not is_left_out


def test_stretches_of_a_phase_add_up_also_if_they_fail(tmp_path: Path) -> None:
    job, events = job_of(tmp_path, FakeNodes())
    with job.time_phase("map"):
        job.report_progress("map", records=20)
    with pytest.raises(ZeroDivisionError), job.time_phase("map"):
        raise ZeroDivisionError
    assert [stretch["phase"] for stretch in job.timeline] == ["map", "map"]
    assert job.phases_s()["map"] == sum(stretch["end_s"] - stretch["start_s"] for stretch in job.timeline) >= 0
    assert events == [{"event": "progress", "phase": "map", "bytes_done": 2000, "bytes_total": 3000, "nodes": 3}]
