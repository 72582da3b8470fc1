"""Tasks under way land when they end, and at once when their node is lost, or one whose data they wait for."""

from __future__ import annotations

from typing import Any, cast

from planner.distributed_sort.nodes import LOST, Crew
from planner.distributed_sort.pending_tasks import Flight


class Silent:
    """A Ray that has heard of no task's end yet."""

    def __init__(self) -> None:
        self.cancelled: list[tuple[str, bool]] = []

    def wait(self, under_way: list[str], **_: Any) -> tuple[list[str], list[str]]:
        assert under_way
        return [], under_way

    def cancel(self, reference: str, *, force: bool) -> None:
        self.cancelled.append((reference, force))


class Nodes:
    """Those that are lost."""

    lost = frozenset[str]()


def test_tasks_of_a_lost_node_are_given_up_at_once() -> None:
    ray, nodes, landed = Silent(), Nodes(), list[tuple[str, Any]]()
    flight = Flight(ray, cast("Crew", nodes))
    for reference, node in (("one", "a"), ("two", "b"), ("three", "a")):
        flight.add(reference, lambda outcome, reference=reference: landed.append((reference, outcome)), node=node)
    flight.land()
    assert landed == []
    nodes.lost = frozenset({"a"})
    flight.land()
    assert landed == [("one", LOST), ("three", LOST)]
    assert ray.cancelled == [("one", True), ("three", True)]
    assert len(flight) == 1
    nodes.lost = frozenset({"a", "b"})
    flight.land()
    assert len(flight) == 0


def test_what_waits_for_a_lost_node_is_given_up_and_its_own_node_left_in_peace() -> None:
    ray, nodes, landed = Silent(), Nodes(), list[Any]()
    flight = Flight(ray, cast("Crew", nodes))
    flight.add("one", landed.append, node="a", sources=["c", "b"])
    flight.add("two", landed.append, node="a", sources=["c"])
    nodes.lost = frozenset({"b"})
    flight.land()
    assert (landed, ray.cancelled, len(flight)) == ([LOST], [("one", False)], 1)
