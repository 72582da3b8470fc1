"""Slow nodes that stay: how they are written, and what they do to the groups."""

from __future__ import annotations

import pytest

import planner
from planner.errors import BadInputError
from planner.simulation.machines import NodeGroup
from planner.simulation.slow_nodes import Slow


def test_what_is_slow_is_read_as_people_write_it() -> None:
    assert Slow.parse("18@2") == Slow(nodes=18, factor=2.0)
    assert Slow.parse("10%@1.5") == Slow(share=0.1, factor=1.5)
    assert Slow.parse("network:1@3") == Slow(nodes=1, factor=3.0, resource="network")


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("18", "write 10%@2"),
        ("a@2", "write 10%@2"),
        ("18@", "write 10%@2"),
        ("1@1", "at least one node"),
        ("0@2", "at least one node"),
        ("0%@2", "at least one node"),
        ("1@inf", "write 10%@2"),
        ("fan:1@2", "one of network, cpu, disks"),
        (":1@2", "one of network, cpu, disks"),
    ],
)
def test_other_words_are_refused_with_an_example(text: str, why: str) -> None:
    with pytest.raises(BadInputError, match=why):
        Slow.parse(text)


def test_a_tenth_of_nineteen_nodes_are_two() -> None:
    assert Slow.parse("10%@2").count(19) == 2
    assert Slow.parse("10%@2").count(20) == 2
    with pytest.raises(BadInputError, match="only 4 nodes"):
        Slow.parse("5@2").count(4)


def test_slow_nodes_come_out_of_the_largest_groups_and_keep_what_else_is_slow() -> None:
    groups = [NodeGroup(nodes=1, slowness={"network": 1.2}), NodeGroup(nodes=9, slowness={"network": 1.1})]
    slow, fast, alone = Slow.parse("3@2").of(groups, ["local_disks"])
    assert (slow.nodes, fast.nodes, alone.nodes) == (3, 6, 1)
    assert slow.slow("network") == pytest.approx(2.2)
    assert slow.slow("local_disks") == slow.slow("cpu") == 2.0
    assert fast.slow("network") == 1.1


def test_only_what_is_named_is_slow() -> None:
    slow, _ = Slow.parse("disks:1@2").of([NodeGroup(nodes=2)], ["local_disks"])
    assert (slow.slow("local_disks"), slow.slow("network"), slow.slow("cpu")) == (2.0, 1.0, 1.0)


def test_a_slow_tenth_holds_up_nearly_all_of_a_sort() -> None:
    """Each phase ends when the last node is done: with all that a node has at half its rate nearly twice as late."""
    answer = planner.recommend("2TB", instance="i4i.8xlarge", nodes=20, model="indy")
    slow = answer.simulate(draws=1, slow="10%@2").slow
    assert slow is not None
    assert slow.nodes == 2
    assert 1.5 < slow.times <= 2.01
