"""Commands on emulated nodes, and the address at which their processes find the cluster."""

from __future__ import annotations

from pathlib import Path

import pytest

from planner.clusters.emulated.cluster import EmulatedCluster
from planner.clusters.emulated.ray import EmulatedRay
from planner.clusters.emulated.registry import Entry
from planner.clusters.ray.nodes import RayCluster


@pytest.mark.parametrize("shaped", [False, True])
def test_processes_are_told_the_cluster_the_store_and_where_ray_keeps_files(tmp_path: Path, shaped: bool) -> None:
    entry = Entry(cluster_id="abc", owner_pid=1, owner_start_ticks=1, nodes=2, directory=str(tmp_path), shaped=shaped)
    cluster = EmulatedRay(
        nodes=EmulatedCluster(entry), ray=RayCluster(address="10.0.0.1:6379"), store={"AWS_ENDPOINT_URL": "http://x"}
    )
    environment = cluster.environment()
    assert environment["RAY_AUTH_TOKEN"] == cluster.ray.token
    assert environment["AWS_ENDPOINT_URL"] == "http://x"
    assert (environment.get("RAY_TMPDIR") == "/tmp") is shaped
    words = cluster.command(1, "true")
    assert words == (["ip", "netns", "exec", "planner-emu-abc-1", *words[4:-1], "true"] if shaped else ["true"])
    assert cluster.disk(1, 0) == tmp_path / "node-1" and cluster.disk(1, 2) == tmp_path / "node-1" / "disk2"
