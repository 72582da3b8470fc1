"""A process reads the facts of its node from its environment."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from refusals import refused

from planner.distributed_sort.node_files.node_environment import (
    JobFiles,
    available_bytes,
    data_directories,
    facts,
    free_space,
    node_memory,
    node_name,
    node_volume,
    scratch_directories,
)
from planner.errors import IoFailureError

FILES = JobFiles(job="j", output="out")


def test_nodes_of_one_machine_share_its_memory(this_node: Path) -> None:
    own = facts()
    assert 0 < own.available_bytes <= own.memory_bytes
    other = replace(own, machine="other", available_bytes=own.available_bytes // 4)
    assert available_bytes([own, own]) == own.available_bytes / 2
    assert available_bytes([own, own, other]) == own.available_bytes // 4, "less than half"


def test_names_and_disks_come_from_the_environment(this_node: Path) -> None:
    assert node_name() == "node-1"
    assert [folder.parent.name for folder in FILES.output_folders()] == ["disk0", "disk1"]
    assert [folder.parent.name for folder in FILES.run_folders()] == ["disk1", "disk2"]
    assert Path(FILES.output_uri(3)).relative_to(this_node) == Path("disk1/out/part-000003-j")
    assert JobFiles(job="j", output="s3://b/out/").output_uri(3) == "s3://b/out/part-000003-j"


@pytest.mark.usefixtures("this_node")
def test_disks_are_shared_unless_some_are_set_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PLANNER_NODE_SCRATCH")
    assert [folder.parent.name for folder in FILES.run_folders()] == ["disk0", "disk1"]
    assert facts().data_disks == 2


def test_a_disk_that_is_not_there_is_named(this_node: Path) -> None:
    (this_node / "disk2").rmdir()
    with refused("io", "node-1", str(this_node / "disk2"), kind=IoFailureError):
        facts()


def test_what_a_node_was_not_told_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("PLANNER_NODE_NAME", "PLANNER_NODE_DIRECTORY", "PLANNER_NODE_VOLUME", "PLANNER_NODE_MEMORY"):
        monkeypatch.delenv(name, raising=False)
    assert data_directories(str(tmp_path)) == [tmp_path]
    assert node_memory() == Path("/dev/shm")
    with pytest.raises(IoFailureError, match="pass --dir, or set PLANNER_NODE_DIRECTORY"):
        data_directories()
    with pytest.raises(IoFailureError, match="has no volume: set PLANNER_NODE_VOLUME"):
        node_volume()


def test_folders_are_deleted_with_all_in_them(tmp_path: Path) -> None:
    (tmp_path / "a" / "b").mkdir(parents=True)
    free_space([tmp_path / "a", tmp_path / "none"])
    assert not list(tmp_path.iterdir())


def test_an_empty_name_between_separators_is_no_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PLANNER_NODE_DIRECTORY", "/mnt/a::/mnt/b:")
    monkeypatch.setenv("PLANNER_NODE_SCRATCH", ":/mnt/c")
    assert data_directories() == [Path("/mnt/a"), Path("/mnt/b")]
    assert scratch_directories() == [Path("/mnt/c")]
