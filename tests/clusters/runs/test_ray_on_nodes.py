"""Starting Ray by a script: the limits of its processes."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from planner.clusters.ray.nodes import RayCluster, RayNode
from planner.clusters.remote.ssh import Ssh, UnreachableError
from planner.clusters.runs.ray_on_nodes import _script, _Start
from planner.errors import IoFailureError

NODE = RayNode(name="n", address="10.0.0.2", cpus=1.0, object_store_bytes=1, disks=(Path("/mnt/a"),))


def test_ray_gets_all_the_files_that_a_login_may_have(tmp_path: Path) -> None:
    """A shell with a soft limit of 256 runs the script; the command started in Ray's place records its own limit."""
    limit = tmp_path / "limit"
    script = _script(RayCluster(address="a:1"), NODE, ["sh", "-c", f"ulimit -S -n > '{limit}'"])
    subprocess.run(
        ["sh", "-c", 'ulimit -S -n 256; ulimit -H -n 4096; mkdir planner; exec sh -s'],
        input=script.encode(), cwd=tmp_path, check=True,
    )  # fmt: skip
    assert limit.read_text("utf-8").strip() == "4096"


class LosingSsh(Ssh):
    """Fails the given number of times; Ray may have started all the same."""

    def __init__(self, failures: list[IoFailureError]) -> None:
        self.failures, self.scripts = failures, list[str]()

    def run(self, node: str, script: str, *, within_s: float) -> str:
        assert node == "head" and within_s > 0
        self.scripts.append(script)
        if self.failures:
            raise self.failures.pop(0)
        return "started"


def started(ssh: Ssh, **undo: str) -> str:
    start = _Start(ssh=ssh, cluster=RayCluster(address="a:1"), memory_bytes=1, split=None, lent="")
    return start.run_script("head", "start\n", **undo)


def test_a_second_start_first_ends_what_the_one_before_began() -> None:
    ssh = LosingSsh([UnreachableError("lost"), IoFailureError("failed")])
    assert started(ssh) == "started"
    assert ssh.scripts[0] == "start\n"
    assert all("gcs_server" in script and script.endswith("start\n") for script in ssh.scripts[1:])
    assert len(ssh.scripts) == 3


def test_a_second_node_on_the_head_does_not_end_the_first() -> None:
    ssh = LosingSsh([UnreachableError("lost")])
    assert started(ssh, undo="") == "started"
    assert ssh.scripts == ["start\n"] * 2


def test_the_last_failure_is_told() -> None:
    with pytest.raises(UnreachableError, match="third"):
        started(LosingSsh([UnreachableError(word) for word in ("first", "second", "third")]))
