"""What links carry is measured between all nodes at a time, and unknown where one is lost."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

import pytest

from planner.distributed_sort.link_probe import PROBE_BYTES, link_bytes_per_s
from planner.distributed_sort.nodes import LOST, Nodes


class FakeNodes:
    """Every node makes a reference that has its name; pulling takes as long as `seconds` says by node."""

    def __init__(self, seconds: dict[str, Any], *, makers: Sequence[str] | None = None) -> None:
        self.names = list(seconds)
        self.pulled: dict[str, str] = {}
        self._seconds, self._makers = seconds, makers

    def on_all(self, _: Callable[..., Any], size: int) -> dict[str, Any]:
        assert size == PROBE_BYTES
        return {name: [name] for name in self._makers or self.names}

    def run(self, node: str, _: Callable[..., Any], references: list[str]) -> str:
        (self.pulled[node],) = references
        return node

    def awaited(self, reference: str, **_: Any) -> Any:
        return self._seconds[reference]


def rate(nodes: FakeNodes) -> float | None:
    return link_bytes_per_s(cast("Nodes", nodes))


def test_every_node_pulls_from_the_next() -> None:
    nodes = FakeNodes({"a": 0.1, "b": 0.2, "c": 4.0})
    assert rate(nodes) == pytest.approx(4e6 / 0.2), "the median"
    assert nodes.pulled == {"a": "b", "b": "c", "c": "a"}


def test_without_a_link_or_all_nodes_the_rate_is_unknown() -> None:
    assert rate(FakeNodes({"a": 0.1})) is None
    assert rate(FakeNodes({"a": 0.1, "b": 0.1}, makers=["a"])) is None
    assert rate(FakeNodes({"a": 0.1, "b": LOST})) is None
