"""Intermediate files that are damaged again and again end a sort, with an error that states the damage."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from refusals import refused

from planner.distributed_sort import sort
from planner.distributed_sort.dataset.dataset import Layout
from planner.distributed_sort.job.job import Job
from planner.distributed_sort.job.ledger import Ledger
from planner.distributed_sort.node_files.node_environment import JobFiles
from planner.distributed_sort.node_tasks.node_tasks import Inventory
from planner.distributed_sort.publishing import ManifestPlace
from planner.errors import IoFailureError


def damaged_job(events: list[dict[str, Any]]) -> Job:
    """Return a job of two slices and nodes, all of it stored; node b has only the second slice left."""
    ledger = Ledger(slices=2, owner=["a", "b"])
    for number in range(2):
        ledger.record({0: 5, 1: 5}, first=number, end=number + 1)
    nodes = SimpleNamespace(
        names=["a", "b"],
        run=lambda node, _task, _files: Inventory(runs=((1, 1, 2, 5),)) if node == "b" else None,
        wait_for=lambda inventory, nodes: inventory,
    )
    job = SimpleNamespace(
        nodes=nodes,
        files=None,
        source=SimpleNamespace(layout=Layout()),
        ledger=ledger,
        damaged={},
        damages=Counter(),
        emit=events.append,
    )
    return cast("Job", job)


def test_what_a_node_lacks_is_missing_again() -> None:
    events: list[dict[str, Any]] = []
    job = damaged_job(events)
    job.damaged["b"] = "node-b: a bad sector"
    sort._repair_damaged_files(job)
    assert job.ledger.missing_slices() == [0]
    assert job.ledger.missing_ranges(0) == [("b", 1, 2)]
    assert (job.damaged, job.damages) == ({}, {"b": 1})
    assert events == [{"event": "damaged", "node": "b", "reason": "node-b: a bad sector"}]


def test_a_broken_disk_ends_the_sort() -> None:
    job = damaged_job([])
    for _ in range(3):
        job.damaged["b"] = "node-b: a bad sector"
        sort._repair_damaged_files(job)
    job.damaged["b"] = "node-b: a bad sector"
    with pytest.raises(IoFailureError, match="a bad sector; made again 3 times"):
        sort._repair_damaged_files(job)


def test_a_manifest_is_not_called_as_its_partitions_folder(tmp_path: Path) -> None:
    folders = {"a": [tmp_path / "disk" / "out"], "b": [tmp_path / "out"]}
    nodes: Any = SimpleNamespace(run_on_all=lambda _task, _files: folders)
    files = JobFiles(job="j", output="out")
    sort._require_other_name([ManifestPlace(uri=str(tmp_path / "out.json"))], files, nodes)
    with refused("name-taken"):
        sort._require_other_name([ManifestPlace(uri=str(tmp_path / "out"))], files, nodes)
