"""Splitters come from a sample read on the nodes, in spite of nodes that are lost meanwhile."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

import pytest
from refusals import refused

from planner.distributed_sort.content.text_content import Text
from planner.distributed_sort.dataset.dataset import Copy, Dataset, Partition, Recipe, TextFormat
from planner.distributed_sort.dataset.readable_input import ReadableInput
from planner.distributed_sort.job.nodes import LOST, Nodes
from planner.distributed_sort.node_files.node_environment import JobFiles
from planner.distributed_sort.phases.preparation import choose_splitting, split_to_fit
from planner.errors import IoFailureError
from planner.sort_policy.sizing import Sizes

RECORD_BYTES = 100
RECORDS = 4000
SIZES = Sizes(slice_records=1000, slices=1, parcel_bytes=1, partitions=4, sort_bytes=10**8)


class LocalNodes:
    """Nodes whose tasks run in this process; `doomed` is lost while it runs its first task."""

    def __init__(self, *names: str, doomed: str = "") -> None:
        self.names = list(names)
        self.doomed = doomed
        self.ran_on: list[str] = []

    def run(self, node: str, task: Callable[..., Any], *arguments: Any) -> Any:
        self.ran_on.append(node)
        return LOST if node == self.doomed else task(*arguments)

    def wait_for(self, reference: Any, *, nodes: Sequence[str]) -> Any:
        return reference

    def detect_losses(self, *, at_once: bool) -> frozenset[str]:
        assert at_once
        self.names.remove(self.doomed)
        return frozenset({self.doomed})


def splitting(nodes: LocalNodes, *partitions: Partition, uniform: bool = False) -> tuple[Any, int, list[dict]]:
    events: list[dict[str, Any]] = []
    readable = ReadableInput(
        Dataset(partitions=partitions), files=JobFiles(job="j", output="out"), nodes=cast("Nodes", nodes),
        emit=events.append,
    )  # fmt: skip
    result, bytes_read = choose_splitting(readable, sizes=SIZES, is_uniform=uniform)
    return result, bytes_read, events


def recipes(count: int) -> list[Partition]:
    return [Partition(records=RECORDS, copies=(), recipe=Recipe(start=RECORDS * index)) for index in range(count)]


def test_even_keys_need_no_reading() -> None:
    nodes = LocalNodes("a")
    result, bytes_read, _ = splitting(nodes, *recipes(1), uniform=True)
    assert (bytes_read, nodes.ran_on) == (0, [])
    assert result.weights == pytest.approx([0.25] * 4)


def test_every_partition_that_has_records_gives_its_share_of_the_sample() -> None:
    nodes = LocalNodes("a", "b")
    empty = Partition(records=0, copies=(), recipe=Recipe(start=0))
    result, bytes_read, events = splitting(nodes, *recipes(2), empty)
    assert nodes.ran_on == ["a", "b"]
    assert bytes_read == 2 * RECORDS * RECORD_BYTES, "2000 keys for each of 4 partitions are all of the records"
    assert result.weights == pytest.approx([0.25] * 4, abs=0.01)
    assert events == []


def test_what_a_lost_node_had_to_sample_is_sampled_elsewhere() -> None:
    nodes = LocalNodes("a", "b", doomed="b")
    undisturbed, _, _ = splitting(LocalNodes("a", "b"), *recipes(2))
    result, bytes_read, events = splitting(nodes, *recipes(2))
    assert nodes.ran_on == ["a", "b", "a"]
    assert events == [{"event": "lost", "nodes": ["b"], "left": ["a"]}]
    assert bytes_read == 2 * RECORDS * RECORD_BYTES
    assert result.weights == undisturbed.weights


def test_a_partition_on_absent_nodes_is_named() -> None:
    absent = Partition(records=5, copies=(Copy(uri="/in/part-0", node="z"), Copy(uri="/in/part-0", node="y")))
    with refused("node-absent", "/in/part-0", "y, z", kind=IoFailureError):
        splitting(LocalNodes("a"), absent)


def short_lines(lines: list[bytes], *, unique: bool = False, most_bytes: float) -> tuple[Text, Any]:
    content = Text(TextFormat(unique=unique))
    return content, split_to_fit(content, [lines], partitions=4, most_bytes=most_bytes)[0]


def test_text_of_short_lines_gets_more_partitions() -> None:
    """Each line, however short, needs the same extra memory."""
    digits = [b"%d" % (number % 10) for number in range(8000)]
    long = [b"%d" % number * 20 for number in range(8000)]
    for lines, most_bytes in ((digits, 1.5), (digits + long, 0.4)):
        content, splitting = short_lines(lines, most_bytes=most_bytes)
        assert splitting.partitions >= 8
        assert content.peak_bytes_per_byte([lines], splitting) <= most_bytes
    assert short_lines(long, most_bytes=2.5)[1].partitions == 4


def test_lines_that_must_stay_together_get_no_more_partitions() -> None:
    assert short_lines([b"1"] * 8000, unique=True, most_bytes=1.5)[1].partitions <= 6
