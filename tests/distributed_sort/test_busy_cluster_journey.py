"""Other jobs use the CPUs, or all memory: a sort waits for CPUs and says so, and ends where its tasks are killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from refusals import refused

import planner
from planner.errors import IoFailureError
from tests.distributed_sort.test_sort_journey import MAP, check, generated
from tests.distributed_sort.test_text_journey import once

if TYPE_CHECKING:
    from conftest import SortCluster

HOG = """
import sys, time, ray
from pathlib import Path
address, go, end = sys.argv[1:]
ray.init(address=address, log_to_driver=False, logging_level="ERROR")
@ray.remote(num_cpus=1, max_retries=0)
def hold():
    while not Path(end).exists():
        time.sleep(0.05)
print("ready", flush=True)
while not Path(go).exists():
    time.sleep(0.02)
held = [hold.remote() for _ in range(int(ray.cluster_resources()["CPU"]))]
while ray.available_resources().get("CPU", 0.0) > 0:
    time.sleep(0.02)
print("held", flush=True)
ray.get(held)
"""


class Hog:
    """A Ray job that takes all CPUs on `go`, as they get free, until it is to `end`."""

    def __init__(self, process: subprocess.Popen[str], folder: Path) -> None:
        self._process, self._folder = process, folder

    def await_line(self, line: str) -> None:
        assert self._process.stdout is not None and self._process.stdout.readline().strip() == line

    def go(self) -> None:
        (self._folder / "go").touch()

    def end(self) -> None:
        (self._folder / "end").touch()


@pytest.fixture
def hog(sort_cluster: SortCluster, tmp_path: Path) -> Iterator[Hog]:
    cluster = sort_cluster.emulated
    marks = [str(tmp_path / "go"), str(tmp_path / "end")]
    words = cluster.command(0, sys.executable, "-c", HOG, cluster.ray.address, *marks)
    with subprocess.Popen(words, env=cluster.environment(), stdout=subprocess.PIPE, text=True) as process:
        begun = Hog(process, tmp_path)
        begun.await_line("ready")
        yield begun
        begun.go()
        begun.end()
        process.wait(30)


def test_a_busy_cluster_is_waited_for_or_refused(sort_cluster: SortCluster, tmp_path: Path, hog: Hog) -> None:
    source, events = generated(sort_cluster, "busy-in", records=100_000), list[dict[str, Any]]()
    hog.go()
    hog.await_line("held")
    with refused("no-free-cpus", "--wait", kind=IoFailureError):
        sort_cluster.sort(source, tmp_path / "refused", output="busy", wait_s=0)

    def on_event(event: dict[str, Any]) -> None:
        events.append(event)
        if event["event"] == "waiting":
            hog.end()

    output, _ = sort_cluster.sort(source, tmp_path / "j", output="busy", on_event=on_event)
    assert "other jobs use all CPUs" in next(event["reason"] for event in events if event["event"] == "waiting")
    check(source, output)


def test_cpus_that_are_taken_meanwhile_are_waited_for(sort_cluster: SortCluster, tmp_path: Path, hog: Hog) -> None:
    source, reasons = generated(sort_cluster, "taken-in", records=1_000_000), list[str]()
    go = once(hog.go, phase=MAP)

    def on_event(event: dict[str, Any]) -> None:
        go(event)
        if event["event"] == "waiting":
            reasons.append(event["reason"])
            hog.end()

    output, report = sort_cluster.sort(source, tmp_path / "j", output="taken", on_event=on_event)
    assert any("other jobs use the CPUs there" in reason for reason in reasons)
    assert not report["lost_nodes"]
    check(source, output)


@contextmanager
def small_head(folder: Path, port: int) -> Iterator[str]:
    """Yield the address of a Ray head whose memory monitor kills every task."""
    own = {"RAY_memory_usage_threshold": "0.001", "RAY_memory_monitor_refresh_ms": "20",
           "PLANNER_NODE_DIRECTORY": str(folder), "RAY_USAGE_STATS_ENABLED": "0",
           "RAY_AUTH_MODE": "disabled"}  # fmt: skip  # else it asks for the token of this machine, if there is one
    words = [str(Path(sys.executable).with_name("ray")), "start", "--head", f"--port={port}", "--num-cpus=2", "--block",
             "--include-dashboard=false", "--object-store-memory=100000000"]  # fmt: skip
    with (
        tempfile.TemporaryDirectory(dir="/tmp", ignore_cleanup_errors=True) as short,  # names of sockets have a limit
        (folder / "log").open("w+") as log,
        subprocess.Popen(
            [*words, f"--temp-dir={short}"], env=os.environ | own, stdout=log, stderr=log, start_new_session=True
        ) as head,
    ):
        try:
            yield f"127.0.0.1:{port}"
        finally:
            os.killpg(head.pid, signal.SIGTERM)
            try:
                head.wait(10)
            except subprocess.TimeoutExpired:
                os.killpg(head.pid, signal.SIGKILL)


def test_tasks_that_are_killed_for_memory_end_the_sort(tmp_path: Path, free_tcp_port: int) -> None:
    rows, events = tmp_path / "in.csv", list[dict[str, Any]]()
    lines = (f"{n * 7919 % 1_000_003},x" for n in range(1_000_000))  # no task of so many ends between two looks
    rows.write_text("\n".join(["a,b", *lines, ""]))
    with small_head(tmp_path, free_tcp_port) as address:
        for _ in range(300):
            if "Ray runtime started" in (tmp_path / "log").read_text():
                break
            time.sleep(0.2)
        asked: dict[str, Any] = {"format": "csv", "key": "a:num", "ray": address, "on_event": events.append}
        with refused("killed-for-memory", " on ", "memory_bytes", kind=IoFailureError):
            planner.sort(rows, tmp_path / "out.json", **asked)
    named = {name for event in events if event["event"] == "waiting" for name in event["nodes"]}
    assert not [name for name in named if len(name) > 40], "no node is called by Ray's id"
