"""Starting Ray by a script: what its processes are allowed."""

from __future__ import annotations

import subprocess
from pathlib import Path

from planner.ray_cluster.nodes import RayCluster, RayNode
from planner.runs.ray_on_nodes import _script

NODE = RayNode(name="n", address="10.0.0.2", cpus=1.0, object_store_bytes=1, disks=(Path("/mnt/a"),))


def test_ray_gets_all_the_files_that_a_login_may_have(tmp_path: Path) -> None:
    """A shell with a soft limit of 256 runs the script; what it starts in Ray's place tells its own limit."""
    limit = tmp_path / "limit"
    script = _script(RayCluster(address="a:1"), NODE, ["sh", "-c", f"ulimit -S -n > {limit}"])
    subprocess.run(
        ["sh", "-c", 'ulimit -S -n 256; ulimit -H -n 4096; mkdir planner; exec sh -s'],
        input=script.encode(), cwd=tmp_path, check=True,
    )  # fmt: skip
    assert limit.read_text("utf-8").strip() == "4096"
