"""The rates of links are measured between all nodes at a time, and unknown where one is lost."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest
from refusals import refused

from planner.distributed_sort.dataset.dataset import Dataset, Partition
from planner.distributed_sort.job.job import SortRequest
from planner.distributed_sort.job.nodes import LOST, Nodes
from planner.distributed_sort.node_files.node_environment import JobFiles
from planner.distributed_sort.phases.preparation import PROBE_BYTES, link_bytes_per_s, node_shares
from planner.errors import IoFailureError

FILES = JobFiles(job="j", output="out")


class FakeNodes:
    """Every node has a probe, except the `lost` ones; a fetch takes each node's `seconds`."""

    def __init__(self, seconds: dict[str, Any], *, lost: str = "") -> None:
        self.names = list(seconds)
        self.fetched: dict[str, str] = {}
        self._seconds, self._lost = seconds, lost

    def address(self, node: str) -> tuple[str, int]:
        return node, 0

    def call(self, node: str, method: str, files: JobFiles, *arguments: Any) -> Any:
        assert (files, arguments[-1]) == (FILES, PROBE_BYTES)
        if method == "begin_probe":
            return LOST if node == self._lost else None
        assert method == "probe_seconds"
        self.fetched[node] = arguments[0][0]
        return self._seconds[node]

    def wait_for(self, reference: Any, **_: Any) -> Any:
        return reference


def rate(nodes: FakeNodes) -> float | None:
    return link_bytes_per_s(cast("Nodes", nodes), FILES)


def test_every_node_fetches_from_the_next() -> None:
    nodes = FakeNodes({"a": 0.1, "b": 0.2, "c": 4.0})
    assert rate(nodes) == pytest.approx(4e6 / 0.2), "the median"
    assert nodes.fetched == {"a": "b", "b": "c", "c": "a"}


def test_without_a_link_or_all_nodes_the_rate_is_unknown() -> None:
    assert rate(FakeNodes({"a": 0.1})) is None
    assert rate(FakeNodes({"a": 0.1, "b": 0.1}, lost="b")) is None
    assert rate(FakeNodes({"a": 0.1, "b": LOST})) is None
    assert rate(FakeNodes({"a": 0.1, "b": None})) is None


def shares(free_bytes: dict[str, int], **options: Any) -> dict[str, float]:
    """Return the nodes' shares of a sort of 1000 bytes with 1000 of intermediate files besides its output."""
    nodes = SimpleNamespace(
        names=list(free_bytes), facts={name: SimpleNamespace(free_bytes=free) for name, free in free_bytes.items()}
    )
    source = Dataset(partitions=(Partition(records=10, copies=()),))
    request = SortRequest(source=source, **{"output": "out"} | options)
    return node_shares(request, source, cast("Nodes", nodes))


def test_a_node_gets_no_more_than_its_disks_have_room_for() -> None:
    assert shares({"a": 10**6, "b": 10**6}) == {"a": 1000, "b": 1000}
    assert shares({"a": 400, "b": 10**6}) == {"a": 380, "b": 1620}
    assert shares({"a": 400, "b": 10**6}, output="s3://b/out") == {"a": 380, "b": 620}
    assert shares({"a": 400, "b": 10**6}, rates={"a": 1.0, "b": 9.0}) == {"a": 200, "b": 1800}


def test_disks_that_are_too_small_together_are_named_before_anything_is_written() -> None:
    with refused("no-space", "2 KB", kind=IoFailureError) as caught:
        shares({"a": 400, "b": 1500})
    assert "a: 400 B, b: 1.5 KB" in caught.value.details[0]
