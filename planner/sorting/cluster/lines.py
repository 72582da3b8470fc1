"""Blocks that are ready to be sent stand in line, so that every link carries a few at a time and is never without.

Were all sent at once, they would share the links and arrive together, and links would be idle until more were made.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from planner.sorting.cluster.sources import Slice

BLOCKS_IN_FLIGHT: Final = 3
"""To one node at least: one arrives while another is written and a third is asked for."""
BYTES_IN_FLIGHT: Final = 64_000_000
"""To one node, where blocks are small: some wait for senders that are busy with others, and meanwhile none may lack."""
STORE_SHARE: Final = 2 / 5
"""Of a node's object store, for what is in flight to it; as much is for its own slices. When more is asked for than the
store has room for, Ray drops what has come of a block, and asks for it again only after its pull timeout.
"""


@dataclass(frozen=True, kw_only=True)
class Block:
    """What a slice holds for consecutive partitions of one owner, from `first` on; `records` refers to them."""

    slice: Slice
    source: str
    owner: str
    first: int
    size_bytes: int
    records: Any = None

    @property
    def key(self) -> tuple[int, int]:
        """What tells this block from all others that are under way."""
        return self.slice.number, self.first


class Lines:
    """A line of blocks for each owner, and how much is under way from and to each node, with `store_bytes` each."""

    def __init__(self, *, store_bytes: int) -> None:
        self._room_bytes = min(BYTES_IN_FLIGHT, store_bytes * STORE_SHARE)
        self._lines: dict[str, deque[Block]] = {}
        self._to: Counter[str] = Counter()
        self._to_bytes: Counter[str] = Counter()
        self._from: Counter[str] = Counter()
        self._from_bytes: Counter[str] = Counter()  # those that have arrived count too

    def join(self, block: Block) -> None:
        """Put a block at the end of its owner's line."""
        self._lines.setdefault(block.owner, deque()).append(block)

    def leave(self, lost: frozenset[str]) -> list[Block]:
        """Take the blocks for and from lost nodes out and return them."""
        left = []
        for owner, line in self._lines.items() if lost else ():
            left += [block for block in line if {owner, block.source} & lost]
            self._lines[owner] = deque(block for block in line if not {owner, block.source} & lost)
        return left

    def next(self) -> Iterator[Block]:
        """Take out and yield the blocks that may go now: of sources that send least; of these, that have sent least."""
        for owner, line in self._lines.items():
            while line and self._has_room(owner):
                block = min(line, key=lambda each: (self._from[each.source], self._from_bytes[each.source]))
                line.remove(block)
                self._count(block, 1)
                self._from_bytes[block.source] += block.size_bytes
                yield block

    def done(self, block: Block) -> None:
        """Note that a block which `next` yielded has arrived, or never will."""
        self._count(block, -1)

    def _has_room(self, owner: str) -> bool:
        return self._to[owner] < BLOCKS_IN_FLIGHT or self._to_bytes[owner] < self._room_bytes

    def _count(self, block: Block, change: int) -> None:
        self._to[block.owner] += change
        self._to_bytes[block.owner] += change * block.size_bytes
        self._from[block.source] += change
