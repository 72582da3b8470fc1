"""Nodes whose tasks run in the test's process when they are awaited."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

import pytest

from planner.distributed_sort.node_files.node_environment import NODE_NAME


class InlineNodes:
    """The part of `Nodes` needed before and after a sort; `begun` has the node of each task."""

    def __init__(self, names: Sequence[str], patch: pytest.MonkeyPatch) -> None:
        self.names = list(names)
        self.facts = {name: SimpleNamespace(data_disks=1) for name in names}
        self.begun: list[str] = []
        self._patch = patch

    def threads(self, node: str) -> int:
        del node
        return 1

    def run(self, node: str, task: Callable[..., Any], *arguments: Any) -> Callable[[], Any]:
        self.begun.append(node)

        def done() -> Any:
            with self._patch.context() as patch:
                patch.setenv(NODE_NAME, node)
                return task(*arguments)

        return done

    def wait_for(self, reference: Callable[[], Any], *, nodes: Sequence[str]) -> Any:
        del nodes
        return reference()

    def detect_losses(self, *, at_once: bool) -> frozenset[str]:
        del at_once
        return frozenset()
