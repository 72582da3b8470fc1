"""What is known of a copy of the input that a node could not read, while that node lives."""

from __future__ import annotations

from dataclasses import dataclass

from planner.distributed_sort.dataset import Partition
from planner.distributed_sort.partition_reader import InputUnreadableError, without_copies_on
from planner.errors import IoFailureError


@dataclass(frozen=True, kw_only=True)
class UnreadableCopy:
    """An input partition, by its number, whose copies at `uris` on a node could not be read, and why."""

    partition: int
    node: str
    uris: frozenset[str]
    reason: str

    def avoided_in(self, partition: Partition) -> Partition | None:
        """Return the partition without the copy. None: the task read another copy than there is now, or nothing but
        such copies is there to read instead; whoever reads it again takes these by turns.
        """
        own = frozenset(copy.uri for copy in partition.copies if copy.node == self.node and not copy.compression)
        rest = without_copies_on(partition, self.node)
        return rest if rest is not partition and own & self.uris else None


def unreadable_copy(number: int, node: str, read: Partition, error: IoFailureError) -> UnreadableCopy | None:
    """Return what an error says of the partition that a task on a node has `read`; None if reading did not fail."""
    if not isinstance(error, InputUnreadableError):
        return None
    uris = frozenset(copy.uri for copy in read.copies if copy.node == node and not copy.compression)
    return UnreadableCopy(partition=number, node=node, uris=uris, reason=error.message)
