"""What links carry is measured between all nodes at a time, and unknown where one is lost."""

from __future__ import annotations

from typing import Any, cast

import pytest

from planner.distributed_sort.job.nodes import LOST, Nodes
from planner.distributed_sort.node_files.node_environment import JobFiles
from planner.distributed_sort.phases.preparation import PROBE_BYTES, link_bytes_per_s

FILES = JobFiles(job="j", output="out")


class FakeNodes:
    """Every node has a probe, but those that are `lost`; fetching takes as long as `seconds` says by node."""

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
