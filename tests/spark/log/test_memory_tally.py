"""The data that applications keep in memory, from listed blocks and from the executors' stored bytes."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest
import zstandard
from spark_events import MB, START_MS, executor_removed, lines, small_job

from planner.spark import log as spark_log
from planner.spark.application.application import Application

KEPT = Path(__file__).parents[2] / "data" / "spark" / "kept-in-memory.zstd"
"""Spark 3.5.3 on one machine: 200,000 rows are kept in two blocks of 4,906,312 bytes, read three more times and
released. Properties, plans and paths are removed.
"""


def block(name: str, *, memory: int, disk: int = 0, executor: str = "1") -> dict[str, Any]:
    info = {
        "Block Manager ID": {"Executor ID": executor, "Host": "a", "Port": 1}, "Block ID": name,
        "Memory Size": memory, "Disk Size": disk,
    }  # fmt: skip
    return {"Event": "SparkListenerBlockUpdated", "Block Updated Info": info}


def unpersisted(rdd: int) -> dict[str, Any]:
    return {"Event": "SparkListenerUnpersistRDD", "RDD ID": rdd}


def storing(event: dict[str, Any], *, stored: int, heap: int = 500 * MB) -> dict[str, Any]:
    if event["Event"] != "SparkListenerTaskEnd":
        return event
    figures = {"JVMHeapMemory": heap, "OnHeapStorageMemory": stored, "OffHeapStorageMemory": 0}
    return {**event, "Task Executor Metrics": figures}


def application(tmp_path: Path, events: list[dict[str, Any]]) -> Application:
    (tmp_path / "log").write_bytes(lines(events))
    return spark_log.read(tmp_path / "log").only()


def with_events(*more: dict[str, Any]) -> list[dict[str, Any]]:
    job = small_job()
    return [*job[:-1], *more, job[-1]]


def test_a_log_that_lists_no_blocks_does_not_tell(tmp_path: Path) -> None:
    assert math.isnan(application(tmp_path, small_job()).cached_bytes)


def test_the_most_at_one_time_counts_in_memory_and_on_disks(tmp_path: Path) -> None:
    updates = [
        block("rdd_4_0", memory=50 * MB),
        block("rdd_4_1", memory=30 * MB, executor="2"),
        block("rdd_4_0", memory=0, disk=40 * MB),  # moved to the disk, where it is smaller
        unpersisted(4),
        block("rdd_5_0", memory=60 * MB),
        block("broadcast_3", memory=900 * MB),
    ]
    assert application(tmp_path, with_events(*updates)).cached_bytes == 80 * MB


def test_blocks_of_a_lost_executor_are_made_again_elsewhere(tmp_path: Path) -> None:
    updates = [
        block("rdd_4_0", memory=50 * MB),
        executor_removed("1", at_ms=START_MS + 9000),
        block("rdd_4_0", memory=50 * MB, executor="2"),
    ]
    assert application(tmp_path, with_events(*updates)).cached_bytes == 50 * MB


def test_blocks_of_a_task_count_like_those_listed_alone(tmp_path: Path) -> None:
    state = {"Memory Size": 7 * MB, "Disk Size": 0}
    events = [
        {**e, "Task Metrics": {**e["Task Metrics"], "Updated Blocks": [{"Block ID": "rdd_1_0", "Status": state}]}}
        if e["Event"] == "SparkListenerTaskEnd"
        else e
        for e in small_job()
    ]
    assert application(tmp_path, events).cached_bytes == 2 * 7 * MB  # the block is on both executors


@pytest.mark.parametrize(("heap", "told"), [(500 * MB, 40 * MB), (0, math.nan)])
def test_without_blocks_executors_say_what_they_stored(tmp_path: Path, heap: int, told: float) -> None:
    events = [storing(event, stored=20 * MB, heap=heap) for event in small_job()]
    assert application(tmp_path, events).cached_bytes == pytest.approx(told, nan_ok=True)


def test_a_block_without_a_size_is_counted_as_a_loss(tmp_path: Path) -> None:
    read = application(tmp_path, with_events(block("rdd_1_0", memory="much")))  # type: ignore[arg-type]
    assert math.isnan(read.cached_bytes)
    assert any("Memory Size" in str(loss) for loss in read.losses)


def test_a_log_of_spark_3_5_tells_the_blocks_that_were_kept() -> None:
    read = spark_log.read(KEPT).only()
    assert read.cached_bytes == 2 * 4_906_312
    assert read.losses == ()
    assert read.sums.input_bytes > 4 * read.cached_bytes  # kept data counts as input at each further read


def test_its_executors_say_nearly_as_much(tmp_path: Path) -> None:
    content = zstandard.ZstdDecompressor().stream_reader(KEPT.read_bytes()).read()
    kept = [line for line in content.splitlines(keepends=True) if b"SparkListenerBlockUpdated" not in line]
    (tmp_path / "log").write_bytes(b"".join(kept))
    assert spark_log.read(tmp_path / "log").only().cached_bytes == pytest.approx(2 * 4_906_312, rel=0.1)
