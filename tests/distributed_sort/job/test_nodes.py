"""Start of the nodes' services; the rest is tested on a cluster (the journeys)."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from refusals import refused

from planner.distributed_sort.job import nodes as module
from planner.distributed_sort.job.nodes import LOST, WORKER_RETRIES, Nodes
from planner.errors import IoFailureError

ADDRESS = "10.0.0.1", 7


def asked(monkeypatch: pytest.MonkeyPatch, answers: list[Any], *, alive: set[str]) -> tuple[Any, int]:
    """Return the address of a service that gives these answers, and how often it was asked again."""
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


def ring(monkeypatch: pytest.MonkeyPatch, answers: dict[str, Any], *, alive: str) -> None:
    """Have nodes meet, each answering why it does not reach the next; those in `alive` are alive some seconds later."""
    nodes = Nodes.__new__(Nodes)
    monkeypatch.setattr(module, "time", SimpleNamespace(sleep=lambda _: None))
    for name, value in {
        "_ids": {node: node for node in answers},
        "lost": frozenset(),
        "_addresses": {node: (f"host-{node}", 7) for node in answers},
        "call": lambda node, *_: answers[node],
        "wait_for": lambda answer, **_: answer,
        "_alive": lambda: set(alive),
    }.items():
        monkeypatch.setattr(nodes, name, value, raising=False)
    nodes._require_ports()


def test_a_port_that_is_blocked_is_named_and_what_to_open(monkeypatch: pytest.MonkeyPatch) -> None:
    ring(monkeypatch, {"a": "", "b": "", "c": LOST}, alive="ab")
    ring(monkeypatch, {"a": "Connection refused", "b": ""}, alive="a")
    with refused("port-blocked", "host-c:7", "8 s", kind=IoFailureError) as caught:
        ring(monkeypatch, {"a": "", "b": "no answer within 8 s", "c": "Connection refused"}, alive="bc")
    assert "20000 to 29999" in caught.value.details[0]
