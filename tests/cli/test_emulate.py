"""The sweep of emulated clusters says what it removed."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from planner.cli.app import build
from planner.emulation.registry import register, save


def test_a_cluster_without_an_owner_is_removed_and_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PLANNER_STATE", str(tmp_path / "state"))
    entry = replace(register(nodes=1, directory=tmp_path, shaped=False), owner_pid=2**22 + 1)
    save(entry)
    first, second = (CliRunner().invoke(build(), ["emulate", "sweep", "--json"]).stdout for _ in range(2))
    assert json.loads(first) == {"removed": [entry.cluster_id]}
    assert json.loads(second) == {"removed": []}
    assert CliRunner().invoke(build(), ["emulate", "sweep"]).stdout.strip() == "nothing was left behind"
