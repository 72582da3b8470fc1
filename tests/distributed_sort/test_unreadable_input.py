"""Which copies of the input are given up when a node cannot read one."""

from __future__ import annotations

from planner.distributed_sort.dataset import Copy, Partition, Recipe
from planner.distributed_sort.partition_reader import InputUnreadableError
from planner.distributed_sort.unreadable_input import UnreadableCopy, unreadable_copy
from planner.errors import IoFailureError

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
        assert fault_of(of(ON_A, other)).avoided_in(of(ON_A, other)) == of(other)
    made = of(ON_A, recipe=Recipe(start=0))
    assert fault_of(made).avoided_in(made) == of(recipe=Recipe(start=0))


def test_copies_on_nodes_are_read_by_turns_instead() -> None:
    assert fault_of(of(ON_A)).avoided_in(of(ON_A)) is None
    assert fault_of(of(ON_A, ON_B)).avoided_in(of(ON_A, ON_B)) is None


def test_a_copy_that_was_made_since_is_kept() -> None:
    newer = of(Copy(uri="/a-2", node="a"), PACKED)
    assert fault_of(of(ON_A, PACKED)).avoided_in(newer) is None
    assert fault_of(of(ON_A, PACKED)).avoided_in(of(ON_B, PACKED)) is None
