"""Spark event logs for tests: events in Spark 3's form, of a small job whose sums are known."""

from __future__ import annotations

import gzip
import io
import json
import struct
from collections.abc import Sequence
from typing import Any

import cramjam
import zstandard

START_MS = 1_700_000_000_000
MB = 1_000_000

Event = dict[str, Any]


def log_start(version: str = "3.5.1") -> Event:
    return {"Event": "SparkListenerLogStart", "Spark Version": version}


def application_start(app_id: str = "app-1", *, at_ms: int = START_MS, name: str = "test", **more: Any) -> Event:
    return {"Event": "SparkListenerApplicationStart", "App Name": name, "App ID": app_id, "Timestamp": at_ms, **more}


def application_end(at_ms: int) -> Event:
    return {"Event": "SparkListenerApplicationEnd", "Timestamp": at_ms}


def environment(properties: dict[str, str], **groups: dict[str, str]) -> Event:
    return {"Event": "SparkListenerEnvironmentUpdate", "Spark Properties": properties, **groups}


def executor_added(name: str, *, host: str, cores: int = 4, at_ms: int = START_MS) -> Event:
    info = {"Host": host, "Total Cores": cores}
    return {"Event": "SparkListenerExecutorAdded", "Timestamp": at_ms, "Executor ID": name, "Executor Info": info}


def executor_removed(name: str, *, at_ms: int, reason: str = "idle") -> Event:
    return {
        "Event": "SparkListenerExecutorRemoved", "Timestamp": at_ms, "Executor ID": name, "Removed Reason": reason,
    }  # fmt: skip


def resource_profile(profile: int, *, task_cpus: float) -> Event:
    requests = {"cpus": {"Resource Name": "cpus", "Amount": task_cpus}}
    return {
        "Event": "SparkListenerResourceProfileAdded", "Resource Profile Id": profile,
        "Executor Resource Requests": {}, "Task Resource Requests": requests,
    }  # fmt: skip


def job_start(job: int, stages: Sequence[int], *, at_ms: int) -> Event:
    return {"Event": "SparkListenerJobStart", "Job ID": job, "Submission Time": at_ms, "Stage IDs": list(stages)}


def job_end(job: int, *, at_ms: int) -> Event:
    result = {"Result": "JobSucceeded"}
    return {"Event": "SparkListenerJobEnd", "Job ID": job, "Completion Time": at_ms, "Job Result": result}


def _stage_info(stage: int, *, tasks: int, at_ms: int, parents: Sequence[int], attempt: int) -> Event:
    return {
        "Stage ID": stage, "Stage Attempt ID": attempt, "Stage Name": f"stage {stage}", "Number of Tasks": tasks,
        "Parent IDs": list(parents), "Submission Time": at_ms,
    }  # fmt: skip


def stage_submitted(stage: int, *, tasks: int, at_ms: int, parents: Sequence[int] = (), attempt: int = 0) -> Event:
    info = _stage_info(stage, tasks=tasks, at_ms=at_ms, parents=parents, attempt=attempt)
    return {"Event": "SparkListenerStageSubmitted", "Stage Info": info}


def stage_completed(
    stage: int,
    *,
    tasks: int,
    at_ms: int,
    end_ms: int,
    parents: Sequence[int] = (),
    attempt: int = 0,
    failure: str | None = None,
) -> Event:
    info = _stage_info(stage, tasks=tasks, at_ms=at_ms, parents=parents, attempt=attempt)
    info["Completion Time"] = end_ms
    if failure:
        info["Failure Reason"] = failure
    return {"Event": "SparkListenerStageCompleted", "Stage Info": info}


def _task_info(task: int, *, launch_ms: int, finish_ms: int, executor: str, host: str, speculative: bool) -> Event:
    return {
        "Task ID": task, "Index": task, "Attempt": 0, "Launch Time": launch_ms, "Executor ID": executor, "Host": host,
        "Locality": "ANY", "Speculative": speculative, "Getting Result Time": 0, "Finish Time": finish_ms,
        "Failed": False, "Killed": False, "Accumulables": [],
    }  # fmt: skip


def task_start(task: int, *, stage: int, launch_ms: int, executor: str = "1", host: str = "a") -> Event:
    info = _task_info(task, launch_ms=launch_ms, finish_ms=0, executor=executor, host=host, speculative=False)
    return {"Event": "SparkListenerTaskStart", "Stage ID": stage, "Stage Attempt ID": 0, "Task Info": info}


def metrics(
    *,
    run_ms: int,
    cpu_ms: int = 0,
    gc_ms: int = 0,
    deserialise_ms: int = 0,
    read: int = 0,
    written: int = 0,
    remote: int = 0,
    local: int = 0,
    fetch_wait_ms: int = 0,
    shuffled: int = 0,
    shuffle_write_ms: int = 0,
    spilled: int = 0,
    peak: int = 0,
) -> Event:
    return {
        "Executor Deserialize Time": deserialise_ms, "Executor Deserialize CPU Time": deserialise_ms * 1_000_000,
        "Executor Run Time": run_ms, "Executor CPU Time": cpu_ms * 1_000_000, "Peak Execution Memory": peak,
        "Result Size": 1000, "JVM GC Time": gc_ms, "Result Serialization Time": 0,
        "Memory Bytes Spilled": 2 * spilled, "Disk Bytes Spilled": spilled,
        "Shuffle Read Metrics": {
            "Remote Blocks Fetched": 1, "Local Blocks Fetched": 1, "Fetch Wait Time": fetch_wait_ms,
            "Remote Bytes Read": remote, "Remote Bytes Read To Disk": 0, "Local Bytes Read": local,
            "Total Records Read": 10,
        },
        "Shuffle Write Metrics": {
            "Shuffle Bytes Written": shuffled, "Shuffle Write Time": shuffle_write_ms * 1_000_000,
            "Shuffle Records Written": 10,
        },
        "Input Metrics": {"Bytes Read": read, "Records Read": 10},
        "Output Metrics": {"Bytes Written": written, "Records Written": 10},
    }  # fmt: skip


def task_end(
    task: int,
    *,
    stage: int,
    launch_ms: int,
    finish_ms: int,
    did: Event | None,
    executor: str = "1",
    host: str = "a",
    attempt: int = 0,
    reason: str = "Success",
    speculative: bool = False,
) -> Event:
    info = _task_info(
        task, launch_ms=launch_ms, finish_ms=finish_ms, executor=executor, host=host, speculative=speculative
    )
    event = {
        "Event": "SparkListenerTaskEnd", "Stage ID": stage, "Stage Attempt ID": attempt, "Task Type": "ResultTask",
        "Task End Reason": {"Reason": reason}, "Task Info": info,
    }  # fmt: skip
    return event if did is None else {**event, "Task Metrics": did}


def small_job(app_id: str = "app-1", *, properties: dict[str, str] | None = None, tasks: int = 8) -> list[Event]:
    """Return the log of two stages on two executors of four cores.

    Each of the `tasks` of stage 0 takes 10 s (8 s of it processor), reads 100 MB and writes 50 MB of shuffle; those of
    stage 1 take 5 s (2 s), fetch 40 MB from afar and 10 MB nearby, spill 20 MB and write 30 MB. With 8 tasks each stage
    is one wave; the application takes 20 s: 2 s before its stages and 3 s after.
    """
    waves = -(-tasks // 8)
    first, second = START_MS + 2000, START_MS + 2000 + 10_000 * waves
    end = second + 5000 * waves
    did = metrics(run_ms=9800, cpu_ms=8000, gc_ms=500, deserialise_ms=100, read=100 * MB, shuffled=50 * MB)
    did_next = metrics(
        run_ms=4900, cpu_ms=2000, gc_ms=100, remote=40 * MB, local=10 * MB, fetch_wait_ms=1500, spilled=20 * MB,
        written=30 * MB, peak=64 * MB,
    )  # fmt: skip
    made = [
        log_start(),
        environment({"spark.executor.memory": "4g", "spark.app.name": "test", **(properties or {})}),
        application_start(app_id),
        executor_added("1", host="a"),
        executor_added("2", host="b"),
        job_start(0, [0, 1], at_ms=first),
        stage_submitted(0, tasks=tasks, at_ms=first),
    ]
    made += _tasks(0, tasks=tasks, start_ms=first, each_ms=10_000, did=did)
    made.append(stage_completed(0, tasks=tasks, at_ms=first, end_ms=second))
    made.append(stage_submitted(1, tasks=tasks, at_ms=second, parents=[0]))
    made += _tasks(1, tasks=tasks, start_ms=second, each_ms=5000, did=did_next)
    made.append(stage_completed(1, tasks=tasks, at_ms=second, end_ms=end, parents=[0]))
    return [*made, job_end(0, at_ms=end), application_end(end + 3000)]


def _tasks(stage: int, *, tasks: int, start_ms: int, each_ms: int, did: Event) -> list[Event]:
    made = []
    for task in range(tasks):
        launch = start_ms + task // 8 * each_ms
        executor = {"executor": str(1 + task % 2), "host": "ab"[task % 2]}
        number = stage * tasks + task
        made.append(task_start(number, stage=stage, launch_ms=launch, **executor))
        made.append(task_end(number, stage=stage, launch_ms=launch, finish_ms=launch + each_ms, did=did, **executor))
    return made


def lines(events: Sequence[Event]) -> bytes:
    """Return events as Spark writes them: one line each, without spaces, the event's name first."""
    return b"".join(json.dumps(event, separators=(",", ":")).encode() + b"\n" for event in events)


def lz4_block(data: bytes, *, block_bytes: int = 1 << 15) -> bytes:
    """Return data in the frames of lz4-java's LZ4BlockOutputStream; the checksums are 0."""
    blocks = [data[i : i + block_bytes] for i in range(0, len(data), block_bytes)]
    packed = [(bytes(cramjam.lz4.compress_block(block, store_size=False)), len(block)) for block in blocks]
    framed = [b"LZ4Block" + struct.pack("<Biii", 0x25, len(block), size, 0) + block for block, size in packed]
    return b"".join([*framed, b"LZ4Block" + struct.pack("<Biii", 0x15, 0, 0, 0)])


def snappy_block(data: bytes, *, block_bytes: int = 1 << 15) -> bytes:
    """Return data in the frames of snappy-java's SnappyOutputStream."""
    blocks = [bytes(cramjam.snappy.compress_raw(data[i : i + block_bytes])) for i in range(0, len(data), block_bytes)]
    head = b"\x82SNAPPY\x00" + struct.pack(">ii", 1, 1)
    return head + b"".join(struct.pack(">i", len(block)) + block for block in blocks)


def zstd_frames(data: bytes, *, frame_bytes: int = 1 << 15) -> bytes:
    """Return data as several zstd frames, one after the other, without their sizes."""
    out = io.BytesIO()
    for start in range(0, len(data), frame_bytes):
        packer = zstandard.ZstdCompressor().compressobj()
        out.write(packer.compress(data[start : start + frame_bytes]) + packer.flush())
    return out.getvalue()


def gzip_members(data: bytes) -> bytes:
    """Return data as two gzip members."""
    half = len(data) // 2
    return gzip.compress(data[:half]) + gzip.compress(data[half:])


CODECS = {"plain": bytes, "lz4": lz4_block, "snappy": snappy_block, "zstd": zstd_frames, "gz": gzip_members}


def moved(events: Sequence[Event], *, days: float = 0.0, factor: float = 1.0) -> list[Event]:
    """Return the events of a job `days` later, and `factor` times as long."""

    def of(value: Any) -> Any:
        if isinstance(value, dict):
            return {name: of(each) for name, each in value.items()}
        if isinstance(value, list):
            return [of(each) for each in value]
        is_time = type(value) is int and value >= START_MS
        return START_MS + round(days * 86_400_000) + round((value - START_MS) * factor) if is_time else value

    return [of(event) for event in events]
