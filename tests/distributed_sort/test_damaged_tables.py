"""Copies of damaged Parquet files: another copy is read, and each damage is reported."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from refusals import refused

from planner.distributed_sort.dataset.dataset import Copy, Dataset
from planner.distributed_sort.dataset.readable_input import InputTask, ReadableInput
from planner.distributed_sort.dataset.table_dataset import tables_of
from planner.distributed_sort.job.nodes import Nodes
from planner.distributed_sort.node_files.node_environment import JobFiles
from planner.distributed_sort.node_tasks.node_tasks import sample
from tests.distributed_sort.inline_nodes import InlineNodes

NODES = (("a", "b"), ("a", ""), ("", ""))
"""Places of both copies; '' is where all nodes reach one."""


def dataset(folder: Path, places: tuple[str, str]) -> Dataset:
    paths = [folder / f"{number}.parquet" for number in range(2)]
    for path in paths:
        pq.write_table(pa.table({"k": list(range(1000))}), path)
    source = tables_of([str(paths[0])], ["k"])
    copies = tuple(Copy(uri=str(path), node=node) for path, node in zip(paths, places, strict=True))
    (partition,) = source.partitions
    return Dataset(partitions=(replace(partition, copies=copies),), layout=source.layout)


def damage(path: Path, how: str) -> None:
    content = path.read_bytes()
    path.write_bytes(content[: len(content) // 2] if how == "truncated" else content[:-20] + b"x" * 20)


def sampled(source: Dataset, patch: pytest.MonkeyPatch) -> tuple[list[Any], list[dict[str, Any]]]:
    events = list[dict[str, Any]]()
    nodes = cast("Nodes", InlineNodes(["a", "b"], patch))
    readable = ReadableInput(source, files=JobFiles(job="j", output="out"), nodes=nodes, emit=events.append)
    task = InputTask(partition=0, task=sample, arguments=(source.layout, 10))
    return readable.outcomes([task], failed="not sampled"), events


@pytest.mark.parametrize("how", ["truncated", "footer"])
@pytest.mark.parametrize("places", NODES, ids=["two-nodes", "node-and-shared", "two-shared"])
def test_another_copy_is_read_for_a_damaged_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, places: tuple[str, str], how: str
) -> None:
    source = dataset(tmp_path, places)
    expected, _ = sampled(source, monkeypatch)
    damage(tmp_path / "0.parquet", how)
    outcome, events = sampled(source, monkeypatch)
    assert outcome == expected
    (event,) = events
    assert event["event"] == "unreadable"
    assert "0.parquet: " in event["reason"]


@pytest.mark.parametrize("places", NODES, ids=["two-nodes", "node-and-shared", "two-shared"])
def test_all_copies_are_named_when_each_is_damaged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, places: tuple[str, str]
) -> None:
    source = dataset(tmp_path, places)
    for number in range(2):
        damage(tmp_path / f"{number}.parquet", "truncated")
    with refused("damaged-copies") as caught:
        sampled(source, monkeypatch)
    assert [f"{number}.parquet: " in line for number, line in enumerate(caught.value.details)] == [True, True]
