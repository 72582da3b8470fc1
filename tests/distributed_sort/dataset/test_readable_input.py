"""Decompressed text is lost with its node, or becomes bad, while the input is read: only that is made again."""

from __future__ import annotations

import gzip
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, cast

import pytest

from planner.distributed_sort.dataset.dataset import Copy, Dataset, Layout, Partition, TextFormat
from planner.distributed_sort.dataset.readable_input import InputTask, ReadableInput
from planner.distributed_sort.job.nodes import LOST, Nodes
from planner.distributed_sort.node_files.node_environment import NODE_DIRECTORY, JobFiles
from planner.distributed_sort.node_tasks.node_tasks import sample
from planner.errors import IoFailureError
from tests.distributed_sort.inline_nodes import InlineNodes

LAYOUT = Layout.of_text(TextFormat())


class MortalNodes(InlineNodes):
    """Nodes with directories of their own; the `doomed` one is lost."""

    def __init__(self, names: Sequence[str], patch: pytest.MonkeyPatch, folder: Path) -> None:
        super().__init__(names, patch)
        self.doomed = ""
        self._folder = folder

    def run(self, node: str, task: Callable[..., Any], *arguments: Any) -> Callable[[], Any]:
        done = super().run(node, task, *arguments)

        def in_own_directory() -> Any:
            with self._patch.context() as patch:
                patch.setenv(NODE_DIRECTORY, str(self._folder / node))
                return done()

        return in_own_directory

    def wait_for(self, reference: Callable[[], Any], *, nodes: Sequence[str]) -> Any:
        return LOST if self.doomed in nodes else super().wait_for(reference, nodes=nodes)

    def detect_losses(self, *, at_once: bool) -> frozenset[str]:
        assert at_once
        gone = frozenset({self.doomed} & set(self.names))
        self.names = [name for name in self.names if name not in gone]
        return gone


@pytest.fixture
def nodes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> MortalNodes:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
    return MortalNodes(["a", "b"], monkeypatch, tmp_path)


def readable_files(folder: Path, nodes: MortalNodes, events: list[dict[str, Any]]) -> ReadableInput:
    """Four compressed files of one line each that all nodes reach; each node has decompressed two."""
    partitions = []
    for number in range(4):
        path = folder / f"{number}.gz"
        path.write_bytes(gzip.compress(b"line %d\n" % number))
        copy = Copy(uri=str(path), compression="gz")
        partitions.append(Partition(records=7, copies=(copy,), is_estimated=True))
    source = Dataset(partitions=tuple(partitions), layout=LAYOUT)
    files = JobFiles(job="j", output="out")
    readable = ReadableInput(source, files=files, nodes=cast("Nodes", nodes), emit=events.append)
    readable.decompress()
    assert sorted(nodes.begun) == ["a", "a", "b", "b"]
    nodes.begun.clear()
    return readable


def sampled(readable: ReadableInput) -> list[Any]:
    tasks = [InputTask(partition=number, task=sample, arguments=(LAYOUT, 1)) for number in range(4)]
    return readable.outcomes(tasks, failed="not sampled")


LINES = [[b"line %d" % number] for number in range(4)]


def test_text_lost_with_a_node_is_made_again_and_nothing_else(tmp_path: Path, nodes: MortalNodes) -> None:
    events: list[dict[str, Any]] = []
    readable = readable_files(tmp_path, nodes, events)
    nodes.doomed = "b"
    assert sampled(readable) == LINES
    assert nodes.begun == ["a", "b", "a", "b"] + ["a", "a"] * 2, "two are decompressed again, and the same two sampled"
    assert events == [{"event": "lost", "nodes": ["b"], "left": ["a"]}]
    assert all(partition.copies[0].node == "a" for partition in readable.source.partitions)


def test_text_that_went_bad_is_made_again_by_another_node(tmp_path: Path, nodes: MortalNodes) -> None:
    events: list[dict[str, Any]] = []
    readable = readable_files(tmp_path, nodes, events)
    bad = readable.source.partitions[2].copies[0]
    Path(bad.uri).write_bytes(b"")
    assert sampled(readable) == LINES
    assert [event["event"] for event in events] == ["unreadable"]
    assert readable.source.partitions[2].copies[0].node != bad.node
    assert len(nodes.begun) == 4 + 2


def test_files_that_are_gone_for_good_are_named(
    tmp_path: Path, nodes: MortalNodes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("planner.distributed_sort.dataset.readable_input._READS_AGAIN_S", (0.0, 0.0))
    readable = readable_files(tmp_path, nodes, [])
    (tmp_path / "1.gz").unlink()
    Path(readable.source.partitions[1].copies[0].uri).unlink()
    with pytest.raises(IoFailureError, match=r"1\.gz"):
        sampled(readable)
