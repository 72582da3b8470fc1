"""The services of nodes as they begin; all else is tested on a cluster (the journeys)."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from planner.distributed_sort.job.nodes import LOST, WORKER_RETRIES, Nodes

ADDRESS = "10.0.0.1", 7


def asked(monkeypatch: pytest.MonkeyPatch, answers: list[Any], *, alive: set[str]) -> tuple[Any, int]:
    """Return the address of a service that answers so, and how often it was asked again."""
    nodes, left, again = Nodes.__new__(Nodes), iter(answers), list[str]()
    remote = SimpleNamespace(remote=lambda: again.append("asked"))
    monkeypatch.setattr(nodes, "_ids", {"a": "id-of-a"}, raising=False)
    monkeypatch.setattr(nodes, "services", {"a": SimpleNamespace(address=remote)}, raising=False)
    monkeypatch.setattr(nodes, "wait_for", lambda *_, **__: next(left))
    monkeypatch.setattr(nodes, "_alive", lambda: alive)
    return nodes._address_of("a", None), len(again)


def test_a_service_that_dies_while_it_begins_is_asked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    assert asked(monkeypatch, [ADDRESS], alive={"id-of-a"}) == (ADDRESS, 0)
    assert asked(monkeypatch, [LOST, LOST, ADDRESS], alive={"id-of-a"}) == (ADDRESS, 2)


def test_the_service_of_a_lost_node_is_not_asked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    assert asked(monkeypatch, [LOST], alive=set()) == (LOST, 0)
    always = [LOST] * WORKER_RETRIES
    assert asked(monkeypatch, always, alive={"id-of-a"}) == (LOST, WORKER_RETRIES)
