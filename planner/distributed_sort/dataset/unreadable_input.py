"""Copies of the input that a living node could not read, and the error when no sound copy is left."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from planner.distributed_sort.dataset.dataset import Copy, Partition
from planner.distributed_sort.dataset.partition_reader import (
    InputDamagedError,
    InputUnreadableError,
    copies_at,
    without_copies_on,
)
from planner.errors import BadInputError, IoFailureError


@dataclass(frozen=True, kw_only=True)
class UnreadableCopy:
    """An input partition, by its number, whose copies at `uris` on a node could not be read, and the reason.

    A copy that `is_damaged` is so for every reader, and is a single one: the node's own, or one that all nodes reach.
    """

    partition: int
    node: str
    uris: frozenset[str]
    reason: str
    is_damaged: bool = False

    def remove_from(self, partition: Partition) -> Partition | None:
        """Return the partition without the copy. None if the task read a copy that has been replaced since, or if all
        other sources are such copies too; readers then take these by turns.
        """
        if self.is_damaged:
            rest = replace(partition, copies=tuple(copy for copy in partition.copies if not self.is_of(copy)))
            return rest if rest != partition and (rest.copies or rest.recipe is not None) else None
        own = frozenset(copy.uri for copy in partition.copies if copy.node == self.node and not copy.compression)
        rest = without_copies_on(partition, self.node)
        return rest if rest is not partition and own & self.uris else None

    def is_of(self, copy: Copy) -> bool:
        """Return whether a copy is the unreadable one."""
        return copy.uri in self.uris and copy.node in ("", self.node)


def unreadable_copy(number: int, node: str, read: Partition, error: IoFailureError) -> UnreadableCopy | None:
    """Return the copy that a task on a node failed to `read`, according to an error; None if reading did not fail."""
    if not isinstance(error, InputUnreadableError):
        return None
    is_damaged = isinstance(error, InputDamagedError)
    tried = copies_at(read, node)[:1] if is_damaged else [copy for copy in read.copies if copy.node == node]
    uris = frozenset(copy.uri for copy in tried if not copy.compression)
    return UnreadableCopy(partition=number, node=node, uris=uris, reason=error.message, is_damaged=is_damaged)


def require_intact_copy(number: int, partition: Partition, faults: Iterable[UnreadableCopy]) -> None:
    """Raise BadInputError, which names each damaged copy, when these faults leave a partition no sound copy."""
    damaged = [fault for fault in faults if fault.partition == number and fault.is_damaged]
    if not damaged or partition.recipe is not None:
        return
    if any(not any(fault.is_of(copy) for fault in damaged) for copy in partition.copies):
        return
    first, *others = dict.fromkeys(fault.reason for fault in damaged)
    if not others:
        raise BadInputError(first, code="damaged-file")
    raise BadInputError(
        "all copies of a file of the input are damaged: replace one", [first, *others], code="damaged-copies"
    )
