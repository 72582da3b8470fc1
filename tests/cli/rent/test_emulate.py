"""The sweep of emulated clusters reports what it removed."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from planner.cli.app import build
from planner.clusters.emulated.registry import register, save

pytestmark = pytest.mark.xdist_group("root")  # the sweep finds clusters emulated by other tests


def test_a_cluster_without_an_owner_is_removed_and_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PLANNER_STATE", str(tmp_path / "state"))
    entry = replace(register(nodes=1, directory=tmp_path, shaped=False), owner_pid=2**22 + 1)
    save(entry)
    first, second = (CliRunner().invoke(build(), ["emulate", "sweep", "--json"]).stdout for _ in range(2))
    assert entry.cluster_id in json.loads(first)["removed"]
    assert entry.cluster_id not in json.loads(second)["removed"]
    assert entry.cluster_id not in CliRunner().invoke(build(), ["emulate", "sweep"]).stdout
