"""A node has no more work under way than its room, processors and tasks allow."""

from __future__ import annotations

from planner.sort_policy.concurrency import ActiveMaps, Concurrency, sorts_to_begin

THREE = Concurrency(tasks=3)


def startable_slices(node: ActiveMaps) -> int:
    return node.startable_slices(THREE, slices=8, slice_bytes=100)


def test_a_node_begins_with_one_slice_and_gets_one_more_for_each_that_is_grouped() -> None:
    assert startable_slices(ActiveMaps()) == 1
    assert startable_slices(ActiveMaps(held_bytes=100, slices=1, grouping=1)) == 0
    assert startable_slices(ActiveMaps(held_bytes=100, slices=1, grouped=1)) == 1
    assert startable_slices(ActiveMaps(held_bytes=150, slices=2, grouped=2)) == 1  # half of 300 bytes are there


def test_one_task_is_left_for_what_arrives_and_the_store_is_not_overfilled() -> None:
    assert startable_slices(ActiveMaps(grouped=50)) == 2
    assert startable_slices(ActiveMaps(grouped=50, grouping=2)) == 0
    assert startable_slices(ActiveMaps(grouped=50, held_bytes=750, slices=8)) == 0
    assert startable_slices(ActiveMaps(grouped=50, held_bytes=0, slices=32)) == 0, "even empty blocks"


def test_partitions_that_are_copied_stay_under_way_longer() -> None:
    assert sorts_to_begin(THREE, in_progress=0, sorting=0, copied=False) == 3
    assert sorts_to_begin(THREE, in_progress=0, sorting=0, copied=True) == 2
    assert sorts_to_begin(THREE, in_progress=7, sorting=0, copied=True) == 1
    assert sorts_to_begin(THREE, in_progress=9, sorting=3, copied=True) == 0
