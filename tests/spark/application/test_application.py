"""Tables of an application."""

from __future__ import annotations

from pathlib import Path

from spark_events import MB, START_MS, executor_added, executor_removed, lines, small_job

from planner.spark import log as spark_log


def test_the_tables_of_a_small_job(tmp_path: Path) -> None:
    path = tmp_path / "app-1"
    path.write_bytes(lines(small_job()))
    application = spark_log.read(path).only()
    stages = application.stage_frame()
    assert stages["stage"].tolist() == [0, 1]
    assert stages["start_s"].tolist() == [2, 12]
    assert stages["shuffle_read_bytes"].tolist() == [0, 400 * MB]
    assert stages["time_skew"].tolist() == [1, 1]
    assert application.job_frame()["result"].tolist() == ["JobSucceeded"]
    assert application.executor_frame()["cores"].tolist() == [4, 4]
    assert application.cores_frame()[["executors", "cores"]].values.tolist() == [[2, 8]]


def test_executors_come_and_go(tmp_path: Path) -> None:
    path = tmp_path / "app-1"
    more = [executor_removed("2", at_ms=START_MS + 4000), executor_added("3", host="c", cores=2, at_ms=START_MS + 9000)]
    path.write_bytes(lines([*small_job(), *more]))
    application = spark_log.read(path).only()
    steps = [(step.at_s - START_MS / 1000, step.executors, step.cores) for step in application.cores_over_time]
    assert steps == [(0, 2, 8), (4, 1, 4), (9, 2, 6)]
    assert (application.cluster.executors, application.cluster.cores) == (2, 8)
    assert application.cluster.cores_per_executor is None
