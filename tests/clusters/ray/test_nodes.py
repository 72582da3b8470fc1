"""Commands that start Ray, and the settings passed to its processes."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from planner.clusters.ray.nodes import RayCluster, RayNode, head_command, ray_program, worker_command
from planner.errors import PlannerError

NODE = RayNode(
    name="node-1",
    address="10.0.0.2",
    cpus=2.5,
    object_store_bytes=10**9,
    disks=(Path("/mnt/a"), Path("/mnt/b")),
    scratch=(Path("/mnt/c"),),
    volume=Path("/vol"),
)


def test_a_head_and_a_worker_start_with_the_nodes_resources() -> None:
    resources = ["--node-ip-address=10.0.0.2", "--num-cpus=2.5", "--object-store-memory=1000000000"]
    head = head_command(NODE, port=7000, temp_directory=Path("/short"), program="/far/ray")
    assert head[:4] == ["/far/ray", "start", "--head", "--port=7000"]
    assert "--temp-dir=/short" in head and set(resources) <= set(head)
    worker = worker_command(NODE, RayCluster(address="10.0.0.1:7000"))
    assert worker[1:3] == ["start", "--address=10.0.0.1:7000"] and set(resources) <= set(worker)


def test_a_nodes_environment_names_it_and_its_disks() -> None:
    assert NODE.environment() == {
        "PLANNER_NODE_NAME": "node-1",
        "PLANNER_NODE_DIRECTORY": os.pathsep.join(["/mnt/a", "/mnt/b"]),
        "PLANNER_NODE_SCRATCH": "/mnt/c",
        "PLANNER_NODE_VOLUME": "/vol",
    }


def test_each_cluster_has_a_token_of_its_own_that_is_not_shown() -> None:
    first, second = RayCluster(address="a:1"), RayCluster(address="a:1")
    assert first.environment()["RAY_AUTH_TOKEN"] != second.environment()["RAY_AUTH_TOKEN"]
    assert first.environment()["RAY_AUTH_MODE"] == "token"
    assert first.token not in repr(first)


def test_processes_import_nothing_from_the_directory_they_run_in() -> None:
    assert RayCluster(address="a:1").environment()["PYTHONSAFEPATH"] == "1"


def test_without_ray_the_command_says_how_to_install_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.executable", str(tmp_path / "python"))
    with pytest.raises(PlannerError, match=r"pip install 'sortplanner\[ray\]'"):
        ray_program()


def test_health_checks_of_a_large_cluster_wait_longer() -> None:
    """178 nodes: 178 / 16 is 11.1, capped at ten: 3 checks of 10 s. Up to 16 nodes: 3 of 1 s."""
    times = ("RAY_health_check_period_ms", "RAY_health_check_timeout_ms")
    for nodes, expected in (
        (1, ("250", "1000")),
        (16, ("250", "1000")),
        (32, ("500", "2000")),
        (178, ("2500", "10000")),
    ):
        environment = RayCluster(address="a:1", nodes=nodes).environment()
        assert tuple(environment[name] for name in times) == expected
        assert environment["RAY_health_check_failure_threshold"] == "3"
