"""Emulated clusters come up as configured and are removed completely, even when their owner is killed."""

from __future__ import annotations

import json
import secrets
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest

from planner.clusters.emulated import namespaces
from planner.clusters.emulated.cluster import EmulatedCluster, emulated_cluster, sweep
from planner.clusters.emulated.namespaces import Namespaces, namespaces_of
from planner.clusters.emulated.registry import entries, registry_directory
from planner.clusters.emulated.shaping import Shaping, parse_shaping
from planner.errors import BadInputError, IoFailureError, LeftBehindError

NEEDS_ROOT = pytest.mark.needs_root(why="makes network namespaces")
SEND = """
import socket, sys, time
print(time.monotonic())
with socket.create_connection((sys.argv[1], 7000)) as peer:
    peer.sendall(bytes(int(sys.argv[2])))
"""
RECEIVE = """
import socket, sys, time
with socket.create_server((sys.argv[1], 7000)) as server:
    print("listening", flush=True)
    peer, _ = server.accept()
    while peer.recv(1 << 20):
        pass
    print(time.monotonic())
"""


@pytest.fixture(autouse=True)
def own_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PLANNER_STATE", str(tmp_path / "state"))


def seconds_to_send(cluster: EmulatedCluster, size_bytes: int, *, source: int, target: int) -> float:
    """Return the seconds from before the connection until the last byte arrives, so that no cap can look too high."""
    listen = cluster.command(target, sys.executable, "-c", RECEIVE, cluster.address(target))
    with subprocess.Popen(listen, stdout=subprocess.PIPE, text=True) as receiver:
        assert receiver.stdout is not None
        assert receiver.stdout.readline() == "listening\n"
        send = cluster.command(source, sys.executable, "-c", SEND, cluster.address(target), str(size_bytes))
        begun_s = float(subprocess.check_output(send, text=True))
        return float(receiver.stdout.readline()) - begun_s


def least_seconds_to_send(cluster: EmulatedCluster, size_bytes: int, *, target: int, enough_s: float) -> float:
    """Return the least of the times from node 1, up to the first that is enough: a busy machine only prolongs them."""
    took_s = [seconds_to_send(cluster, size_bytes, source=1, target=target)]
    while min(took_s) >= enough_s and len(took_s) < 10:
        time.sleep(3)  # buckets fill again
        took_s.append(seconds_to_send(cluster, size_bytes, source=1, target=target))
    return min(took_s)


def nothing_is_left(cluster: EmulatedCluster) -> bool:
    ray_files = Path(f"/tmp/planner-ray-{cluster.entry.cluster_id}")
    namespaces_left = namespaces_of(cluster.entry.cluster_id) if cluster.is_shaped else []
    folders = (Path(cluster.entry.directory), ray_files, cluster.memory(0).parent)
    return not (namespaces_left or any(folder.exists() for folder in folders) or list(entries()))


@NEEDS_ROOT
def test_links_are_capped_and_nothing_is_left(tmp_path: Path) -> None:
    with emulated_cluster(workers=2, shaping=parse_shaping(rate="80Mbit,40Mbit"), directory=tmp_path) as cluster:
        assert len(namespaces_of(cluster.entry.cluster_id)) == 4
        rate_down = 5e6 / seconds_to_send(cluster, 5_000_000, source=1, target=2)
        rate_to_head = 10e6 / least_seconds_to_send(cluster, 10_000_000, target=0, enough_s=10e6 / (1.1 * 5e6))
    assert rate_down < 1.1 * 5e6, "the receiver's cap holds"
    assert 1.1 * 5e6 < rate_to_head < 1.1 * 10e6, "the sender's own cap holds, the head has none"
    assert nothing_is_left(cluster)


@NEEDS_ROOT
def test_a_bucket_bursts_until_it_is_empty(tmp_path: Path) -> None:
    shaping = parse_shaping(rate="16Mbit", bucket="5MB", burst_rate="160Mbit")
    with emulated_cluster(workers=2, shaping=shaping, directory=tmp_path) as cluster:
        seconds = least_seconds_to_send(cluster, 8_000_000, target=2, enough_s=4)
    assert 0.9 * 1.5 < seconds < 4, (
        "5 of 8 MB are tokens, 3 MB come at 2 MB/s; 0.4 s without a bucket, 4 s without a burst"
    )


@NEEDS_ROOT
def test_caps_are_drawn_anew(tmp_path: Path) -> None:
    shaping = parse_shaping(distribution="A", redraw=0.1, seed=1)
    with emulated_cluster(workers=2, shaping=shaping, directory=tmp_path) as cluster:
        seen = {cluster.caps[0]}
        deadline = time.monotonic() + 60
        while len(seen) < 3 and time.monotonic() < deadline:
            time.sleep(0.05)
            seen.add(cluster.caps[0])
    assert len(seen) >= 3


@NEEDS_ROOT
def test_a_cut_link_carries_nothing_until_it_is_mended(tmp_path: Path) -> None:
    with emulated_cluster(workers=2, shaping=Shaping(), directory=tmp_path) as cluster:
        cluster.cut(2)
        with pytest.raises(subprocess.CalledProcessError):
            connect_or_fail(cluster)
        cluster.restore_link(2)
        assert seconds_to_send(cluster, 65_536, source=1, target=2) > 0


def connect_or_fail(cluster: EmulatedCluster) -> None:
    code = "import socket, sys; socket.create_connection((sys.argv[1], 7000), timeout=0.5)"
    connect = cluster.command(1, sys.executable, "-c", code, cluster.address(2))
    subprocess.run(connect, check=True, capture_output=True)


@NEEDS_ROOT
def test_an_error_of_the_body_leaves_nothing(tmp_path: Path) -> None:
    with (
        pytest.raises(ZeroDivisionError),
        emulated_cluster(workers=1, shaping=Shaping(), directory=tmp_path) as cluster,
    ):
        raise ZeroDivisionError
    assert nothing_is_left(cluster)


OWNER = """
import subprocess, sys, time
from pathlib import Path
from planner.clusters.emulated.cluster import emulated_cluster
from planner.clusters.emulated.shaping import Shaping
with emulated_cluster(workers=2, shaping=Shaping(), directory=Path(sys.argv[1])) as cluster:
    subprocess.Popen(cluster.command(1, "sleep", "600"))
    while "wait" in sys.argv and not cluster.pids(1):
        time.sleep(0.01)
    print(cluster.entry.cluster_id, flush=True)
    time.sleep(600)
"""
"""Starts a sleeper on a node; given `wait`, it continues once the sleeper runs there."""


def started_below(directory: Path) -> list[str]:
    """Return the processes whose environment names a folder."""
    return [
        " ".join(process.info["cmdline"] or ())
        for process in psutil.process_iter(["environ", "cmdline"])
        if any(str(directory) in value for value in (process.info["environ"] or {}).values())
    ]


@contextmanager
def killed_owner(directory: Path, *how: str) -> Iterator[str]:
    """Yield the id of a cluster whose owner is killed at the end of the body."""
    words = [sys.executable, "-c", OWNER, str(directory), *how]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as owner:
        assert owner.stdout is not None
        try:
            yield owner.stdout.readline().strip()
        finally:
            owner.kill()


@NEEDS_ROOT
@pytest.mark.parametrize("next_call", [sweep, None], ids=["sweep", "the next cluster"])
def test_what_a_killed_owner_left_is_removed(tmp_path: Path, next_call: Callable[[], list[str]] | None) -> None:
    with killed_owner(tmp_path, "wait") as cluster_id:
        assert sweep() == [], "it has an owner"
    (entry,) = entries()
    left = EmulatedCluster(entry)
    assert left.pids(1), "its sleeper runs on"
    if next_call:
        assert next_call() == [cluster_id]
    else:
        with emulated_cluster(workers=1, shaping=Shaping(), directory=tmp_path):
            assert not namespaces_of(cluster_id)
    assert nothing_is_left(left)


@NEEDS_ROOT
def test_what_another_state_directory_recorded_is_found_by_its_namespaces(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with killed_owner(tmp_path, "wait") as cluster_id:
        (entry,) = entries()
        monkeypatch.setenv("PLANNER_STATE", str(tmp_path / "another"))
        assert cluster_id not in sweep(by_name=True), "it has an owner"
    assert sweep() == [], "this state directory recorded nothing"
    assert cluster_id in sweep(by_name=True)
    assert nothing_is_left(EmulatedCluster(entry))


@NEEDS_ROOT
def test_namespaces_that_do_not_say_whose_they_are_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    nameless = Namespaces(secrets.token_hex(3), 1)
    nameless.create()
    try:
        assert nameless.cluster_id not in namespaces.marks(), "it may still be being made"
        monkeypatch.setattr(namespaces, "_LONGEST_MAKING_S", 0.0)
        with pytest.raises(LeftBehindError) as caught:
            sweep(by_name=True)
        assert any(nameless.cluster_id in line for line in caught.value.details)
        assert namespaces_of(nameless.cluster_id), "what nobody knows is left alone"
    finally:
        nameless.remove()


@NEEDS_ROOT
@pytest.mark.parametrize("attempt", range(5))
def test_a_process_on_its_way_into_a_node_is_ended_too(tmp_path: Path, attempt: int) -> None:
    with killed_owner(tmp_path) as cluster_id:
        pass
    deadline = time.monotonic() + 60
    while not started_below(tmp_path):  # a process that is starting a program has no environment for a moment
        assert time.monotonic() < deadline, "the check sees it"
    assert sweep() == [cluster_id]
    while left := started_below(tmp_path):
        assert time.monotonic() < deadline, left
        time.sleep(0.1)


@NEEDS_ROOT
@pytest.mark.parametrize("calls", range(1, 12, 3))
def test_an_owner_killed_while_it_creates_is_swept_too(tmp_path: Path, calls: int) -> None:
    """The owner dies after the given number of ip or tc calls."""
    code = f"""
import os, signal
from planner.clusters.emulated import namespaces
whole, left = namespaces._run, [{calls}]
def run(*words):
    if not left[0]:
        os.kill(os.getpid(), signal.SIGKILL)
    left[0] -= 1
    return whole(*words)
namespaces._run = run
"""
    killed = subprocess.run([sys.executable, "-c", code + OWNER, str(tmp_path)], capture_output=True, check=False)
    assert killed.returncode == -signal.SIGKILL
    (entry,) = entries()
    assert sweep() == [entry.cluster_id]
    assert nothing_is_left(EmulatedCluster(entry))


def test_without_root_nodes_are_plain_and_that_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(namespaces, "are_usable", lambda: False)
    messages: list[str] = []
    shaping = parse_shaping(rate="80Mbit")
    with emulated_cluster(workers=2, shaping=shaping, directory=tmp_path, say=messages.append) as cluster:
        assert cluster.command(1, "true") == ["true"]
        assert cluster.caps == [None, None]
        with pytest.raises(BadInputError, match="run as root"):
            cluster.cut(1)
    assert any("NOT capped" in line for line in messages)
    assert nothing_is_left(cluster)


def test_a_damaged_entry_is_named(tmp_path: Path) -> None:
    registry_directory().mkdir(parents=True)
    (registry_directory() / "abc.json").write_text(json.dumps({"cluster_id": "abc"}))
    with pytest.raises(IoFailureError, match=r"abc\.json is damaged"):
        sweep()


@pytest.mark.parametrize("workers", [0, 201])
def test_an_impossible_number_of_nodes_is_refused(tmp_path: Path, workers: int) -> None:
    with (
        pytest.raises(BadInputError, match="1 to 200"),
        emulated_cluster(workers=workers, shaping=Shaping(), directory=tmp_path),
    ):
        pass
    assert not list(tmp_path.iterdir())
