"""Retries of a run's steps that fail because nodes are lost."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final, TypeVar

from planner.distributed_sort.job.events import Emit
from planner.distributed_sort.job.nodes import Nodes
from planner.errors import IoFailureError, PlannerError

_LOOK_EVERY_S: Final = 2.0
Result = TypeVar("Result")


@dataclass(frozen=True, kw_only=True)
class Losses:
    """What is done about nodes that are lost of the `wanted` ones; others get `replaced_within_s` to join."""

    ray: Any
    emit: Emit
    wanted: int
    replaced_within_s: float

    def retry_on_node_loss(
        self, nodes: Nodes, action: Callable[[Nodes], Result], *, rollback: Callable[[Nodes], None]
    ) -> tuple[Nodes, Result]:
        """Do something, as often as it fails with nodes lost meanwhile; `rollback` frees what the last attempt has
        written. Return the nodes that did it, and its result.
        """
        while True:
            try:
                return nodes, action(nodes)
            except PlannerError as error:
                if not find_lost(nodes):
                    raise
                nodes = self.recover(nodes, error, rollback=rollback)

    def recover(self, nodes: Nodes, error: PlannerError, *, rollback: Callable[[Nodes], None]) -> Nodes:
        """Say why something is done again, free what it has written, and return the nodes to do it on."""
        self.emit({"event": "again", "lost": sorted(nodes.lost), "reason": str(error)})
        left = self.wait_for_nodes()
        rollback(left)
        return left

    def wait_for_nodes(self) -> Nodes:
        """Return the nodes that are there, as soon as they are as many as at first, or nobody else has time to join."""
        end_s = time.monotonic() + self.replaced_within_s
        while time.monotonic() < end_s and self._count_alive() < self.wanted:
            time.sleep(_LOOK_EVERY_S)
        return Nodes(self.ray)

    def _count_alive(self) -> int:
        return sum(node["Alive"] and node["Resources"].get("CPU", 0) > 0 for node in self.ray.nodes())


def find_lost(nodes: Nodes) -> frozenset[str]:
    """Return the nodes that are lost by now, be it all of them."""
    with suppress(IoFailureError):
        nodes.detect_losses(at_once=True)
    return nodes.lost - nodes.avoided
