"""Entries of emulated clusters are written atomically, and state whether their owner is alive."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest
from refusals import refused

from planner.clusters.emulated import registry
from planner.errors import IoFailureError


@pytest.fixture(autouse=True)
def own_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PLANNER_STATE", str(tmp_path / "state"))


def test_an_entry_is_read_back_until_it_is_forgotten(tmp_path: Path) -> None:
    entry = registry.register(nodes=3, directory=tmp_path, shaped=False)
    assert list(registry.entries()) == [entry]
    assert entry.is_owned and Path(entry.directory).parent == tmp_path
    registry.forget(entry)
    registry.forget(entry)
    assert list(registry.entries()) == []


def test_an_owner_that_began_at_another_time_is_another_process(tmp_path: Path) -> None:
    entry = registry.register(nodes=1, directory=tmp_path, shaped=False)
    assert not replace(entry, owner_start_ticks=entry.owner_start_ticks - 1).is_owned
    assert not replace(entry, owner_pid=2**22 + 1).is_owned


def test_start_ticks_are_those_of_the_process() -> None:
    assert registry.start_ticks(os.getpid()) == registry.start_ticks(os.getpid()) != registry.start_ticks(1)
    assert registry.start_ticks(2**22 + 1) is None


def test_a_damaged_entry_is_named(tmp_path: Path) -> None:
    registry.registry_directory().mkdir(parents=True)
    (registry.registry_directory() / "abc.json").write_text('{"cluster_id": "abc"}')
    with pytest.raises(IoFailureError, match=r"abc\.json is damaged"):
        list(registry.entries())


def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("PLANNER_STATE", str(tmp_path / "file"))
    with refused("io", "PLANNER_STATE", kind=IoFailureError):
        registry.register(nodes=1, directory=tmp_path, shaped=False)
