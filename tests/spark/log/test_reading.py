"""Whole logs, well formed: sums by hand, every compression, rolling files, archives, several applications."""

from __future__ import annotations

import io
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest
from approvals import Approve
from refusals import refused
from spark_events import (
    CODECS,
    MB,
    START_MS,
    application_end,
    application_start,
    environment,
    executor_added,
    executor_removed,
    lines,
    log_start,
    metrics,
    small_job,
    stage_completed,
    stage_submitted,
    task_end,
    task_start,
)

from planner.errors import PlannerError
from planner.spark import log as spark_log


def test_the_sums_of_a_small_job(tmp_path: Path) -> None:
    path = tmp_path / "app-1"
    path.write_bytes(lines(small_job()))
    application = spark_log.read(path).only()
    sums = application.sums
    assert (application.app_id, application.name, application.spark_version) == ("app-1", "test", "3.5.1")
    assert application.ended
    assert application.duration_s == 20  # 2 + 10 + 5 + 3
    assert application.tasks == 16
    assert sums.elapsed_s == 8 * 10 + 8 * 5
    assert sums.run_s == pytest.approx(8 * 9.8 + 8 * 4.9)
    assert sums.cpu_s == 8 * 8 + 8 * 2
    assert sums.scheduling_s == pytest.approx(8 * 0.1 + 8 * 0.1)  # 10 - 9.8 - 0.1, and 5 - 4.9
    assert sums.input_bytes == 800 * MB
    assert sums.shuffle_write_bytes == 400 * MB
    assert (sums.shuffle_read_remote_bytes, sums.shuffle_read_local_bytes) == (320 * MB, 80 * MB)
    assert (sums.spill_disk_bytes, sums.spill_memory_bytes) == (160 * MB, 320 * MB)
    assert sums.fetch_wait_s == 8 * 1.5
    assert sums.output_bytes == 240 * MB
    assert not application.losses


def test_what_a_stage_says(tmp_path: Path) -> None:
    path = tmp_path / "app-1"
    path.write_bytes(lines(small_job()))
    first, second = spark_log.read(path).only().stages
    assert (first.stage_id, first.status, first.tasks_planned, first.duration_s) == (0, "complete", 8, 10)
    assert (second.parents, second.jobs, second.duration_s) == ((0,), (0,), 5)
    assert second.peak_execution_memory_bytes == 64 * MB
    assert first.time_skew == first.bytes_skew == 1
    assert first.bytes_at[0] == 150 * MB  # read 100, shuffled 50


@pytest.mark.parametrize("codec", CODECS)
def test_every_compression_is_told_by_its_content(tmp_path: Path, codec: str) -> None:
    path = tmp_path / "a-log.without-a-telling-name"
    path.write_bytes(CODECS[codec](lines(small_job(tasks=80))))
    application = spark_log.read(path).only()
    assert application.tasks == 160
    assert not application.losses


def test_a_frame_of_zstd_without_data_may_come_first(tmp_path: Path) -> None:
    """pzstd writes one with the size of the next frame."""
    path = tmp_path / "app-1.zst"
    path.write_bytes(b"\x50\x2a\x4d\x18\x04\x00\x00\x00\x01\x02\x03\x04" + CODECS["zstd"](lines(small_job())))
    assert spark_log.read(path).only().tasks == 16


def test_rolling_files_are_one_log_in_the_order_of_their_numbers(tmp_path: Path) -> None:
    events = small_job()
    folder = tmp_path / "eventlog_v2_app-1"
    folder.mkdir()
    for place in range(11):  # the tenth sorts before the second by name
        part = events[place * 4 : place * 4 + 4] if place < 10 else events[40:]
        (folder / f"events_{place + 1}_app-1.zstd").write_bytes(CODECS["zstd"](lines(part)))
    (folder / "appstatus_app-1").touch()
    logs = spark_log.read(folder)
    application = logs.only()
    assert application.tasks == 16
    assert [file.partition("_app")[0] for file in application.files] == [f"events_{place}" for place in range(1, 12)]
    assert [other.name for other in logs.passed_over] == ["appstatus_app-1"]
    assert not application.losses


def test_a_compacted_file_replaces_what_came_before_it(tmp_path: Path) -> None:
    events = small_job()
    (tmp_path / "events_1_app-1").write_bytes(lines(events[:10]))
    (tmp_path / "events_2_app-1.compact").write_bytes(lines(events[:20]))
    (tmp_path / "events_3_app-1").write_bytes(lines(events[20:]))
    logs = spark_log.read(tmp_path)
    assert logs.only().tasks == 16
    assert not logs.losses
    assert [other.name for other in logs.passed_over] == ["events_1_app-1"]


def test_a_missing_and_a_repeated_part_are_named(tmp_path: Path, approve: Approve) -> None:
    head = (
        '{"Event":"DBCEventLoggingListenerMetadata","Spark Version":"3.1.2","Rollover Number":%d,"SparkContext Id":7}\n'
    )
    events = small_job()
    for name, number, some in (("eventlog", 3, events[20:]), ("eventlog-2022-01-18--19-00", 0, events[1:20])):
        (tmp_path / name).write_bytes((head % number).encode() + lines(some))
    (tmp_path / "copy").mkdir()
    (tmp_path / "copy" / "eventlog").write_bytes((head % 3).encode() + lines(events[20:]))
    logs = spark_log.read(tmp_path)
    application = logs.only()
    assert application.tasks == 16
    assert application.files == ("eventlog-2022-01-18--19-00", "copy/eventlog")
    approve([loss.what for loss in application.losses])
    approve([(other.name, other.reason) for other in logs.passed_over])


def test_databricks_files_without_numbers_are_in_the_order_of_their_dates(tmp_path: Path) -> None:
    events = small_job()
    (tmp_path / "eventlog").write_bytes(lines(events[30:]))
    (tmp_path / "eventlog-2021-06-15--16-00.gz").write_bytes(CODECS["gz"](lines(events[10:30])))
    (tmp_path / "eventlog-2021-06-15--15-00.gz").write_bytes(CODECS["gz"](lines(events[:10])))
    application = spark_log.read(tmp_path).only()
    assert application.files[0] == "eventlog-2021-06-15--15-00.gz"
    assert (application.tasks, application.losses) == (16, ())


@pytest.mark.parametrize("archive", ["zip", "tar", "tgz"])
def test_archives_are_read_member_by_member(tmp_path: Path, archive: str, approve: Approve) -> None:
    path = tmp_path / f"logs.{archive}"
    members = {"logs/app-1": lines(small_job()), "logs/notes.txt": b"nothing"}
    if archive == "zip":
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as packed:
            for name, data in members.items():
                packed.writestr(name, data)
    else:
        with tarfile.open(path, "w:gz" if archive == "tgz" else "w") as packed_tar:
            for name, data in members.items():
                info = tarfile.TarInfo(name)
                info.size = len(data)
                packed_tar.addfile(info, io.BytesIO(data))
    logs = spark_log.read(path)
    assert logs.only().tasks == 16
    approve([other.reason for other in logs.passed_over])


def test_several_applications_in_one_file_are_told_apart(tmp_path: Path) -> None:
    path = tmp_path / "two"
    path.write_bytes(lines([*small_job("app-1"), *small_job("app-2", properties={"spark.app.name": "b"})]))
    logs = spark_log.read(path)
    assert [application.app_id for application in logs.applications] == ["app-1", "app-2"]
    assert [application.tasks for application in logs.applications] == [16, 16]
    assert [application.properties["spark.app.name"] for application in logs.applications] == ["test", "b"]
    assert not logs.losses
    with refused("several-applications", "2 applications"):
        logs.only()


def test_each_local_context_of_one_file_keeps_its_executor_and_properties(tmp_path: Path) -> None:
    """Spark's local mode logs its executor before the application's start, and so may a plug-in's events be."""
    for place, other in enumerate(("SparkListenerResourceProfileAdded", "org.acme.SparkListenerPluginStarted")):
        contexts = [
            [
                log_start(),
                {"Event": other},
                executor_added("driver", host="a", cores=cores),
                environment({"spark.master": f"local[{cores}]"}),
                application_start(f"local-{cores}"),
                application_end(START_MS + 5000),
            ]
            for cores in (4, 8)
        ]
        path = tmp_path / str(place)
        path.write_bytes(lines([event for context in contexts for event in context]))
        logs = spark_log.read(path)
        assert [application.cluster.cores for application in logs.applications] == [4, 8]
        masters = [application.properties["spark.master"] for application in logs.applications]
        assert (masters, logs.losses) == (["local[4]", "local[8]"], ())


def test_attempts_of_one_application_are_told_apart(tmp_path: Path) -> None:
    for attempt in ("1", "2"):
        events = [log_start(), application_start(**{"App Attempt ID": attempt})]
        (tmp_path / f"app-1_{attempt}").write_bytes(lines(events))
    logs = spark_log.read(tmp_path)
    assert [application.attempt for application in logs.applications] == ["1", "2"]
    with refused("several-applications", "app-1/1 in", "app-1/2 in"):
        logs.only("app-1")
    assert logs.only("app-1/2") is logs.applications[1]


def test_a_cut_log_says_what_still_ran(tmp_path: Path) -> None:
    events = small_job()
    path = tmp_path / "app-1.inprogress"
    path.write_bytes(lines(events[:11])[:-30])  # one task ended, the other was running: the line of its end is cut
    application = spark_log.read(path).only()
    (stage,) = application.stages
    assert not application.ended
    assert (stage.status, stage.tasks, stage.running) == ("unfinished", 1, 1)
    assert application.ended_at_s == (START_MS + 12_000) / 1000
    assert [str(loss).partition(" x ")[2].partition(":")[0] for loss in application.losses] == [
        f"line that is not JSON, first at {path}, line 11"
    ]


def test_failed_killed_speculative_and_retried(tmp_path: Path) -> None:
    did = metrics(run_ms=900)
    times = {"launch_ms": START_MS, "finish_ms": START_MS + 1000}
    events = [
        log_start(),
        application_start(),
        stage_submitted(4, tasks=3, at_ms=START_MS),
        task_end(0, stage=4, did=did, reason="ExceptionFailure", **times),
        task_end(1, stage=4, did=did, reason="TaskKilled", speculative=True, **times),
        task_end(2, stage=4, did=None, reason="ExecutorLostFailure", **times),
        stage_completed(4, tasks=3, at_ms=START_MS, end_ms=START_MS + 1000, failure="fetch failed"),
        stage_submitted(4, tasks=1, at_ms=START_MS + 2000, attempt=1),
        task_end(3, stage=4, did=did, attempt=1, **times),
        executor_removed("1", at_ms=START_MS + 1500, reason="lost"),
    ]
    path = tmp_path / "log"
    path.write_bytes(lines(events))
    application = spark_log.read(path).only()
    first, again = application.stages
    assert (first.status, first.failure, first.tasks, first.failed, first.killed) == ("failed", "fetch failed", 3, 2, 1)
    assert (first.speculative, first.without_metrics, first.succeeded, first.seconds_at) == (1, 1, 0, ())
    assert (again.attempt, again.succeeded, again.status) == (1, 1, "unfinished")
    (executor,) = application.executors
    assert (executor.cores, executor.added_at_s, executor.removal_reason) == (None, None, "lost")
    assert application.cluster.cores is None


def test_a_repeated_event_counts_once(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_bytes(lines([event for event in small_job() for _ in range(2)]))
    application = spark_log.read(path).only()
    assert (application.tasks, application.sums.input_bytes) == (16, 800 * MB)
    losses = {loss.what: loss.count for loss in application.losses}
    assert losses["TaskEnd that is repeated"] == losses["TaskStart that is repeated"] == 16
    assert losses["ApplicationStart that is repeated"] == 1


def test_the_order_of_tasks_does_not_matter(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_bytes(lines(small_job()[::-1]))
    application = spark_log.read(path).only()
    assert (application.tasks, application.duration_s, application.losses) == (16, 20, ())
    assert all(stage.running == 0 for stage in application.stages)


def test_nothing_to_read_is_refused_with_what_is_there(tmp_path: Path, approve: Approve) -> None:
    (tmp_path / "driver.log").write_text("23/11/07 INFO SparkContext: hello\n")
    (tmp_path / "empty").touch()
    with refused("no-log") as raised:
        spark_log.read(tmp_path)
    approve(raised.value.details)
    with refused("not-a-log", "driver.log", "spark.eventLog.enabled"):
        spark_log.read(tmp_path / "driver.log")
    with refused("no-such-file"):
        spark_log.read(tmp_path / "absent")
    with refused("no-such-file", "hdfs dfs -get hdfs:/logs/app"):
        spark_log.read(Path("hdfs:///logs/app"))


def test_an_application_without_tasks(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_bytes(lines([log_start(), application_start()]))
    application = spark_log.read(path).only()
    assert (application.tasks, application.stages, application.cluster.cores) == (0, (), None)
    assert len(application.stage_frame()) == 0


def test_a_task_that_started_only(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_bytes(lines([task_start(5, stage=2, launch_ms=START_MS)]))
    (stage,) = spark_log.read(path).only().stages
    assert (stage.stage_id, stage.running, stage.tasks, stage.tasks_planned) == (2, 1, 0, None)


@pytest.mark.parametrize(("codec", "package"), [("zstd", "zstandard"), ("lz4", "cramjam"), ("snappy", "cramjam")])
def test_without_a_package_the_extra_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, codec: str, package: str
) -> None:
    path = tmp_path / "log"
    path.write_bytes(CODECS[codec](lines(small_job())))
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(PlannerError, match=rf"{codec} needs the package {package}.*pip install 'sortplanner\[spark\]'"):
        spark_log.read(path)
