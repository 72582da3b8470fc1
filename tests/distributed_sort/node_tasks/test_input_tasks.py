"""Unreadable input is read again, from the next copy, before it ends a sort."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from planner.distributed_sort.dataset import readable_input
from planner.distributed_sort.dataset.dataset import Copy, Dataset, Layout, Partition, TextFormat
from planner.distributed_sort.dataset.readable_input import InputTask, outcomes
from planner.distributed_sort.node_tasks.node_tasks import sample
from planner.errors import IoFailureError
from tests.distributed_sort.inline_nodes import InlineNodes

LAYOUT = Layout.of_text(TextFormat())


@pytest.fixture(autouse=True)
def no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(readable_input, "_READS_AGAIN_S", (0.0, 0.0))


def two_copies(folder: Path) -> Dataset:
    """Two partitions of a line, each on both nodes."""
    copies = [[Copy(uri=str(folder / f"{part}-{node}"), node=node) for node in ("a", "b")] for part in range(2)]
    for copy in [*copies[0], *copies[1]]:
        Path(copy.uri).write_bytes(b"line\n")
    return Dataset(partitions=tuple(Partition(records=5, copies=tuple(both)) for both in copies), layout=LAYOUT)


def sampled(nodes: InlineNodes, source: Dataset) -> list[Any]:
    tasks = [InputTask(partition=number, task=sample, arguments=(LAYOUT, 1)) for number in range(2)]
    return outcomes(tasks, source, nodes, lambda _: None, failed="not sampled")  # type: ignore[arg-type]


def test_a_copy_that_cannot_be_read_is_replaced_by_the_next(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source, nodes = two_copies(tmp_path), InlineNodes(["a", "b"], monkeypatch)
    expected = sampled(nodes, source)
    (tmp_path / "1-a").unlink()
    nodes.begun.clear()
    assert sampled(nodes, source) == expected
    assert nodes.begun == ["a", "a", "b"], "only what failed is done again"


def test_what_no_node_can_read_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = two_copies(tmp_path)
    for node in ("a", "b"):
        (tmp_path / f"1-{node}").unlink()
    with pytest.raises(IoFailureError, match=r"a: cannot read .*1-a"):
        sampled(InlineNodes(["a", "b"], monkeypatch), source)
