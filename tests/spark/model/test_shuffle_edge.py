"""The point at which a shuffle would fail."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest
from approvals import Approve
from spark_events import small_job

from planner.spark.application.application import Application
from planner.spark.model.choices import select_cluster, shuffle_edge, work_of
from planner.spark.model.machines import Nodes, NodeType

Reader = Callable[[Sequence[dict[str, Any]]], Application]
Maker = Callable[..., NodeType]


def _job(*, blocks: int, wait_ms: int, failure: str = "") -> list[dict[str, Any]]:
    """Return the events of 16 tasks that fetch blocks on two executors and wait `wait_ms` of their 5 s each."""
    events = small_job(tasks=16)
    for event in events:
        if event["Event"] == "SparkListenerTaskEnd" and event["Stage ID"] == 1:
            shuffle = event["Task Metrics"]["Shuffle Read Metrics"]
            shuffle.update({"Remote Blocks Fetched": blocks, "Local Blocks Fetched": 0, "Fetch Wait Time": wait_ms})
    if failure:
        failed = next(e for e in events if e["Event"] == "SparkListenerStageCompleted" and e["Stage Info"]["Stage ID"])
        failed["Stage Info"]["Failure Reason"] = failure
    return events


@pytest.mark.parametrize(
    ("log", "most"),
    [
        ({"wait_ms": 100}, 16.0),
        ({"wait_ms": 2000}, 4.0),
        ({"wait_ms": 100, "failure": "org.apache.spark.shuffle.FetchFailedException: timed out"}, 1.0),
    ],
)
def test_the_edge_follows_from_waits_and_failed_stages(read: Reader, machine: Maker, log: Any, most: float) -> None:
    edge = shuffle_edge(work_of(read(_job(blocks=100_000, **log)), Nodes(machine=machine(), count=2)))
    assert edge.most_growth == most
    assert edge.blocks_per_executor == 16 * 100_000 / 2
    assert edge.bytes_per_block == 500  # 50 MB a task
    assert edge.sentence.startswith("Each executor served 800,000 blocks of 500 B;")


def test_nothing_beyond_the_edge_is_recommended(read: Reader, machine: Maker, approve: Approve) -> None:
    # a stage failed for lack of blocks: no executor may serve more than the log's two did
    work = work_of(read(_job(blocks=100_000, wait_ms=2000, failure="FetchFailed")), Nodes(machine=machine(), count=2))
    plan = select_cluster(work, [machine("m.4", price_usd_per_hour=0.5)], deadline_s=3600)
    assert plan.best is not None and plan.cheapest.nodes.count >= 2
    assert "left out" in plan.shuffle_edge
    alone = select_cluster(work, [machine("m.4", price_usd_per_hour=0.5)], deadline_s=3600, nodes=1)
    approve([rejection.reason for rejection in alone.rejected])


def test_a_small_shuffle_has_no_edge(read: Reader, machine: Maker) -> None:
    work = work_of(read(_job(blocks=10, wait_ms=4000)), Nodes(machine=machine(), count=2))
    edge = shuffle_edge(work)
    assert edge.sentence == ""
    assert edge.allows(work, Nodes(machine=machine(), count=1))
