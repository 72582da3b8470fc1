"""The fleet's row for an application."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from spark_events import MB, START_MS, lines, metrics, small_job, task_end

from planner.schemas.plan import Request
from planner.spark.fleet.rows import FleetRow, row_of
from planner.spark.log.reading import read

REQUEST = Request(data_bytes=1)


def row(folder: Path, events: Sequence[Any], *ran_on: str) -> FleetRow:
    path = folder / "log"
    path.write_bytes(lines(events))
    return row_of(read(path).only(), log="log", request=REQUEST, ran_on=ran_on)


def block_manager(executor: str, memory_bytes: int) -> dict[str, Any]:
    manager = {"Executor ID": executor, "Host": "a", "Port": 1}
    return {
        "Event": "SparkListenerBlockManagerAdded", "Block Manager ID": manager, "Maximum Memory": memory_bytes,
        "Timestamp": START_MS,
    }  # fmt: skip


def test_what_was_held_and_wasted(tmp_path: Path) -> None:
    found = row(tmp_path, small_job())
    assert found.core_s == 2 * 4 * 20
    assert found.idle_core_s == pytest.approx(160 - 8 * 10 - 8 * 5)
    assert found.waste_core_s == pytest.approx(40 + 8 * 0.5 + 8 * 0.1)
    assert (found.input_bytes, found.shuffle_bytes, found.spill_bytes) == (800 * MB, 400 * MB, 160 * MB)
    assert (found.executors, found.cores, found.tasks, found.complete_share) == (2, 8, 16, 1.0)


def test_without_its_machines_a_saving_is_unknown(tmp_path: Path) -> None:
    found = row(tmp_path, small_job())
    assert (found.cost_usd, found.saving_usd) == (None, None)
    assert "which machines" in found.saving_unknown


def test_with_its_machines_a_saving_is_a_cluster(tmp_path: Path) -> None:
    found = row(tmp_path, small_job(), "m5.4xlarge x 4")
    assert found.machines == "4 x m5.4xlarge"
    assert found.cost_usd and found.saving_usd and 0 < found.saving_usd < found.cost_usd
    assert " x " in found.move_to and not found.saving_unknown


def test_executors_without_cores_hold_an_unknown_time(tmp_path: Path) -> None:
    events = [event for event in small_job() if event["Event"] != "SparkListenerExecutorAdded"]
    found = row(tmp_path, events)
    assert (found.core_s, found.waste_core_s, found.waste_share) == (None, None, None)


@pytest.mark.parametrize(("pool_mb", "headroom"), [(1024, 4.0), (384, 1.5)])
def test_headroom_is_the_share_of_a_task_over_its_peak(tmp_path: Path, pool_mb: int, headroom: float) -> None:
    events = small_job()
    for event in events:
        event.get("Task Metrics", {})["Disk Bytes Spilled"] = 0
    events[5:5] = [block_manager("1", pool_mb << 20), block_manager("2", 4096 << 20)]
    peak = task_end(99, stage=1, launch_ms=START_MS, finish_ms=START_MS + 1, did=metrics(run_ms=1, peak=64 << 20))
    assert row(tmp_path, [*events[:-1], peak, events[-1]]).data_headroom == pytest.approx(headroom)


def test_a_spill_leaves_no_headroom(tmp_path: Path) -> None:
    events = small_job()
    events[5:5] = [block_manager("1", 4 << 30), block_manager("2", 4 << 30)]
    headroom = row(tmp_path, events).data_headroom
    assert headroom is not None and headroom < 1
