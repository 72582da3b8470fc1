"""A sort on a Ray cluster without a node that offers CPUs waits, and the cluster's autoscaler starts one for it."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import uuid
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

import planner

HEAD_ID = "f" * 51 + "00000"
"""What Ray's own provider of nodes on one machine takes for the head's id."""
NODE = {"CPU": 2, "object_store_memory": 100_000_000}
CLUSTER = {
    "cluster_name": "tests",
    "max_workers": 1,
    "upscaling_speed": 1,
    "idle_timeout_minutes": 5,
    "provider": {"type": "fake_multinode", "head_node_id": HEAD_ID},
    "auth": {},
    "head_node_type": "head",
    "available_node_types": {
        "worker": {"resources": NODE, "node_config": {}, "min_workers": 0, "max_workers": 1},
        "head": {"resources": {"CPU": 0}, "node_config": {}, "max_workers": 0},
    },
    "cluster_synced_files": [],
    "file_mounts": {},
    "file_mounts_sync_continuously": False,
    "initialization_commands": [],
    "setup_commands": [],
    "head_setup_commands": [],
    "worker_setup_commands": [],
    "head_start_ray_commands": [],
    "worker_start_ray_commands": [],
}
ADDRESS = "127.0.0.1:6379"
"""The only one that Ray's provider of nodes on one machine looks for, so the cluster is in a namespace of its own."""
START = f"""
ip link set lo up
ray start --head --autoscaling-config=cluster.json --num-cpus=0 --port=6379 --include-dashboard=false \
    --node-ip-address=127.0.0.1 --temp-dir="$RAY_FILES" > started.txt
planner sort --format lines in.txt out.json --ray {ADDRESS} --dir disk --wait 0.1s 2> refused.txt && exit 1
planner sort --format lines in.txt out.json --ray {ADDRESS} --dir disk --json > report.json
python -c "$BUSY" > busy.txt
"""

BUSY = f"""
import time, ray
from ray.autoscaler.v2.sdk import get_cluster_status
from planner.distributed_sort.job.nodes import Nodes
ray.init(address='{ADDRESS}', log_to_driver=False, logging_level='ERROR')
Nodes(ray, directory='disk').begin_services()
time.sleep(3)
status = get_cluster_status('{ADDRESS}')
print(*(node.ray_node_type_name for node in status.active_nodes))
"""
"""Prints the types of the nodes that an autoscaler does not take for idle, where a sort runs no task."""


@pytest.fixture
def namespace(tmp_path: Path) -> Iterator[str]:
    """A network namespace with nothing in it, whose processes end with it."""
    name = f"planner-test-{uuid.uuid4().hex[:8]}"
    subprocess.run(["ip", "netns", "add", name], check=True)
    yield name
    listed = subprocess.run(["ip", "netns", "pids", name], capture_output=True, text=True, check=True).stdout.split()
    for process in map(int, listed):
        os.kill(process, signal.SIGKILL)
    psutil.wait_procs([psutil.Process(int(pid)) for pid in listed if psutil.pid_exists(int(pid))], timeout=30)
    subprocess.run(["ip", "netns", "del", name], check=True)


@pytest.mark.needs_root(why="makes a network namespace")
def test_a_cluster_scaled_to_zero_gets_a_node_for_the_sort(tmp_path: Path, namespace: str) -> None:
    (tmp_path / "cluster.json").write_text(json.dumps(CLUSTER))
    (tmp_path / "disk").mkdir()
    planner.generate(tmp_path / "in.txt", size_bytes=2_000_000, lines=True)
    ray_files = Path("/tmp") / namespace  # its sockets need a short path
    environment = os.environ | {
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "RAY_FAKE_CLUSTER": "1",
        "RAY_AUTH_MODE": "disabled",
        "RAY_FILES": str(ray_files),
        "BUSY": BUSY,
    }
    try:
        subprocess.run(
            ["ip", "netns", "exec", namespace, "bash", "-ec", START], cwd=tmp_path, env=environment, check=True,
            timeout=300,
        )  # fmt: skip
    finally:
        shutil.rmtree(ray_files, ignore_errors=True)
    assert "error: the Ray cluster has no node that offers CPUs" in (tmp_path / "refused.txt").read_text()
    assert (tmp_path / "busy.txt").read_text() == "worker\n"
    report = json.loads((tmp_path / "report.json").read_text())
    assert len(report["nodes"]) == 1
    (part,) = (tmp_path / "disk").rglob("part-*")
    assert part.read_bytes().splitlines() == sorted((tmp_path / "in.txt").read_bytes().splitlines())
