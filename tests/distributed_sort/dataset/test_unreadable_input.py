"""Copies of the input that are given up when a node cannot read one."""

from __future__ import annotations

import pytest
from refusals import refused

from planner.distributed_sort.dataset.dataset import Copy, Partition, Recipe
from planner.distributed_sort.dataset.partition_reader import (
    InputDamagedError,
    InputUnreadableError,
    UnreadableCopy,
    require_intact_copy,
    unreadable_copy,
)
from planner.errors import BadInputError, IoFailureError

ON_A, ON_B = (Copy(uri=f"/{node}", node=node) for node in "ab")
SHARED, PACKED = Copy(uri="s3://b/in"), Copy(uri="/in.gz", compression="gz")
WORSE = InputUnreadableError("a: cannot read /a")


def of(*copies: Copy, recipe: Recipe | None = None) -> Partition:
    return Partition(records=9, copies=copies, recipe=recipe)


def fault_of(read: Partition) -> UnreadableCopy:
    fault = unreadable_copy(3, "a", read, WORSE)
    assert fault is not None
    return fault


def test_other_failures_say_nothing_of_the_input() -> None:
    assert unreadable_copy(3, "a", of(ON_A, PACKED), IoFailureError("a: the disk is full")) is None


def test_a_copy_is_given_up_where_the_partition_can_be_had_otherwise() -> None:
    for other in (SHARED, PACKED):
        assert fault_of(of(ON_A, other)).remove_from(of(ON_A, other)) == of(other)
    made = of(ON_A, recipe=Recipe(start=0))
    assert fault_of(made).remove_from(made) == of(recipe=Recipe(start=0))


def test_copies_on_nodes_are_read_by_turns_instead() -> None:
    assert fault_of(of(ON_A)).remove_from(of(ON_A)) is None
    assert fault_of(of(ON_A, ON_B)).remove_from(of(ON_A, ON_B)) is None


def test_a_copy_that_was_made_since_is_kept() -> None:
    newer = of(Copy(uri="/a-2", node="a"), PACKED)
    assert fault_of(of(ON_A, PACKED)).remove_from(newer) is None
    assert fault_of(of(ON_A, PACKED)).remove_from(of(ON_B, PACKED)) is None


def damaged_on(node: str, read: Partition) -> UnreadableCopy:
    fault = unreadable_copy(3, node, read, InputDamagedError(f"{node}: damaged"))
    assert fault is not None
    return fault


def test_a_damaged_copy_is_given_up_wherever_the_others_are() -> None:
    for other in (ON_B, SHARED, Copy(uri="/b-2", node="b")):
        both = of(ON_A, other)
        assert damaged_on("a", both).remove_from(both) == of(other)
    assert damaged_on("b", of(ON_A, SHARED)).remove_from(of(ON_A, SHARED)) == of(ON_A), "b reads what all reach"
    assert damaged_on("a", of(ON_A)).remove_from(of(ON_A)) is None


def test_all_damaged_copies_are_named_when_none_is_sound() -> None:
    both = of(ON_A, ON_B)
    first, second = damaged_on("a", both), damaged_on("b", both)
    require_intact_copy(3, both, [first, first])
    require_intact_copy(4, both, [first, second])
    with refused("damaged-copies") as caught:
        require_intact_copy(3, both, [first, second, second])
    assert caught.value.details == ("a: damaged", "b: damaged")
    with pytest.raises(BadInputError, match=r"^a: damaged$"):
        require_intact_copy(3, of(ON_A), [damaged_on("a", of(ON_A))])
