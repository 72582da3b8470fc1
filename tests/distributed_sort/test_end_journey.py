"""The order `end`: every machine of a cluster ends itself by its own unit, the driver's last."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from planner.clusters.emulated.ray import emulated_ray
from planner.clusters.emulated.shaping import Shaping
from planner.distributed_sort.node_files.node_environment import END_UNIT, NODE_NAME


@pytest.mark.soak
@pytest.mark.needs_root(why="makes network namespaces")
def test_every_machine_is_asked_to_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A script stands in for sudo, which would end this machine, and records its caller and arguments."""
    asked = tmp_path / "asked"
    program = tmp_path / "bin" / "sudo"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\necho "${{{NODE_NAME}:-driver}} $*" >>{asked}\n', "utf-8")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")
    monkeypatch.setenv("PLANNER_STATE", str(tmp_path / "state"))
    with (
        emulated_ray(workers=2, shaping=Shaping(), directory=tmp_path, store_bytes=80_000_000) as cluster,
        cluster.session() as session,
    ):
        session.do({"do": "end"}, lambda _: None)
    lines = asked.read_text("utf-8").splitlines()
    command = f"-n systemctl start --no-block {END_UNIT}"
    assert sorted(lines[:-1]) == [f"node-1 {command}", f"node-2 {command}"]
    assert lines[-1] == f"driver {command}"
