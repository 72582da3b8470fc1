"""A killed sort is put away: what it left on the nodes goes, and nothing else."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from refusals import refused

import planner
from planner.distributed_sort.dataset.dataset import Dataset
from planner.errors import IoFailureError, UnfinishedError
from tests.distributed_sort.test_sort_journey import REDUCE, Once, check, generated, intermediate_files
from tests.marks import quick_soak

if TYPE_CHECKING:
    from conftest import SortCluster

NODES = (1, 2, 3)


def kill(cluster: SortCluster, folder: Path, *, output: str) -> Dataset:
    """Begin a sort, and kill its driver when some partitions are written."""
    source = generated(cluster, f"{output}-in")
    event = Once(lambda: os.kill(cluster.driver(), signal.SIGKILL), phase=REDUCE, share=0.3)
    with pytest.raises(IoFailureError, match="run the same command again"):
        cluster.sort(source, journal_of(folder), output=output, on_event=event)
    return source


def journal_of(folder: Path) -> Path:
    return folder / ".out.json.journal"


def call(cluster: SortCluster, folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Call `planner sort --abandon` on the head."""
    asked = ("-m", "planner", "sort", "--abandon", "out.json", "--ray", cluster.emulated.ray.address, *words)
    return subprocess.run(
        cluster.emulated.command(0, sys.executable, *asked),
        env=cluster.emulated.environment(), cwd=folder, capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip


def partitions(cluster: SortCluster, output: str) -> list[Path]:
    return [path for node in NODES for path in cluster.directory(node).glob(f"{output}/*part-*")]


def in_memory(cluster: SortCluster) -> set[Path]:
    return {path for node in NODES for path in cluster.emulated.nodes.memory(node).iterdir()}


@pytest.mark.needs_root(why="finds a node's processes by its network namespace")
def test_what_a_killed_sort_left_is_freed_and_nothing_else(sort_cluster: SortCluster, tmp_path: Path) -> None:
    of_others = in_memory(sort_cluster)
    source = kill(sort_cluster, tmp_path, output="away")
    time.sleep(3.0)  # its processes, which Ray ends, keep their notes while they live
    left = [path for path in intermediate_files(sort_cluster) if path.is_dir()]
    assert left and partitions(sort_cluster, "away")
    others = [sort_cluster.directory(1) / name for name in (".planner-sort-other/run", "away/part-000000-other")]
    for path in others:
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(b"another job's")
    done = call(sort_cluster, tmp_path, "--json")
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    assert said["nodes"] == ["node-1", "node-2", "node-3"] and said["absent_nodes"] == []
    assert said["freed_bytes"] >= 0.9 * source.bytes and said["uploads"] == 0 and not said["is_published"]
    assert not any(path.exists() for path in left)
    assert in_memory(sort_cluster) <= of_others, "nor are there notes of the tasks that ended with it"
    assert partitions(sort_cluster, "away") == [others[1]]
    assert all(path.read_bytes() == b"another job's" for path in others), "other jobs' files stay"
    assert not journal_of(tmp_path).exists()
    again = call(sort_cluster, tmp_path)
    assert again.returncode == 2 and "no unfinished sort" in again.stderr
    output, report = sort_cluster.sort(source, journal_of(tmp_path), output="away-again")
    check(source, output)
    assert not report["resumed"]
    for path in others:
        path.unlink()
    others[0].parent.rmdir()


@quick_soak
@pytest.mark.needs_root(why="finds a node's processes by its network namespace")
def test_an_absent_node_is_named_until_it_is_forgotten(sort_cluster: SortCluster, tmp_path: Path) -> None:
    kill(sort_cluster, tmp_path, output="absent")
    order: dict[str, Any] = {"do": "abandon", "journal": str(journal_of(tmp_path)), "wait_s": 60}
    order |= {"manifest": str(tmp_path / "out.json"), "forgets_absent": False}
    try:
        sort_cluster.lose(2)
        with refused("absent-nodes", "node-2", "--force", kind=UnfinishedError):
            sort_cluster.do(order, lambda _: None)
        assert journal_of(tmp_path).exists()
        assert sort_cluster.do(order | {"forgets_absent": True}, lambda _: None)["absent_nodes"] == ["node-2"]
        assert not journal_of(tmp_path).exists()
    finally:
        sort_cluster.restart(2)


def test_without_such_a_sort_nothing_is_looked_for(tmp_path: Path) -> None:
    with refused("no-job", "no unfinished sort", ".out.json.journal"):
        planner.abandon_sort(tmp_path / "out.json", ray="127.0.0.1:1")
    journal_of(tmp_path).write_text('{"x": 1}\n')
    with refused("damaged-journal", "not a journal"):
        planner.abandon_sort(tmp_path / "out.json", ray="127.0.0.1:1")
