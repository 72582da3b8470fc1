"""Spark's properties for a cluster."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from spark_events import small_job

from planner.spark.application.application import Application
from planner.spark.model.choices import configuration, work_of
from planner.spark.model.machines import Nodes, NodeType

Reader = Callable[[Sequence[dict[str, Any]]], Application]


def test_by_hand(read: Reader, machine: Callable[..., NodeType]) -> None:
    work = work_of(read(small_job()), Nodes(machine=machine(), count=2))
    large = machine("large", vcpu=16, memory_bytes=64 * 2**30)
    assert configuration(work, Nodes(machine=large, count=3)) == {
        "spark.executor.instances": "6",  # two of 8 cores on each node
        "spark.executor.cores": "8",
        "spark.executor.memory": "23831m",  # 64 GiB x 0.8 / 2 / 1.1
        "spark.sql.shuffle.partitions": "96",  # twice 48; the 400 MB would do with 3
    }
